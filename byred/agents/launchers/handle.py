"""One process, watched through its pidfd on the event loop.

Owns the descriptor, the reaping of our own child, and the news of its exit. asyncio's own child
watchers are not used: on Python 3.11 their `wait()` lasts for as long as a grandchild holds a pipe.
"""

import asyncio
import os
import signal

from byred.agents.launchers.contract import Exit, Usage
from byred.agents.process import (
    ProcessIdentity,
    open_pidfd,
    peak_memory,
    read_stat,
)
from byred.failpoint import reach


class ProcessHandle:
    """A process that is ours to watch, be it a child or one that outlived its daemon.

    Made by `of_child` or `of_identity` on a running loop.
    """

    def __init__(self, identity: ProcessIdentity, pidfd: int, *, child: bool) -> None:
        self.identity = identity
        self._pidfd: int | None = pidfd
        self._child = child
        self._ended = asyncio.Event()
        self._exit: Exit | None = None
        self._usage: Usage | None = None
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(pidfd, self._on_exit)

    @classmethod
    def of_child(cls, pid: int) -> "ProcessHandle":
        """Watch a child that nobody else reaps."""
        return cls(ProcessIdentity.of(pid), os.pidfd_open(pid), child=True)

    @classmethod
    def of_identity(cls, identity: ProcessIdentity) -> "ProcessHandle | None":
        """Watch a process that somebody else started, or None when it is gone."""
        pidfd = open_pidfd(identity)
        return None if pidfd is None else cls(identity, pidfd, child=False)

    @property
    def exit(self) -> Exit | None:
        """How it ended, or None while it runs."""
        return self._exit

    async def wait(self) -> Exit:
        """Wait for the exit. Raises RuntimeError when it was let go before it ended."""
        await self._ended.wait()
        if self._exit is None:
            raise RuntimeError(
                f"cannot wait for process {self.identity.pid}: it was released while it ran"
            )
        return self._exit

    def send(self, number: signal.Signals) -> None:
        """Send a signal through the pidfd; nothing when the process is gone or let go."""
        if self._pidfd is None:
            return
        try:
            reach("before", "signal")
            signal.pidfd_send_signal(self._pidfd, number)
            reach("after", "signal")
        except ProcessLookupError:
            # It ended by itself; the loop is about to tell.
            return

    def usage(self) -> Usage | None:
        """Return what it used: live from /proc, afterwards from the kernel's account of a child."""
        stat = read_stat(self.identity.pid)
        if self._exit is None and stat is not None and stat.start_time == self.identity.start_time:
            memory = peak_memory(self.identity.pid)
            # A zombie has no memory left to report; the figure before it stands.
            before = self._usage.peak_memory if self._usage else 0
            self._usage = Usage(max(memory, before), stat.cpu_seconds)
        return self._usage

    def release(self) -> None:
        """Close the descriptor and wake whoever waits; a child that ended is reaped."""
        if self._pidfd is None:
            return
        if self._child:
            self._on_exit()
        self._close()

    def _on_exit(self) -> None:
        if self._child:
            try:
                pid, status, used = os.wait4(self.identity.pid, os.WNOHANG)
            except ChildProcessError:
                self._finish(_unknown("its status was taken by somebody else"))
                return
            if pid == 0:
                return
            self._usage = Usage(used.ru_maxrss * 1024, used.ru_utime + used.ru_stime)
            self._finish(describe(os.waitstatus_to_exitcode(status)))
        else:
            self._finish(_unknown("how, only its own parent was told"))

    def _finish(self, end: Exit) -> None:
        self._exit = end
        self._close()

    def _close(self) -> None:
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        self._ended.set()


def describe(status: int) -> Exit:
    """Put an exit status in words; `status` as in subprocess, a signal's number negative."""
    if status >= 0:
        return Exit(code=status, signal=None, text=f"exited with status {status}")
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return Exit(code=None, signal=-status, text=f"was ended by {name}")


def _unknown(reason: str) -> Exit:
    return Exit(code=None, signal=None, text=f"ended; {reason}")
