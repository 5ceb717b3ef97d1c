"""Decide which ended tasks' worktrees go, and measure what they take.

Owns the plan, as plain values: the same plan is shown by a dry run and carried out. Taking one
away without loss is `kept`'s.
"""

import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from byred.workspace.errors import Kind, WorkspaceError


@dataclass(frozen=True)
class Candidate:
    """A worktree that there is: `ended_at` is None while its task has not ended."""

    task_id: str
    path: Path
    size: int
    ended_at: datetime | None


@dataclass(frozen=True)
class Limits:
    """How long, how many, and how many bytes in all; None is without limit."""

    age: timedelta | None = None
    count: int | None = None
    size: int | None = None


@dataclass(frozen=True)
class Decision:
    """What happens to a worktree, and why, as a sentence's end."""

    candidate: Candidate
    goes: bool
    why: str


@dataclass(frozen=True)
class Outcome:
    """What became of a worktree that was to go: `error` says why it is still there."""

    candidate: Candidate
    error: str | None


def plan(candidates: Iterable[Candidate], limits: Limits, now: datetime) -> list[Decision]:
    """Decide about every worktree; the youngest stay, of tasks that have not ended all do."""
    decisions = []
    ended = []
    count = size = 0
    for each in candidates:
        if each.ended_at is None:
            decisions.append(Decision(each, goes=False, why="its task has not ended"))
            size += each.size
        else:
            ended.append((each.ended_at, each))
    for ended_at, each in sorted(ended, key=lambda pair: (pair[0], pair[1].task_id), reverse=True):
        why = None
        if limits.age is not None and now - ended_at > limits.age:
            why = f"it ended more than {limits.age} ago"
        elif limits.count is not None and count >= limits.count:
            why = f"{limits.count} younger ones are there"
        elif limits.size is not None and size + each.size > limits.size:
            why = f"with it the worktrees would take more than {limits.size} bytes"
        decisions.append(Decision(each, goes=why is not None, why=why or "it is within the limits"))
        if why is None:
            count += 1
            size += each.size
    return decisions


async def apply(
    decisions: Sequence[Decision], remove: Callable[[Candidate], Awaitable[object]]
) -> list[Outcome]:
    """Carry out a plan; one that can't be removed doesn't keep the others."""
    outcomes = []
    for decision in decisions:
        if not decision.goes:
            continue
        try:
            await remove(decision.candidate)
        except WorkspaceError as error:
            outcomes.append(Outcome(decision.candidate, error.message))
        else:
            outcomes.append(Outcome(decision.candidate, None))
    return outcomes


def disk_usage(path: Path) -> int:
    """Return the bytes that a tree takes on the disk; what vanishes meanwhile counts nothing."""
    total = 0
    seen: set[tuple[int, int]] = set()
    folders = [path]
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
        except (FileNotFoundError, PermissionError, NotADirectoryError):
            continue
        for entry in entries:
            try:
                stat = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if stat.st_nlink > 1 and not entry.is_dir(follow_symlinks=False):
                if (stat.st_dev, stat.st_ino) in seen:
                    continue
                seen.add((stat.st_dev, stat.st_ino))
            total += stat.st_blocks * 512
            if entry.is_dir(follow_symlinks=False):
                folders.append(Path(entry.path))
    return total


def check_floor(path: Path, floor: int) -> None:
    """Make sure that `floor` bytes are free where `path` is.

    Raises WorkspaceError(`limit`): nothing new may start then.
    """
    there = next(each for each in (path, *path.parents) if each.exists())
    stat = os.statvfs(there)
    free = stat.f_bavail * stat.f_frsize
    if free < floor:
        message = (
            f"cannot start: {free} bytes are free on the disk of {there}, and {floor} must stay "
            "so; run `byre gc`"
        )
        raise WorkspaceError(message, Kind.LIMIT)
