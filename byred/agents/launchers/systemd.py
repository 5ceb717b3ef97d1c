"""`systemd`: a transient unit per task in `byre.slice`, which no restart of the daemon touches.

systemd starts the server in a group of its own with the task's limits; from there on it is held as
`cgroup` holds one. The unit waits, before it becomes the server, for its environment on a named
pipe: so the daemon knows who it is before it can end, and secrets reach neither a disk nor the bus.
"""

import asyncio
import errno
import os
import resource
import shlex
import shutil
import stat
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from byred.agents.launchers.census import Census
from byred.agents.launchers.cgroup import Grouped, digest
from byred.agents.launchers.contract import Exit, LaunchError, Limits, Server, ServerSpec, Usage
from byred.agents.launchers.groups import Group, locate
from byred.agents.launchers.handle import ProcessHandle, describe
from byred.agents.launchers.held import REAP_LIMIT, HeldServer, to_the_end
from byred.agents.launchers.spawn import Pipes, cannot_start, check_program, connect
from byred.agents.launchers.sweeping import sweep
from byred.agents.process import ProcessIdentity
from byred.failpoint import reach

SLICE = "byre.slice"

# Of type exec: the call returns once the program runs, or says why it doesn't.
_IN_SLICE = (f"--slice={SLICE}", "--service-type=exec")

CALL_LIMIT = 10.0
"""Seconds for one call of systemd's tools; they take 20 ms."""

ENTER_LIMIT = 5.0
"""Seconds until a started unit must ask for its environment; it takes 5 ms."""

ENTER_PAUSE = 0.002
"""Seconds between two tries to give it: a pipe without a reader can't be waited for."""

STOP_SECONDS = 2
"""Seconds that systemd itself grants what a failed server left behind, if we are not there."""

# The environment arrives as assignments on the pipe that is the first argument.
_RECEIVE = '. "$0" && exec "$@"'

_KILLED = "2"
_DUMPED = "3"
"""What systemd's ExecMainCode is for a process that a signal ended."""


_OUTCOME = ("LoadState", "ExecMainCode", "ExecMainStatus", "CPUUsageNSec", "MemoryPeak")


@dataclass(frozen=True, slots=True)
class Manager:
    """A systemd that starts units for us; `slice` is where the groups of our slice are."""

    run: tuple[str, ...]
    control: tuple[str, ...]
    slice: Path
    title: str


def find_manager(systemd: Path = Path("/run/systemd/system")) -> Manager:
    """Find the systemd to ask; raises LaunchError that says why there is none. Blocks."""
    run, control = shutil.which("systemd-run"), shutil.which("systemctl")
    if not systemd.is_dir() or run is None or control is None:
        raise LaunchError("cannot use systemd: this machine was not booted with it")
    user = () if os.geteuid() == 0 else ("--user",)
    if user and not _stays():
        raise LaunchError(
            "cannot use systemd: your user manager ends when you log out; keep it with "
            "loginctl enable-linger"
        )
    own = _show((control, *user), "", "ControlGroup").get("ControlGroup", "")
    return Manager(
        run=(run, *user, "--quiet"),
        control=(control, *user),
        slice=locate(f"/{own.strip('/')}") / SLICE,
        title="your user manager" if user else "the system manager",
    )


def _stays() -> bool:
    """Tell whether the user manager outlives a logout, or the daemon itself lives in it."""
    uid = os.geteuid()
    within = f"user@{uid}.service" in Path("/proc/self/cgroup").read_text(encoding="utf-8")
    lingering = _try(("loginctl", "show-user", str(uid), "--property=Linger", "--value"))
    return within or lingering.stdout.strip() == b"yes"


