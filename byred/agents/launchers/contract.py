"""What every launcher promises: how a server is born, watched, ended and swept.

This module owns the words; `plain`, `pidns`, `cgroup` and `systemd` keep them. It knows nothing of
the protocol that is spoken on the streams and nothing of tasks' states.
"""

from asyncio import StreamReader, StreamWriter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from byred.agents.process import ProcessIdentity
from byred.core.errors import ByredError, Kind


class LaunchError(ByredError):
    """A server could not be started, or something of a task could not be ended."""

    kind = Kind.LIMIT


@dataclass(frozen=True, slots=True)
class Limits:
    """What one task may use, where controllers exist; None sets no limit.

    `memory_max` in bytes, `pids_max` in processes and threads, `cpu_weight` from 1 to 10000 (100 is
    what everybody else has).
    """

    memory_max: int | None = None
    pids_max: int | None = None
    cpu_weight: int | None = None


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """One server to start.

    `cwd` is a directory that stays (a server whose directory was deleted refuses the next thread).
    `env` is the complete environment; the launcher adds `CODEX_HOME`, by which a task's processes
    are known. `stderr` is appended to. With `socket` None the protocol runs over stdin and stdout
    and the server ends with its client; otherwise the server listens there and outlives the daemon.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    home: Path
    task_id: int
    stderr: Path
    socket: Path | None = None
    limits: Limits | None = None


@dataclass(frozen=True, slots=True)
class Exit:
    """How a server ended: an exit `code`, or the `signal` that ended it; both None when unknown.

    Unknown is what an adopted server's end is: the kernel tells a status to the parent alone.
    """

    code: int | None
    signal: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What a task used: `peak_memory` in bytes, `cpu_seconds` of all its processes.

    Without a cgroup they are less exact: the biggest single process, and what the kernel counted
    for the server and the children that it waited for.
    """

    peak_memory: int
    cpu_seconds: float


class Server(Protocol):
    """A running server and all that it started."""

    @property
    def identity(self) -> ProcessIdentity:
        """The process that stands for the server; stored before anything is said to it."""

    @property
    def spec(self) -> ServerSpec:
        """What it was started with."""

    @property
    def streams(self) -> tuple[StreamReader, StreamWriter] | None:
        """The server's stdout and stdin, or None when it listens on a socket."""

    async def wait(self) -> Exit:
        """Wait for the server's exit; many may wait, at any time, also afterwards."""

    async def close_input(self) -> None:
        """Close the server's stdin: the gentlest request to end. Nothing without streams."""

    async def terminate(self) -> None:
        """Send TERM to the server alone; nothing when it is gone."""

    async def kill_tree(self) -> None:
        """End everything that the task ever started; raises LaunchError when something stays."""

    async def is_empty(self) -> bool:
        """Tell whether nothing of the task runs any more, the server included."""

    async def usage(self) -> Usage | None:
        """Return what the task used so far, also after its end; None when unknown."""

    async def release(self) -> None:
        """Let go of streams and descriptors without touching the server; may be repeated."""


class Launcher(Protocol):
    """A way to bring servers to life such that all they start can be ended."""

    @property
    def name(self) -> str:
        """The launcher's name in the settings."""

    async def start(self, spec: ServerSpec) -> Server:
        """Start a server; raises LaunchError. A cancelled start leaves nothing behind."""

    async def adopt(self, identity: ProcessIdentity, spec: ServerSpec) -> Server | None:
        """Take over a server that outlived the daemon; None when it is gone or has no socket."""

    async def sweep(
        self, home: Path, identity: ProcessIdentity | None
    ) -> Sequence[ProcessIdentity]:
        """End whatever is left of the task with this home and return what was ended.

        `identity` is the server as it was stored, if it was. Raises LaunchError when something
        cannot be ended.
        """


__all__ = [
    "Exit",
    "LaunchError",
    "Launcher",
    "Limits",
    "ProcessIdentity",
    "Server",
    "ServerSpec",
    "Usage",
]
