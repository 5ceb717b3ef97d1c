"""Checkpoints: the tree at the end of each turn, under `refs/byre/checkpoints/TASK/NUMBER`.

Owns their names, and restoring one. A restore first keeps what is there, under
`refs/byre/restored/TASK/`, so that it can be undone as well.
"""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

from byred.workspace.errors import Kind, WorkspaceError, reporting
from byred.workspace.git import ask_git, git
from byred.workspace.guard import At, in_tree
from byred.workspace.keeping.putback import put_files, put_head
from byred.workspace.keeping.snapshot import Snapshot, load, take
from byred.workspace.lock import repository_lock
from byred.workspace.patience import patiently
from byred.workspace.repository import Repository
from byred.workspace.results.changes import DIFF_LIMIT, patch
from byred.workspace.trees.making import checked_out
from byred.workspace.trees.mending import ASIDE
from byred.workspace.trees.registration import admin_of
from byred.workspace.trees.worktree import Start, Worktree, check, ensure

ROOT = "refs/byre/checkpoints"
BEFORE_RESTORE = "refs/byre/restored"
KEPT_FOLDER = "byre-kept"
"""The folder in the common directory for the git directories of removed trees' submodules."""


@dataclass(frozen=True)
class Checkpoint:
    """One kept tree of a task: its number (the turn), its ref, and what was kept."""

    number: int
    ref: str
    snapshot: Snapshot


@reporting("keep the tree")
async def record(path: Path, *, task_id: int | str, number: int) -> Checkpoint:
    """Keep the tree at `path` as checkpoint `number`; the agent's index and HEAD stay untouched.

    The same number again replaces what was kept under it, and keeps that as a parent.
    """
    ref = ref_of(task_id, number)
    at = await in_tree(path)
    before = await at.commit(ref)
    also = [] if before is None else [before]
    subject = f"byre: checkpoint {number} of task {task_id}"
    return Checkpoint(number, ref, await take(at, subject=subject, ref=ref, also=also))


async def find(
    repo: Repository, *, task_id: int | str, number: int, commit: str | None = None
) -> Checkpoint:
    """Return a checkpoint: that at its ref, or the `commit` that is known to be it.

    Raises WorkspaceError(`not_found`), which names those that there are.
    """
    ref = ref_of(task_id, number)
    if commit is not None and await At(repo.common_dir).commit(commit) is not None:
        snapshot, _ = await load(At(repo.common_dir), commit)
        return Checkpoint(number, ref, snapshot)
    if await ask_git("rev-parse", "--quiet", "--verify", ref, cwd=repo.common_dir) is None:
        known = ", ".join(str(each) for each in await numbers(repo, task_id)) or "none"
        message = f"cannot find checkpoint {number} of task {task_id}; there are: {known}"
        raise WorkspaceError(message, Kind.NOT_FOUND)
    snapshot, _ = await load(At(repo.common_dir), ref)
    return Checkpoint(number, ref, snapshot)


async def numbers(repo: Repository, task_id: int | str) -> list[int]:
    """Return the numbers of a task's checkpoints, growing."""
    start = f"{ROOT}/{task_id}/"
    listing = await git("for-each-ref", "--format=%(refname)", start, cwd=repo.common_dir)
    names = [line.removeprefix(start) for line in listing.splitlines()]
    return sorted(int(name) for name in names if name.isdecimal())


@reporting("put the tree back")
async def restore(
    repo: Repository, path: Path, *, task_id: int | str, number: int, commit: str | None = None
) -> Checkpoint:
    """Make files, index and HEAD of the tree at `path` those of a checkpoint, as `find` does it.

    Everything that was there is kept before; the checkpoint returned is that (its number is 0).
    No agent may be at work in the tree.
    """
    wanted = await find(repo, task_id=task_id, number=number, commit=commit)
    await check(repo, path)
    at = await in_tree(path)
    branch = wanted.snapshot.branch
    tip = None if branch is None else await at.commit(branch)
    ref = f"{BEFORE_RESTORE}/{task_id}/{time.time_ns()}"
    subject = f"byre: before checkpoint {number} of task {task_id} was put back"
    before = await take(at, subject=subject, ref=ref, also=[tip] if tip else [])
    await put_files(at, wanted.snapshot, aside=path.parent / ASIDE)
    async with repository_lock(repo.common_dir):
        others = await checked_out(repo)
        elsewhere = frozenset(f"refs/heads/{name}" for name, at in others.items() if at != path)
        await put_head(at, wanted.snapshot, elsewhere=elsewhere)
    return Checkpoint(0, ref, before)


async def fork(
    repo: Repository,
    *,
    task_id: int | str,
    number: int,
    commit: str | None = None,
    source: Path,
    to: int | str,
    path: Path,
    branch: str,
    root: Path,
    workers: int = 0,
    pool: Path | None = None,
) -> Worktree:
    """Make a worktree for the task `to` on a new `branch` whose files are those of a checkpoint.

    The checkpoint is of the task `task_id`, found as `find` does it. The branch begins at the
    checkpoint's HEAD; what was uncommitted then is uncommitted here. `source` is the path of that
    task's own worktree: submodules are copied from it if it is still there, else from what was kept
    of it. Repeatable, as `ensure` is.

    Raises WorkspaceError(`not_found`) when there is no such checkpoint.
    """
    found = await find(repo, task_id=task_id, number=number, commit=commit)
    if found.snapshot.head is None:
        message = f"cannot fork task {task_id} at {number}: there was no commit then"
        raise WorkspaceError(message, Kind.CONFLICT)
    return await ensure(
        repo,
        task_id=to,
        path=path,
        branch=branch,
        base_commit=found.snapshot.head,
        root=root,
        workers=workers,
        start=Start(found.snapshot, await lender(repo, source, task_id)),
        pool=pool,
    )


async def lender(repo: Repository, source: Path, task_id: int | str) -> Path:
    """Return the git directory that a task's submodules are in, or what was kept of it."""
    admin = await asyncio.to_thread(admin_of, source)
    if admin is not None and await asyncio.to_thread(admin.is_dir):
        return admin
    return repo.common_dir / KEPT_FOLDER / str(task_id)


async def diff(
    repo: Repository, *, task_id: int | str, number: int, since: str, limit: int = DIFF_LIMIT
) -> str:
    """Return the patch from the commit `since` to a checkpoint's files."""
    found = await find(repo, task_id=task_id, number=number)
    return await patch(At(repo.common_dir), since, found.snapshot.commit, limit=limit)


async def forget(repo: Repository, task_id: int | str) -> int:
    """Delete a task's checkpoints, and what restores put aside; return how many refs went.

    What no other ref keeps is then gone for good, after git's own grace.
    """
    refs = [f"{place}/{task_id}/" for place in (ROOT, BEFORE_RESTORE)]
    listing = await git("for-each-ref", "--format=delete %(refname)", *refs, cwd=repo.common_dir)
    if listing:
        async with repository_lock(repo.common_dir):
            await patiently("update-ref", "--stdin", cwd=repo.common_dir, input=f"{listing}\n")
    return len(listing.splitlines())


def ref_of(task_id: int | str, number: int) -> str:
    """Return the ref of a checkpoint."""
    return f"{ROOT}/{task_id}/{number}"