class SystemdLauncher:
    """Starts each server as a transient unit; see `contract.Launcher`.

    `title` says whose units.
    """

    name = "systemd"

    def __init__(self, manager: Manager) -> None:
        self.title = manager.title
        self._manager = manager
        self._census = Census()

    def probe(self) -> tuple[str, ...]:
        """Return a command that starts a unit, and fails where that cannot be done."""
        return (*self._manager.run, *_IN_SLICE, "--collect", "/bin/true")

    async def start(self, spec: ServerSpec) -> Server:
        """Start a server; raises LaunchError."""
        return await to_the_end(self._start(spec))

    async def _start(self, spec: ServerSpec) -> HeldServer:
        unit = _Unit(self._manager, f"byre-task-{spec.task_id}-{digest(spec.home)}.service")
        channel = _Channel(spec)
        try:
            return await self._born(spec, unit, channel)
        except BaseException as error:
            await unit.end()
            await unit.discard()
            if isinstance(error, OSError):
                raise cannot_start(spec, unit.name, str(error)) from error
            raise
        finally:
            channel.close()

    async def _born(self, spec: ServerSpec, unit: "_Unit", channel: "_Channel") -> HeldServer:
        await asyncio.to_thread(check_program, spec)
        await asyncio.to_thread(channel.make)
        await _call(
            (*self._manager.run, *_options(spec, unit.name, channel), *_command(spec, channel)),
            f"start the server of task {spec.task_id}",
        )
        shown = await asyncio.to_thread(_show, self._manager.control, unit.name, "MainPID")
        handle = ProcessHandle.of_identity(ProcessIdentity.of(int(shown.get("MainPID", 0))))
        if handle is None:
            raise ProcessLookupError(errno.ESRCH, f"it ended before it began; see {spec.stderr}")
        try:
            await channel.give(environment(spec))
            pipes = await channel.connect()
        except BaseException:
            handle.release()
            raise
        return HeldServer(spec, handle, unit, self._census, pipes)

    async def adopt(self, identity: ProcessIdentity, spec: ServerSpec) -> Server | None:
        """Take over a server that outlived the daemon; None when it is gone or has no socket."""
        handle = None if spec.socket is None else ProcessHandle.of_identity(identity)
        if handle is None:
            return None
        unit = _Unit(self._manager, f"byre-task-{spec.task_id}-{digest(spec.home)}.service")
        return HeldServer(spec, handle, unit, self._census)

    async def sweep(
        self, home: Path, identity: ProcessIdentity | None
    ) -> Sequence[ProcessIdentity]:
        """End whatever is left of the task with this home and return what was ended."""
        unit = _Unit(self._manager, f"byre-task-*-{digest(home)}.service")
        roots = () if identity is None else (identity,)
        ended = await sweep(self._census, home, roots, unit)
        await unit.discard()
        return ended


class _Unit(Grouped):
    """A task's unit; `name` may be a pattern where nobody knows the task's number any more."""

    def __init__(self, manager: Manager, name: str) -> None:
        super().__init__(())
        self.name = name
        self._manager = manager
        self._exit: Exit | None = None
        self._total: Usage | None = None

    def groups(self) -> Collection[Group]:
        """Look for the unit's group: systemd makes it and removes it when it sees fit."""
        return [Group(path) for path in self._manager.slice.glob(self.name)]

    def usage(self, handle: ProcessHandle) -> Usage | None:
        """Return the group's figures, or systemd's when the group is gone."""
        used = super().usage(handle)
        if used is None or self._total is None:
            return used or self._total
        return Usage(
            max(used.peak_memory, self._total.peak_memory),
            max(used.cpu_seconds, self._total.cpu_seconds),
        )

    async def describe(self, end: Exit) -> Exit:
        """Ask systemd how it ended: it is the parent, and hears of it when we do."""
        if self._exit is None:
            shown = await self._outcome()
            self._exit = _exit(shown) or end
            cpu, peak = shown.get("CPUUsageNSec", ""), shown.get("MemoryPeak", "")
            self._total = Usage(
                peak_memory=int(peak) if peak.isdigit() else 0,
                cpu_seconds=int(cpu) / 1e9 if cpu.isdigit() else 0.0,
            )
        return self._exit

    async def _outcome(self) -> dict[str, str]:
        shown: dict[str, str] = {}
        try:
            async with asyncio.timeout(REAP_LIMIT):
                while _exit(shown) is None and shown.get("LoadState") != "not-found":
                    shown = await asyncio.to_thread(
                        _show, self._manager.control, self.name, *_OUTCOME
                    )
        except TimeoutError:
            # systemd is too busy to reap it: what is known has to do.
            pass
        return shown

    async def discard(self) -> None:
        """Have systemd forget the ended unit, so that its name is free."""
        for verb in ("stop", "reset-failed"):
            await asyncio.to_thread(_try, (*self._manager.control, verb, self.name))


