"""The one implementation of `Server`: a watched process, its streams, and what contains it.

Launchers differ in the `Containment` that they hand in, and in the command that they wrap around
the server's own.
"""

import asyncio
import signal
from asyncio import StreamReader, StreamWriter
from collections.abc import Coroutine
from typing import Any, Protocol

from byred.agents.launchers.census import Census
from byred.agents.launchers.contract import Exit, LaunchError, ServerSpec, Usage
from byred.agents.launchers.handle import ProcessHandle
from byred.agents.launchers.spawn import Pipes
from byred.agents.launchers.sweeping import Container, NoContainer, sweep
from byred.agents.process import ProcessIdentity

CANCEL_LIMIT = 5.0
"""Seconds that a cancelled start waits for its fork, to end what comes of it."""

REAP_LIMIT = 2.0
"""Seconds for the news of an exit after the kill: the kernel needs milliseconds, a busy loop
more."""


class Containment(Container, Protocol):
    """What a launcher knows of its servers beyond their processes' parents and environments."""

    def terminate(self, handle: ProcessHandle) -> None:
        """Send TERM to the server alone."""

    def usage(self, handle: ProcessHandle) -> Usage | None:
        """Return what the contained processes used so far."""

    async def describe(self, end: Exit) -> Exit:
        """Translate the watched process's exit into the server's."""

    async def discard(self) -> None:
        """Remove the empty container."""


class Direct(NoContainer):
    """The watched process is the server, and nothing contains it."""

    def terminate(self, handle: ProcessHandle) -> None:
        """Send TERM to the server."""
        handle.send(signal.SIGTERM)

    def usage(self, handle: ProcessHandle) -> Usage | None:
        """Return the server's own figures."""
        return handle.usage()

    async def describe(self, end: Exit) -> Exit:
        """Return the exit as it is."""
        return end

    async def discard(self) -> None:
        """Remove nothing."""


class HeldServer:
    """A server in our hands, started or adopted; see `contract.Server`."""

    def __init__(
        self,
        spec: ServerSpec,
        handle: ProcessHandle,
        containment: Containment,
        census: Census,
        pipes: Pipes | None = None,
    ) -> None:
        self.spec = spec
        self._pipes = pipes
        self._handle = handle
        self._containment = containment
        self._census = census
        self._seen: set[ProcessIdentity] = {handle.identity}

    @property
    def identity(self) -> ProcessIdentity:
        """The process that stands for the server."""
        return self._handle.identity

    @property
    def streams(self) -> tuple[StreamReader, StreamWriter] | None:
        """The server's stdout and stdin, or None when it listens on a socket."""
        return None if self._pipes is None else (self._pipes.reader, self._pipes.writer)

    async def wait(self) -> Exit:
        """Wait for the server's exit; many may wait, at any time."""
        return await self._containment.describe(await self._handle.wait())

    async def close_input(self) -> None:
        """Close the server's stdin."""
        await self._remember()
        if self._pipes is not None:
            self._pipes.writer.close()

    async def terminate(self) -> None:
        """Send TERM to the server alone."""
        await self._remember()
        self._containment.terminate(self._handle)

    async def kill_tree(self) -> None:
        """End everything that the task ever started; raises LaunchError when something stays."""
        self._containment.usage(self._handle)
        await sweep(self._census, self.spec.home, self._seen, self._containment)
        try:
            async with asyncio.timeout(REAP_LIMIT):
                await self._handle.wait()
        except TimeoutError:
            raise LaunchError(
                f"cannot end the server of task {self.spec.task_id}: process {self.identity.pid} "
                f"was killed but has not ended after {REAP_LIMIT:g} s; it hangs in the kernel"
            ) from None
        # Whoever asks later how it ended, or what it used, asks for what is about to be removed.
        await self.wait()
        self._containment.usage(self._handle)
        await self._containment.discard()

    async def is_empty(self) -> bool:
        """Tell whether nothing of the task runs any more."""
        if self._handle.exit is None or not await self._containment.is_empty():
            return False
        return not await self._belonging()

    async def usage(self) -> Usage | None:
        """Return what the task used so far."""
        return self._containment.usage(self._handle)

    async def release(self) -> None:
        """Let go of streams and descriptors without touching the server."""
        self._handle.release()
        if self._pipes is not None:
            await self._pipes.abort()

    async def _remember(self) -> None:
        # Once the server is gone its children have another parent, and what has shed its
        # environment as well could not be told apart any more. Its own figures are gone too.
        self._seen.update(await self._belonging())
        self._containment.usage(self._handle)

    async def _belonging(self) -> set[ProcessIdentity]:
        return (await self._census.take()).belonging(self.spec.home, self._seen)


async def to_the_end(start: Coroutine[Any, Any, HeldServer]) -> HeldServer:
    """Await a start such that a cancellation leaves nothing of the server behind.

    A thread cannot be stopped in the middle of a fork, and its child would be nobody's.
    """
    starting = asyncio.ensure_future(start)
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.wait([starting], timeout=CANCEL_LIMIT)
        if starting.done() and not starting.cancelled() and starting.exception() is None:
            await starting.result().kill_tree()
            await starting.result().release()
        raise
