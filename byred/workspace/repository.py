"""Look at a repository before anything is made in it.

Owns the answers to "what is this path" and "which commit is this base". Writes nothing.
"""

import asyncio
import hashlib
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from byred.workspace.errors import GitError, Kind, WorkspaceError
from byred.workspace.git import ask_git, fields, git, printable, run_git

_NAME_LENGTH = 40
_SHOWN_REFS = 5
_ANSWERS = 6


@dataclass(frozen=True)
class Repository:
    """A repository as byred sees it.

    `root` is the top level of the work tree that was named, or the directory of a bare repository;
    `git_dir` is that work tree's own, `common_dir` what all worktrees share. `name` is a folder
    name that is safe and the same for every path into this repository. `head` is the commit of
    HEAD, None when HEAD names a branch that doesn't exist. `default_branch` is None when HEAD is
    detached.
    """

    root: Path
    git_dir: Path
    common_dir: Path
    bare: bool
    name: str
    head: str | None
    default_branch: str | None
    object_format: str


@dataclass(frozen=True)
class Base:
    """Where a task starts: `ref` as a person reads it, `commit` in full."""

    ref: str
    commit: str


async def inspect(path: Path) -> Repository:
    """Say what repository is at `path` (any directory inside it will do).

    Raises WorkspaceError: `not_found` when nothing is there, `invalid` when it is not a directory,
    not a repository, or has no commit yet.
    """
    path = await asyncio.to_thread(_directory, path)
    bare, inside, object_format, common_dir, git_dir, top = await _places(path)
    if bare:
        root = common_dir
    elif inside and top is not None:
        root = top
    else:
        message = (
            f"cannot use {path}: it lies inside a git directory; name the folder of its work tree"
        )
        raise WorkspaceError(message, Kind.INVALID)
    head = await ask_git("rev-parse", "--quiet", "--verify", "HEAD^{commit}", cwd=root)
    branch = await ask_git("symbolic-ref", "--quiet", "--short", "HEAD", cwd=root)
    if head is None and not await _branches(root):
        message = f"cannot use {path}: the repository has no commit yet; make a first commit"
        raise WorkspaceError(message, Kind.INVALID)
    return Repository(
        root=root,
        git_dir=git_dir,
        common_dir=common_dir,
        bare=bare,
        name=folder_name(common_dir),
        head=head,
        default_branch=branch,
        object_format=object_format,
    )


async def resolve_base(repo: Repository, base: str | None) -> Base:
    """Return the commit that `base` names (branch, tag, remote branch or commit); None is HEAD.

    Raises WorkspaceError(`invalid`) when there is no such commit in the repository.
    """
    if base is None:
        if repo.head is None:
            known = ", ".join(await _branches(repo.root))
            message = (
                f"cannot start from HEAD of {repo.root}: its branch {repo.default_branch} does not "
                f"exist; choose a base, for example one of: {known}"
            )
            raise WorkspaceError(message, Kind.INVALID)
        # HEAD may have moved since `inspect`; the task starts where it is now.
        commit = await git("rev-parse", "--verify", "HEAD^{commit}", cwd=repo.root)
        return Base(ref=repo.default_branch or "HEAD", commit=commit)
    wanted = ("rev-parse", "--quiet", "--verify", "--end-of-options", f"{base}^{{commit}}")
    try:
        found = await ask_git(*wanted, cwd=repo.root) if base and "\0" not in base else None
    except GitError as error:
        if error.status is None:
            raise
        found = None  # git says 128 for what it can't parse at all
    if found is None:
        message = (
            f"cannot start from {printable(base)!r}: {repo.root} has no such commit; "
            "name a branch, a tag or a commit that `git log` knows there"
        )
        raise WorkspaceError(message, Kind.INVALID)
    return Base(ref=base, commit=found)


def folder_name(common_dir: Path) -> str:
    """Return a folder name for a repository: readable, safe, and of this path alone."""
    shown = common_dir.parent.name if common_dir.name == ".git" else common_dir.name
    shown = unicodedata.normalize("NFC", printable(shown).removesuffix(".git"))
    safe = re.sub(r"[^\w.-]+", "-", shown)[:_NAME_LENGTH].strip("-._") or "repository"
    digest = hashlib.sha256(str(common_dir).encode("utf-8", "surrogateescape")).hexdigest()
    return f"{safe}-{digest[:8]}"


async def _places(path: Path) -> tuple[bool, bool, str, Path, Path, Path | None]:
    """Ask git about a directory: bare, inside a work tree, format, common and own directory, top.

    There is no top level in a bare repository or inside a git directory.
    """
    first = ("rev-parse", "--path-format=absolute", "--is-bare-repository", "--is-inside-work-tree")
    places = ("--git-common-dir", "--absolute-git-dir", "--show-toplevel")
    done = await run_git(*first, "--show-object-format", *places, cwd=path)
    lines = done.stdout.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")
    if len(lines) < _ANSWERS - 1:
        said = done.stderr.decode("utf-8", "replace").strip()
        if "not a git repository" in said:
            message = (
                f"cannot use {path}: it is not a git repository; name another or `git init` it"
            )
            raise WorkspaceError(message, Kind.INVALID)
        raise WorkspaceError(f"cannot use {path} as a repository: {said}", Kind.INVALID)
    bare, inside = lines[0] == "true", lines[1] == "true"
    asked = places if inside else places[:-1]
    found = lines[3:]
    if len(found) != len(asked):  # a path has line breaks
        found = [
            await git("rev-parse", "--path-format=absolute", question, cwd=path)
            for question in asked
        ]
    common_dir, git_dir, *top = map(Path, found)
    return bare, inside, lines[2], common_dir, git_dir, top[0] if top else None


def _directory(path: Path) -> Path:
    path = path.expanduser()
    if not path.exists():
        raise WorkspaceError(f"cannot use {path}: it does not exist", Kind.NOT_FOUND)
    if not path.is_dir():
        raise WorkspaceError(f"cannot use {path}: it is not a directory", Kind.INVALID)
    return path.resolve()


async def _branches(root: Path) -> list[str]:
    """Return a few branches, the youngest first."""
    listing = await git(
        "for-each-ref",
        f"--count={_SHOWN_REFS}",
        "--sort=-committerdate",
        "--format=%(refname:short)%00",
        "refs/heads",
        cwd=root,
    )
    return [name.strip() for name in fields(listing)]
