"""Move a branch that is checked out, together with the files there, to a commit that descends.

Owns the one place where byred writes to a person's checkout, only ever because a person asked. A
note in the common directory says that it is under way, so that a run that was killed in the middle
is finished by the next, or left to the person if they went on meanwhile.
"""

import asyncio
from pathlib import Path

import msgspec

from byred.workspace.errors import Kind, WorkspaceError
from byred.workspace.git import LONG, ask_git, fields, git, printable, run_git, text
from byred.workspace.guard import At
from byred.workspace.keeping.staging import scratch_index
from byred.workspace.lock import PATIENCE, clear_stale
from byred.workspace.patience import patiently
from byred.workspace.repository import Repository
from byred.workspace.trees.registration import write_file

_NOTE = "byre-advance"
_SHOWN = 10


class _UnderWay(msgspec.Struct, frozen=True):
    path: str
    branch: str
    before: str
    after: str


async def advance(repo: Repository, path: Path, branch: str, before: str, after: str) -> None:
    """Move `branch`, checked out at `path`, from `before` to `after`, and the files with it.

    The repository's lock is held by the caller.

    Raises WorkspaceError(`conflict`) when the checkout has changes, or files in the way; nothing
    was changed then.
    """
    await _check_clean(path)
    note = repo.common_dir / _NOTE
    state = _UnderWay(str(path), branch, before, after)
    content = msgspec.json.encode(msgspec.to_builtins(state)).decode()
    await asyncio.to_thread(write_file, note, content)
    args = ("merge", "--ff-only", "--no-overwrite-ignore", "--quiet", after)
    done = await run_git(*args, cwd=path, timeout=LONG)
    await asyncio.to_thread(note.unlink)
    if done.status != 0:
        said = text(done.stderr)
        named = [line.strip() for line in said.splitlines() if line.startswith("\t")]
        why = f"files are in the way: {_few(named)}" if named else printable(said).strip()
        raise WorkspaceError(f"cannot update {path}: {why}; nothing was changed", Kind.CONFLICT)


async def finish_interrupted(repo: Repository) -> bool:
    """Finish a move that was killed in the middle, and say whether there was one.

    The repository's lock is held by the caller.

    Raises WorkspaceError(`conflict`) once when the person changed files meanwhile: then the rest
    is theirs.
    """
    note = repo.common_dir / _NOTE
    try:
        content = await asyncio.to_thread(note.read_bytes)
    except FileNotFoundError:
        return False
    state = msgspec.json.decode(content, type=_UnderWay)
    path = Path(state.path)
    ref = f"refs/heads/{state.branch}"
    here = await ask_git("symbolic-ref", "--quiet", "HEAD", cwd=path) if path.is_dir() else None  # noqa: ASYNC240 - one stat
    at = await ask_git("rev-parse", "--quiet", "--verify", ref, cwd=repo.common_dir)
    if here == ref:
        own = Path(await git("rev-parse", "--absolute-git-dir", cwd=path))
        locks = [own / f"{name}.lock" for name in ("index", "HEAD", "ORIG_HEAD")]
        branch = repo.common_dir / f"{ref}.lock"
        await clear_stale([*locks, branch], places=(path, own), youngest=0.0, patience=PATIENCE)
    if here == ref and at == state.before:
        foreign = await _changed_by_others(path, state.before, state.after)
        if foreign:
            await asyncio.to_thread(note.unlink)
            message = (
                f"cannot finish moving {state.branch} in {path} to {state.after[:12]}, which was "
                f"interrupted: {_few(foreign)} changed since; look at `git status` there and "
                f"finish with `git merge --ff-only {state.after[:12]}`"
            )
            raise WorkspaceError(message, Kind.CONFLICT)
        await patiently("read-tree", "--reset", "-u", state.after, cwd=path, timeout=LONG)
        move = ("update-ref", "-m", "byre: finish", ref, state.after, state.before)
        await patiently(*move, cwd=path)
    await asyncio.to_thread(note.unlink)
    return True


async def _check_clean(path: Path) -> None:
    args = ("status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=dirty")
    listing = await git(*args, "--no-renames", cwd=path, timeout=LONG)
    changed = [printable(entry[3:]) for entry in fields(listing)]
    if changed:
        message = (
            f"cannot merge into the checkout {path}: it has changes in {_few(changed)}; "
            "commit or stash them first"
        )
        raise WorkspaceError(message, Kind.CONFLICT)
    merging = await git("rev-parse", "--path-format=absolute", "--git-path", "MERGE_HEAD", cwd=path)
    if await asyncio.to_thread(Path(merging).exists):
        message = f"cannot merge into the checkout {path}: a merge is under way there; finish it"
        raise WorkspaceError(message, Kind.CONFLICT)


async def _changed_by_others(path: Path, before: str, after: str) -> list[str]:
    """Return the files that are neither as they were nor as they were to become.

    Untracked files that the move doesn't touch are nobody's business here.
    """
    args = ("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", before, after, "--")
    ours = set(fields(await git(*args, cwd=path, timeout=LONG)))
    edited, added = await _differing(path, before)
    edited_new, added_new = await _differing(path, after)
    foreign = (edited - ours) | (ours & (edited | added) & (edited_new | added_new))
    return sorted(printable(name) for name in foreign)


async def _differing(path: Path, commit: str) -> tuple[set[str], set[str]]:
    """Return the files that differ from a commit's, and those that it hasn't, ignored ones too."""
    async with scratch_index(At(path)) as scratch:
        await scratch.git("read-tree", "--reset", commit, timeout=LONG)
        await scratch.run("update-index", "-q", "--refresh", timeout=LONG)
        listings = [
            await scratch.git("ls-files", "-z", *which, timeout=LONG)
            for which in (("--modified", "--deleted"), ("--others",))
        ]
        edited, added = (set(fields(listing)) for listing in listings)
        return edited, added


def _few(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
