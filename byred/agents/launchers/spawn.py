"""Starting a child: its descriptors, its session, its pipes as asyncio streams.

Owns fork and exec and what can fail there. The exit is `handle`'s, the containment the launcher's.
"""

import asyncio
import errno
import os
import shutil
import subprocess
from asyncio import ReadTransport, StreamReader, StreamReaderProtocol, StreamWriter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from byred.agents.launchers.contract import LaunchError, ServerSpec
from byred.agents.launchers.handle import ProcessHandle

STREAM_BUFFER = 1 << 20
"""Bytes that a StreamReader holds before it stops reading: lines of 1 MB are ordinary."""


class _Sink(StreamReaderProtocol):
    """The protocol under a StreamWriter; it reads nothing and remembers that the pipe is gone."""

    def __init__(self) -> None:
        super().__init__(StreamReader())
        self.lost = False

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.lost = True


@dataclass(frozen=True, slots=True)
class Pipes:
    """A child's stdout and stdin on the loop; `source` is the reader's transport."""

    reader: StreamReader
    writer: StreamWriter
    source: ReadTransport
    sink: _Sink

    async def abort(self) -> None:
        """Drop both ends at once, whatever is still in them."""
        # A transport that has lost its pipe cannot be aborted again.
        if not self.sink.lost:
            self.writer.transport.abort()
        self.source.close()
        # Both take effect in the loop's next round.
        await asyncio.sleep(0)


async def spawn(spec: ServerSpec, argv: Sequence[str]) -> tuple[ProcessHandle, Pipes | None]:
    """Start `argv` (the spec's own, or a wrapper around it) as the spec says.

    The child leads a session of its own, so that no terminal's signal reaches it. Raises
    LaunchError. Not to be cancelled: `held.to_the_end` sees to that.
    """
    await asyncio.to_thread(check_program, spec)
    try:
        child = await asyncio.to_thread(_fork, spec, argv)
    except OSError as error:
        raise cannot_start(spec, error.filename or argv[0], str(error.strerror)) from error
    try:
        handle = ProcessHandle.of_child(child.pid)
        pipes = None
        if child.stdin is not None and child.stdout is not None:
            pipes = await connect(child.stdin, child.stdout)
    except OSError as error:
        # No descriptor left, most likely.
        await asyncio.to_thread(_abandon, child)
        raise cannot_start(spec, argv[0], str(error.strerror)) from error
    # The pidfd's owner reaps; without this the Popen object would warn of a child left running.
    child.returncode = 0
    return handle, pipes


def _abandon(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            pipe.close()


def check_program(spec: ServerSpec) -> None:
    """Raise LaunchError when the server's program cannot be run. Blocks.

    A wrapper would report that only by its own exit, when it is too late to say why.
    """
    if shutil.which(spec.argv[0], path=spec.env.get("PATH", os.defpath)) is None:
        raise cannot_start(spec, spec.argv[0], os.strerror(errno.ENOENT))


def cannot_start(spec: ServerSpec, what: str, why: str) -> LaunchError:
    """Say why a server cannot be started."""
    return LaunchError(
        f"cannot start the server of task {spec.task_id}: {what}: {why}; check that it exists and "
        "may be used"
    )


def _fork(spec: ServerSpec, argv: Sequence[str]) -> subprocess.Popen[bytes]:
    channel = subprocess.PIPE if spec.socket is None else subprocess.DEVNULL
    with spec.stderr.open("ab") as stderr:
        return subprocess.Popen(
            argv,
            cwd=spec.cwd,
            env={**spec.env, "CODEX_HOME": str(spec.home)},
            stdin=channel,
            stdout=channel,
            stderr=stderr,
            bufsize=0,
            start_new_session=True,
        )


async def connect(stdin: IO[bytes], stdout: IO[bytes]) -> Pipes:
    """Turn our ends of a server's pipes into streams, which own them from now on."""
    loop = asyncio.get_running_loop()
    reader = StreamReader(limit=STREAM_BUFFER)
    source, _ = await loop.connect_read_pipe(lambda: StreamReaderProtocol(reader), stdout)
    transport, sink = await loop.connect_write_pipe(_Sink, stdin)
    return Pipes(reader, StreamWriter(transport, sink, None, loop), source, sink)
