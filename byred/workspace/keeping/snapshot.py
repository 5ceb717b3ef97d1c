"""Keep a tree as it is: files (untracked too, ignored not), index and HEAD, as one commit.

Owns the form of such a commit. Its tree is the files; its first parent is HEAD; further parents
keep the index, what an unfinished merge or rebase refers to, and whatever else a caller names, so
that one ref keeps everything. The message carries as JSON what a commit can't. Taking one uses an
index of its own and touches neither the agent's index nor its HEAD.

A repository inside the tree (a submodule, or one that the agent cloned there) is a snapshot of its
own. When its objects lie in the tree, they are brought into the outer repository and the snapshot
is one more parent; when they lie elsewhere (a submodule's do), a ref there keeps it.
"""

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from byred.workspace.errors import Kind, WorkspaceError
from byred.workspace.git import LONG, output, text
from byred.workspace.guard import At, inside_tree
from byred.workspace.keeping.staging import DURABLE, add_all, scratch_index

_NOBODY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "byred"), ("EMAIL", "byred@localhost"))
}
_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "ORIG_HEAD")


@dataclass(frozen=True)
class Inner:
    """A repository inside the tree: where, its snapshot, and where its own git directory is.

    `git_dir` is None when it lies in the tree itself, else its path, relative to the outer
    repository's own git directory when it is in there (a submodule's is).
    """

    path: str
    commit: str
    git_dir: str | None


@dataclass(frozen=True)
class Snapshot:
    """A tree that was kept.

    `head` is None in a repository without a commit, `branch` when HEAD was detached. `index` is
    the tree of the index, None when it held conflicts. `skipped` says what could not be read.
    """

    commit: str
    tree: str
    head: str | None
    branch: str | None
    index: str | None
    inner: tuple[Inner, ...]
    skipped: tuple[str, ...]


async def take(
    at: At, *, subject: str, ref: str, also: Iterable[str] = (), note: object = None
) -> Snapshot:
    """Keep the tree `at` as a commit, `ref` pointing to it; `also` are further parents.

    `note` is any JSON value to be stored with it.
    """
    async with scratch_index(at) as scratch:
        index = await _write_tree(scratch)
        staged = await add_all(scratch)
        tree = await scratch.git(*DURABLE, "write-tree")
    head = await at.commit("HEAD")
    branch = await at.ask("symbolic-ref", "--quiet", "HEAD")
    inner: list[Inner] = []
    skipped = list(staged.skipped)
    for number, name in enumerate(staged.inner):
        try:
            each = await _take_inner(at, name, subject=subject, ref=f"{ref}.{number}")
        except WorkspaceError as error:
            skipped.append(error.message)  # an agent may leave any ruin in its tree
        else:
            inner.append(each)
    parents = [] if head is None else [head]
    if index is not None:
        parents += await _keep_index(at, index, tree, head)
    parents += await _unfinished(at)
    parents += [each.commit for each in inner if each.git_dir is None]
    parents += also
    snapshot = Snapshot("", tree, head, branch, index, tuple(inner), tuple(skipped))
    commit = await keep_commit(at, snapshot, parents=parents, subject=subject, note=note)
    await at.patiently(*DURABLE, "update-ref", ref, commit)
    return replace(snapshot, commit=commit)


async def keep_commit(
    at: At, snapshot: Snapshot, *, parents: Sequence[str], subject: str, note: object
) -> str:
    """Write the commit that says what `snapshot` says; return it."""
    told = {
        "byre": 1,
        "branch": snapshot.branch,
        "head": snapshot.head,
        "index": snapshot.index,
        "inner": [[each.path, each.commit, each.git_dir] for each in snapshot.inner],
        "skipped": list(snapshot.skipped),
        "note": note,
    }
    return await _commit(at, snapshot.tree, parents, f"{subject}\n\n{json.dumps(told)}\n")


