"""Keep the submodules of a worktree connected when its directory has moved.

Owns the two links between a submodule's folder and its git directory, which lies in the worktree's
own one: `core.worktree` there, and the `.git` file here. Git itself refuses to move such trees.
"""

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path

from byred.workspace.git import ask_git, git


async def follow(admin: Path, path: Path, *, former: Iterable[Path]) -> None:
    """Point the submodules' git directories under `admin` to their folders below `path`.

    `former` are the places where the tree may have been before.
    """
    for git_dir in await asyncio.to_thread(_git_dirs, admin / "modules"):
        config = ("config", "--file", str(git_dir / "config"))
        told = await ask_git(*config, "core.worktree")
        if told is None:
            continue
        folder = Path(os.path.normpath(git_dir / told))  # noqa: ASYNC240 - no look at the disk
        below = next(
            (folder.relative_to(old) for old in former if folder.is_relative_to(old)), None
        )
        if below is None or not await asyncio.to_thread(_stays_in, path / below, path):
            continue
        await git(*config, "core.worktree", str(path / below))
        await asyncio.to_thread(_link, path / below, git_dir)


def _stays_in(folder: Path, tree: Path) -> bool:
    """Say whether a folder is in the tree: an agent may have put a link in its place."""
    return folder.resolve().is_relative_to(tree.resolve())


def _git_dirs(modules: Path) -> list[Path]:
    """Return the git directories below `modules`; a submodule's own submodules are inside it."""
    return [
        config.parent for config in modules.rglob("config") if (config.parent / "HEAD").exists()
    ]


def _link(folder: Path, git_dir: Path) -> None:
    if folder.is_dir():
        (folder / ".git").write_text(f"gitdir: {git_dir}\n", "utf-8", "surrogateescape")
