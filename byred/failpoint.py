"""Failpoints: every place at which this process may be killed between two things that it does.

A place is named by the function of byred that acts, the moment, and what it does:
`workspace.trees.making.register amid git worktree`. Files, processes and sockets are seen by an
audit hook of the interpreter, so that a new side effect has its failpoint from the start; what the
interpreter does not tell of (commits, messages, signals through a pidfd) says so itself by `reach`.
`tests/failpoints` goes through them one by one.

All of it is off, and then free, unless the environment says otherwise when this module is imported:
`BYRE_FAILPOINT` is the name at which to die by SIGKILL (`NAME#2`: when it is reached for the second
time), `BYRE_FAILPOINTS_SEEN` a file to which the names are written as they are reached.
"""

import asyncio
import contextvars
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

ARMED = "BYRE_FAILPOINT"
SEEN = "BYRE_FAILPOINTS_SEEN"

PLUMBING = frozenset(
    {
        "byred.failpoint",
        "byred.store.database",
        "byred.store.patience",
        "byred.store.writer",
        "byred.workspace.git",
        "byred.workspace.guard",
        "byred.workspace.patience",
        "byred.workspace.process",
    }
)
"""Modules through which others act: the place is their caller's."""

PLUMBING_OF_MESSAGES = PLUMBING | {
    f"byred.codex.{name}" for name in ("connection", "functions", "session", "thread", "turn")
}
"""The codex client, too, says what others want to be said."""

READING = frozenset(
    {
        "cat-file",
        "check-ref-format",
        "config --get",
        "config --list",
        "config --null",
        "diff",
        "for-each-ref",
        "log",
        "ls-files",
        "ls-tree",
        "merge-base",
        "reflog show",
        "rev-list",
        "rev-parse",
        "show-ref",
        "status",
        "show",
        "symbolic-ref --quiet",
        "version",
        "worktree list",
    }
)
"""Git commands that change nothing."""

AUDITED = {
    "open": "write",
    "os.chmod": "chmod",
    "os.chown": "chown",
    "os.kill": "signal",
    "os.killpg": "signal",
    "os.link": "link",
    "os.mkdir": "mkdir",
    "os.remove": "remove",
    "os.rename": "rename",
    "os.rmdir": "rmdir",
    "os.symlink": "link",
    "os.truncate": "write",
    "os.utime": "touch",
    "socket.bind": "bind",
    "socket.connect": "connect",
    "subprocess.Popen": "run",
}
"""What the interpreter tells of before it is done, and what it is called in a name."""

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_MOST_NOTED = 3

_caller: contextvars.ContextVar[str] = contextvars.ContextVar("caller", default="")


class _Points:
    """The failpoints of this process, when they are on."""

    def __init__(self, armed: str, seen: str) -> None:
        self._name, _, number = armed.partition("#")
        self._deadly = int(number or 1)
        self._counts: dict[str, int] = {}
        self._lock = threading.Lock()
        self._file = os.open(seen, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600) if seen else None
        self._to_thread = asyncio.to_thread

    def install(self) -> None:
        """Hear of what the interpreter does, and know who sent it to another thread."""
        asyncio.to_thread = self._to_thread_of_caller
        sys.addaudithook(self._audit)

    def reach(self, moment: str, effect: str | Sequence[str], place: str = "") -> None:
        """Die here if this is the place; see `reach`."""
        if not isinstance(effect, str):
            effect = name_of_command(effect)
        if effect:
            self._reach(f"{place or here()} {moment} {effect}")

    def _reach(self, name: str) -> None:
        with self._lock:
            count = self._counts[name] = self._counts.get(name, 0) + 1
            dies = name == self._name and count == self._deadly
            if self._file is not None and (dies or count <= _MOST_NOTED):
                os.write(self._file, f"{'died at ' if dies else ''}{name}\n".encode())
            if dies:
                # Under the lock: no other thread comes past a failpoint before the signal is there.
                signal.raise_signal(signal.SIGKILL)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        kind = AUDITED.get(event)
        if kind is None or not _changes_something(event, arguments):
            return
        place = here(PLUMBING)
        if not place:
            return
        effect = name_of_command(arguments[1]) if event == "subprocess.Popen" else kind
        if effect:
            self._reach(f"{place} before {effect}")

    async def _to_thread_of_caller(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        token = _caller.set(here())
        try:
            return await self._to_thread(function, *args, **kwargs)
        finally:
            _caller.reset(token)


def _changes_something(event: str, arguments: tuple[Any, ...]) -> bool:
    if event != "open":
        return True
    path, mode, flags = arguments
    if isinstance(path, int) or "__pycache__" in str(path) or str(path) == os.devnull:
        return False
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return bool(flags & _WRITING)


def here(plumbing_is: frozenset[str] = PLUMBING_OF_MESSAGES) -> str:
    """Name the function of byred that acts now, plumbing aside; empty when none does."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the documented way to look at callers
    plumbing = ""
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module == "asyncio.events":
            # Whoever made the task is not who acts.
            break
        if module == "__main__" and frame.f_globals.get("__spec__") is not None:
            module = str(frame.f_globals["__spec__"].name)
        if module.startswith("byred."):
            function = frame.f_code.co_qualname.split(".<locals>")[0]
            place = f"{module.removeprefix('byred.')}.{function}"
            if module not in plumbing_is:
                return place
            if module != __name__:
                plumbing = place
        frame = frame.f_back
    return _caller.get() or plumbing


def name_of_command(argv: Sequence[str]) -> str:
    """Give what a command is called in a name, empty for a git command that changes nothing."""
    words = [os.fsdecode(word) for word in argv]
    if os.path.basename(words[0]) != "git":  # noqa: PTH119 - a word, not a file
        return "run"
    rest = words[1:]
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in ("-c", "-C", "--git-dir") else rest[1:]
    if not rest or rest[0] in READING or " ".join(rest[:2]) in READING:
        return ""
    # The second word tells `worktree add` from `worktree prune`.
    two = rest[:1] == ["worktree"] or rest[:1] == ["submodule"]
    return " ".join(["git", *rest[: 2 if two else 1]])


def _nothing(moment: str, effect: str | Sequence[str], place: str = "") -> None:
    """Do nothing: failpoints are off."""


def _nowhere() -> str:
    """Give no place: failpoints are off."""
    return ""


def _from_environment() -> _Points | None:
    # Taken out of the environment: no child of ours is to die by it.
    armed, seen = os.environ.pop(ARMED, ""), os.environ.pop(SEEN, "")
    if not armed and not seen:
        return None
    points = _Points(armed, seen)
    points.install()
    return points


_points = _from_environment()

reach: Callable[..., None] = _nothing if _points is None else _points.reach
"""Pass a failpoint: `reach(moment, effect)`; a command may be given as its argument list.

`place` is where it is, if not here: `mark()` of the function that gave the order.
"""

mark: Callable[[], str] = _nowhere if _points is None else here
"""Name the caller, for a failpoint that another thread passes for it."""
