"""Processes as the kernel knows them: identities, pidfds, and what /proc says.

A pid alone names nothing for long. Here a process is (pid, start time, boot id), and a signal goes
through a pidfd that was opened first and compared with that identity afterwards, so that a pid
which was given away again is never hit. What belongs to which task is decided in `launchers`.
"""

import errno
import os
import resource
import signal
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from byred.failpoint import reach

PROC = Path("/proc")
GONE_STATES = frozenset("ZX")
"""A zombie or a dead process runs nothing and holds nothing, so it counts as gone."""

_CHUNK = 1 << 16
_TICKS = os.sysconf("SC_CLK_TCK")


@cache
def boot_id() -> str:
    """Return the id that the kernel drew at this boot; it outlives us, so one look does."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


class Stat(NamedTuple):
    """What /proc/PID/stat says of one process; `start_time` in clock ticks since the boot."""

    pid: int
    parent: int
    state: str
    start_time: int
    cpu_seconds: float


def _read(path: str) -> bytes:
    """Read a process's file, empty when the process is gone. A walk over /proc is made of this."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, ProcessLookupError):
        return b""
    try:
        data = chunk = os.read(descriptor, _CHUNK)
        # The kernel fills the buffer as far as it can: what is shorter was the last.
        while len(chunk) == _CHUNK:
            chunk = os.read(descriptor, _CHUNK)
            data += chunk
    except ProcessLookupError:
        return b""
    finally:
        os.close(descriptor)
    return data


def read_stat(pid: int) -> Stat | None:
    """Read one process's line of /proc, or None when there is no such process."""
    line = _read(f"/proc/{pid}/stat")
    if not line:
        return None
    # The command's name stands in parentheses and may itself hold spaces and parentheses.
    fields = line[line.rindex(b")") + 2 :].split()
    ticks = sum(int(fields[i]) for i in (11, 12, 13, 14))
    return Stat(
        pid=pid,
        parent=int(fields[1]),
        state=fields[0].decode("ascii"),
        start_time=int(fields[19]),
        cpu_seconds=ticks / _TICKS,
    )


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """Which process this is, beyond pid reuse and reboots; `start_time` in ticks since the boot."""

    pid: int
    start_time: int
    boot_id: str

    @classmethod
    def of(cls, pid: int) -> "ProcessIdentity":
        """Identify a process that exists; raises ProcessLookupError when it doesn't."""
        stat = read_stat(pid)
        if stat is None:
            raise ProcessLookupError(errno.ESRCH, f"cannot identify process {pid}: it is gone")
        return cls(pid=pid, start_time=stat.start_time, boot_id=boot_id())

    def is_alive(self) -> bool:
        """Tell whether this very process still runs: pid, start time and boot id all match."""
        stat = read_stat(self.pid)
        return (
            stat is not None
            and stat.start_time == self.start_time
            and stat.state not in GONE_STATES
            and self.boot_id == boot_id()
        )


def open_pidfd(identity: ProcessIdentity) -> int | None:
    """Open a pidfd that refers to this very process, or None when it is gone.

    The caller closes it. The comparison comes after the opening: from then on the descriptor cannot
    come to mean another process.
    """
    try:
        descriptor = os.pidfd_open(identity.pid)
    except OSError as error:
        # The pid may name a thread by now: EINVAL on older kernels, ENOENT on newer ones.
        if error.errno in (errno.ESRCH, errno.EINVAL, errno.ENOENT):
            return None
        raise
    if identity.is_alive():
        return descriptor
    os.close(descriptor)
    return None


def send_signal(identity: ProcessIdentity, number: signal.Signals) -> bool:
    """Signal this very process; False when it is gone. Raises PermissionError."""
    descriptor = open_pidfd(identity)
    if descriptor is None:
        return False
    try:
        reach("before", "signal")
        signal.pidfd_send_signal(descriptor, number)
        reach("after", "signal")
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)
    return True


def pids() -> list[int]:
    """List the pids of all processes that /proc shows."""
    return [int(name) for name in os.listdir(PROC) if name.isdigit()]  # noqa: PTH208 - a hot loop


def read_environment(pid: int) -> bytes:
    """Return the environment that a process was started with, NAME=value ended by NUL each.

    Empty where there is none to see: a process that is gone, or another user's.
    """
    try:
        return _read(f"/proc/{pid}/environ")
    except PermissionError:
        return b""


def peak_memory(pid: int) -> int:
    """Return the most memory that a process ever had resident, in bytes; 0 when it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def raise_file_limit() -> int:
    """Raise the soft limit of open files to the hard one and return it.

    A server costs the daemon some descriptors and holds 45 of its own, with the limit inherited.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
