"""Put a repository right after a crash, for what no task will ever ask for again.

Owns the sweep at start: moves of a checked-out branch that were cut, locks of dead git processes on
byred's own refs, trees that were being built for a task that doesn't go on. What a task does go on
with is mended by `worktree.ensure` and `kept.remove` themselves.
"""

import asyncio
from pathlib import Path

from byred.workspace.errors import WorkspaceError, reporting
from byred.workspace.lock import clear_stale, file_lock, repository_lock
from byred.workspace.repository import Repository
from byred.workspace.results.advance import finish_interrupted
from byred.workspace.trees.mending import clear_locks
from byred.workspace.trees.registration import registrations, sweep
from byred.workspace.trees.worktree import MAKING

_GUARD = ".guard"


@reporting("tidy the repository")
async def tidy(repo: Repository, folder: Path) -> list[str]:
    """Sweep a repository and the `folder` of its tasks' worktrees; repeatable at any time.

    Returns what was put right, a sentence each.

    Raises WorkspaceError(`conflict`) when a merge into a checkout was cut and can't be finished
    since a person went on there; everything else was swept then all the same.
    """
    done: list[str] = []
    for making in await asyncio.to_thread(_left_in, folder / MAKING):
        guard = making.with_name(f"{making.name}{_GUARD}")
        try:
            async with (
                file_lock(guard, timeout=0, passing=True),
                repository_lock(repo.common_dir),
            ):
                await asyncio.to_thread(sweep, repo.common_dir, making, folder / making.name)
                done.append(f"removed {making}, a tree that was never finished")
        except WorkspaceError:
            continue  # somebody is building it right now
    entries = await asyncio.to_thread(registrations, repo.common_dir)
    for known in entries:
        if known.path is not None and known.path.is_relative_to(folder):
            done += _told(await clear_locks(known.admin))
    async with repository_lock(repo.common_dir):
        refs = repo.common_dir / "refs" / "byre"
        locks = await asyncio.to_thread(lambda: list(refs.rglob("*.lock")))
        # Another byred may be at work in a tree of its own.
        trees = [entry.path for entry in entries if entry.path is not None]
        gone = await clear_stale(locks, places=(repo.common_dir, repo.root, *trees), youngest=0.0)
        done += _told(gone)
        if await finish_interrupted(repo):
            done.append("finished a move of a checked-out branch that was cut")
    return done


def _told(locks: list[Path]) -> list[str]:
    return [f"removed {lock}, the lock of a git process that is dead" for lock in locks]


def _left_in(folder: Path) -> list[Path]:
    """Return the trees in a folder of trees being built, guards without a tree included."""
    try:
        names = {entry.name.removesuffix(_GUARD) for entry in folder.iterdir()}
    except FileNotFoundError:
        return []
    return [folder / name for name in sorted(names)]