async def load(at: At, commit: str) -> tuple[Snapshot, object]:
    """Read a snapshot (and its note) back from its commit, in the repository `at`.

    Raises WorkspaceError(`not_found`) when the commit is none of byred's.
    """
    args = ("show", "--no-patch", "--format=%H%n%T%n%b", f"{commit}^{{commit}}", "--")
    done = await at.run(*args)
    try:
        sha, tree, body = output(args, done).split("\n", 2)
        told = json.loads(body)
        snapshot = Snapshot(
            commit=sha,
            tree=tree,
            head=told["head"],
            branch=told["branch"],
            index=told["index"],
            inner=tuple(Inner(*each) for each in told["inner"]),
            skipped=tuple(told["skipped"]),
        )
    except (WorkspaceError, ValueError, KeyError, TypeError) as error:
        message = f"cannot find a snapshot in {commit} of {at.path}: it was not made by byred"
        raise WorkspaceError(message, Kind.NOT_FOUND) from error
    return snapshot, told["note"]


async def tips_of(
    at: At, commits: Sequence[str], *, known: Sequence[str] = (), options: Sequence[str] = ()
) -> list[str]:
    """Return the fewest commits that, with `known`, reach all of `commits`.

    `options` name more of them in the words of `git rev-list` (`--all`, `--reflog`).
    """
    asked = "".join(f"{each}\n" for each in (*commits, *(f"^{each}" for each in known)))
    args = ("rev-list", "--parents", "--ignore-missing", *options, "--stdin")
    listing = await at.git(*args, input=asked, timeout=LONG)
    rows = [line.split() for line in listing.splitlines()]
    parents = {parent for row in rows for parent in row[1:]}
    return [row[0] for row in rows if row[0] not in parents]


async def _take_inner(outer: At, name: str, *, subject: str, ref: str) -> Inner:
    """Keep one repository inside the tree; its branches are kept with it."""
    at = await inside_tree(outer.path / name)
    await check_own(at)
    listing = await at.git("for-each-ref", "--format=%(objectname) %(refname)")
    refs = {name: sha for sha, name in (line.split(" ", 1) for line in listing.splitlines())}
    if await asyncio.to_thread((at.path / ".git").is_file):
        taken = await take(at, subject=subject, ref=ref, note=refs)
        around, own = await outer.git_dir(), await at.git_dir()
        where = own.relative_to(around) if own.is_relative_to(around) else own
        return Inner(name, taken.commit, str(where))
    tips = await tips_of(at, [], options=("--all", "--reflog"))
    taken = await take(at, subject=subject, ref=ref, also=tips, note=refs)
    args = ("-c", "uploadpack.allowAnySHA1InWant=true", "fetch", "--quiet", "--no-tags")
    source = ("--no-write-fetch-head", "--end-of-options", str(at.path), taken.commit)
    await outer.git(*args, *source, timeout=LONG)
    return Inner(name, taken.commit, None)


async def check_own(at: At) -> None:
    """Make sure that git, started in `at`, works in that folder and nowhere else.

    Raises WorkspaceError otherwise: a repository may say that its files are anywhere.
    """
    top = await at.git("rev-parse", "--path-format=absolute", "--show-toplevel")
    if Path(top) != await asyncio.to_thread(at.path.resolve):
        raise WorkspaceError(f"cannot use the repository {at.path}: it says its files are in {top}")


async def _write_tree(at: At) -> str | None:
    """Return the tree of the index, or None when it holds conflicts."""
    done = await at.run(*DURABLE, "write-tree")
    return text(done.stdout).strip() if done.status == 0 else None


async def _keep_index(at: At, index: str, tree: str, head: str | None) -> list[str]:
    """Return a commit that keeps the index's tree, unless HEAD or the files keep it anyway."""
    of_head = None if head is None else await at.git("rev-parse", f"{head}^{{tree}}")
    if index in (tree, of_head):
        return []
    return [await _commit(at, index, [head] if head else [], "index\n")]


async def _unfinished(at: At) -> list[str]:
    """Return the commits that an unfinished merge, rebase or pick refers to."""
    folder = await at.git_dir()
    found = [name for name in _UNFINISHED if await asyncio.to_thread((folder / name).exists)]
    asked = [await at.commit(name) for name in found]
    return [commit for commit in asked if commit is not None]


async def _commit(at: At, tree: str, parents: Sequence[str], message: str) -> str:
    options = [part for parent in dict.fromkeys(parents) for part in ("-p", parent)]
    args = (*DURABLE, "-c", "i18n.commitEncoding=UTF-8", "commit-tree", tree, *options, "-F", "-")
    return await at.with_env(**_NOBODY).git(*args, input=message)
