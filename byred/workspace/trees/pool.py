"""Warm ground: detached worktrees of a repository that are made before a task needs one.

Owns the folder `.pool/` beside a repository's worktrees. A directory in it is a whole tree, clean
at some commit; a claim takes it by a rename. Trees of ended tasks come back through `.pool/.used/`
and are scrubbed: compared with the index that was kept when the tree was new, which no agent could
write without changing what the kernel says about a file (its ctime), everything that differs, is
untracked or is ignored is removed, and the rest is checked with `git status`.

Everything here may be interrupted: what is not a whole tree in its place is removed by the next
`fill`. Leaves to callers when to fill, and how many trees a repository is worth.
"""

import asyncio
import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG

from byred.workspace.errors import WorkspaceError, reporting
from byred.workspace.git import LONG, ask_git, fields, git
from byred.workspace.guard import At
from byred.workspace.keeping.staging import gitlinks
from byred.workspace.lock import file_lock, repository_lock
from byred.workspace.patience import patiently
from byred.workspace.repository import Repository
from byred.workspace.trees.making import Wanted, free_branches, record_branch, say_which
from byred.workspace.trees.registration import (
    admin_of,
    claimed_by,
    point,
    registrations,
    relocate,
    remove_tree,
    unregister,
)

POOL = ".pool"
_MAKING = ".making"
_USED = ".used"
_PRISTINE = "byre-pristine"
_GROUND = "byre-ground"
_GIVE_UP = 1.0
"""Seconds that a fill which ends early waits for the repository, to clear up after itself."""
_CHECKED = (
    *("-c", "core.trustctime=true"),
    *("-c", "core.checkStat=default"),
    *("-c", "core.untrackedCache=false"),
)
_WHAT_SHAPES_FILES = (
    r"^(core\.(autocrlf|eol|symlinks|filemode|attributesfile|sparse.*|ignorecase|protect.*)"
    r"|filter\..*|extensions\..*)$"
)


def folder_of(root: Path, repo: Repository) -> Path:
    """Return the pool's folder for a repository whose worktrees lie in `root/NAME/`."""
    return root / repo.name / POOL


@dataclass(frozen=True)
class Claimed:
    """A tree taken from the pool; if it isn't `exact`, its files are of another commit yet."""

    admin: Path
    exact: bool


async def claim(
    repo: Repository, folder: Path, wanted: Wanted, ground: str, mended: list[str]
) -> Claimed | None:
    """Move a ready tree to `wanted.making` and put it on a new branch.

    None when there is no tree that would be what git makes now (see `ground_of`), or the branch is
    not new. The repository's lock is held by the caller, who then calls `adjust` without it if the
    tree isn't exact.
    """
    ready = await asyncio.to_thread(_ready, repo, folder)
    fit = [tree for tree in ready if tree.ground == ground]
    if not fit:
        return None
    base = wanted.base_commit
    chosen = next((tree for tree in fit if tree.commit == base), fit[-1])
    async for name, tip in free_branches(repo, wanted):
        if tip not in (None, base):
            return None
        ref = f"refs/heads/{name}"
        if tip is None:
            args = ("update-ref", "-m", "byre: new task", ref, base, "")
            await patiently(*args, cwd=repo.common_dir)
        await asyncio.to_thread(chosen.leave, wanted.making)
        await git("symbolic-ref", "-m", "byre: new task", "HEAD", ref, cwd=wanted.making)
        await asyncio.to_thread(record_branch, chosen.admin, name, wanted.name)
        say_which(wanted.branch, name, mended)
        return Claimed(chosen.admin, chosen.commit == base)
    return None


async def adjust(making: Path, *, workers: int) -> None:
    """Bring the files of a claimed tree to its branch: those few that differ are written."""
    args = ("-c", f"checkout.workers={workers}", "reset", "--hard", "--quiet")
    await patiently(*args, cwd=making, timeout=LONG)


