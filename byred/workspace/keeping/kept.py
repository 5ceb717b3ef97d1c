"""Take a worktree away without losing anything, and bring it back.

Owns `refs/byre/kept/TASK`: one commit from which everything is reachable that the worktree held
(files, index, HEAD, its branch, what only a reflog knew), with what undelete needs to know in its
message. What git directories of submodules held lies in `COMMON/byre-kept/TASK`.
"""

import asyncio
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from byred.workspace.errors import Kind, WorkspaceError, reporting
from byred.workspace.git import ask_git, git
from byred.workspace.guard import At, in_tree
from byred.workspace.keeping import checkpoint
from byred.workspace.keeping.checkpoint import KEPT_FOLDER
from byred.workspace.keeping.snapshot import Snapshot, keep_commit, load, take, tips_of
from byred.workspace.keeping.staging import DURABLE
from byred.workspace.lock import file_lock, repository_lock
from byred.workspace.owner import holder, release
from byred.workspace.patience import patiently
from byred.workspace.repository import Repository
from byred.workspace.trees.making import checked_out, recorded_branch
from byred.workspace.trees.pool import give_back
from byred.workspace.trees.registration import (
    admin_of,
    registered_at,
    registrations,
    remove_tree,
    shared_folder,
    sweep,
    take_out,
    unregister,
)
from byred.workspace.trees.worktree import MAKING, Start, Worktree, ensure, place

ROOT = "refs/byre/kept"


class _Note(msgspec.Struct, frozen=True):
    """What the commit's message says besides the snapshot's own."""

    path: str
    branch: str
    tip: str | None
    at: datetime


@dataclass(frozen=True)
class Kept:
    """A worktree that was taken away: `branch` was at `tip` (None: there was none)."""

    task_id: str
    ref: str
    commit: str
    path: Path
    branch: str
    tip: str | None
    at: datetime


@reporting("remove the worktree")
async def remove(
    repo: Repository,
    *,
    path: Path,
    root: Path,
    task_id: int | str,
    branch: str,
    now: datetime,
    delete_branch: bool = True,
    pool: Path | None = None,
) -> Kept:
    """Keep everything that the worktree at `path` and its branch hold, then remove them.

    No agent may be at work in the tree. `pool` is the folder of trees made ahead, which takes the
    files for a later task once they are scrubbed. A branch that is checked out elsewhere stays. A
    call that was interrupted is finished by the next; one more, when all is gone, returns what was
    kept.

    Raises WorkspaceError(`not_found`) when there is nothing to remove and nothing was kept.
    """
    path = await asyncio.to_thread(place, path, root)
    making = path.parent / MAKING / path.name
    await asyncio.to_thread(making.parent.mkdir, exist_ok=True)
    guard = making.with_name(f"{making.name}.guard")
    if await asyncio.to_thread(_is_there, repo, path):
        # Made whole first: what can't be read can't be kept.
        base = await _tip(repo, branch) or await git("rev-parse", "HEAD", cwd=repo.common_dir)
        await ensure(repo, task_id=task_id, path=path, branch=branch, base_commit=base, root=root)
    async with file_lock(guard, passing=True):
        tree = await asyncio.to_thread(_is_there, repo, path)
        if tree:
            recorded = await asyncio.to_thread(lambda: recorded_branch(_admin(path)))
            branch = recorded or branch
        elif await asyncio.to_thread(holder, repo.common_dir, branch) not in (None, str(task_id)):
            delete_branch = False
        tip = await _tip(repo, branch)
        note = _Note(str(path), branch, tip, now)
        if tree:
            await _keep_tree(path, task_id, note)
        elif tip is not None and delete_branch:
            await _keep_branch(repo, task_id, note)
        async with repository_lock(repo.common_dir):
            await asyncio.to_thread(sweep, repo.common_dir, making, path)
            if tree:
                await asyncio.to_thread(_take_away, repo, path, making, task_id, pool)
            if tip is not None and delete_branch and branch not in await checked_out(repo):
                ref = f"refs/heads/{branch}"
                await patiently("update-ref", "-d", ref, tip, cwd=repo.common_dir)
                await asyncio.to_thread(release, repo.common_dir, branch)
    return await find(repo, task_id, path)


async def undelete(
    repo: Repository, *, task_id: int | str, path: Path, root: Path, workers: int = 0
) -> Worktree:
    """Bring back at `path` what was kept of a task: branch, HEAD, index and files.

    Raises WorkspaceError(`not_found`) when nothing was kept.
    """
    kept = await find(repo, task_id, path)
    snapshot, _ = await load(At(repo.common_dir), kept.commit)
    tip = kept.tip or snapshot.head
    if tip is None:
        message = f"cannot bring back task {task_id}: it had no commit; see {kept.ref}"
        raise WorkspaceError(message, Kind.CONFLICT)
    folder = repo.common_dir / KEPT_FOLDER / kept.task_id
    on_branch = snapshot.branch == f"refs/heads/{kept.branch}" and snapshot.head == tip
    return await ensure(
        repo,
        task_id=task_id,
        path=path,
        branch=kept.branch,
        base_commit=tip,
        root=root,
        workers=workers,
        start=Start(snapshot, lender=folder, with_head=not on_branch),
    )


