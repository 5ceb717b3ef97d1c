"""Whose a name in a repository is: several byreds may work in one, and each counts its own tasks.

Owns the file `byre-owner` in the common directory, which the first of them claims: its tasks are
known in the repository by their numbers, those of the others by `NUMBER@` and the end of their
identity. Owns the files in `byre-branches/` as well, one for each branch that a task was given: a
task takes up no branch of another, and removes none.
"""

import asyncio
import hashlib
from pathlib import Path

from byred.workspace.errors import reporting
from byred.workspace.lock import repository_lock
from byred.workspace.trees.registration import shared_folder, write_file

OWNER = "byre-owner"
BRANCHES = "byre-branches"
_SHOWN = 8
"""Digits of an identity that stand in a name."""


@reporting("claim the repository")
async def name_in(common_dir: Path, task_id: int, identity: str) -> str:
    """Return the name of a task in a repository, which nobody owns until somebody asks.

    `identity` is of the byred whose task it is.
    """
    owner = await asyncio.to_thread(_read, common_dir / OWNER)
    if owner is None:
        async with repository_lock(common_dir):
            owner = await asyncio.to_thread(_claim, common_dir / OWNER, identity)
    return str(task_id) if owner == identity else f"{task_id}@{identity[-_SHOWN:]}"


def holder(common_dir: Path, branch: str) -> str | None:
    """Return the name of the task that a branch was given to, None when byred gave it to none."""
    return _read(_file_of(common_dir, branch))


def hold(common_dir: Path, branch: str, name: str) -> None:
    """Write down that a branch is a task's; the repository's lock is held by the caller."""
    shared_folder(common_dir, BRANCHES)
    write_file(_file_of(common_dir, branch), f"{name}\n{branch}\n")


def release(common_dir: Path, branch: str) -> None:
    """Forget whose a branch was that is gone; the repository's lock is held by the caller."""
    _file_of(common_dir, branch).unlink(missing_ok=True)


def _file_of(common_dir: Path, branch: str) -> Path:
    digest = hashlib.sha256(branch.encode("utf-8", "surrogateescape")).hexdigest()
    return common_dir / BRANCHES / digest[:32]


def _claim(file: Path, identity: str) -> str:
    owner = _read(file)
    if owner is None:
        write_file(file, f"{identity}\n")
        return identity
    return owner


def _read(file: Path) -> str | None:
    """Return a small file's first line, None when it is not there."""
    try:
        return file.read_text("utf-8", "surrogateescape").partition("\n")[0]
    except FileNotFoundError:
        return None
