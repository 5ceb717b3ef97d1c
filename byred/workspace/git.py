"""Run git for byred: clean environment, no prompts, no pager, no hooks, bounded.

Owns how byred calls git. The repository's own configuration may have been written by an agent (a
commit needs the git directory writable), so whatever in it could start a program without being
needed for correct files (hooks, fsmonitor, external diffs) is switched off; filters stay, because
without them files would be wrong.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from byred.workspace.errors import GitError, Kind, WorkspaceError
from byred.workspace.process import OUTPUT_LIMIT, Finished, run

TIME_LIMIT = 60.0
"""Seconds for one git command that only reads or writes a few files."""
LONG = 1800.0
"""Seconds for a command that may write a whole tree or fetch objects."""

_KEPT_GIT_VARIABLES = frozenset(
    {
        "GIT_CONFIG_GLOBAL",  # where the owner's configuration lies
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_EXEC_PATH",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_SSL_CAINFO",
        "GIT_SSL_CAPATH",
    }
)
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "gc.auto=0",  # nothing of ours goes on in the background
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "advice.detachedHead=false",
    "submodule.recurse=false",
    "checkout.defaultRemote=",
    "worktree.guessRemote=false",
    "diff.external=",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "diff.relative=false",
    "diff.submodule=short",
    "log.showSignature=false",
    "rerere.enabled=false",
    "color.ui=false",
)


def clean_environment(base: Mapping[str, str]) -> dict[str, str]:
    """Return `base` without what would lead git elsewhere, make it ask, page or translate."""
    kept = {
        name: value
        for name, value in base.items()
        if not name.startswith("GIT_") or name in _KEPT_GIT_VARIABLES
    }
    kept.setdefault("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")
    kept.pop("SSH_ASKPASS", None)
    kept.pop("LANGUAGE", None)
    return kept | {
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "GIT_PAGER": "cat",
        "PAGER": "cat",
        "GIT_EDITOR": ":",
        "GIT_SEQUENCE_EDITOR": ":",
        "GIT_MERGE_AUTOEDIT": "no",
        # A status of ours must never hold the index's lock while the agent commits.
        "GIT_OPTIONAL_LOCKS": "0",
    }


def command(args: Sequence[str]) -> list[str]:
    """Return the whole argument list for git with `args`."""
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    return ["git", "--no-pager", *settings, *args]


async def run_git(
    *args: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = TIME_LIMIT,  # noqa: ASYNC109 - see process.run
    input: bytes | str | None = None,  # noqa: A002 - the name that subprocess uses
    limit: int = OUTPUT_LIMIT,
) -> Finished:
    """Run git and return how it ended, whatever its status; `env` is laid over the clean one.

    Raises GitError only when git could not be run to its end.
    """
    shown = ["git", *args]
    given = input.encode("utf-8", "surrogateescape") if isinstance(input, str) else input
    try:
        done = await run(
            command(args),
            cwd=cwd,
            env=clean_environment(os.environ) | dict(env or {}),
            timeout=timeout,
            stdin=given,
            limit=limit,
        )
    except OSError as error:
        if cwd is not None and not cwd.is_dir():  # noqa: ASYNC240 - one stat on the way out
            message = f"cannot run git in {cwd}: there is no such directory"
            raise WorkspaceError(message, Kind.NOT_FOUND) from error
        message = f"cannot run git: {error.strerror}; install git or put it on PATH"
        raise WorkspaceError(message) from error
    if done.timed_out:
        why = f"it took longer than {timeout:g} s and was ended"
        raise GitError(shown, None, text(done.stderr), why)
    return done


async def git(
    *args: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = TIME_LIMIT,  # noqa: ASYNC109 - see process.run
    input: bytes | str | None = None,  # noqa: A002 - the name that subprocess uses
) -> str:
    """Run git and return its output without the last newline.

    Bytes that are not UTF-8 come as surrogates, so that a path given back to git is the same path.

    Raises GitError with command and stderr when the status is not 0.
    """
    done = await run_git(*args, cwd=cwd, env=env, timeout=timeout, input=input)
    return output(args, done)


async def ask_git(
    *args: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = TIME_LIMIT,  # noqa: ASYNC109 - see process.run
) -> str | None:
    """Like `git`, for commands whose status 1 means "no": returns None then."""
    done = await run_git(*args, cwd=cwd, env=env, timeout=timeout)
    return None if done.status == 1 else output(args, done)


def output(args: Sequence[str], done: Finished) -> str:
    """Return the text of a command that succeeded, or raise what it said."""
    if done.status != 0:
        why = f"exit status {done.status}" if done.status > 0 else f"signal {-done.status}"
        raise GitError(["git", *args], done.status, text(done.stderr), why)
    return text(done.stdout).removesuffix("\n")


def text(raw: bytes) -> str:
    """Decode what git printed; every byte survives the way back."""
    return raw.decode("utf-8", "surrogateescape")


def printable(name: str) -> str:
    """Return `name` fit for JSON and a terminal: bytes that are no text become U+FFFD."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def fields(listing: str) -> list[str]:
    """Split what a command printed with `-z`."""
    return [field for field in listing.split("\0") if field]
