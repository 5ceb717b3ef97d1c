"""One lock per repository across all processes, and the clean-up of locks that the dead left.

Owns byred's own lock file in the common directory (the kernel releases it at `kill -9`) and the
judgement whether one of git's `*.lock` files still has an owner.
"""

import asyncio
import contextlib
import fcntl
import os
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from stat import S_IROTH

from byred.workspace.errors import Kind, WorkspaceError

LOCK_NAME = "byre-lock"  # no `.lock` at the end: git's own suffix means something else
WAIT = 120.0
"""Seconds to wait for the lock: it is held for short git commands only, never for a checkout."""
_FIRST_PAUSE = 0.005
_LONGEST_PAUSE = 0.1
PATIENCE = 10.0
"""Seconds to wait for the end of git commands that may own a lock; those that take one are short,
a person's editor in the middle of a commit is not."""
_YOUNGEST_STALE = 3.0
"""Seconds of age below which a lock in the shared directory is left alone: its owner may be one
that /proc doesn't show us (another namespace)."""


@contextlib.asynccontextmanager
async def file_lock(
    path: Path,
    *,
    timeout: float = WAIT,  # noqa: ASYNC109 - the message names what was waited for
    passing: bool = False,
) -> AsyncIterator[None]:
    """Hold an exclusive lock on `path`, made when missing; other processes and tasks wait.

    `passing` removes the file at the end, for locks on things that come and go.

    Raises WorkspaceError(`infrastructure`) when it isn't free within `timeout` seconds.
    """
    # flock in a thread could not be cancelled, and thirty waiters would fill the pool that the
    # holder needs; so ask again, at growing distances.
    deadline = time.monotonic() + timeout
    pause = _FIRST_PAUSE
    while (descriptor := _try(path)) is None:
        if time.monotonic() >= deadline:
            message = (
                f"cannot lock {path} within {timeout:g} s: another process is working there; "
                f"see which with `fuser {path}`"
            )
            raise WorkspaceError(message, Kind.INFRASTRUCTURE)
        await asyncio.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)
    try:
        yield
    finally:
        if passing:
            path.unlink(missing_ok=True)  # noqa: ASYNC240 - one call, and the lock must go with it
        os.close(descriptor)


def repository_lock(
    common_dir: Path,
    *,
    timeout: float = WAIT,
) -> contextlib.AbstractAsyncContextManager[None]:
    """Hold the lock for everything that writes to a repository's common directory."""
    return file_lock(common_dir / LOCK_NAME, timeout=timeout)


def _try(path: Path) -> int | None:
    """Return the descriptor that holds the lock, or None when somebody else has it."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except PermissionError:
        # Another user's byred made it; to lock it, reading is enough.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        stat = os.fstat(descriptor)
        # Other users lock it, too, whatever our umask is; what they may reach is git's to say.
        if stat.st_uid == os.geteuid() and not stat.st_mode & S_IROTH:
            os.fchmod(descriptor, 0o644)
        if os.path.samestat(stat, path.stat()):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass  # held, or the holder removed the file that we had opened
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


async def clear_stale(
    locks: Iterable[Path],
    *,
    places: Iterable[Path],
    youngest: float = _YOUNGEST_STALE,
    patience: float = 0.0,
) -> list[Path]:
    """Remove those git lock files whose owner is dead; return them.

    A lock is stale when it is older than `youngest` seconds, no process has it open, and no git
    process that was there when the lock was seen works in one of `places` (the repository's
    directories); for the end of those this waits up to `patience` seconds. A lock from the future
    was made before the clock was put back.
    """
    seen = {path: identity for path in locks if (identity := _identity(path))}
    if not seen:
        return []
    # The order matters: whoever made a lock seen above was alive then, so when none of those found
    # now is left, its owner is dead. In a busy repository others are at work at any moment.
    held_by = await asyncio.to_thread(_owners, list(seen), [place.resolve() for place in places])
    deadline = time.monotonic() + patience
    while held_by and any(_identity(path) == identity for path, identity in seen.items()):
        if time.monotonic() >= deadline:
            return []
        await asyncio.sleep(_LONGEST_PAUSE)
        held_by = await asyncio.to_thread(_living, held_by)
    return await asyncio.to_thread(_remove, seen, youngest)


def _remove(seen: Mapping[Path, tuple[int, float]], youngest: float) -> list[Path]:
    gone = []
    for path, identity in seen.items():
        if identity != _identity(path) or abs(time.time() - identity[1]) < youngest:
            continue
        path.unlink(missing_ok=True)
        gone.append(path)
    return gone


def _identity(path: Path) -> tuple[int, float] | None:
    try:
        stat = path.lstat()
    except FileNotFoundError:
        return None
    return stat.st_ino, stat.st_mtime


def _owners(locks: list[Path], places: list[Path]) -> dict[Path, bytes]:
    """Return the processes that may own a lock, each with when it started."""
    processes = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return _living({each: b"" for each in processes if _may_own(each, locks, places)})


def _living(processes: Mapping[Path, bytes]) -> dict[Path, bytes]:
    """Return those that are still there, and not another process under the same number."""
    living = {}
    for process, known in processes.items():
        try:
            fields = (process / "stat").read_bytes().rpartition(b")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        state, started = fields[0], fields[19]
        if state not in (b"Z", b"X") and known in (b"", started):
            living[process] = started
    return living


def _may_own(process: Path, locks: list[Path], places: list[Path]) -> bool:
    """Say whether a process has one of the locks open, or is a git at work in the repository."""
    is_git = False
    try:
        is_git = (process / "comm").read_text().startswith("git")
        used = {_link(entry) for entry in (process / "fd").iterdir()}
        if is_git:
            used.add((process / "cwd").readlink())
    except PermissionError:
        return is_git  # another user's git: we can't see where it works
    except (FileNotFoundError, ProcessLookupError):
        return False
    if any(path in used for path in locks):
        return True
    return is_git and any(name.is_relative_to(place) for name in used for place in places)


def _link(entry: Path) -> Path:
    try:
        return entry.readlink()
    except FileNotFoundError:
        return entry  # closed since it was listed
