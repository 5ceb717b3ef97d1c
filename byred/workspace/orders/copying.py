"""Bring files that git ignores (`.env`, say) from a person's checkout into a task's worktree.

Owns what may be copied: files inside the checkout that are not tracked, to the same place in the
worktree, over nothing that is there, and never through a link that leads out of it.
"""

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path

from byred.workspace.errors import Kind, WorkspaceError, reporting
from byred.workspace.git import LONG, fields, git, printable
from byred.workspace.repository import Repository

MOST_FILES = 10_000
MOST_BYTES = 1 << 30


@reporting("copy files into the worktree")
async def bring(repo: Repository, worktree: Path, patterns: Sequence[str]) -> tuple[str, ...]:
    """Copy the untracked files of the checkout that match `patterns`; return their names.

    A pattern is a glob as in `.gitignore` (`*` stays in a folder, `**` doesn't) from the top of the
    repository; a folder's name means all in it. A bare repository has no such files.

    Raises WorkspaceError(`limit`) when it would be more than `MOST_FILES` or `MOST_BYTES`.
    """
    if repo.bare or not patterns:
        return ()
    wanted = [f":(top,glob){pattern.rstrip('/')}" for pattern in patterns]
    args = ("ls-files", "-z", "--others", "--", *wanted)
    names = fields(await git(*args, cwd=repo.root, timeout=LONG))
    return await asyncio.to_thread(_copy, repo.root, worktree, names)


def _copy(source: Path, target: Path, names: list[str]) -> tuple[str, ...]:
    files = [name for name in names if (source / name).is_symlink() or (source / name).is_file()]
    size = sum((source / name).lstat().st_size for name in files)
    if len(files) > MOST_FILES or size > MOST_BYTES:
        message = (
            f"cannot copy {len(files)} files of {size} bytes into {target}: at most {MOST_FILES} "
            f"files and {MOST_BYTES} bytes; name fewer in `copy`, or install them with `setup`"
        )
        raise WorkspaceError(message, Kind.LIMIT)
    inside = target.resolve()
    copied = []
    for name in files:
        place = target / name
        folder = place.parent.resolve()
        if not folder.is_relative_to(inside) or place.exists() or place.is_symlink():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / name, place, follow_symlinks=False)
        copied.append(printable(name))
    return tuple(copied)