@reporting("fill the pool of worktrees")
async def fill(
    repo: Repository,
    folder: Path,
    *,
    commit: str,
    size: int,
    workers: int = 0,
    go_on: Callable[[], bool] = lambda: True,
) -> int:
    """Bring the pool to `size` trees at `commit`; return how many are ready then.

    Used trees are scrubbed first, those at another commit moved on, the missing made, those beyond
    `size` removed. Between two trees `go_on` is asked; when it says no (the machine is busy, the
    disk full), the rest waits for the next call. One call at a time works on a pool. What a call
    left that was killed is removed first; one that fails or is cancelled leaves nothing.
    """
    await asyncio.to_thread((folder / _MAKING).mkdir, parents=True, exist_ok=True)
    async with file_lock(folder / ".fill", timeout=LONG):
        async with repository_lock(repo.common_dir):
            ready = await asyncio.to_thread(_sweep, repo, folder)
        try:
            return await _fill(repo, folder, ready, commit, size, workers, go_on)
        except BaseException:
            # The next call may be long in coming. It does this itself when the lock isn't free now.
            with contextlib.suppress(WorkspaceError):
                async with repository_lock(repo.common_dir, timeout=_GIVE_UP):
                    await asyncio.to_thread(_sweep, repo, folder)
            raise


class _Tree:
    """A ready tree: where, its git directory, the commit and the ground it was made for."""

    def __init__(self, path: Path, admin: Path) -> None:
        self.path = path
        self.admin = admin
        self.commit = (admin / "HEAD").read_text().strip()
        self.ground = (admin / _GROUND).read_text()

    def leave(self, target: Path) -> None:
        """Move out of the pool; what a new worktree has no record of goes."""
        relocate(self.admin, self.path, target)
        for name in ("logs", "ORIG_HEAD", "FETCH_HEAD"):
            entry = self.admin / name
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)


async def _fill(
    repo: Repository,
    folder: Path,
    ready: list[_Tree],
    commit: str,
    size: int,
    workers: int,
    go_on: Callable[[], bool],
) -> int:
    ground = await ground_of(repo)
    for used in await asyncio.to_thread(_used, folder):
        if len(ready) >= size or not go_on():
            break
        if await _scrub(repo, folder, used, commit, ground, workers):
            ready = await asyncio.to_thread(_ready, repo, folder)
        else:
            await asyncio.to_thread(remove_tree, used)
    for tree in ready[size:]:
        await _drop(repo, tree)
    for tree in ready[:size]:
        if (tree.commit != commit or tree.ground != ground) and go_on():
            await _move_on(repo, folder, tree, commit, ground, workers)
    while len(await asyncio.to_thread(_ready, repo, folder)) < size and go_on():
        await _make(repo, folder, commit, ground, workers)
    for used in await asyncio.to_thread(_used, folder):
        await asyncio.to_thread(remove_tree, used)
    return len(await asyncio.to_thread(_ready, repo, folder))


def give_back(folder: Path, tree: Path, admin: Path) -> bool:
    """Take the files of a removed worktree for a later scrub; False when they are of no use.

    Everything in the tree is kept elsewhere by now, and the caller removes its registration.
    """
    pristine = admin / _PRISTINE
    if not pristine.exists():
        return False
    used = folder / _USED / f"{time.time_ns():x}"
    used.mkdir(parents=True)
    shutil.copy2(pristine, used / "index")
    shutil.copy2(admin / _GROUND, used / "ground")
    tree.rename(used / "tree")
    return True


def remember(admin: Path, ground: str) -> None:
    """Keep the index of a tree that is new: it says later what an agent touched."""
    (admin / _PRISTINE).unlink(missing_ok=True)
    (admin / _GROUND).write_text(ground)
    beside = admin / f"{_PRISTINE}.new"
    shutil.copy2(admin / "index", beside)
    beside.rename(admin / _PRISTINE)


