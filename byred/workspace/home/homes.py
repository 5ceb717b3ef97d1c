"""Homes made ahead, with the databases and skills of codex's first start in them; and cleaning.

Owns a folder of ready homes. What warms one (a server that starts and ends) is the caller's; so is
when to make them. A claim is a rename; `home.ensure_home` then writes the task's configuration.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from byred.workspace.errors import reporting
from byred.workspace.home.home import ensure_home
from byred.workspace.keeping.retention import disk_usage
from byred.workspace.lock import file_lock
from byred.workspace.trees.registration import remove_tree

_MAKING = ".making"
_DISPENSABLE = ("logs_*.sqlite*", "log", "tmp", ".tmp", "cache", "shell_snapshots", "*.bak")
"""What codex makes again, or only its developers read; rollouts and states stay for follow-ups."""


@reporting("make homes ahead")
async def make_ahead(
    folder: Path,
    *,
    size: int,
    config: Mapping[str, Any],
    warm: Callable[[Path], Awaitable[None]],
    go_on: Callable[[], bool] = lambda: True,
) -> int:
    """Bring `folder` to `size` ready homes; return how many there are then.

    `warm` starts and ends a server on a new home. Between two, `go_on` is asked; when it says no,
    the rest waits for the next call. What a call left that was killed is removed first; one that
    fails or is cancelled leaves nothing.
    """
    making = folder / _MAKING
    await asyncio.to_thread(making.mkdir, parents=True, exist_ok=True)
    async with file_lock(folder / ".fill"):
        await asyncio.to_thread(_sweep, making)
        for surplus in (await asyncio.to_thread(ready, folder))[size:]:
            await asyncio.to_thread(remove_tree, surplus)
        while len(await asyncio.to_thread(ready, folder)) < size and go_on():
            new = making / f"{time.time_ns():x}"
            try:
                await ensure_home(new, config=config, auth_file=None)
                await warm(new)
                await asyncio.to_thread(new.rename, folder / new.name)
            finally:
                # The next call may be long in coming; and what warmed it wrote beside it, too.
                await asyncio.to_thread(_sweep, making)
        return len(await asyncio.to_thread(ready, folder))


def ready(folder: Path) -> list[Path]:
    """Return the homes that can be claimed, the oldest first."""
    try:
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except FileNotFoundError:
        return []


def claim(folder: Path, path: Path) -> bool:
    """Move a ready home to `path`; False when there is none, or one is there already."""
    if path.exists():
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    for entry in ready(folder):
        try:
            entry.rename(path)
        except FileNotFoundError:
            continue  # another task was faster
        return True
    return False


def clean(path: Path, most: int) -> int:
    """Bring a home whose server has ended below `most` bytes, if that can be; return its size.

    Only what codex makes again is removed.
    """
    size = disk_usage(path)
    if size <= most:
        return size
    for pattern in _DISPENSABLE:
        for entry in path.glob(pattern):
            if entry.is_dir() and not entry.is_symlink():
                remove_tree(entry)
            else:
                entry.unlink(missing_ok=True)
    return disk_usage(path)


def _sweep(making: Path) -> None:
    for entry in making.iterdir():
        remove_tree(entry)
