"""JSON-RPC 2.0 as text: a line becomes calls, a result or an error becomes a line.

Pure, and knows no method. An id is kept as the bytes that came, so that what goes back is spelt
the same; params stay raw until somebody knows their type.
"""

from enum import IntEnum
from typing import Any

import msgspec

NULL = b"null"
# A batch is split before anything else is known of it, and a small part costs more than its text.
LONGEST_BATCH = 1 << 20
LARGEST_BATCH = 1000
LONGEST_ID = 256


class Code(IntEnum):
    """The codes that JSON-RPC itself reserves."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603


class Call(msgspec.Struct, frozen=True):
    """One request; a notification when there is no id, then nothing goes back."""

    method: str
    params: msgspec.Raw
    id: bytes | None


class Refusal(msgspec.Struct, frozen=True):
    """What cannot be a request, with the error that goes back."""

    code: Code
    message: str
    id: bytes = NULL


class _Envelope(msgspec.Struct):
    jsonrpc: msgspec.Raw = msgspec.Raw()
    method: msgspec.Raw = msgspec.Raw()
    params: msgspec.Raw = msgspec.Raw()
    id: msgspec.Raw = msgspec.Raw()


_ENVELOPE = msgspec.json.Decoder(_Envelope)
_PARTS = msgspec.json.Decoder(list[msgspec.Raw])
_ID = msgspec.json.Decoder(str | int | float | None)
_TEXT = msgspec.json.Decoder(str)
_ENCODER = msgspec.json.Encoder()


def parse(line: bytes) -> Call | Refusal | list[Call | Refusal]:
    """Give the call in a line, what is wrong with it, or a list of such for a batch."""
    if not line.lstrip().startswith(b"["):
        return _one(line)
    if len(line) > LONGEST_BATCH:
        return Refusal(
            Code.INVALID_REQUEST,
            f"cannot take a batch of {len(line)} bytes: send at most {LONGEST_BATCH} in one, or "
            "its calls one by one",
        )
    try:
        parts = _PARTS.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        return _not_json(error)
    if not parts:
        return Refusal(Code.INVALID_REQUEST, "cannot answer an empty batch: put a call into it")
    if len(parts) > LARGEST_BATCH:
        return Refusal(
            Code.INVALID_REQUEST,
            f"cannot take a batch of {len(parts)} calls: send at most {LARGEST_BATCH} in one",
        )
    return [_one(part) for part in parts]


def _one(text: bytes | msgspec.Raw) -> Call | Refusal:
    try:
        envelope = _ENVELOPE.decode(text)
    except msgspec.ValidationError:
        return Refusal(Code.INVALID_REQUEST, "cannot read a request: it must be a JSON object")
    except (msgspec.DecodeError, RecursionError) as error:
        return _not_json(error)
    given = bytes(envelope.id)
    if len(given) > LONGEST_ID or (given and _decode(_ID, given) is _WRONG):
        return Refusal(
            Code.INVALID_REQUEST,
            f'cannot use this "id": it must be text, a number or null, in {LONGEST_ID} bytes',
        )
    back = given or NULL
    if _decode(_TEXT, envelope.jsonrpc) != "2.0":
        return Refusal(Code.INVALID_REQUEST, 'cannot read a request: "jsonrpc" must be "2.0"', back)
    method = _decode(_TEXT, envelope.method)
    if not isinstance(method, str):
        return Refusal(Code.INVALID_REQUEST, 'cannot read a request: "method" must be text', back)
    return Call(method, envelope.params, given or None)


class _Wrong:
    """Stands for what did not decode; None is an id."""


_WRONG = _Wrong()


def _decode(decoder: msgspec.json.Decoder[Any], text: bytes | msgspec.Raw) -> object:
    try:
        return decoder.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return _WRONG


def _not_json(error: Exception) -> Refusal:
    reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
    return Refusal(Code.PARSE_ERROR, f"cannot read a line as JSON: {reason}")


def result(back: bytes, value: object) -> bytes:
    """Give a reply without its line end; raises what msgspec raises for what it cannot encode."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (back, _ENCODER.encode(value))


def error(back: bytes, code: int, message: str, data: object = None) -> bytes:
    """Give an error reply without its line end."""
    # A lone surrogate (from a file name, say) cannot be encoded, and an error must always reach.
    clean = message.encode("utf-8", "backslashreplace").decode()
    body: dict[str, object] = {"code": code, "message": clean}
    if data is not None:
        body["data"] = data
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (back, _ENCODER.encode(body))


def notification(method: str, params: object) -> bytes:
    """Give a notification without its line end."""
    text = (_ENCODER.encode(method), _ENCODER.encode(params))
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}' % text
