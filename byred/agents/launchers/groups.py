"""Control groups (v2) as files: where ours may be, what is in them, what they used.

Everything here blocks for some reads and writes below /sys/fs/cgroup, which never wait for a disk.
"""

import contextlib
import errno
import os
import signal
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from byred.agents.launchers.contract import LaunchError, Limits, Usage
from byred.agents.process import ProcessIdentity, boot_id, read_stat, send_signal

CONTROLLERS = ("cpu", "memory", "pids")
"""What the limits of a task and the figures of what it used need."""

LEAF = "main"
"""Where the daemon itself lives once the group that it was given has controllers for its children:
a group may have those or processes, not both."""


DEFAULT_WEIGHT = 100
"""The weight that a group has by itself; a group that an earlier run left may have another."""


@dataclass(frozen=True, slots=True)
class Base:
    """The group below which tasks get theirs; `delegated` when systemd gave it to us."""

    path: Path
    delegated: bool


def find_base(proc: Path = Path("/proc/self"), systemd: Path = Path("/run/systemd/system")) -> Base:
    """Find the group below which this process may make groups.

    Raises LaunchError that says why there is none. systemd owns the tree where it is the manager,
    so there only a group that it delegated is taken.
    """
    own = _own_group(proc)
    base = own.parent if own.name == LEAF and _delegated(own.parent) else own
    delegated = _delegated(base)
    if systemd.is_dir() and not delegated:
        raise LaunchError(
            f"cannot make groups below {base}: systemd has not delegated it; run byred as a "
            "service with Delegate=yes"
        )
    if not (os.access(base, os.W_OK) and os.access(base / "cgroup.procs", os.W_OK)):
        raise LaunchError(
            f"cannot make groups below {base}: it is not writable; run byred as a service with "
            "Delegate=yes, or as root"
        )
    return Base(base, delegated)


def _own_group(proc: Path) -> Path:
    lines = (proc / "cgroup").read_text(encoding="utf-8").splitlines()
    path = next((line[3:] for line in lines if line.startswith("0::")), "/..")
    if path.startswith("/.."):
        raise LaunchError(
            "cannot make groups: this process is in no cgroup v2 hierarchy that is visible from "
            "here; use another launcher"
        )
    return locate(path, proc)


def locate(group: str, proc: Path = Path("/proc/self")) -> Path:
    """Return the directory of a group (`/a/b`); raises LaunchError when no hierarchy is mounted."""
    for line in (proc / "mountinfo").read_text(encoding="utf-8").splitlines():
        fields, _, rest = line.partition(" - ")
        root, point = fields.split()[3:5]
        # Another mount may lie on top of it.
        if rest.split()[0] == "cgroup2" and Path(point, "cgroup.procs").exists():
            # A container may see no more than the part that it lives in.
            below = Path(group).relative_to(root if Path(group).is_relative_to(root) else "/")
            return point / below
    raise LaunchError(
        "cannot make groups: no cgroup v2 hierarchy is mounted; mount one, or use another launcher"
    )


def _delegated(group: Path) -> bool:
    for name in ("user.delegate", "trusted.delegate"):
        try:
            if os.getxattr(group, name) == b"1":
                return True
        except OSError as error:
            # No such attribute, not for us to see, not a group at all: not delegated.
            if error.errno not in (
                errno.ENODATA,
                errno.EPERM,
                errno.EACCES,
                errno.ENOTSUP,
                errno.ENOENT,
            ):
                raise
    return False


def controllers_of(base: Base, wanted: Collection[str] = CONTROLLERS) -> frozenset[str]:
    """Name those of the wanted controllers that the groups below `base` have or could be given.

    None where processes would be in the way that are not ours to move. Those of a service are not:
    systemd starts its next daemon where it started this one, which fails in a group that has
    controllers for its children. Its `DelegateSubgroup=main` says to start it in the leaf.
    """
    here, enabled = _words(base, "cgroup.controllers"), _words(base, "cgroup.subtree_control")
    in_the_way = _processes(base)
    if in_the_way and (base.delegated or in_the_way != {str(os.getpid())}):
        here = enabled
    return frozenset((here | enabled) & set(wanted))


