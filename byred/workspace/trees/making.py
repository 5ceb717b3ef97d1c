"""Make a new worktree beside its place: registration and branch first, then the files.

Owns the choice of a free branch and git's two steps. Where the tree ends up is `worktree`'s.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from byred.workspace.errors import GitError, Kind, WorkspaceError
from byred.workspace.git import LONG, ask_git, git, printable, run_git
from byred.workspace.owner import hold, holder
from byred.workspace.patience import patiently
from byred.workspace.repository import Repository
from byred.workspace.trees.registration import admin_of

_BRANCH_RECORD = "byre-branch"
_BRANCHES_TRIED = 50


@dataclass(frozen=True)
class Wanted:
    """A worktree that is to be: built at `making`, to end up at `path`.

    `name` is the task's in the repository.
    """

    path: Path
    making: Path
    branch: str
    base_commit: str
    name: str


async def register(repo: Repository, wanted: Wanted, mended: list[str]) -> Path:
    """Register a tree without files at `making`, on a branch; return its git directory.

    A branch that exists and builds on the base is taken up; when it is in use, another task's, or
    holds something else, the first free one of `branch-2`, `branch-3`, … is used, and `mended` says
    so.
    """
    making, branch = wanted.making, wanted.branch
    async for name, tip in free_branches(repo, wanted):
        new = [] if tip else ["--no-track", "-b", name]
        where = [*new, str(making), name if tip else wanted.base_commit]
        try:
            await patiently("worktree", "add", "--no-checkout", *where, cwd=repo.common_dir)
        except GitError as error:
            if tip is not None and "already" in error.stderr:
                continue  # a rebase in another worktree holds the branch without having it out
            raise
        say_which(branch, name, mended)
        admin = await asyncio.to_thread(admin_of, making)
        if admin is None:
            raise WorkspaceError(f"cannot find the registration of {making} that git just made")
        await asyncio.to_thread(record_branch, admin, name, wanted.name)
        return admin
    message = f"cannot find a free branch like {branch} in {repo.root}: delete some of them"
    raise WorkspaceError(message, Kind.CONFLICT)


async def free_branches(repo: Repository, wanted: Wanted) -> AsyncIterator[tuple[str, str | None]]:
    """Yield the branches that a task may be given, the best first, each with its tip if it exists.

    One that exists is free when it is no other task's, checked out nowhere, and builds on the base.
    """
    branch = wanted.branch
    used: dict[str, Path] | None = None
    names = (branch, *(f"{branch}-{number}" for number in range(2, _BRANCHES_TRIED)))
    for name in names:
        tip = await _tip(repo, name)
        if tip is None:
            yield name, tip
            continue
        if await asyncio.to_thread(holder, repo.common_dir, name) not in (None, wanted.name):
            continue
        if used is None:
            used = await checked_out(repo)
        if name not in used and await _builds_on(repo, tip, wanted.base_commit):
            yield name, tip


def say_which(wanted: str, got: str, mended: list[str]) -> None:
    """Add to `mended` when a task got another branch than the one that was meant for it."""
    if got != wanted:
        mended.append(f"the branch {wanted} is taken by something else; this one is {got}")


async def populate(making: Path, admin: Path, *, workers: int) -> None:
    """Write the files of a registered tree, from its index when it has one, else from HEAD.

    Needs no lock of the repository, so many trees are written side by side.
    """
    has_index = await asyncio.to_thread((admin / "index").exists)
    how = ["checkout-index", "--all", "--force", "--index"] if has_index else ["reset", "--hard"]
    args = ("-c", f"checkout.workers={workers}", *how, "--quiet")
    await patiently(*args, cwd=making, timeout=LONG)


async def check_branch_name(repo: Repository, branch: str) -> None:
    """Raise WorkspaceError(`invalid`) when git allows no branch of this name."""
    done = await run_git("check-ref-format", f"refs/heads/{branch}", cwd=repo.common_dir)
    if done.status != 0 or branch.startswith("-") or branch == "HEAD":
        message = f"cannot use {printable(branch)!r} as a branch: git does not allow this name"
        raise WorkspaceError(message, Kind.INVALID)


async def checked_out(repo: Repository) -> dict[str, Path]:
    """Return where each branch that is checked out anywhere is checked out."""
    listing = await git("worktree", "list", "--porcelain", "-z", cwd=repo.common_dir)
    places: dict[str, Path] = {}
    place = Path()
    for line in listing.split("\0"):
        word, _, rest = line.partition(" ")
        if word == "worktree":
            place = Path(rest)
        elif word == "branch":
            places[rest.removeprefix("refs/heads/")] = place
    return places


def record_branch(admin: Path, branch: str, name: str) -> None:
    """Write down that a branch is a task's, beside its worktree's HEAD as well.

    The agent may switch to another one.
    """
    hold(admin.parent.parent, branch, name)
    (admin / _BRANCH_RECORD).write_text(branch, "utf-8", "surrogateescape")


def recorded_branch(admin: Path) -> str | None:
    """Return the branch that was made for a worktree, if byred made it."""
    try:
        return (admin / _BRANCH_RECORD).read_text("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None


async def _tip(repo: Repository, branch: str) -> str | None:
    ref = f"refs/heads/{branch}"
    return await ask_git("rev-parse", "--quiet", "--verify", ref, cwd=repo.common_dir)


async def _builds_on(repo: Repository, tip: str, base: str) -> bool:
    done = await run_git("merge-base", "--is-ancestor", base, tip, cwd=repo.common_dir)
    return done.status == 0
