"""The record types of the inner protocol, and which of them a payload is.

The classes of the other modules are written from the schemas of real binaries. What this module
adds is the choice: a tag, in any of its spellings, gives one class, and a tag that nobody knows
gives `Unknown` with everything still in it.
"""

from __future__ import annotations

from typing import Any

from byred.codex.rollout.record import Record
from byred.codex.rollout.types.agents import AGENTS
from byred.codex.rollout.types.asking import ASKING
from byred.codex.rollout.types.commands import COMMANDS
from byred.codex.rollout.types.envelope import ENVELOPE
from byred.codex.rollout.types.items import ITEMS
from byred.codex.rollout.types.messages import MESSAGES
from byred.codex.rollout.types.turn_items import TURN_ITEMS
from byred.codex.rollout.types.turns import TURNS

EVENTS: dict[str, type[Record]] = {**TURNS, **MESSAGES, **COMMANDS, **ASKING, **AGENTS}
"""Every `EventMsg` by its tag."""


class Unknown(Record):
    """A payload of a kind that no version known here writes."""

    __slots__ = ()


def _spellings(classes: dict[str, type[Record]]) -> dict[str, type[Record]]:
    aliases = {alias: cls for cls in classes.values() for alias in cls.aliases}
    return {**classes, **aliases}


_EVENTS = _spellings(EVENTS)
_ITEMS = _spellings(ITEMS)


def _tag(doc: dict[str, Any]) -> str:
    tag = doc.get("type")
    return tag if isinstance(tag, str) else ""


def event(doc: dict[str, Any]) -> Record:
    """Return an `EventMsg` object as its type."""
    return _EVENTS.get(_tag(doc), Unknown)(doc)


def item(doc: dict[str, Any]) -> Record:
    """Return a `ResponseItem` object as its type."""
    return _ITEMS.get(_tag(doc), Unknown)(doc)


def turn_item(doc: dict[str, Any]) -> Record:
    """Return a `TurnItem` object, the `item` of `item_completed`, as its type."""
    return TURN_ITEMS.get(_tag(doc), Unknown)(doc)


def payload(line_type: str, doc: dict[str, Any]) -> Record:
    """Return the payload of a line of this type as its record."""
    if line_type == "event_msg":
        return event(doc)
    if line_type == "response_item":
        return item(doc)
    return ENVELOPE.get(line_type, Unknown)(doc)
