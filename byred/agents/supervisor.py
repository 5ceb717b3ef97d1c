"""One server process from birth to proven death.

Owns the order of things: an old server on the same home is gone before a new one starts, an
identity is recorded before a word is said, an end goes from gentle to final and is verified, a
server's stderr does not fill the disk. How processes are contained is the launcher's, what is said
on the streams the codex client's, what an exit means for the task the runner's.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import structlog

from byred.agents.launchers.contract import Exit, Launcher, LaunchError, Server, ServerSpec
from byred.agents.launchers.sockets import remove_socket
from byred.agents.process import ProcessIdentity
from byred.codex.leftovers import end_indexing, mend_beginnings

CLOSE_GRACE = 1.0
"""Seconds for a server to end by itself after its input closed: an idle one needs 0.05 s, and with
the steps below nothing of a cancelled task is left after two seconds. A thread resumes after a kill
as well."""

LONGEST_GRACE = 3.0
"""Seconds that `stop` grants at most, whatever it is asked for: a stop has to end within ten."""

TERM_GRACE = 0.5
"""Seconds after TERM: whoever handles it does so at once or not at all."""

KILL_LIMIT = 40.0
"""Seconds for the kill and its verification. They take a tenth of one, give up by themselves after
four on what they see is still there, and are slow where /proc is."""

START_LIMIT = 15.0
"""Seconds for fork, exec and what a launcher does around them, on a machine that swaps."""

STDERR_MAX = 8 << 20
"""Bytes of a server's stderr at which it is cut."""

STDERR_KEEP = 1 << 20
"""Bytes that a cut leaves: the last lines are the ones that explain an end."""

LOOK_INTERVAL = 10.0
"""Seconds between two looks at the servers; one costs a few small reads a server."""

_log = structlog.get_logger("byred.agents")

Record = Callable[[ProcessIdentity], Awaitable[None]]


class Supervisor:
    """Starts, adopts, ends and sweeps servers through one launcher."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._servers: set[Server] = set()

    async def start(self, spec: ServerSpec, record: Record) -> Server:
        """Start a server on a home that is proven free, and record who it is before it is used.

        Raises LaunchError when an old process stays on the home or the server cannot start. When
        `record` fails or the call is cancelled, nothing of the server is left.
        """
        await self._launcher.sweep(spec.home, None)
        if await asyncio.to_thread(end_indexing, spec.home):
            _log.info("index of a killed server", action="server.indexing", task=spec.task_id)
        for path in await asyncio.to_thread(mend_beginnings, spec.home):
            found = "a record began with a piece of a line"
            _log.info(found, action="server.record", task=spec.task_id, path=str(path))
        await asyncio.to_thread(cut_file, spec.stderr)
        if spec.socket is not None:
            # A stale one would be taken for the new server's.
            await asyncio.to_thread(remove_socket, spec.socket)
        try:
            async with asyncio.timeout(START_LIMIT):
                server = await self._launcher.start(spec)
        except TimeoutError:
            raise LaunchError(
                f"cannot start the server of task {spec.task_id}: it was not running after "
                f"{START_LIMIT:g} s; the machine is overloaded, lower scheduler.max_running"
            ) from None
        self._servers.add(server)
        try:
            await record(server.identity)
        except BaseException:
            await self.stop(server, grace=0)
            raise
        return server

    async def adopt(self, identity: ProcessIdentity, spec: ServerSpec) -> Server | None:
        """Take over a server that outlived the daemon; None when there is none to take over."""
        server = await self._launcher.adopt(identity, spec)
        if server is not None:
            self._servers.add(server)
        return server

    async def stop(self, server: Server, *, grace: float = CLOSE_GRACE) -> Exit:
        """End a server and all that it started, gently first, and prove that nothing is left.

        The ladder: input closed (TERM for one on a socket), `grace` seconds (at most
        LONGEST_GRACE), TERM, everything killed. Right as well for a server that already ended: what
        it left behind is ended. Cancelled, it skips to the kill. Raises LaunchError when something
        stays.
        """
        try:
            if grace > 0:
                await _ask_to_end(server, min(grace, LONGEST_GRACE))
        finally:
            await _to_the_end(self._finish(server))
        return await server.wait()

    async def _finish(self, server: Server) -> None:
        await _kill(server)
        await server.release()
        self._servers.discard(server)
        if server.spec.socket is not None:
            await asyncio.to_thread(remove_socket, server.spec.socket)

    async def recover(
        self, home: Path, identity: ProcessIdentity | None
    ) -> Sequence[ProcessIdentity]:
        """End what an earlier daemon left on this home; return what was ended."""
        return await self._launcher.sweep(home, identity)

    async def release(self) -> None:
        """Let go of all servers without touching them: those on sockets go on without us."""
        for server in list(self._servers):
            await server.release()
            self._servers.discard(server)

    async def run(self) -> None:
        """Keep the servers' stderr files bounded and their figures fresh, until cancelled.

        Some figures are gone with the server; then the last look is what is known.
        """
        while True:
            await asyncio.sleep(LOOK_INTERVAL)
            for server in list(self._servers):
                try:
                    await asyncio.to_thread(cut_file, server.spec.stderr)
                    await server.usage()
                except OSError as error:
                    # A disk without room, a folder that is gone: neither is the server's end.
                    _log.warning("server not looked at", action="server.look", error=str(error))


async def _ask_to_end(server: Server, grace: float) -> None:
    if server.streams is None:
        await server.terminate()
    else:
        await server.close_input()
    if not await _ended(server, grace):
        # For one on a socket the second: codex lets its turns come to an end after the first.
        await server.terminate()
        await _ended(server, TERM_GRACE)


async def _ended(server: Server, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await server.wait()
    except TimeoutError:
        return False
    return True


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Await what has its own limit, also when cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        # What it raises is found again by the next start, which proves the home free.
        await asyncio.gather(task, return_exceptions=True)
        raise


async def _kill(server: Server) -> None:
    try:
        async with asyncio.timeout(KILL_LIMIT):
            await server.kill_tree()
    except TimeoutError:
        raise LaunchError(
            f"cannot end everything of task {server.spec.task_id} in {KILL_LIMIT:g} s after "
            f"SIGKILL; look for processes with CODEX_HOME={server.spec.home} and end them by hand"
        ) from None


def cut_file(path: Path, *, most: int = STDERR_MAX, keep: int = STDERR_KEEP) -> None:
    """Cut a file that somebody appends to down to its last `keep` bytes once it exceeds `most`.

    It is emptied in place, since its writer holds it open. Blocks; a missing file is fine.
    """
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return
    if size <= most:
        return
    with path.open("rb") as file:
        file.seek(size - keep)
        tail = file.read(keep)
    os.truncate(path, 0)
    with path.open("ab") as file:
        file.write(tail)
