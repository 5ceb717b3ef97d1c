"""Bring a task's commits into another branch: fast-forward, merge, squash or rebase.

Owns the computing of the new commit, which happens in git's object store alone, so that a conflict
changes nothing anywhere; and moving the target branch to it, together with the files where the
branch is checked out. What happened to the task afterwards is the caller's.
"""

import asyncio
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from byred.workspace.errors import Kind, WorkspaceError, reporting
from byred.workspace.git import LONG, ask_git, fields, git, output, printable, run_git, text
from byred.workspace.home.environment import Identity
from byred.workspace.lock import repository_lock
from byred.workspace.patience import patiently
from byred.workspace.repository import Repository
from byred.workspace.results.advance import advance, finish_interrupted
from byred.workspace.trees.making import checked_out


class How(StrEnum):
    """How commits come into the target branch."""

    FAST_FORWARD = "ff"
    """The branch moves to the task's head, or nothing happens."""
    MERGE = "merge"
    """A merge commit, even where a fast-forward would do."""
    SQUASH = "squash"
    """One commit, by the author of the task's last one."""
    REBASE = "rebase"
    """Each commit again on top of the branch; merges and what is there already are left out."""


@dataclass(frozen=True)
class Merged:
    """What a merge did: the target branch went from `before` to `after` (the same: nothing new).

    `path` is the worktree whose files went along, None when the branch is checked out nowhere.
    """

    into: str
    before: str
    after: str
    path: Path | None


class MergeConflictError(WorkspaceError):
    """The two sides change the same lines; nothing was changed. `files` names where."""

    def __init__(self, message: str, files: tuple[str, ...]) -> None:
        """Keep the sentence and the files, which can be handed to the agent."""
        super().__init__(message, Kind.CONFLICT)
        self.files = files


@reporting("merge")
async def merge(
    repo: Repository,
    *,
    source: str,
    into: str | None = None,
    how: How = How.MERGE,
    message: str | None = None,
    committer: Identity | None = None,
) -> Merged:
    """Bring the commits of `source` into the branch `into` (None: the repository's default one).

    `message` is for a merge or squash commit. `committer` is who merges; None is whoever git's
    configuration names. When the branch is checked out its files go along, and it must be clean.

    Raises WorkspaceError: `not_found` for an unknown branch, `conflict` when the target is dirty
    or can't be fast-forwarded, MergeConflictError when both sides changed the same.
    """
    branch = await _target(repo, into)
    env = _as_committer(committer)
    before, tip = await _commits(repo, branch, source)
    after = await _new_commit(repo, before, tip, how, message, env, source)
    async with repository_lock(repo.common_dir, timeout=LONG):
        await finish_interrupted(repo)
        now, tip = await _commits(repo, branch, source)
        if now != before:  # somebody else came first
            before = now
            after = await _new_commit(repo, before, tip, how, message, env, source)
        path = (await checked_out(repo)).get(branch)
        if path is not None and not await asyncio.to_thread(path.is_dir):
            path = None  # registered, but its folder is gone
        if after != before and path is not None:
            await advance(repo, path, branch, before, after)
        elif after != before:
            why = ("-m", f"byre: {how} {printable(source)}")
            ref = f"refs/heads/{branch}"
            await patiently("update-ref", *why, ref, after, before, cwd=repo.common_dir)
        return Merged(branch, before, after, path)


async def conflicts(repo: Repository, *, source: str, into: str | None = None) -> tuple[str, ...]:
    """Return the files that would conflict if `source` were merged into `into`; changes nothing."""
    branch = await _target(repo, into)
    before, tip = await _commits(repo, branch, source)
    return (await _merge_trees(repo, before, tip))[1]


async def _target(repo: Repository, into: str | None) -> str:
    branch = into or repo.default_branch
    if branch is None:
        message = f"cannot merge: HEAD of {repo.root} is on no branch; name the one to merge into"
        raise WorkspaceError(message, Kind.INVALID)
    ref = f"refs/heads/{branch}"
    if await ask_git("rev-parse", "--quiet", "--verify", ref, cwd=repo.common_dir) is None:
        message = f"cannot merge into {printable(branch)!r}: {repo.root} has no such branch"
        raise WorkspaceError(message, Kind.NOT_FOUND)
    return branch


async def _commits(repo: Repository, branch: str, source: str) -> tuple[str, str]:
    before = await git("rev-parse", "--verify", f"refs/heads/{branch}", cwd=repo.common_dir)
    wanted = ("rev-parse", "--quiet", "--verify", "--end-of-options", f"{source}^{{commit}}")
    tip = await ask_git(*wanted, cwd=repo.common_dir)
    if tip is None:
        message = f"cannot merge {printable(source)!r}: {repo.root} has no such commit"
        raise WorkspaceError(message, Kind.NOT_FOUND)
    return before, tip


def _as_committer(who: Identity | None) -> dict[str, str]:
    if who is None:
        return {}
    both = {"GIT_AUTHOR_NAME": who.name, "GIT_AUTHOR_EMAIL": who.email}
    return both | {"GIT_COMMITTER_NAME": who.name, "GIT_COMMITTER_EMAIL": who.email}