class _Channel:
    """The named pipes between the daemon and a unit that is being born."""

    def __init__(self, spec: ServerSpec) -> None:
        self.environment = spec.home / ".byre-environment"
        self.stdin = spec.home / ".byre-stdin" if spec.socket is None else None
        self.stdout = spec.home / ".byre-stdout" if spec.socket is None else None
        self._held: list[int] = []

    def make(self) -> None:
        """Make the pipes, and hold what must be open before the unit opens its side."""
        self.unlink()
        for path in (self.environment, self.stdin, self.stdout):
            if path is not None:
                reach("before", "mkfifo")
                os.mkfifo(path, stat.S_IRUSR | stat.S_IWUSR)
                reach("after", "mkfifo")
        if self.stdin is not None and self.stdout is not None:
            # Both ends: otherwise systemd's opening, or ours, would wait for the other's.
            self._held = [os.open(path, os.O_RDWR) for path in (self.stdin, self.stdout)]

    async def give(self, text: str) -> None:
        """Hand the environment to the unit once it asks; raises OSError when it does not."""
        async with asyncio.timeout(ENTER_LIMIT):
            descriptor = _open_for_reader(self.environment)
            while descriptor is None:
                await asyncio.sleep(ENTER_PAUSE)
                descriptor = _open_for_reader(self.environment)
        await asyncio.to_thread(_write_all, descriptor, text.encode())

    async def connect(self) -> Pipes | None:
        """Turn our ends into streams; the server's death is then the end of both."""
        if self.stdin is None or self.stdout is None:
            return None
        source = os.open(self.stdout, os.O_RDONLY | os.O_NONBLOCK)
        sink = os.open(self.stdin, os.O_WRONLY | os.O_NONBLOCK)
        return await connect(os.fdopen(sink, "wb", 0), os.fdopen(source, "rb", 0))

    def close(self) -> None:
        """Close what was held open for the birth, and remove the pipes' names."""
        while self._held:
            os.close(self._held.pop())
        self.unlink()

    def unlink(self) -> None:
        """Remove the pipes' names; whoever has them open keeps them."""
        for path in (self.environment, self.stdin, self.stdout):
            if path is not None:
                path.unlink(missing_ok=True)


def _open_for_reader(path: Path) -> int | None:
    try:
        return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return None
        raise


def _write_all(descriptor: int, data: bytes) -> None:
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def environment(spec: ServerSpec) -> str:
    """Write a server's environment as assignments for a shell; raises LaunchError."""
    lines = []
    for name, value in {**spec.env, "CODEX_HOME": str(spec.home)}.items():
        if not name.isidentifier() or not name.isascii():
            raise LaunchError(
                f"cannot start the server of task {spec.task_id}: systemd's shell cannot pass on a "
                f"variable called {name!r}; leave it out of the environment"
            )
        lines.append(f"export {name}={shlex.quote(value)}\n")
    return "".join(lines)


def _options(spec: ServerSpec, unit: str, channel: _Channel) -> list[str]:
    limits = spec.limits or Limits()
    properties: Mapping[str, object] = {
        "Description": f"byred's task {spec.task_id}",
        "WorkingDirectory": spec.cwd,
        "StandardInput": f"file:{channel.stdin}" if channel.stdin else "null",
        "StandardOutput": f"file:{channel.stdout}" if channel.stdout else "null",
        "StandardError": f"append:{spec.stderr}",
        "LimitNOFILE": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        "CPUAccounting": "yes",
        "MemoryAccounting": "yes",
        # The kernel ends the biggest process, a compiler say; that alone is no end of the agent.
        "OOMPolicy": "continue",
        "TimeoutStopSec": STOP_SECONDS,
        # Keeps the exit status until somebody has asked for it.
        "RemainAfterExit": "yes",
        "MemoryMax": limits.memory_max or "infinity",
        "TasksMax": limits.pids_max or "infinity",
        "CPUWeight": limits.cpu_weight or "",
    }
    return [
        f"--unit={unit}",
        *_IN_SLICE,
        *(f"--property={name}={value}" for name, value in properties.items()),
    ]


def _command(spec: ServerSpec, channel: _Channel) -> list[str]:
    words = ["/usr/bin/env", "-i", "/bin/sh", "-c", _RECEIVE, str(channel.environment)]
    # systemd would replace variables in the words.
    return [word.replace("$", "$$") for word in (*words, *spec.argv)]


def _exit(shown: Mapping[str, str]) -> Exit | None:
    status = shown.get("ExecMainStatus", "")
    if not status.isdigit() or shown.get("ExecMainCode", "0") == "0":
        return None
    killed = shown["ExecMainCode"] in (_KILLED, _DUMPED)
    return describe(-int(status) if killed else int(status))


def _show(control: Sequence[str], unit: str, *properties: str) -> dict[str, str]:
    done = _try(
        (*control, "show", *((unit,) if unit else ()), f"--property={','.join(properties)}")
    )
    lines = done.stdout.decode(errors="replace").splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def _try(argv: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=CALL_LIMIT, check=False
        )
    except OSError as error:
        raise LaunchError(f"cannot run {argv[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired:
        raise LaunchError(
            f"cannot run {argv[0]}: no answer within {CALL_LIMIT:g} s; see whether systemd answers "
            "at all: systemctl is-system-running"
        ) from None


async def _call(argv: Sequence[str], purpose: str) -> None:
    done = await asyncio.to_thread(_try, argv)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip() or f"status {done.returncode}"
        raise LaunchError(f"cannot {purpose}: {said}; see byre doctor")
