"""Find the worktree that belongs at a place, and put right what others left there.

Owns the list of broken situations. Runs with the repository locked. Deletes no file that could be
anybody's work: what is in the way is moved aside, what is there is kept.
"""

import asyncio
import contextlib
import time
from pathlib import Path

from byred.workspace.errors import Kind, WorkspaceError
from byred.workspace.git import LONG, git, run_git
from byred.workspace.lock import clear_stale
from byred.workspace.repository import Repository
from byred.workspace.trees.making import Wanted, recorded_branch, register
from byred.workspace.trees.registration import (
    admin_of,
    claimed_by,
    point,
    registered_at,
    shared_folder,
    sweep,
)
from byred.workspace.trees.submodules import follow

ASIDE = ".aside"
"""The folder beside the worktrees to which files go that are in the way."""


async def find(repo: Repository, wanted: Wanted, mended: list[str]) -> Path | None:
    """Return the git directory of the worktree that belongs at its path, or None: that is free.

    When only the registration was left, `wanted.making` holds a tree without files for it. What
    was put right is added to `mended`.

    Raises WorkspaceError(`conflict`) when what is there belongs to something else.
    """
    path, making = wanted.path, wanted.making
    known = await asyncio.to_thread(sweep, repo.common_dir, making, path)
    registered = registered_at(known, path)
    if not await asyncio.to_thread(path.exists):
        if registered is None:
            return None
        return await _bring_back(repo, registered.admin, path, making, mended)
    if await asyncio.to_thread((path / ".git").is_dir):
        message = f"cannot use {path}: it is a repository of its own; move it away"
        raise WorkspaceError(message, Kind.CONFLICT)
    admin = await asyncio.to_thread(admin_of, path)
    if admin is None:
        if registered is None or not await _has_head(registered.admin):
            await asyncio.to_thread(_free_place, path, mended)
            return None
        await asyncio.to_thread(point, registered.admin, path)
        mended.append(f"{path} had lost its .git file")
        return registered.admin
    if admin.parent != repo.common_dir / "worktrees":
        message = f"cannot use {path}: it is a worktree of {admin}; move it away"
        raise WorkspaceError(message, Kind.CONFLICT)
    if not await asyncio.to_thread(admin.exists):
        admin = await _register_again(repo, wanted)
        mended.append(f"the registration of {path} had been pruned; its files are as they were")
    elif registered is None or registered.admin != admin:
        before = await asyncio.to_thread(_claim, admin, path)
        await follow(admin, path, former=() if before is None else (before,))
        mended.append(f"{path} had been moved behind git's back")
    if not await _has_head(admin):
        message = (
            f"cannot use {path}: its HEAD can't be read; see `git worktree list` in {repo.root}"
        )
        raise WorkspaceError(message, Kind.CONFLICT)
    return admin


async def clear_locks(admin: Path, *, patience: float = 0.0) -> list[Path]:
    """Remove the lock files that dead processes left on what is one worktree's alone.

    That is its own git directory, and the branches that it has out or was made for: an agent that
    was killed in the middle of a commit could never commit there again.
    """
    locks, places = await asyncio.to_thread(_locks_of, admin)
    return await clear_stale(locks, places=places, youngest=0.0, patience=patience)


def _locks_of(admin: Path) -> tuple[list[Path], list[Path]]:
    """Return the locks, and the places where whoever holds one works."""
    common = admin.parent.parent
    refs = {f"refs/heads/{branch}" for branch in (recorded_branch(admin),) if branch}
    with contextlib.suppress(FileNotFoundError):
        head = (admin / "HEAD").read_text("utf-8", "surrogateescape").strip()
        if head.startswith("ref: refs/heads/"):
            refs.add(head.removeprefix("ref: "))
    of_branches = (common / folder / f"{ref}.lock" for ref in refs for folder in ("", "logs"))
    locks = [*admin.glob("*.lock"), *admin.glob("logs/**/*.lock")]
    locks += [
        lock for lock in of_branches if lock.exists() and lock.parent.resolve() == lock.parent
    ]
    tree = claimed_by(admin)
    return locks, [admin, common, *([] if tree is None else [tree])]


async def _bring_back(
    repo: Repository, admin: Path, path: Path, making: Path, mended: list[str]
) -> Path | None:
    """Prepare an empty tree for a registration whose directory is gone: its index is work too."""
    if not await _has_head(admin):
        aside = await asyncio.to_thread(shared_folder, repo.common_dir, "byre-aside")
        kept = await asyncio.to_thread(_set_aside, admin, aside)
        mended.append(f"{path} was registered without a HEAD; what there was is in {kept}")
        return None
    await asyncio.to_thread(making.mkdir)
    link = f"gitdir: {admin}\n"
    await asyncio.to_thread((making / ".git").write_text, link, "utf-8", "surrogateescape")
    mended.append(f"{path} was gone; its files come back from its index")
    return admin


async def _register_again(repo: Repository, wanted: Wanted) -> Path:
    """Give files whose registration was pruned a new one, and leave every file as it is."""
    path, making = wanted.path, wanted.making
    fresh = await register(repo, wanted, [])
    await asyncio.to_thread(point, fresh, path)
    await asyncio.to_thread((making / ".git").unlink)
    await asyncio.to_thread(making.rmdir)
    await git("read-tree", "HEAD", cwd=path, timeout=LONG)
    return fresh


def _claim(admin: Path, path: Path) -> Path | None:
    """Point a registration at the directory that names it, unless that is a copy.

    Returns where it pointed before.
    """
    other = claimed_by(admin)
    if other is not None and other != path and admin_of(other) == admin:
        message = f"cannot use {path}: it is a copy of the worktree {other}; move it away"
        raise WorkspaceError(message, Kind.CONFLICT)
    point(admin, path)
    return other


async def _has_head(admin: Path) -> bool:
    """Say whether HEAD of this git directory names a commit that is there."""
    done = await run_git("--git-dir", str(admin), "rev-parse", "-q", "--verify", "HEAD^{commit}")
    return done.status == 0


def _free_place(path: Path, mended: list[str]) -> None:
    """Free a place from a directory that is no worktree."""
    try:
        path.rmdir()
    except OSError:
        kept = _set_aside(path, path.parent / ASIDE)
        mended.append(f"files that belong to no worktree were at {path}; they are in {kept} now")
    else:
        mended.append(f"an empty folder was at {path}")


def _set_aside(path: Path, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    kept = folder / f"{path.name}-{time.time_ns()}"
    path.rename(kept)
    return kept
