"""The one family of errors that this room raises."""

import errno
import functools
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE})


class Kind(StrEnum):
    """What went wrong, as far as a caller needs to know to act on it."""

    INVALID = "invalid"
    """What was asked for makes no sense as given; asking again changes nothing."""
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    """The world is in the way (a dirty target, a name taken); a person can move it."""
    LIMIT = "limit"
    """A bound was reached (no port, no disk left)."""
    INFRASTRUCTURE = "infrastructure"
    """The machine or git failed; trying again may help."""


class WorkspaceError(Exception):
    """Something about a workspace could not be done; the text says what, where and what to do."""

    def __init__(self, message: str, kind: Kind = Kind.INFRASTRUCTURE) -> None:
        """Keep the sentence and its kind."""
        super().__init__(message)
        self.message = message
        self.kind = kind


class GitError(WorkspaceError):
    """A git command failed: carries the command, its exit status and what it printed on stderr."""

    def __init__(self, command: Sequence[str], status: int | None, stderr: str, why: str) -> None:
        """Build the sentence from command and reason; `status` is None when it was ended."""
        said = stderr.strip()
        text = f"cannot finish `{' '.join(command)}`: {why}"
        super().__init__(f"{text}: {said[-2000:]}" if said else text)
        self.command = tuple(command)
        self.status = status
        self.stderr = stderr


def reporting(
    what: str,
) -> Callable[[Callable[_P, Awaitable[_T]]], Callable[_P, Awaitable[_T]]]:
    """Make an OSError of the decorated function a WorkspaceError: "cannot `what`: …".

    A disk that is full is of kind `limit`, everything else `infrastructure`.
    """

    def decorate(function: Callable[_P, Awaitable[_T]]) -> Callable[_P, Awaitable[_T]]:
        @functools.wraps(function)
        async def reported(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            try:
                return await function(*args, **kwargs)
            except TimeoutError:
                raise  # an OSError by ancestry only: the caller's own limit
            except OSError as error:
                kind = Kind.LIMIT if error.errno in _FULL else Kind.INFRASTRUCTURE
                where = f" ({error.filename})" if error.filename else ""
                raise WorkspaceError(f"cannot {what}: {error.strerror}{where}", kind) from error

        return reported

    return decorate
