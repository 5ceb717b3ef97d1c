"""A task's worktree: made so that it can't be half there, and mended when something left it so.

Owns making, finding, checking and describing a worktree. Keeping its state at the end of a turn is
`checkpoint`'s, taking it away without loss is `removal`'s.

A new tree is built beside its place, in `.making/`, with the repository locked only for the short
commands that write to the common directory; then it is renamed into place. So a directory at a
task's path is a whole one.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from byred.workspace.errors import Kind, WorkspaceError, reporting
from byred.workspace.git import LONG, git, printable
from byred.workspace.guard import in_tree
from byred.workspace.keeping.putback import put_files, put_head
from byred.workspace.keeping.snapshot import Snapshot
from byred.workspace.lock import PATIENCE, file_lock, repository_lock
from byred.workspace.owner import hold, holder
from byred.workspace.repository import Repository
from byred.workspace.results.changes import Commit, Result, Who, diff, status
from byred.workspace.trees.making import (
    Wanted,
    check_branch_name,
    checked_out,
    populate,
    recorded_branch,
    register,
)
from byred.workspace.trees.mending import ASIDE, clear_locks, find
from byred.workspace.trees.pool import adjust, claim, ground_of, remember
from byred.workspace.trees.registration import relocate
from byred.workspace.trees.submodules import follow

__all__ = [
    "Commit",
    "Result",
    "Start",
    "Who",
    "Worktree",
    "check",
    "diff",
    "ensure",
    "place",
    "status",
]

MAKING = ".making"
"""The folder beside the worktrees in which they are built: nothing in it was ever an agent's."""


@dataclass(frozen=True)
class Worktree:
    """A linked worktree that was checked.

    `git_dir` is its own git directory, `branch` the branch made for it (not always the one that
    was asked for: see `ensure`), `created` whether this call made it, and `mended` says in
    sentences what was found broken and put right.
    """

    path: Path
    git_dir: Path
    branch: str
    created: bool
    mended: tuple[str, ...] = ()


@dataclass(frozen=True)
class Start:
    """What a new tree holds: a snapshot's files and index, and its HEAD too if `with_head`.

    `lender` is the git directory (or what was kept of it) that the snapshot's submodules are in.
    """

    snapshot: Snapshot
    lender: Path | None = None
    with_head: bool = False


@reporting("make the worktree")
async def ensure(
    repo: Repository,
    *,
    task_id: int | str,
    path: Path,
    branch: str,
    base_commit: str,
    root: Path,
    workers: int = 0,
    start: Start | None = None,
    pool: Path | None = None,
) -> Worktree:
    """Make the worktree at `path` on `branch` from `base_commit`, or find and mend the one there.

    A worktree that is there is never changed in its files: an agent's work is in it. A branch
    that exists and builds on `base_commit` is taken up again; when it is checked out elsewhere,
    was given to another task, or holds something else, the first free one of `branch-2`,
    `branch-3`, … is used and said in `mended`. `task_id` is the task's name in the repository (see
    `owner`). `workers` is git's `checkout.workers` (0: one per core). `start` is what a new tree
    is to hold instead of the branch's files. `pool` is the folder of trees made ahead; one is
    claimed if there is one.

    Raises WorkspaceError: `invalid` when `path` would leave `root` or the branch's name is not
    one, `conflict` when what is at `path` belongs to something else.
    """
    await check_branch_name(repo, branch)
    path = await asyncio.to_thread(place, path, root)
    making = path.parent / MAKING / path.name
    await asyncio.to_thread(making.parent.mkdir, exist_ok=True)
    wanted = Wanted(path, making, branch, base_commit, str(task_id))
    mended: list[str] = []
    ground = None if pool is None else await ground_of(repo)
    async with file_lock(making.with_name(f"{making.name}.guard"), timeout=LONG, passing=True):
        async with repository_lock(repo.common_dir):
            admin = await find(repo, wanted, mended)
            created = admin is None
            claimed = None
            if admin is not None:
                await asyncio.to_thread(_check_holder, wanted, admin)
                for lock in await clear_locks(admin, patience=PATIENCE):
                    mended.append(f"a git process that is dead had left {lock}")  # noqa: PERF401 - the list is the caller's
            elif pool is not None and ground is not None:
                claimed = await claim(repo, pool, wanted, ground, mended)
            if admin is None:
                admin = claimed.admin if claimed else await register(repo, wanted, mended)
        if not await asyncio.to_thread(path.exists):
            if claimed is None:
                await populate(making, admin, workers=workers)
            elif not claimed.exact:
                await adjust(making, workers=workers)
            if created and ground is not None:
                await asyncio.to_thread(remember, admin, ground)
            if created and start is not None:
                await _begin(repo, wanted, start)
            await asyncio.to_thread(relocate, admin, making, path)
        await follow(admin, path, former=(making,))
    await check(repo, path)
    actual = await asyncio.to_thread(recorded_branch, admin)
    return Worktree(path, admin, actual or branch, created, tuple(mended))


