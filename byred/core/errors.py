"""The errors that a caller of byred can act on, each of one kind.

The kinds are the contract of the socket (`data.kind`); the text of an error says what could not
be done and what to do about it.
"""

from enum import StrEnum
from typing import Any, ClassVar


class Kind(StrEnum):
    """What sort of trouble a request met, as clients see it."""

    NOT_FOUND = "not_found"
    WRONG_STATE = "wrong_state"
    CONFLICT = "conflict"
    LIMIT = "limit"
    INVALID = "invalid"


class ByredError(Exception):
    """The root of byred's own errors; its text is a sentence for a person."""

    kind: ClassVar[Kind] = Kind.INVALID

    def details(self) -> dict[str, Any]:
        """Give what programs may want to know beside the kind."""
        return {}


class NotFoundError(ByredError, LookupError):
    """What was named does not exist."""

    kind = Kind.NOT_FOUND


class WrongStateError(ByredError):
    """The task or question exists, but its state does not allow this."""

    kind = Kind.WRONG_STATE


class ConflictError(ByredError):
    """Somebody else was first, or the world holds something that must not be overwritten."""

    kind = Kind.CONFLICT


class FilesConflictError(ConflictError):
    """Two sides changed the same files, which `files` names; nothing was changed."""

    def __init__(self, message: str, files: tuple[str, ...]) -> None:
        super().__init__(message)
        self.files = files

    def details(self) -> dict[str, Any]:
        """Give the files."""
        return {"files": self.files}


class LimitError(ByredError):
    """A bound that the owner set, or the machine's own, is reached."""

    kind = Kind.LIMIT


class InvalidError(ByredError, ValueError):
    """The request itself cannot be right."""

    kind = Kind.INVALID
