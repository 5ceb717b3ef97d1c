"""The registration of a linked worktree: its directory under `COMMON/worktrees/`, file by file.

Owns finding, repointing and forgetting a registration. Works on git's documented files
(gitrepository-layout) because `git worktree move` and `remove` refuse trees with submodules, and
because a half-made registration is exactly what those commands can't read.
"""

import contextlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from stat import S_IMODE


@dataclass(frozen=True)
class Registration:
    """One entry: its own git directory, and where it says its worktree is."""

    admin: Path
    path: Path | None


def registrations(common_dir: Path) -> list[Registration]:
    """Return every registration of the repository, broken ones too (with no path).

    What another user's byred made and closed to us is left out, as git itself does.
    """
    try:
        names = sorted(os.listdir(common_dir / "worktrees"))  # noqa: PTH208 - there may be hundreds
    except FileNotFoundError:
        return []
    found = []
    for name in names:
        admin = common_dir / "worktrees" / name
        with contextlib.suppress(PermissionError):
            found.append(Registration(admin, claimed_by(admin)))
    return found


def registered_at(known: list[Registration], path: Path) -> Registration | None:
    """Return the registration whose worktree is at `path`."""
    return next((entry for entry in known if entry.path == path), None)


def admin_of(path: Path) -> Path | None:
    """Return the git directory that the `.git` file in `path` names, whether or not it exists."""
    try:
        content = (path / ".git").read_text("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    if not content.startswith("gitdir: "):
        return None
    return Path(os.path.normpath(path / content.removeprefix("gitdir: ").removesuffix("\n")))


def point(admin: Path, path: Path) -> None:
    """Make registration and worktree name each other; both files are replaced whole."""
    write_file(path / ".git", f"gitdir: {admin}\n")
    write_file(admin / "gitdir", f"{path}/.git\n")


def relocate(admin: Path, source: Path, target: Path) -> None:
    """Move a worktree's directory; what a cut between the steps leaves, `point` mends."""
    source.rename(target)
    point(admin, target)


def take_out(admin: Path, path: Path, making: Path) -> None:
    """Move a worktree out of its place, to be removed.

    Its registration goes first: if the rest is cut, the tree is still whole and can be found.
    """
    write_file(admin / "gitdir", f"{making}/.git\n")
    path.rename(making)


def unregister(common_dir: Path, path: Path, known: list[Registration] | None = None) -> None:
    """Remove the worktree at `path` with its registration, whatever state they are in."""
    if known is None:
        known = registrations(common_dir)
    admins = {entry.admin for entry in known if entry.path == path}
    named = admin_of(path)
    # A killed `worktree add` may have written only one of the two files.
    if named is not None and named.parent == common_dir / "worktrees":
        claimed = claimed_by(named)
        if claimed is None or claimed == path:
            admins.add(named)
    remove_tree(path)
    for admin in admins:
        remove_tree(admin)


def sweep(common_dir: Path, making: Path, path: Path) -> list[Registration]:
    """Remove what an interrupted run left at `making`, where the tree for `path` is built.

    Nothing there was ever an agent's, save a registration that already belongs to `path`. Returns
    the registrations as they were before.
    """
    known = registrations(common_dir)
    entry = registered_at(known, making)
    if entry is not None and admin_of(path) == entry.admin:
        return known  # cut in `relocate`: the tree is in place, its registration not yet
    named = admin_of(making)
    if named is not None and entry is None and claimed_by(named) == path:
        remove_tree(making)  # cut while files were brought back for a registration that is alive
        return known
    unregister(common_dir, making, known)
    for each in known:
        # `git worktree add` that was cut before it wrote where the tree is to be, and so its HEAD
        unborn = each.path is None and not (each.admin / "HEAD").exists()
        if unborn and each.admin.name.startswith(making.name):
            remove_tree(each.admin)
    return known


def shared_folder(common_dir: Path, name: str) -> Path:
    """Return a folder in the common directory, made so that whom git lets write there may, too."""
    folder = common_dir / name
    try:
        folder.mkdir()
    except FileExistsError:
        return folder
    folder.chmod(S_IMODE((common_dir / "objects").stat().st_mode))
    return folder


def remove_tree(path: Path) -> None:
    """Remove a directory tree, read-only folders in it too; one that is gone is fine."""

    def unlock_and_retry(function: object, name: str, error: object) -> None:
        del function, error
        parent = Path(name).parent
        parent.chmod(0o700)
        entry = Path(name)
        if entry.is_dir() and not entry.is_symlink():
            entry.chmod(0o700)
            shutil.rmtree(entry, ignore_errors=False)
        else:
            entry.unlink(missing_ok=True)

    if path.exists() and not path.is_symlink():
        shutil.rmtree(path, onerror=unlock_and_retry)


def write_file(path: Path, content: str, *, mode: int = 0o644) -> None:
    """Replace a small file atomically and durably; nobody else may be writing it.

    What a run that was killed here has left has a name that the next one finds.
    """
    beside = path.with_name(f".{path.name}.byre")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content.encode("utf-8", "surrogateescape"))
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def claimed_by(admin: Path) -> Path | None:
    """Return the directory that a registration says its worktree is, or None when it says none."""
    try:
        with open(f"{admin}/gitdir", "rb") as stream:  # noqa: PTH123 - there may be hundreds
            content = os.fsdecode(stream.read()).removesuffix("\n")
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not content:
        return None
    return Path(os.path.normpath(os.path.join(admin, content))).parent  # noqa: PTH118 - see above
