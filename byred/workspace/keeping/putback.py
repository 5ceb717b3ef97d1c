"""Make a tree what a snapshot says: its files, its index, its HEAD.

Owns writing them. Whoever calls has kept what is there before, since files that are not in the
snapshot go; ignored files stay. A repository inside the tree that the snapshot doesn't know is
moved aside, never deleted.
"""

import asyncio
import shutil
import time
from pathlib import Path

from byred.workspace.errors import WorkspaceError
from byred.workspace.git import LONG, git
from byred.workspace.guard import At, inside_tree
from byred.workspace.keeping.snapshot import Inner, Snapshot, check_own, load
from byred.workspace.keeping.staging import add_all, scratch_index

_UNDER_WAY = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "sequencer": "cherry-pick",
}


async def put_files(at: At, snapshot: Snapshot, *, aside: Path, lender: Path | None = None) -> None:
    """Make files and index of the tree `at` those of `snapshot`; HEAD stays.

    `aside` is a folder outside of the tree for inner repositories that are in the way. `lender` is
    a git directory from which submodules are copied that the tree's own one doesn't have.
    """
    known = {each.path for each in snapshot.inner}
    async with scratch_index(at) as scratch:
        staged = await add_all(scratch)
        for name in staged.inner:
            if name not in known:
                await asyncio.to_thread(_set_aside, at.path / name, aside)
        # The index knows every file that is there, so those that are not wanted go, too.
        await scratch.git("read-tree", "--reset", "-u", snapshot.tree, timeout=LONG)
        own = await at.git("rev-parse", "--path-format=absolute", "--git-path", "index")
        await asyncio.to_thread(_replace, Path(scratch.env["GIT_INDEX_FILE"]), Path(own))
    await at.patiently("read-tree", "--reset", snapshot.index or snapshot.tree, timeout=LONG)
    # Without this the next status would have to read every file again.
    await at.run("update-index", "-q", "--refresh", "--ignore-submodules", timeout=LONG)
    for inner in snapshot.inner:
        await _put_inner(at, inner, aside, lender)


async def put_head(at: At, snapshot: Snapshot, *, elsewhere: frozenset[str]) -> None:
    """Make HEAD of the tree `at` what it was; a merge or rebase under way is dropped.

    `elsewhere` are the branches that are checked out in other worktrees: HEAD is detached instead
    of being on one of those.
    """
    await quit_operations(at)
    if snapshot.head is None:
        return
    why = ("-m", "byre: put back")
    if snapshot.branch is not None and snapshot.branch not in elsewhere:
        await at.patiently("update-ref", *why, snapshot.branch, snapshot.head)
        await at.patiently("symbolic-ref", *why, "HEAD", snapshot.branch)
    else:
        await at.patiently("update-ref", *why, "--no-deref", "HEAD", snapshot.head)


async def quit_operations(at: At) -> None:
    """Forget a merge, rebase, pick or revert that is under way, without touching files."""
    folder = await at.git_dir()
    found = [
        operation
        for name, operation in _UNDER_WAY.items()
        if await asyncio.to_thread((folder / name).exists)
    ]
    for operation in dict.fromkeys(found):
        await at.run(operation, "--quit")


async def _put_inner(outer: At, inner: Inner, aside: Path, lender: Path | None) -> None:
    folder = outer.path / inner.path
    if not await asyncio.to_thread(folder.parent.resolve().is_relative_to, outer.path.resolve()):
        raise WorkspaceError(f"cannot put back {folder}: a link leads out of the tree")
    if not await asyncio.to_thread((folder / ".git").exists):
        if inner.git_dir is None:
            await _make_again(outer, inner)
        else:
            around = await outer.git_dir()
            lent = None if lender is None else lender / inner.git_dir
            if not await asyncio.to_thread(_link, folder, around / inner.git_dir, lent):
                return  # its git directory is gone, and the snapshot was in it
            config = str(around / inner.git_dir / "config")
            await git("config", "--file", config, "core.worktree", str(folder))
    at = await inside_tree(folder)
    await check_own(at)
    snapshot, _ = await load(at, inner.commit)
    await put_files(at, snapshot, aside=aside)
    await put_head(at, snapshot, elsewhere=frozenset())


async def _make_again(outer: At, inner: Inner) -> None:
    """Make a repository again that lay in the tree, out of what the outer one keeps of it."""
    at = At(outer.path / inner.path)
    form = await outer.git("rev-parse", "--show-object-format")
    await outer.git("init", "--quiet", f"--object-format={form}", "--", str(at.path))
    common = await outer.git("rev-parse", "--path-format=absolute", "--git-common-dir")
    args = ("-c", "uploadpack.allowAnySHA1InWant=true", "fetch", "--quiet", "--no-tags")
    wanted = f"{inner.commit}:refs/byre/put-back"
    await at.git(*args, "--end-of-options", common, wanted, timeout=LONG)
    _, refs = await load(at, inner.commit)
    if isinstance(refs, dict):
        lines = [f"update {name} {sha}\n" for name, sha in refs.items()]
        await at.patiently("update-ref", "--stdin", input="".join(lines))


def _link(folder: Path, git_dir: Path, lent: Path | None) -> bool:
    """Connect a folder with its git directory, copied if need be; False when there is none."""
    if not git_dir.is_dir():
        if lent is None or not lent.is_dir():
            return False
        shutil.copytree(lent, git_dir, symlinks=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".git").write_text(f"gitdir: {git_dir}\n", "utf-8", "surrogateescape")
    return True


def _set_aside(folder: Path, aside: Path) -> None:
    aside.mkdir(parents=True, exist_ok=True)
    shutil.move(folder, aside / f"{folder.name}-{time.time_ns()}")


def _replace(source: Path, target: Path) -> None:
    """Put an index in its place, its time with it, as git does: written beside, renamed."""
    beside = target.with_name(f"{target.name}.byre")
    shutil.copy2(source, beside)
    beside.replace(target)
