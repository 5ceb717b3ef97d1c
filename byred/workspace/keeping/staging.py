"""Bring the files of a tree into an index of its own, beside the agent's.

Owns the scratch index, and adding to it. `git add` and `git status` would start a git of their own
in each repository inside the tree, and with it what the agent configured there; the commands used
here don't.
"""

import asyncio
import contextlib
import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from byred.workspace.git import LONG, fields, output, printable, text
from byred.workspace.guard import At

DURABLE = ("-c", "core.fsync=all", "-c", "core.fsyncMethod=batch")
"""What is to outlive its files must be on the disk before they go."""
_GITLINK = "160000 "
_MOST_UNREADABLE = 100
_UNREADABLE = re.compile(r"^fatal: Unable to process path (.*)$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Staged:
    """What was found in a tree: the repositories inside it, and what could not be added."""

    inner: tuple[str, ...]
    skipped: tuple[str, ...]


@contextlib.asynccontextmanager
async def scratch_index(at: At) -> AsyncIterator[At]:
    """Give the same place with a copy of its index, which git uses instead."""
    with tempfile.TemporaryDirectory(prefix="byre-index-") as folder:
        target = Path(folder) / "index"
        own = Path(await at.git("rev-parse", "--path-format=absolute", "--git-path", "index"))
        scratch = at.with_env(GIT_INDEX_FILE=str(target))
        if await asyncio.to_thread(own.exists):
            # Git replaces an index by renaming, so a copy is always a whole one. With its time: a
            # file that was written in the same second git takes for unchanged in a younger index.
            await asyncio.to_thread(shutil.copy2, own, target)
        elif await at.commit("HEAD") is not None:
            await scratch.git("read-tree", "HEAD")
        yield scratch


async def add_all(at: At) -> Staged:
    """Add all files that are not ignored to the index of `at`, which is a scratch one."""
    args = ("ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard")
    names = list(dict.fromkeys(fields(await at.git(*args, timeout=LONG))))
    # Git shows a repository that it doesn't know yet as a folder.
    folders = [name.rstrip("/") for name in names if name.endswith("/")]
    skipped = await _add([name for name in names if not name.endswith("/")], at)
    links = await gitlinks(at)
    without_commit: list[str] = []
    for folder in folders:
        done = await at.run("update-index", "--add", "--replace", "--", folder)
        if done.status == 0:
            links.append(folder)
        else:
            without_commit.append(folder)
    inner = []
    for name in (*links, *without_commit):
        there = await asyncio.to_thread(_is_repository, at.path / name)
        if there:
            inner.append(name)
        elif there is None:
            skipped.append(f"{printable(name)}: files are in it, but its repository is gone")
    return Staged(tuple(dict.fromkeys(inner)), tuple(skipped))


async def gitlinks(at: At) -> list[str]:
    """Return the paths in the index that stand for a repository's commit."""
    listing = await at.git("ls-files", "--stage", "-z", timeout=LONG)
    return [entry.split("\t", 1)[1] for entry in fields(listing) if entry.startswith(_GITLINK)]


async def _add(names: list[str], at: At) -> list[str]:
    """Add files; return what is wrong with those that can't be read."""
    args = ("-c", "core.safecrlf=false", "update-index", "--add", "--remove", "--replace")
    skipped: list[str] = []
    left = list(names)
    while left:
        listing = "".join(f"{name}\0" for name in left)
        done = await at.run(*DURABLE, *args, "-z", "--stdin", input=listing, timeout=LONG)
        found = _UNREADABLE.search(text(done.stderr))
        name = None if found is None else found[1].removesuffix("\n")
        if done.status == 0 or name not in left or len(skipped) == _MOST_UNREADABLE:
            output(args, done)
            break
        skipped.append(f"{printable(name)}: {printable(text(done.stderr)).splitlines()[0]}")
        left.remove(name)
    return skipped


def _is_repository(folder: Path) -> bool | None:
    """Say whether a folder is a repository; None when it is none but has files."""
    if (folder / ".git").exists():
        return True
    if folder.is_dir() and not folder.is_symlink() and next(folder.iterdir(), None) is not None:
        return None
    return False
