"""JSON text without loss: exact numbers, and edits that leave every other byte alone.

`decode` gives ordinary Python values, save that a number which a float cannot hold exactly comes
as a `Decimal64` that remembers its text. `encode` writes compact UTF-8 as serde does. `replace`
changes one member in place, so escapes, duplicate keys, order and spacing around it survive.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn, Self

import msgspec

from byred.codex.rollout.errors import RolloutError

_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]')
_SCALAR = re.compile(rb'"(?:[^"\\]|\\.)*"|[^\s,\]}]+')
_SPACE = re.compile(rb"[ \t\r\n]*")
_QUOTE = 0x22
_OPENERS = b"{["


class Decimal64(float):
    """A number whose text a float would not give back: `1e400`, `1.10`, 30 decimals."""

    text: str

    def __new__(cls, text: str) -> Self:
        """Keep `text` beside the nearest float."""
        number = super().__new__(cls, text)
        number.text = text
        return number


def _number(text: str) -> float:
    number = float(text)
    return number if repr(number) == text else Decimal64(text)


def _verbatim(value: Any) -> msgspec.Raw:
    if isinstance(value, Decimal64):
        return msgspec.Raw(value.text.encode())
    raise NotImplementedError(f"cannot write a {type(value).__name__} as JSON")


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(float_hook=_number)
_encoder = msgspec.json.Encoder(enc_hook=_verbatim)


def decode(raw: bytes) -> Any:
    """Return the value that `raw` holds; raises RolloutError when it isn't one JSON value."""
    try:
        return _decoder.decode(raw)
    except RecursionError:
        raise RolloutError("cannot read JSON that is nested this deeply") from None
    except msgspec.MsgspecError as refusal:
        # Lone surrogates: JavaScript writes them, serde and msgspec refuse them.
        if b"\\ud" not in raw and b"\\uD" not in raw:
            raise RolloutError(f"cannot read JSON: {refusal}") from None
        try:
            return json.loads(raw, parse_float=_number, parse_constant=_no_constant)
        except ValueError as error:
            raise RolloutError(f"cannot read JSON: {error}") from None


def encode(value: Any) -> bytes:
    """Return `value` as compact JSON; raises RolloutError for what JSON does not have.

    A float that is not a number is written as null, as JavaScript and serde do.
    """
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, NotImplementedError) as error:
        raise RolloutError(f"cannot write JSON: {error}") from None


def canonical(raw: bytes) -> bytes:
    """Return `raw` in the one form in which equal texts are equal bytes.

    Spacing and the choice of escapes go; order of members, numbers, absent and null stay.
    """
    return encode(decode(raw))


def replace(raw: bytes, path: tuple[str, ...], value: bytes) -> bytes:
    """Return `raw` with the member at `path` replaced by the JSON text `value`.

    Of duplicate keys the last is meant, as in every decoder. Raises RolloutError when there is no
    such member.
    """
    start = _SPACE.match(raw, 0).end()  # type: ignore[union-attr] # it matches the empty text
    end = _end(raw, start)
    for key in path:
        found = None
        for name, member_start, member_end in _members(raw, start):
            if name == key:
                found = member_start, member_end
        if found is None:
            raise RolloutError(f"cannot replace {'.'.join(path)}: there is no {key!r}")
        start, end = found
    return raw[:start] + value + raw[end:]


def _members(raw: bytes, start: int) -> list[tuple[str, int, int]]:
    """Return name, start and end of each member of the object that begins at `start`."""
    members: list[tuple[str, int, int]] = []
    if raw[start : start + 1] != b"{":
        return members
    position = start + 1
    while True:
        position = _skip(raw, position, b",")
        if raw[position : position + 1] == b"}":
            return members
        name_end = _end(raw, position)
        name: str = decode(raw[position:name_end])
        value = _skip(raw, name_end, b":")
        position = _end(raw, value)
        members.append((name, value, position))


def _skip(raw: bytes, position: int, mark: bytes) -> int:
    position = _SPACE.match(raw, position).end()  # type: ignore[union-attr] # as above
    if raw[position : position + 1] == mark:
        position = _SPACE.match(raw, position + 1).end()  # type: ignore[union-attr] # as above
    return position


def _end(raw: bytes, start: int) -> int:
    """Return where the value that begins at `start` ends."""
    if raw[start : start + 1] not in (b"{", b"["):
        scalar = _SCALAR.match(raw, start)
        if scalar is None:
            raise RolloutError(f"cannot read JSON: no value at byte {start}")
        return scalar.end()
    depth = 0
    for token in _TOKENS.finditer(raw, start):
        first = raw[token.start()]
        if first == _QUOTE:
            continue
        depth += 1 if first in _OPENERS else -1
        if depth == 0:
            return token.end()
    raise RolloutError(f"cannot read JSON: the value at byte {start} does not end")