def enable_controllers(base: Base, wanted: Collection[str] = CONTROLLERS) -> frozenset[str]:
    """Enable for the groups below `base` what can be; return what is enabled in the end.

    The daemon moves into a leaf first where it must.
    """
    possible = controllers_of(base, wanted)
    missing = possible - _words(base, "cgroup.subtree_control")
    if missing and _processes(base):
        leaf = base.path / LEAF
        leaf.mkdir(exist_ok=True)
        (leaf / "cgroup.procs").write_text(str(os.getpid()))
    for controller in sorted(missing):
        # Somebody's process came in meanwhile: tasks go without this limit.
        with contextlib.suppress(OSError):
            (base.path / "cgroup.subtree_control").write_text(f"+{controller}")
    return possible & _words(base, "cgroup.subtree_control")


def _processes(base: Base) -> set[str]:
    # Only the root of the whole hierarchy has no type, and may hold processes all the same.
    if not (base.path / "cgroup.type").exists():
        return set()
    return _words(base, "cgroup.procs")


def _words(base: Base, name: str) -> set[str]:
    return set((base.path / name).read_text(encoding="ascii").split())


@dataclass(frozen=True, slots=True)
class Group:
    """One task's group."""

    path: Path

    @property
    def entrance(self) -> Path:
        """The file that a process writes 0 to in order to move in."""
        return self.path / "cgroup.procs"

    def create(self, limits: Limits | None, controllers: Collection[str]) -> None:
        """Make the group, empty or found empty, with the limits that the controllers allow."""
        self.path.mkdir(exist_ok=True)
        limits = limits or Limits()
        settings = {
            ("memory", "memory.max"): limits.memory_max or "max",
            ("pids", "pids.max"): limits.pids_max or "max",
            ("cpu", "cpu.weight"): limits.cpu_weight or DEFAULT_WEIGHT,
        }
        for (controller, name), value in settings.items():
            if controller in controllers:
                (self.path / name).write_text(str(value))

    def is_populated(self) -> bool:
        """Tell whether any process is in the group or below it."""
        try:
            events = (self.path / "cgroup.events").read_text(encoding="ascii")
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENODEV):
                return False
            raise
        return "populated 1" in events

    def members(self) -> list[ProcessIdentity]:
        """List the processes in the group and below it."""
        found: list[ProcessIdentity] = []
        boot = boot_id()
        for folder in (self.path, *self._below()):
            # It may be gone, or hold threads alone, which have no list of processes.
            with contextlib.suppress(OSError):
                for pid in (folder / "cgroup.procs").read_text(encoding="ascii").split():
                    stat = read_stat(int(pid))
                    if stat is not None:
                        found.append(ProcessIdentity(stat.pid, stat.start_time, boot))
        return found

    def kill(self) -> None:
        """Kill every process in the group and below it, forks in flight included."""
        try:
            (self.path / "cgroup.kill").write_text("1")
        except OSError as error:
            if error.errno == errno.ENODEV:
                return
            if error.errno not in (errno.ENOENT, errno.EACCES, errno.EPERM):
                raise
            # Kernels before 5.14 have no such file: one by one, and again in the next round.
            for member in self.members():
                with contextlib.suppress(PermissionError):
                    send_signal(member, signal.SIGKILL)

    def remove(self) -> None:
        """Remove the empty group with what is below it; nothing when it is gone or not empty."""
        for folder in (*sorted(self._below(), reverse=True), self.path):
            # One that is still busy is found again by the next sweep of this home.
            with contextlib.suppress(OSError):
                folder.rmdir()

    def usage(self) -> Usage | None:
        """Return what the group used, as far as controllers count; None when it is gone."""
        try:
            stat = (self.path / "cpu.stat").read_text(encoding="ascii")
        except OSError:
            return None
        micros = next(
            (int(line.split()[1]) for line in stat.splitlines() if line.startswith("usage_usec")),
            0,
        )
        return Usage(peak_memory=self._peak(), cpu_seconds=micros / 1e6)

    def _peak(self) -> int:
        try:
            return int((self.path / "memory.peak").read_text(encoding="ascii"))
        except OSError:
            # No memory controller here, or a kernel before 5.19.
            return 0

    def _below(self) -> list[Path]:
        return [Path(folder) for folder, _, _ in os.walk(self.path) if folder != str(self.path)]
