"""One line of a rollout: its bytes, and what they say.

The bytes are the truth: a line that is read and written again is the same bytes, whatever its
type, its numbers, its escapes or its order. `doc` and `record` are for reading; the two ways of
changing a line (`respelled`, `with_value`) touch the bytes of one member and no others.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from byred.codex.rollout.errors import RolloutError
from byred.codex.rollout.jsontext import decode, encode, replace
from byred.codex.rollout.record import Record
from byred.codex.rollout.types import payload


class Dialect(StrEnum):
    """The two spellings of the events that begin and end a turn."""

    TASK = "task"
    """`task_started`, `task_complete`: what every version writes."""
    TURN = "turn"
    """`turn_started`, `turn_complete`: what every version also reads."""


_SPELLINGS = {
    Dialect.TASK: {"turn_started": "task_started", "turn_complete": "task_complete"},
    Dialect.TURN: {"task_started": "turn_started", "task_complete": "turn_complete"},
}


_AS_TASK = _SPELLINGS[Dialect.TASK]


def spelled(tag: str, dialect: Dialect) -> str:
    """Return an event's tag in a dialect; tags that have one spelling stay."""
    return _SPELLINGS[dialect].get(tag, tag)


class Line(msgspec.Struct, frozen=True, gc=False):
    """A whole line: `raw` without its newline, where it began, and the object that it holds."""

    raw: bytes
    offset: int
    doc: dict[str, Any]

    @property
    def type(self) -> str:
        """The kind of line (`session_meta`, `event_msg`, …), or empty when it says none."""
        kind = self.doc.get("type")
        return kind if isinstance(kind, str) else ""

    @property
    def payload(self) -> dict[str, Any]:
        """The payload, or an empty object when there is none."""
        found = self.doc.get("payload")
        return found if isinstance(found, dict) else {}

    @property
    def tag(self) -> str:
        """The `type` inside the payload, in codex's own spelling; empty when it has none."""
        tag = self.payload.get("type")
        return _AS_TASK.get(tag, tag) if isinstance(tag, str) else ""

    @property
    def timestamp(self) -> str:
        """When codex wrote the line (RFC 3339, UTC, milliseconds), or empty."""
        stamp = self.doc.get("timestamp")
        return stamp if isinstance(stamp, str) else ""

    @property
    def ordinal(self) -> int | None:
        """The line's number in a paginated history; None in a legacy one."""
        number = self.doc.get("ordinal")
        return number if isinstance(number, int) else None

    @property
    def end(self) -> int:
        """The offset of the first byte behind the line, its newline not counted."""
        return self.offset + len(self.raw)

    @property
    def record(self) -> Record:
        """The payload as its type; `Unknown` for what no version known here writes."""
        return payload(self.type, self.payload)

    def write(self) -> bytes:
        """Return the line as it was, with its newline."""
        return self.raw + b"\n"

    def respelled(self, dialect: Dialect) -> Line:
        """Return the line with the turn's events in a dialect; every other byte stays."""
        tag = self.payload.get("type")
        wanted = spelled(tag, dialect) if self.type == "event_msg" and isinstance(tag, str) else tag
        return self if wanted == tag else self.with_value(("payload", "type"), wanted)

    def with_value(self, path: tuple[str, ...], value: Any) -> Line:
        """Return the line with one member replaced; raises RolloutError when it isn't there."""
        text = value.write() if isinstance(value, Record) else encode(value)
        return parse(replace(self.raw, path, text), self.offset)


def parse(raw: bytes, offset: int = 0) -> Line:
    """Read one line, its newline taken off; raises RolloutError when it isn't a JSON object."""
    doc = decode(raw)
    if not isinstance(doc, dict):
        raise RolloutError("cannot read a line that is not a JSON object")
    return Line(raw, offset, doc)


def make(timestamp: str, kind: str, record: Record, ordinal: int | None = None) -> Line:
    """Return a new line as codex would write it."""
    numbered = {} if ordinal is None else {"ordinal": ordinal}
    doc = {"timestamp": timestamp, **numbered, "type": kind, "payload": record.doc}
    return Line(encode(doc), 0, doc)
