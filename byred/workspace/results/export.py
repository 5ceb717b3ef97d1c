"""Write a task's work as patches that `git am` and `git apply` take."""

import asyncio
from pathlib import Path

from byred.workspace.errors import Kind, WorkspaceError, reporting
from byred.workspace.git import LONG, git
from byred.workspace.results.changes import diff

_EVERYTHING = 1 << 40
UNCOMMITTED = "uncommitted.patch"


@reporting("export")
async def export(path: Path, base_commit: str, folder: Path) -> list[Path]:
    """Write one patch a commit into `folder`, and `uncommitted.patch` for what is not committed.

    Returns the files in the order in which they apply. A merge commit becomes no patch.

    Raises WorkspaceError(`conflict`) when the folder has something in it.
    """
    await asyncio.to_thread(_empty_folder, folder)
    args = (
        "format-patch",
        "--quiet",
        "--binary",
        "--full-index",
        "--no-signature",
        "--no-cover-letter",
    )
    plain = (
        "--no-attach",
        "--no-thread",
        "--no-notes",
        "--subject-prefix=PATCH",
        "--suffix=.patch",
    )
    where = ("--output-directory", str(folder), f"{base_commit}..HEAD")
    await git(*args, *plain, *where, cwd=path, timeout=LONG)
    patches = await asyncio.to_thread(lambda: sorted(folder.iterdir()))
    rest = await diff(path, "HEAD", limit=_EVERYTHING)
    if rest:
        target = folder / UNCOMMITTED
        raw = rest.encode("utf-8", "surrogateescape")
        await asyncio.to_thread(target.write_bytes, raw)
        patches.append(target)
    return patches


def _empty_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if next(folder.iterdir(), None) is not None:
        message = f"cannot export into {folder}: it is not empty; name a new folder"
        raise WorkspaceError(message, Kind.CONFLICT)
