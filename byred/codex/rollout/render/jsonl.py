"""Histories as lines of JSON: told, an object a turn, or as recorded, without the secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from byred.codex.rollout.jsontext import encode
from byred.codex.rollout.line import Line
from byred.codex.rollout.redact import redacted_line, redacted_value
from byred.codex.rollout.story import History, Turn


def told(turns: Iterable[Turn], known: Iterable[str] = ()) -> Iterator[bytes]:
    """Yield each turn as one line of JSON, redacted."""
    secrets = tuple(known)
    for turn in turns:
        yield encode(redacted_value(msgspec.to_builtins(turn), secrets)) + b"\n"


def recorded(lines: Iterable[Line], known: Iterable[str] = ()) -> Iterator[bytes]:
    """Yield the lines of a rollout, redacted; a line without secrets is codex's own bytes."""
    secrets = tuple(known)
    for line in lines:
        yield redacted_line(line, secrets).write()


def plain(history: History) -> dict[str, Any]:
    """Return a history as a plain object, for a reply; fields that say nothing are left out."""
    found: dict[str, Any] = msgspec.to_builtins(history)
    return found