def _ready(repo: Repository, folder: Path) -> list[_Tree]:
    """Return the trees that can be claimed, the oldest first."""
    try:
        entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except FileNotFoundError:
        return []
    trees = []
    for entry in entries:
        admin = admin_of(entry)
        if admin is None or admin.parent != repo.common_dir / "worktrees":
            continue
        if claimed_by(admin) != entry or not (admin / _PRISTINE).exists():
            continue
        trees.append(_Tree(entry, admin))
    return trees


def _used(folder: Path) -> list[Path]:
    try:
        return sorted((folder / _USED).iterdir())
    except FileNotFoundError:
        return []


def _sweep(repo: Repository, folder: Path) -> list[_Tree]:
    """Remove all that is not a whole tree in its place, with its registration."""
    ready = _ready(repo, folder)
    whole = {tree.path for tree in ready}
    for entry in (*folder.iterdir(), *(folder / _MAKING).iterdir()):
        hidden = entry.parent == folder and entry.name.startswith(".")
        if entry not in whole and not hidden:
            unregister(repo.common_dir, entry)
    for known in registrations(repo.common_dir):
        path = known.path
        if path is not None and path.is_relative_to(folder) and path not in whole:
            remove_tree(known.admin)
    for used in _used(folder):
        if not (used / "tree").is_dir():
            remove_tree(used)
    return ready


async def _make(repo: Repository, folder: Path, commit: str, ground: str, workers: int) -> None:
    making = folder / _MAKING / f"pool-{time.time_ns():x}"
    async with repository_lock(repo.common_dir):
        args = ("worktree", "add", "--no-checkout", "--detach", str(making), commit)
        await patiently(*args, cwd=repo.common_dir)
    await adjust(making, workers=workers)
    await _settle(repo, folder, making, ground)


async def _move_on(
    repo: Repository, folder: Path, tree: _Tree, commit: str, ground: str, workers: int
) -> None:
    """Bring a ready tree to another commit; meanwhile nobody can claim it."""
    if tree.ground != ground:
        await _drop(repo, tree)  # made under other settings: git would make other files now
        return
    making = folder / _MAKING / tree.path.name
    async with repository_lock(repo.common_dir):
        if not await asyncio.to_thread(tree.path.exists):
            return  # claimed since
        await asyncio.to_thread(relocate, tree.admin, tree.path, making)
    options = (*_CHECKED, "-c", f"checkout.workers={workers}")
    await git(*options, "checkout", "--quiet", "--detach", commit, cwd=making, timeout=LONG)
    await _settle(repo, folder, making, ground)


async def _scrub(
    repo: Repository, folder: Path, used: Path, commit: str, ground: str, workers: int
) -> bool:
    """Make a tree that a task had as good as new; False when it isn't worth it."""
    if await asyncio.to_thread((used / "ground").read_text) != ground:
        return False
    making = folder / _MAKING / f"pool-{time.time_ns():x}"
    async with repository_lock(repo.common_dir):
        args = ("worktree", "add", "--no-checkout", "--detach", str(making), commit)
        await patiently(*args, cwd=repo.common_dir)
    await asyncio.to_thread(_move_in, used, making)
    try:
        await asyncio.to_thread(_empty, making, await gitlinks(At(making)))
        # Twice -f: repositories inside the tree go, too.
        await git(*_CHECKED, "clean", "-ffdxq", cwd=making, timeout=LONG)
        look_for = ("diff-files", "--name-only", "-z", "--ignore-submodules=dirty")
        touched = fields(await git(*_CHECKED, *look_for, cwd=making, timeout=LONG))
        await asyncio.to_thread(_clear, making, touched)
        await asyncio.to_thread(_normalise, making)
        options = (*_CHECKED, "-c", f"checkout.workers={workers}")
        await git(*options, "reset", "--hard", "--quiet", cwd=making, timeout=LONG)
        look = ("status", "--porcelain", "--ignored", "--untracked-files=all", "-z")
        clean = not await git(*_CHECKED, *look, cwd=making, timeout=LONG)
    except WorkspaceError:
        clean = False  # a file that can't be removed, say: another tree is cheaper than an answer
    if not clean:
        async with repository_lock(repo.common_dir):
            await asyncio.to_thread(unregister, repo.common_dir, making)
        return False
    await _settle(repo, folder, making, ground)
    return True


