"""Run git commands that take one of git's own locks: wait for the living, clear up after the dead.

Owns the retrying. Which lock is stale is `lock`'s to say.
"""

import asyncio
import re
import time
from collections.abc import Mapping
from pathlib import Path

from byred.workspace.errors import GitError
from byred.workspace.git import TIME_LIMIT, git
from byred.workspace.lock import PATIENCE, clear_stale
from byred.workspace.trees.registration import registrations

_PAUSE = 0.1
_PATIENCE = 20.0
"""Seconds to go on when something holds one of git's own locks."""
_LOCK_NAME = re.compile(r"'([^']+\.lock)'")
_YOUNGEST_SHARED = 3.0
"""Seconds of age below which a lock on what we share with others is left alone: its owner may be
one that /proc doesn't show us (another namespace)."""


async def patiently(
    *args: str,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    timeout: float = TIME_LIMIT,  # noqa: ASYNC109 - handed on, for each try
    input: str | None = None,  # noqa: A002 - the name that subprocess uses
) -> str:
    """Like `git.git`, for commands that may find a lock held; each try has the time limit."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return await git(*args, cwd=cwd, env=env, timeout=timeout, input=input)
        except GitError as error:
            locked = ".lock'" in error.stderr or "could not lock" in error.stderr
            if not locked or time.monotonic() > deadline:
                raise
            named = [Path(name) for name in _LOCK_NAME.findall(error.stderr)]
        await _clear(named, cwd)
        await asyncio.sleep(_PAUSE)


async def _clear(named: list[Path], cwd: Path) -> None:
    asked = ("rev-parse", "--path-format=absolute", "--git-common-dir")
    common = Path(await git(*asked, cwd=cwd))
    locks = [lock for lock in (*named, common / "config.lock") if lock.is_relative_to(common)]
    # Whoever holds a shared lock works in one of the repository's trees.
    known = await asyncio.to_thread(registrations, common)
    trees = [entry.path for entry in known if entry.path is not None]
    places = (
        [common, common.parent, cwd, *trees] if common.name == ".git" else [common, cwd, *trees]
    )
    own = [lock for lock in locks if _is_ours(lock, common)]
    await clear_stale(own, places=places, youngest=0.0, patience=PATIENCE)
    shared = [lock for lock in locks if lock not in own]
    await clear_stale(shared, places=places, youngest=_YOUNGEST_SHARED, patience=PATIENCE)


def _is_ours(lock: Path, common: Path) -> bool:
    """Say whether nobody but byred and a task's own processes ever takes this lock."""
    ours = (common / "refs" / "byre", common / "worktrees")
    return any(lock.is_relative_to(place) for place in ours)
