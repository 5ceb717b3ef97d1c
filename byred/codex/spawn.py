"""A server of one's own, for using the library alone: started, spoken to on its pipes, ended.

Owns one process without containment: what the agent started can outlive it. Whoever runs agents
that must leave nothing behind starts the server in a launcher and hands its streams to
`StdioTransport`.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any, Final

from byred.codex.binary import find_binary
from byred.codex.errors import BinaryError
from byred.codex.transport import StdioTransport

_END_TIMEOUT: Final = 5.0
"""Seconds for the server to end after its stdin is closed (it takes 0.05), then after SIGTERM."""


@asynccontextmanager
async def serve(
    home: str | Path,
    *,
    binary: str | Path | None = None,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (),
    stderr: IO[Any] | int = subprocess.DEVNULL,
) -> AsyncIterator[StdioTransport]:
    """Run `codex app-server` on the CODEX_HOME `home` and give the transport to it.

    `env` is the server's whole environment but for CODEX_HOME (None: this process's). The server
    ends with the block. Raises `BinaryError` when it cannot be started.
    """
    path = binary or (await asyncio.to_thread(find_binary)).path
    try:
        # As asyncio starts children itself, less the thread that it keeps for each on 3.11.
        process = subprocess.Popen(  # noqa: ASYNC220 - see above
            [str(path), "app-server", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=cwd,
            env={**(os.environ if env is None else env), "CODEX_HOME": str(home)},
        )
    except OSError as error:
        raise BinaryError(f"cannot start {path}: {error.strerror or error}") from error
    watch = os.pidfd_open(process.pid)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    incoming, _protocol = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), process.stdout
    )
    pipe, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, process.stdin)
    transport = StdioTransport(reader, asyncio.StreamWriter(pipe, protocol, None, loop))
    try:
        yield transport
    finally:
        try:
            await transport.aclose()
            await _end(process, watch)
        finally:
            # Something that the agent left behind may hold the pipe, so no end of file comes.
            incoming.close()
            os.close(watch)


async def _end(process: "subprocess.Popen[bytes]", watch: int) -> None:
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            process.send_signal(number)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_TIMEOUT):
                await _readable(watch)
            break
    process.wait()


async def _readable(descriptor: int) -> None:
    """Wait until a pidfd says that its process has ended."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
