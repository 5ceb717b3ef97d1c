"""Everything that can go wrong between a client and `codex app-server`, in one tree.

Each error says whether the same request can succeed later without a change (`retryable`) and whose
trouble it is (`whose`): the task's, the account's or the machine's. What to do about it is left to
the caller. How a failed turn's `codexErrorInfo` becomes a `TurnFailed` is in `failures.py`.
"""
# ruff: noqa: N818 - the names say what happened, as in `except TransportClosed`

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from byred.codex.turn import Turn

Whose = Literal["task", "account", "machine"]

OVERLOADED_CODE = -32001
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


class CodexError(Exception):
    """The root: something about codex did not work."""

    retryable: bool = False
    whose: Whose = "machine"


class BinaryError(CodexError):
    """The codex program cannot be found, started or asked for its version."""


class VersionError(BinaryError):
    """The codex program is too old for what is asked of it."""


class TransportError(CodexError):
    """The connection to the server cannot be made or has failed; a new one may work."""

    retryable = True


class TransportClosed(TransportError):
    """The connection has ended; every call and question that was open ended with it."""


class MessageTooLarge(TransportError):
    """One message is over the limit; only its own waiter fails, the connection goes on.

    `size` and `limit` are bytes; `head` is how an incoming message began.
    """

    retryable = False
    whose: Whose = "task"

    def __init__(self, message: str, *, size: int, limit: int, head: bytes = b"") -> None:
        super().__init__(message)
        self.size = size
        self.limit = limit
        self.head = head


class ProtocolError(CodexError):
    """The server said something that the protocol does not allow."""


class MalformedError(ProtocolError):
    """A message or a field is not of the shape that the schema says."""


class ConsumerTooSlow(CodexError):
    """Events came faster than they were read, past the bound: those unread are gone.

    The connection and every other consumer go on; a turn's `result()` is still complete.
    """

    whose: Whose = "task"


class CallTimeout(CodexError):
    """The server did not answer in time; whether it did what was asked is not known."""

    retryable = True


class InputUnsettled(CallTimeout):
    """The answer for what was sent while a turn ran is lost, and the thread does not show it.

    That turn may have it still, for its model's next step. Once `turn` has ended the thread shows
    what it took; until then nothing should be sent again.
    """

    def __init__(self, message: str, turn: "Turn") -> None:
        super().__init__(message)
        self.turn = turn


class CallError(CodexError):
    """The server answered a call with an error: its `code`, `message` and `data`."""

    whose: Whose = "task"

    def __init__(self, method: str, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"cannot {method}: {message} ({code})")
        self.method = method
        self.code = code
        self.message = message
        self.data = data


class ServerOverloaded(CallError):
    """The server refused the call because it has too much to do; it did not act on it."""

    retryable = True
    whose: Whose = "machine"


class NoRollout(CallError):
    """The thread has no record on disk: it never had a turn, or belongs to another home.

    So has one whose record was not even begun when its server was killed or its disk was full.
    """


class ActiveWriter(CallError):
    """Another server process still has the thread; it must be gone first."""

    retryable = True
    whose: Whose = "machine"


class TurnNotOver(CallError):
    """The turn up to which a thread was to be forked has no end in the thread's record."""


class NoActiveTurn(CallError):
    """The turn that was to be steered or interrupted is not running (yet, or any more)."""


class LoginRequired(CallError):
    """The call needs an account that is logged in."""

    whose: Whose = "account"


class RequestFailed(CodexError):
    """Raised by a handler: the server request is answered with this JSON-RPC error."""

    whose: Whose = "task"

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class InputTooLarge(CodexError):
    """The text of a turn is over codex's limit; `actual` and `limit` are characters."""

    whose: Whose = "task"

    def __init__(self, *, actual: int, limit: int) -> None:
        super().__init__(
            f"cannot send {actual:,} characters of text: codex takes at most {limit:,} in a turn;"
            " put the text into a file and name the file"
        )
        self.actual = actual
        self.limit = limit


class ToolError(CodexError):
    """A tool or a namespace of tools is declared in a way that codex would refuse."""

    whose: Whose = "task"


class FailureKind(StrEnum):
    """Why a turn failed, as far as it makes a difference to what can be done."""

    USAGE_LIMIT = "usage_limit"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    UNAUTHORIZED = "unauthorized"
    CONTEXT_FULL = "context_full"
    MODEL_NOT_FOUND = "model_not_found"
    BAD_REQUEST = "bad_request"
    SANDBOX = "sandbox"
    UPSTREAM = "upstream"
    OTHER = "other"


class TurnFailed(CodexError):
    """A turn ended as `failed`.

    `kind` says why; `info` is codex's own `codexErrorInfo` as it came; `http_status` the model
    server's answer where codex tells it; `resets_at` (aware, UTC) when a usage limit ends, where
    that can be read; `details` codex's additional prose.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: FailureKind,
        info: Any = None,
        http_status: int | None = None,
        resets_at: datetime | None = None,
        details: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.info = info
        self.http_status = http_status
        self.resets_at = resets_at
        self.details = details
        self.retryable = kind in _RETRYABLE
        self.whose = _WHOSE.get(kind, "task")


_RETRYABLE = {
    FailureKind.USAGE_LIMIT,
    FailureKind.RATE_LIMIT,
    FailureKind.OVERLOADED,
    FailureKind.UPSTREAM,
}
_WHOSE: dict[FailureKind, Whose] = {
    FailureKind.USAGE_LIMIT: "account",
    FailureKind.RATE_LIMIT: "account",
    FailureKind.UNAUTHORIZED: "account",
    FailureKind.OVERLOADED: "machine",
    FailureKind.UPSTREAM: "machine",
    FailureKind.SANDBOX: "machine",
}


def call_error(method: str, code: int, message: str, data: Any) -> CallError:
    """Return the most telling error for what the server answered to `method`."""
    kind: type[CallError] = CallError
    if code == OVERLOADED_CODE:
        kind = ServerOverloaded
    elif (
        message.startswith(("no rollout found", "thread not found"))
        or message.endswith(("is empty", "does not start with session metadata"))
        or "failed to parse first rollout record" in message
    ):
        kind = NoRollout
    elif message.endswith("identifies an in-progress turn"):
        kind = TurnNotOver
    elif "already has an active writer" in message:
        kind = ActiveWriter
    elif message.startswith(("no active turn", "expected active turn id")):
        kind = NoActiveTurn
    elif "authentication required" in message:
        kind = LoginRequired
    return kind(method, code, message, data)
