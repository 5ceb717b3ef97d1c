"""The messages of the protocol's envelope, as they come and as far as they can be read.

Owns their shapes, also of what is only half there. Who waits for them is `connection.py`'s.
"""

import re
from typing import Any

import msgspec

from byred.codex.errors import INTERNAL_ERROR, CodexError, MalformedError, call_error

RequestId = int | str


class Message(msgspec.Struct, frozen=True, gc=False):
    """One message of the server as it came.

    A notification has a `method` and its params as `data` (`emitted_at` is the server's clock, in
    Unix milliseconds, 0 where it says none); a request has an `id` too; an answer only an `id`,
    with `result` or `error`.
    """

    method: str = ""
    data: Any = msgspec.field(name="params", default=None)
    id: int | str | None = None
    result: Any = msgspec.UNSET
    error: Any = None
    emitted_at: int = msgspec.field(name="emittedAtMs", default=0)


class IncomingRequest(msgspec.Struct, frozen=True):
    """A request of the server: its id (the server's own space), method and raw params."""

    id: RequestId
    method: str
    params: dict[str, Any]


class Counters(msgspec.Struct):
    """What a connection saw that it could not use, since it was opened."""

    bad_lines: int = 0
    oversized: int = 0
    late_answers: int = 0
    unknown_answers: int = 0
    duplicate_answers: int = 0
    duplicate_requests: int = 0
    handler_errors: int = 0
    overload_retries: int = 0


class Head(msgspec.Struct):
    """What the first bytes of an oversized message still tell."""

    id: RequestId | None = None
    method: str | None = None

    @classmethod
    def read(cls, head: bytes) -> "Head":
        """Find the id and the method, which stand first in what codex writes.

        An id that is no text names nobody.
        """
        number = re.match(rb'\{(?:"method":"[^"]*",)?"id":(?:(\d+)|"([^"]*)")', head)
        method = re.match(rb'\{(?:"id":(?:\d+|"[^"]*"),)?"method":"([^"]*)"', head)
        found: RequestId | None = None
        if number is not None:
            found = int(number[1]) if number[1] is not None else _text(number[2])
        return cls(found, method[1].decode(errors="replace") if method is not None else None)


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def read_error(method: str, error: Any) -> CodexError:
    """Return the error that an answer to `method` carries."""
    if not isinstance(error, dict):
        return MalformedError(f"cannot {method}: the server's error is not an object")
    code = error.get("code")
    message = error.get("message")
    return call_error(
        method,
        code if isinstance(code, int) else INTERNAL_ERROR,
        message if isinstance(message, str) else "no message",
        error.get("data"),
    )