def _move_in(used: Path, making: Path) -> None:
    """Give the files of a used tree the new registration, and the index of when they were new."""
    admin = admin_of(making)
    if admin is None:
        raise WorkspaceError(f"cannot find the registration of {making} that git just made")
    (making / ".git").unlink()
    making.rmdir()
    old = used / "tree"
    git_file = old / ".git"
    if git_file.is_symlink() or git_file.is_file():
        git_file.unlink()
    else:
        remove_tree(git_file)
    old.rename(making)
    point(admin, making)
    shutil.copy2(used / "index", admin / "index")
    remove_tree(used)


def _empty(tree: Path, links: list[str]) -> None:
    """Empty the folders of submodules, as they are in a new tree."""
    for name in links:
        folder = tree / name
        if folder.is_dir() and folder.parent.resolve().is_relative_to(tree):
            remove_tree(folder)
            folder.mkdir()


def _clear(tree: Path, touched: list[str]) -> None:
    """Remove the files that were touched; git writes them again."""
    for name in touched:
        there = tree / name
        if not there.parent.resolve().is_relative_to(tree):
            continue  # through a link: git sees the file as gone
        if there.is_dir() and not there.is_symlink():
            remove_tree(there)
        else:
            there.unlink(missing_ok=True)


def _normalise(tree: Path) -> None:
    """Remove what git would not have written like this, and put the folders' modes right."""
    folder_mode = tree.parent.stat().st_mode & 0o777  # a folder of ours, made under our umask
    file_modes = {folder_mode, folder_mode & 0o666}
    folders = [tree]
    while folders:
        for entry in os.scandir(folders.pop()):
            stat = entry.stat(follow_symlinks=False)
            mode = S_IMODE(stat.st_mode)
            if S_ISDIR(stat.st_mode):
                folders.append(Path(entry.path))
                if mode != folder_mode:
                    Path(entry.path).chmod(folder_mode)
            elif S_ISREG(stat.st_mode):
                # One with a second name could be written to from outside, later.
                odd = mode not in file_modes or stat.st_nlink > 1
                if odd and entry.path != str(tree / ".git"):
                    Path(entry.path).unlink()
            elif not S_ISLNK(stat.st_mode):
                Path(entry.path).unlink()  # a pipe or a socket: git doesn't see them


async def _settle(repo: Repository, folder: Path, making: Path, ground: str) -> None:
    """Put a finished tree where it can be claimed."""
    admin = await asyncio.to_thread(admin_of, making)
    if admin is None:
        raise WorkspaceError(f"cannot find the registration of {making}")
    await asyncio.to_thread(remember, admin, ground)
    async with repository_lock(repo.common_dir):
        await asyncio.to_thread(relocate, admin, making, folder / making.name)


async def _drop(repo: Repository, tree: _Tree) -> None:
    async with repository_lock(repo.common_dir):
        if await asyncio.to_thread(tree.path.exists):
            await asyncio.to_thread(unregister, repo.common_dir, tree.path)


async def ground_of(repo: Repository) -> str:
    """Return what, besides the commit, decides which files git writes."""
    asked = ("config", "--null", "--get-regexp", _WHAT_SHAPES_FILES)
    settings = await ask_git(*asked, cwd=repo.root) or ""
    files = [repo.common_dir / "info" / "attributes", repo.git_dir / "info" / "sparse-checkout"]
    for setting in fields(settings):
        key, _, value = setting.partition("\n")
        if key == "core.attributesfile":
            files.append(Path(value))
    return await asyncio.to_thread(_digest, settings, files)


def _digest(settings: str, files: list[Path]) -> str:
    digest = hashlib.sha256(settings.encode("utf-8", "surrogateescape"))
    for file in files:
        digest.update(b"\0" + _content(file.expanduser()))
    return digest.hexdigest()


def _content(file: Path) -> bytes:
    return file.read_bytes() if file.is_file() else b"-"