async def _begin(repo: Repository, wanted: Wanted, start: Start) -> None:
    at = await in_tree(wanted.making)
    aside = wanted.path.parent / ASIDE
    await put_files(at, start.snapshot, aside=aside, lender=start.lender)
    if start.with_head:
        places = await checked_out(repo)
        elsewhere = {f"refs/heads/{name}" for name, tree in places.items() if tree != wanted.making}
        await put_head(at, start.snapshot, elsewhere=frozenset(elsewhere))


async def check(repo: Repository, path: Path) -> None:
    """Make sure that git, started in `path`, works in that tree of that repository and no other.

    Raises WorkspaceError(`conflict`) otherwise: an agent must not start there.
    """
    asked = ("rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir")
    told = await git(*asked, cwd=path)
    common = told.removeprefix(f"{path}\n")
    if common == told or not await asyncio.to_thread(repo.common_dir.samefile, common):
        where = printable(" of ".join(told.split("\n")))
        message = (
            f"cannot use the worktree {path}: git there works in {where}; "
            "move the folder away and try again"
        )
        raise WorkspaceError(message, Kind.CONFLICT)


def _check_holder(wanted: Wanted, admin: Path) -> None:
    """Make sure that a worktree that is there is the task's; say so of one from before `owner`."""
    branch = recorded_branch(admin)
    if branch is None:
        return
    common = admin.parent.parent
    name = holder(common, branch)
    if name is None:
        hold(common, branch, wanted.name)
    elif name != wanted.name:
        message = (
            f"cannot use {wanted.path}: it is the worktree of task {name}, of another byred; give "
            "each its own workspace.root"
        )
        raise WorkspaceError(message, Kind.CONFLICT)


def place(path: Path, root: Path) -> Path:
    """Return `path` with its links resolved, its parent made; refuse one outside `root`.

    Raises WorkspaceError: `invalid` when it is outside, `conflict` when no directory is there.
    """
    root.mkdir(parents=True, exist_ok=True)
    inside = root.resolve(strict=True)
    folder = path.parent.resolve()
    if not path.is_absolute() or path.name in {"", ".."} or path.name.startswith("."):
        message = f"cannot make a worktree at {path}: give an absolute path with a plain last name"
        raise WorkspaceError(message, Kind.INVALID)
    # Asked twice: making the folders could follow a link that was put there meanwhile.
    for _ in range(2):
        if not folder.is_relative_to(inside):
            message = f"cannot make a worktree at {path}: {folder} is outside of {inside}"
            raise WorkspaceError(message, Kind.INVALID)
        folder.mkdir(parents=True, exist_ok=True)
        folder = folder.resolve(strict=True)
    found = folder / path.name
    if found.is_symlink() or (found.exists() and not found.is_dir()):
        message = f"cannot make a worktree at {found}: something else is there; move it away"
        raise WorkspaceError(message, Kind.CONFLICT)
    return found