async def _new_commit(
    repo: Repository,
    before: str,
    tip: str,
    how: How,
    message: str | None,
    env: dict[str, str],
    source: str,
) -> str:
    """Return the commit that the target branch is to move to."""
    base = await ask_git("merge-base", before, tip, cwd=repo.common_dir)
    if base == tip:
        return before
    if how is How.FAST_FORWARD:
        if base != before:
            refused = (
                f"cannot fast-forward to {printable(source)}: the branch has commits that it does "
                "not have; choose merge, squash or rebase"
            )
            raise WorkspaceError(refused, Kind.CONFLICT)
        return tip
    if how is How.REBASE:
        return await _replay(repo, before, tip, env)
    tree = await _clean_merge(repo, before, tip, source)
    if how is How.MERGE:
        said = message or f"Merge {printable(source)}"
        return await _commit(repo, tree, [before, tip], said, env)
    if tree == await git("rev-parse", f"{before}^{{tree}}", cwd=repo.common_dir):
        return before  # squashed before: there is nothing new in it
    author = await _author(repo, tip)
    said = message or await _summary(repo, before, tip)
    return await _commit(repo, tree, [before], said, env | author)


async def _replay(repo: Repository, onto: str, tip: str, env: dict[str, str]) -> str:
    """Make each commit again on top of `onto`, in the object store alone; return the last one."""
    args = ("rev-list", "--reverse", "--topo-order", "--no-merges", "--cherry-pick")
    listing = await git(*args, "--right-only", f"{onto}...{tip}", cwd=repo.common_dir, timeout=LONG)
    for commit in listing.splitlines():
        about, _, body = (
            await git(
                "log", "-1", "--encoding=UTF-8", "--format=%P%n%B", commit, cwd=repo.common_dir
            )
        ).partition("\n")
        parents = about.split()
        # A stand-in with the new tree and the old parent: then the base that git finds for the
        # two is that parent, and merging them is picking the commit.
        tree = await git("rev-parse", f"{onto}^{{tree}}", cwd=repo.common_dir)
        stand_in = await _commit(repo, tree, parents, "stand-in", env)
        subject = body.split("\n", 1)[0]
        picked = await _clean_merge(repo, stand_in, commit, f"{commit[:12]} ({subject})")
        if picked == tree:
            continue  # all of it is there already
        onto = await _commit(repo, picked, [onto], body, env | await _author(repo, commit))
    return onto


async def _clean_merge(repo: Repository, ours: str, theirs: str, what: str) -> str:
    tree, files = await _merge_trees(repo, ours, theirs)
    if tree is None:
        named = ", ".join(files)
        message = (
            f"cannot merge {printable(what)}: both sides changed {named}; nothing was changed. "
            "Let the agent merge the target into its branch, or resolve it by hand"
        )
        raise MergeConflictError(message, files)
    return tree


async def _merge_trees(
    repo: Repository, ours: str, theirs: str
) -> tuple[str | None, tuple[str, ...]]:
    """Return the merged tree and no files, or no tree and the files in conflict."""
    args = ("merge-tree", "--write-tree", "--allow-unrelated-histories", "--name-only", "-z")
    with tempfile.TemporaryDirectory(prefix="byre-merge-") as folder:
        env = await _with_attributes(repo, ours, Path(folder))
        asked = (*args, "--no-messages", ours, theirs)
        done = await run_git(*asked, cwd=Path(env["GIT_WORK_TREE"]), env=env, timeout=LONG)
    if done.status not in (0, 1):
        output(args, done)
    tree, *files = fields(text(done.stdout))
    if done.status == 0:
        return tree, ()
    return None, tuple(printable(name) for name in dict.fromkeys(files))


async def _with_attributes(repo: Repository, commit: str, folder: Path) -> dict[str, str]:
    """Return an environment in which git merges by the `.gitattributes` of `commit`.

    Git reads them from files only, so they are written to `folder`, and nothing else is.
    """
    tree = folder / "tree"
    tree.mkdir()
    env = {
        "GIT_DIR": str(repo.common_dir),
        "GIT_WORK_TREE": str(tree),
        "GIT_INDEX_FILE": str(folder / "index"),
    }
    await git("read-tree", commit, cwd=tree, env=env, timeout=LONG)
    pattern = ":(glob)**/.gitattributes"
    names = fields(await git("ls-files", "-z", "--", pattern, cwd=tree, env=env, timeout=LONG))
    if names:
        listing = "".join(f"{name}\0" for name in names)
        args = ("checkout-index", "-z", "--stdin", "--force", "--ignore-skip-worktree-bits")
        await git(*args, cwd=tree, env=env, input=listing, timeout=LONG)
    return env


async def _commit(
    repo: Repository, tree: str, parents: list[str], message: str, env: dict[str, str]
) -> str:
    options = [part for parent in parents for part in ("-p", parent)]
    args = ("-c", "i18n.commitEncoding=UTF-8", "commit-tree", tree, *options, "-F", "-")
    return await git(*args, cwd=repo.common_dir, env=env, input=f"{message.rstrip()}\n")


async def _author(repo: Repository, commit: str) -> dict[str, str]:
    shape = "--format=%an%x00%ae%x00%ad"
    args = ("log", "-1", "--encoding=UTF-8", "--date=raw", shape, commit)
    name, email, date = (await git(*args, cwd=repo.common_dir)).split("\0")
    return {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email, "GIT_AUTHOR_DATE": f"@{date}"}


async def _summary(repo: Repository, before: str, tip: str) -> str:
    """Return a message for a squash: the first commit's subject, then all of them."""
    args = ("log", "--reverse", "--topo-order", "--encoding=UTF-8", "--format=%s")
    subjects = (await git(*args, f"{before}..{tip}", cwd=repo.common_dir)).splitlines()
    if len(subjects) == 1:
        return await git("log", "-1", "--encoding=UTF-8", "--format=%B", tip, cwd=repo.common_dir)
    listing = "\n".join(f"* {subject}" for subject in subjects)
    return f"{subjects[0]}\n\n{listing}"
