"""Install a repository's dependencies once for all tasks that need the same ones.

Owns a cache of folders, by key: the command, the folders and the content of the key files at the
task's base commit. A cached folder is copied, never linked: a link would leak edits.
"""

import asyncio
import hashlib
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from byred.workspace.errors import Kind, WorkspaceError, reporting
from byred.workspace.git import git
from byred.workspace.lock import file_lock
from byred.workspace.orders.hooks import Ran, run_command
from byred.workspace.orders.repofile import Setup
from byred.workspace.process import run
from byred.workspace.repository import Repository
from byred.workspace.trees.registration import remove_tree

_COPY_LIMIT = 1800.0
_DONE = "done"


@dataclass(frozen=True)
class Installed:
    """What was done: `ran` is None when the cache had it."""

    key: str
    ran: Ran | None


@reporting("install dependencies")
async def install(
    setup: Setup,
    *,
    repo: Repository,
    commit: str,
    worktree: Path,
    env: Mapping[str, str],
    cache: Path,
    log: Path,
) -> Installed:
    """Give a fresh worktree its dependencies: from the cache, or by the command into the cache.

    Tasks that need the same wait for the first of them. A command that fails leaves nothing in the
    cache; `Installed.ran` says so, and the caller decides. Done already: nothing happens.
    """
    key = await cache_key(setup, repo, commit)
    await asyncio.to_thread(cache.mkdir, parents=True, exist_ok=True)
    entry = cache / key
    async with file_lock(cache / f"{key}.guard", timeout=setup.command.seconds + _COPY_LIMIT):
        if await asyncio.to_thread((entry / _DONE).exists):
            await asyncio.to_thread(os.utime, entry)
            await _copy_all(setup, entry, worktree)
            return Installed(key, None)
        ran = await run_command(setup.command, cwd=worktree, env=env, log=log)
        if ran.passed:
            await asyncio.to_thread(remove_tree, entry)
            await asyncio.to_thread(entry.mkdir)
            await _copy_all(setup, worktree, entry)
            await asyncio.to_thread((entry / _DONE).touch)
        return Installed(key, ran)


async def cache_key(setup: Setup, repo: Repository, commit: str) -> str:
    """Return what the installed folders depend on, as one word."""
    listing = await git("ls-tree", "-r", "-z", commit, "--", *setup.key, cwd=repo.common_dir)
    if not listing:
        named = ", ".join(setup.key)
        message = f"cannot use setup.key of .byre.toml: no file {named} in {commit[:12]}"
        raise WorkspaceError(message, Kind.INVALID)
    parts = (setup.run, *setup.keep, listing, platform.machine(), platform.system())
    return hashlib.sha256("\0\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def prune(cache: Path, most_bytes: int, size: Mapping[str, int]) -> list[str]:
    """Remove the entries that were used least lately until the rest fits; return their keys.

    `size` are the bytes of each entry, as measured by the caller.
    """
    entries = sorted(
        (path for path in cache.iterdir() if path.is_dir()),
        key=lambda path: path.stat().st_mtime,
        reverse=True,
    )
    total, gone = 0, []
    for entry in entries:
        total += size.get(entry.name, 0)
        if total > most_bytes:
            (entry / _DONE).unlink(missing_ok=True)  # from here on it is no entry
            remove_tree(entry)
            gone.append(entry.name)
    return gone


async def _copy_all(setup: Setup, source: Path, target: Path) -> None:
    for name in setup.keep:
        there, here = source / name, target / name
        if not await asyncio.to_thread(_may_copy, there, source, here, target):
            continue
        # Copied beside and renamed: what is there is whole.
        beside = here.with_name(f".{here.name}.byre-copy")
        await asyncio.to_thread(remove_tree, beside)
        argv = ["cp", "--archive", "--reflink=auto", "--no-target-directory", "--"]
        done = await run(
            [*argv, str(there), str(beside)],
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
            timeout=_COPY_LIMIT,
            merge=True,
        )
        if done.status != 0:
            said = done.stdout.decode("utf-8", "replace").strip()
            raise WorkspaceError(f"cannot copy {there} to {here}: {said}")
        await asyncio.to_thread(beside.rename, here)


def _may_copy(source: Path, source_root: Path, target: Path, target_root: Path) -> bool:
    """Say whether there is something to copy, to a place that is free and inside."""
    if source.is_symlink() or not source.exists() or target.exists() or target.is_symlink():
        return False
    inside = source.parent.resolve().is_relative_to(source_root.resolve())
    folder = target.parent.resolve()
    if not inside or not folder.is_relative_to(target_root.resolve()):
        return False
    folder.mkdir(parents=True, exist_ok=True)
    return True
