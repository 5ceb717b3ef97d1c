"""The text of a JSON-RPC message, taken apart without losing a byte.

`--json` promises the socket's reply exactly as it came. Decoding and encoding again would change
the spelling of numbers, the escapes and the order of repeated keys, so the text of each member is
kept beside its value.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class Member(NamedTuple):
    """The value of one member of a JSON object, and the text that it was read from."""

    value: Any
    text: str


def members(line: str) -> dict[str, Member]:
    """Take a JSON object apart into its members, each with its own text.

    Raises ValueError when the line is not exactly one JSON object.
    """
    found: dict[str, Member] = {}
    at = _expect(line, 0, "{")
    at = _skip(line, at)
    if line[at : at + 1] == "}":
        _end(line, at + 1)
        return found
    while True:
        name, at = _value(line, _skip(line, at))
        if not isinstance(name, str):
            raise ValueError("a name is not a string")  # noqa: TRY004 - the text is wrong, no type
        begin = _skip(line, _expect(line, at, ":"))
        value, at = _value(line, begin)
        found[name] = Member(value, line[begin:at])
        at = _skip(line, at)
        if line[at : at + 1] != ",":
            break
        at += 1
    _end(line, _expect(line, at, "}"))
    return found


def request(number: int, method: str, params: Mapping[str, Any]) -> bytes:
    """One JSON-RPC request as a line.

    Raises ValueError when a text of it can't be said in UTF-8.
    """
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _value(line: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(line, at)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _skip(line: str, at: int) -> int:
    match = _SPACE.match(line, at)
    return match.end() if match else at


def _expect(line: str, at: int, mark: str) -> int:
    at = _skip(line, at)
    if line[at : at + 1] != mark:
        raise ValueError(f"expected {mark!r} at character {at}")
    return at + 1


def _end(line: str, at: int) -> None:
    if _skip(line, at) != len(line):
        raise ValueError("more follows the object")
