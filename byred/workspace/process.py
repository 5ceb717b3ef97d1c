"""Run one command to its end: bounded in time and output, its whole process group ended with it.

Owns pipes, time limits and signals of short-lived commands. Leaves what a status means to callers.
Exits are seen by pidfd: a grandchild that keeps a pipe open delays nobody.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from byred.failpoint import reach

OUTPUT_LIMIT = 64 * 1024 * 1024
"""Bytes of each stream that are kept; the rest is read and dropped, so that nobody blocks."""
GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL: git removes its lock files on SIGTERM, in milliseconds."""
_CHUNK = 1 << 16
_PIPES = 64
"""Reads after the exit: a grandchild that goes on writing must not keep us reading."""


@dataclass(frozen=True)
class Finished:
    """How a command ended.

    `status` is the exit status, negative for a signal. `timed_out` says that the time limit ended
    it; `truncated` that not all of its output was kept.
    """

    status: int
    stdout: bytes
    stderr: bytes
    truncated: bool = False
    timed_out: bool = False


class _Stream:
    """Collects one pipe's bytes up to a limit: the first, or the first and the last half of it."""

    def __init__(self, limit: int, *, both_ends: bool) -> None:
        self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.read_end, False)
        self._head = bytearray()
        self._tail = bytearray()
        self._head_limit = limit // 2 if both_ends else limit
        self._tail_limit = limit - self._head_limit
        self._left_out = 0
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self.read_end, self.take)

    @property
    def truncated(self) -> bool:
        return self._left_out > 0

    def content(self) -> bytes:
        if not self._tail_limit or not self._left_out:
            return bytes(self._head + self._tail)
        note = f"\n[{self._left_out} bytes left out]\n".encode()
        return bytes(self._head + note + self._tail)

    def take(self) -> bool:
        """Read what is there; False when nothing more can come now."""
        try:
            chunk = os.read(self.read_end, _CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            self._loop.remove_reader(self.read_end)
            return False
        room = self._head_limit - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        surplus = len(self._tail) - self._tail_limit
        if surplus > 0:
            del self._tail[:surplus]
            self._left_out += surplus
        return True

    def drain(self) -> None:
        """Read what was written before the command ended: a pipe's worth, and no more."""
        for _ in range(_PIPES):
            if not self.take():
                return

    def close_write_end(self) -> None:
        if self.write_end >= 0:
            os.close(self.write_end)
            self.write_end = -1

    def close(self) -> None:
        self._loop.remove_reader(self.read_end)
        os.close(self.read_end)
        self.close_write_end()


async def run(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str],
    timeout: float,  # noqa: ASYNC109 - the limit ends a process group, which a scope outside can't
    stdin: bytes | None = None,
    limit: int = OUTPUT_LIMIT,
    merge: bool = False,
    both_ends: bool = False,
) -> Finished:
    """Run `argv` in a session of its own and return how it ended.

    `timeout` is in seconds. `merge` sends stderr into stdout; `both_ends` keeps the end of an
    output that is beyond the limit as well as its beginning. When the time is over or the caller
    is cancelled, the process group gets SIGTERM, then SIGKILL after `GRACE`.

    Raises OSError when the program or `cwd` can't be used.
    """
    async with contextlib.AsyncExitStack() as stack:
        out = _Stream(limit, both_ends=both_ends)
        stack.callback(out.close)
        err = _Stream(limit, both_ends=both_ends)
        stack.callback(err.close)
        given = _input_file(stdin)
        stack.callback(os.close, given)
        child = subprocess.Popen(  # noqa: ASYNC220 - a vfork of milliseconds, as asyncio itself does
            list(argv),
            cwd=cwd,
            env=dict(env),
            stdin=given,
            stdout=out.write_end,
            stderr=out.write_end if merge else err.write_end,
            start_new_session=True,
        )
        out.close_write_end()
        err.close_write_end()
        async with _watched(child) as exited:
            reach("amid", argv)
            in_time = await _waited(exited, timeout, child)
        reach("after", argv)
        out.drain()
        err.drain()
        cut = out.truncated or err.truncated
        return Finished(child.returncode, out.content(), err.content(), cut, not in_time)


def _input_file(content: bytes | None) -> int:
    """Return a descriptor to read `content` from: a file can't block or break like a pipe."""
    if content is None:
        return os.open(os.devnull, os.O_RDONLY)
    memory = os.memfd_create("stdin")
    with os.fdopen(os.dup(memory), "wb") as stream:
        stream.write(content)
    os.lseek(memory, 0, os.SEEK_SET)
    return memory


@contextlib.asynccontextmanager
async def _watched(child: subprocess.Popen[bytes]) -> AsyncIterator[asyncio.Future[None]]:
    """Give a future that is done when the child has exited and was reaped."""
    loop = asyncio.get_running_loop()
    exited: asyncio.Future[None] = loop.create_future()
    pidfd = os.pidfd_open(child.pid)

    def reap() -> None:
        loop.remove_reader(pidfd)
        child.wait()
        if not exited.done():
            exited.set_result(None)

    loop.add_reader(pidfd, reap)
    try:
        yield exited
    finally:
        loop.remove_reader(pidfd)
        os.close(pidfd)
        if child.returncode is None:  # only when a second cancellation cut the ending short
            _signal_group(child.pid, signal.SIGKILL)
            child.wait()


async def _waited(
    exited: asyncio.Future[None],
    limit: float,
    child: subprocess.Popen[bytes],
) -> bool:
    """Wait for the exit; False when the time was over and the group had to be ended."""
    try:
        async with asyncio.timeout(limit):
            await asyncio.shield(exited)
    except TimeoutError:
        await _end_group(child, exited)
        return False
    except asyncio.CancelledError:
        await _end_group(child, exited)
        raise
    return True


async def _end_group(child: subprocess.Popen[bytes], exited: asyncio.Future[None]) -> None:
    """End the child's group, politely first, and leave none of it."""
    _signal_group(child.pid, signal.SIGTERM)
    try:
        async with asyncio.timeout(GRACE):
            await asyncio.shield(exited)
    except TimeoutError:
        pass
    finally:
        _signal_group(child.pid, signal.SIGKILL)
    await exited


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)