async def find(repo: Repository, task_id: int | str, path: Path | None = None) -> Kept:
    """Return what was kept of a task, whose worktree was at `path`.

    Raises WorkspaceError(`not_found`) when nothing was.
    """
    kept = await _find(repo, str(task_id))
    number, at, _ = str(task_id).partition("@")
    if kept is None and at and path is not None:
        # Before there were owners, every byred kept a task under its plain number.
        before = await _find(repo, number)
        kept = before if before is not None and before.path == path else None
    if kept is None:
        message = f"cannot find anything kept of task {task_id} in {repo.root}"
        raise WorkspaceError(message, Kind.NOT_FOUND)
    return kept


async def _find(repo: Repository, name: str) -> Kept | None:
    ref = f"{ROOT}/{name}"
    if await ask_git("rev-parse", "--quiet", "--verify", ref, cwd=repo.common_dir) is None:
        return None
    snapshot, told = await load(At(repo.common_dir), ref)
    note = msgspec.convert(told, _Note)
    return Kept(name, ref, snapshot.commit, Path(note.path), note.branch, note.tip, note.at)


@reporting("forget what was kept")
async def forget(repo: Repository, task_id: int | str) -> None:
    """Delete what was kept of a task, its checkpoints too; only ever because an owner set so.

    Nothing happens when nothing was kept.
    """
    await checkpoint.forget(repo, task_id)
    ref = f"{ROOT}/{task_id}"
    async with repository_lock(repo.common_dir):
        listing = await git(
            "for-each-ref", "--format=delete %(refname)", ref, f"{ref}.*", cwd=repo.common_dir
        )
        if listing:
            await patiently("update-ref", "--stdin", cwd=repo.common_dir, input=f"{listing}\n")
        await asyncio.to_thread(remove_tree, repo.common_dir / KEPT_FOLDER / str(task_id))


async def listed(repo: Repository) -> list[Kept]:
    """Return everything that is kept in a repository."""
    listing = await git("for-each-ref", "--format=%(refname)", f"{ROOT}/", cwd=repo.common_dir)
    names = [line.removeprefix(f"{ROOT}/") for line in listing.splitlines()]
    found = [await _find(repo, name) for name in names if "." not in name]
    return [kept for kept in found if kept is not None]


async def _keep_tree(path: Path, task_id: int | str, note: _Note) -> None:
    ref = f"{ROOT}/{task_id}"
    at = await in_tree(path)
    head = await at.commit("HEAD")
    known = [each for each in (head, note.tip) if each is not None]
    names = ["HEAD", *([] if note.tip is None else [f"refs/heads/{note.branch}"])]
    logs = [await at.git("reflog", "show", "--format=%H", name, "--") for name in names]
    past = [line for log in logs for line in log.splitlines()]
    also = [*([note.tip] if note.tip else []), *await tips_of(at, past, known=known)]
    before = await at.commit(ref)
    also += [] if before is None else [before]
    subject = f"byre: kept task {task_id}"
    await take(at, subject=subject, ref=ref, also=also, note=msgspec.to_builtins(note))


async def _keep_branch(repo: Repository, task_id: int | str, note: _Note) -> None:
    """Keep a branch that has no tree any more."""
    ref = f"{ROOT}/{task_id}"
    before = await ask_git("rev-parse", "--quiet", "--verify", ref, cwd=repo.common_dir)
    if before is not None:
        kept = await find(repo, task_id)
        if kept.tip == note.tip:
            return  # a removal that was cut after it had kept everything
    where = repo.common_dir
    tip = str(note.tip)
    tree = await git("rev-parse", f"{tip}^{{tree}}", cwd=where)
    snapshot = Snapshot("", tree, tip, f"refs/heads/{note.branch}", tree, (), ())
    subject = f"byre: kept task {task_id}"
    parents = [tip, *([] if before is None else [before])]
    told = msgspec.to_builtins(note)
    commit = await keep_commit(At(where), snapshot, parents=parents, subject=subject, note=told)
    await patiently(*DURABLE, "update-ref", ref, commit, cwd=where)


def _is_there(repo: Repository, path: Path) -> bool:
    """Say whether there is a worktree at `path`, or what is left of one."""
    return (
        admin_of(path) is not None
        or registered_at(registrations(repo.common_dir), path) is not None
    )


def _admin(path: Path) -> Path:
    admin = admin_of(path)
    if admin is None:
        raise WorkspaceError(f"cannot find the git directory of {path}; try again")
    return admin


def _take_away(
    repo: Repository, path: Path, making: Path, task_id: int | str, pool: Path | None
) -> None:
    """Remove a tree that is kept: out of its place in one step, then piece by piece."""
    admin = _admin(path)
    modules = admin / "modules"
    if modules.is_dir():
        folder = shared_folder(repo.common_dir, KEPT_FOLDER) / str(task_id)
        folder.mkdir(exist_ok=True)
        target = folder / "modules"
        if target.exists():
            target.rename(folder / f"modules-{modules.stat().st_mtime_ns}")
        shutil.move(modules, target)
    take_out(admin, path, making)
    if pool is not None and give_back(pool, making, admin):
        remove_tree(admin)
    unregister(repo.common_dir, making)


async def _tip(repo: Repository, branch: str) -> str | None:
    ref = f"refs/heads/{branch}"
    return await ask_git("rev-parse", "--quiet", "--verify", ref, cwd=repo.common_dir)
