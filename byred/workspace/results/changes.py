"""What a task changed, asked from git: commits, files, lines, and what is not committed yet.

Owns reading. Writes nothing to the worktree, its index or its HEAD, and takes none of git's locks,
so that it can run while the agent commits.
"""

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path

from byred.workspace.errors import WorkspaceError
from byred.workspace.git import LONG, fields, git, output, printable, run_git
from byred.workspace.guard import At, in_tree, inside_tree
from byred.workspace.keeping.snapshot import check_own
from byred.workspace.keeping.staging import add_all, gitlinks, scratch_index

LISTED = 1000
"""Uncommitted files that are named; beyond that they are only counted."""
DIFF_LIMIT = 16 * 1024 * 1024
"""Bytes of a diff that are returned; a cut one ends with a line that says so."""


@dataclass(frozen=True)
class Who:
    """A name and an address on a commit."""

    name: str
    email: str


@dataclass(frozen=True)
class Commit:
    """One commit of a task, `sha` in full."""

    sha: str
    author: Who
    committer: Who
    subject: str


@dataclass(frozen=True)
class Result:
    """What is different from the base.

    `head` is where the worktree is now. `commits` are those on HEAD and not on the base, the
    oldest first; files and lines are those between base and HEAD. `uncommitted` names the first
    `LISTED` files that differ from HEAD (untracked ones too), `uncommitted_count` counts all.
    """

    head: str
    commits: tuple[Commit, ...]
    files_changed: int
    insertions: int
    deletions: int
    dirty: bool
    uncommitted: tuple[str, ...]
    uncommitted_count: int


async def status(path: Path, base_commit: str) -> Result:
    """Describe the worktree at `path` against the commit that it started from."""
    at = await in_tree(path)
    head = await at.git("rev-parse", "HEAD")
    commits = await commits_between(path, f"{base_commit}..{head}")
    files, added, deleted = await _count(at, base_commit, head)
    uncommitted = await _uncommitted(at)
    return Result(
        head=head,
        commits=commits,
        files_changed=files,
        insertions=added,
        deletions=deleted,
        dirty=bool(uncommitted),
        uncommitted=tuple(printable(name) for name in uncommitted[:LISTED]),
        uncommitted_count=len(uncommitted),
    )


async def commits_between(path: Path, *revisions: str) -> tuple[Commit, ...]:
    """Return the commits that `revisions` select (`old..new`, say), the oldest first."""
    shape = "%H%x00%an%x00%ae%x00%cn%x00%ce%x00%s"
    args = ("log", "-z", "--reverse", "--topo-order", "--encoding=UTF-8", f"--format={shape}")
    listing = await git(*args, *revisions, "--", cwd=path, timeout=LONG)
    if not listing:
        return ()
    parts = [printable(part) for part in listing.removesuffix("\0").split("\0")]
    rows = (parts[start : start + 6] for start in range(0, len(parts), 6))
    return tuple(
        Commit(sha, Who(author, author_email), Who(committer, committer_email), subject)
        for sha, author, author_email, committer, committer_email, subject in rows
    )


async def diff(path: Path, base_commit: str, *, limit: int = DIFF_LIMIT) -> str:
    """Return the patch from the base to the files as they are, untracked ones included.

    Binary files come as git's binary patches, so the text can be applied with `git apply`, unless
    it was cut at `limit` bytes.
    """
    at = await in_tree(path)
    async with scratch_index(at) as scratch:
        with tempfile.TemporaryDirectory(prefix="byre-objects-") as folder:
            objects = await at.git("rev-parse", "--path-format=absolute", "--git-path", "objects")
            # What untracked files hold is needed for the moment only.
            aside = scratch.with_env(
                GIT_OBJECT_DIRECTORY=folder, GIT_ALTERNATE_OBJECT_DIRECTORIES=_quoted(objects)
            )
            await add_all(aside)
            return await patch(aside, "--cached", base_commit, limit=limit)


async def patch(at: At, *between: str, limit: int = DIFF_LIMIT) -> str:
    """Return git's patch between two trees, or between one and the index."""
    args = ("diff", "--no-ext-diff", "--no-textconv", "--binary", "--full-index", *between, "--")
    done = await run_git(*args, cwd=at.path, env=at.env, timeout=LONG, limit=limit)
    written = output(args, done)
    whole = written.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if done.truncated:
        return f"{whole}\n[cut here: the diff is longer than {limit} bytes]\n"
    return f"{whole}\n" if whole else ""


async def _count(at: At, old: str, new: str) -> tuple[int, int, int]:
    """Return files, added and deleted lines; a binary file counts as a file only."""
    args = ("diff", "--no-ext-diff", "--no-textconv", "--numstat", "-z", "--no-renames", old, new)
    listing = await at.git(*args, "--", timeout=LONG)
    rows = [row.split("\t", 2) for row in listing.split("\0") if row]
    added = sum(int(row[0]) for row in rows if row[0] != "-")
    deleted = sum(int(row[1]) for row in rows if row[1] != "-")
    return len(rows), added, deleted


async def _uncommitted(at: At) -> list[str]:
    """Return the files that differ from HEAD, those in repositories inside the tree too."""
    args = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
    # Looking into inner repositories is left out here: git would run what is configured in them.
    listing = await at.git(*args, "--ignore-submodules=dirty", timeout=LONG)
    names = [entry[3:] for entry in fields(listing)]
    for link in await gitlinks(at):
        folder = at.path / link
        if not await asyncio.to_thread((folder / ".git").exists):
            continue
        try:
            inner = await inside_tree(folder)
            await check_own(inner)
            names += [f"{link}/{name}" for name in await _uncommitted(inner)]
        except WorkspaceError:
            names.append(f"{link}/")  # a ruin, but there is something
    return names


def _quoted(path: str) -> str:
    """Write a path so that git takes all of it as one, colons included."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
