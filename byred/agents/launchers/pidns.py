"""`pidns`: a pid namespace per task, so that nothing a task starts can leave it.

When the namespace's first process ends, the kernel kills every other one in it, whatever it
detached from. The tree is `unshare` (our child, which stands for the server), below it a shell as
the first process, which does nothing but reap orphans, and below that the server. Without root a
user namespace comes with it, in which everybody keeps their own uid.
"""

import asyncio
import errno
import os
import shutil
import signal
from collections.abc import Collection, Sequence
from pathlib import Path

from byred.agents.launchers.census import Census
from byred.agents.launchers.contract import Exit, LaunchError, Server, ServerSpec, Usage
from byred.agents.launchers.handle import ProcessHandle, describe
from byred.agents.launchers.held import HeldServer, to_the_end
from byred.agents.launchers.spawn import cannot_start, spawn
from byred.agents.launchers.sweeping import NoContainer, sweep
from byred.agents.process import ProcessIdentity, peak_memory, read_stat, send_signal

BIRTH_LIMIT = 5.0
"""Seconds until the namespace's first process must be there; it takes 5 ms."""

BIRTH_PAUSE = 0.001
"""Seconds between two looks for it: nothing in /proc can be waited for."""

# The server runs in the foreground, so that the shell neither changes its signals nor its input,
# and the command behind it keeps the shell from becoming the server.
_INIT = '"$@"; exit "$?"'

_SHELL_SIGNAL = 128
_UNSHARE_FAILED = 1
"""What some versions of `unshare` make of a first process that was killed."""
_SERVER_PID = 2


class PidnsLauncher:
    """Starts each server in a pid namespace of its own; see `contract.Launcher`.

    `unshare` is the program's path. Raises LaunchError when it is not installed.
    """

    name = "pidns"

    def __init__(self) -> None:
        self._census = Census()
        self._unshare = shutil.which("unshare")

    def wrap(self, argv: Sequence[str]) -> tuple[str, ...]:
        """Return the command that runs `argv` in a new namespace."""
        if self._unshare is None:
            raise LaunchError(
                "cannot use launcher pidns: the program unshare is not on PATH; install util-linux"
            )
        user = () if os.geteuid() == 0 else ("--user", "--map-current-user")
        options = ("--pid", "--fork", "--kill-child", "--mount-proc", "--")
        return (self._unshare, *user, *options, "/bin/sh", "-c", _INIT, "byre-init", *argv)

    async def start(self, spec: ServerSpec) -> Server:
        """Start a server; raises LaunchError."""
        return await to_the_end(self._start(spec))

    async def _start(self, spec: ServerSpec) -> HeldServer:
        handle, pipes = await spawn(spec, self.wrap(spec.argv))
        try:
            first = await _first_process(handle)
        except TimeoutError as error:
            unborn = HeldServer(spec, handle, _Namespace(None), self._census, pipes)
            await unborn.kill_tree()
            await unborn.release()
            raise cannot_start(spec, "unshare", f"no process after {BIRTH_LIMIT:g} s") from error
        return HeldServer(spec, handle, _Namespace(first), self._census, pipes)

    async def adopt(self, identity: ProcessIdentity, spec: ServerSpec) -> Server | None:
        """Take over a server that outlived the daemon; None when it is gone or has no socket."""
        handle = None if spec.socket is None else ProcessHandle.of_identity(identity)
        if handle is None:
            return None
        return HeldServer(spec, handle, _Namespace(_only_child(handle.identity)), self._census)

    async def sweep(
        self, home: Path, identity: ProcessIdentity | None
    ) -> Sequence[ProcessIdentity]:
        """End whatever is left of the task with this home and return what was ended.

        The namespace's first process has the home in its environment, and the rest dies with it.
        """
        return await sweep(
            self._census, home, () if identity is None else (identity,), NoContainer()
        )


class _Namespace:
    """A task's pid namespace; `first` is its first process, None when that never came to be."""

    def __init__(self, first: ProcessIdentity | None) -> None:
        self._first = first
        self._killed = False

    def terminate(self, handle: ProcessHandle) -> None:  # noqa: ARG002 - others signal it
        """Send TERM to the server; the processes above it would not pass it on."""
        server = self._server()
        if server is not None:
            send_signal(server, signal.SIGTERM)

    async def end(self) -> Collection[ProcessIdentity]:
        """Kill the first process. `unshare` lives until the kernel has ended all the others."""
        if self._first is None or not send_signal(self._first, signal.SIGKILL):
            return ()
        self._killed = True
        return (self._first,)

    async def is_empty(self) -> bool:
        """Tell whether the first process is gone: it stays until every other one is."""
        return self._first is None or not self._first.is_alive()

    def usage(self, handle: ProcessHandle) -> Usage | None:
        """Return the server's figures while it runs, the whole namespace's afterwards."""
        server = self._server()
        if server is None or self._first is None:
            return handle.usage()
        stats = [stat for pid in (server.pid, self._first.pid) if (stat := read_stat(pid))]
        return Usage(peak_memory(server.pid), sum(stat.cpu_seconds for stat in stats))

    async def describe(self, end: Exit) -> Exit:
        """Turn the status that a shell makes of a signal back into the signal."""
        if self._killed and end.code == _UNSHARE_FAILED:
            return describe(-signal.SIGKILL)
        if end.code is not None and end.code > _SHELL_SIGNAL:
            return describe(_SHELL_SIGNAL - end.code)
        return end

    async def discard(self) -> None:
        """Remove nothing: the kernel has."""

    def _server(self) -> ProcessIdentity | None:
        if self._first is None or not self._first.is_alive():
            return None
        # Orphans become children of the first process as well, but the first that it started is the
        # server.
        for pid in _children(self._first.pid):
            if _inner_pid(pid) == _SERVER_PID:
                try:
                    return ProcessIdentity.of(pid)
                except ProcessLookupError:
                    return None
        return None


async def _first_process(unshare: ProcessHandle) -> ProcessIdentity | None:
    """Wait for the child of `unshare`; None when it ended without one, which its exit tells."""
    async with asyncio.timeout(BIRTH_LIMIT):
        while unshare.exit is None:
            child = _only_child(unshare.identity)
            if child is not None:
                return child
            await asyncio.sleep(BIRTH_PAUSE)
    return None


def _only_child(identity: ProcessIdentity) -> ProcessIdentity | None:
    for pid in _children(identity.pid):
        try:
            return ProcessIdentity.of(pid)
        except ProcessLookupError:
            return None
    return None


def _children(pid: int) -> list[int]:
    try:
        line = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ESRCH):
            return []
        raise
    return [int(child) for child in line.split()]


def _inner_pid(pid: int) -> int | None:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    for line in status.splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    return None
