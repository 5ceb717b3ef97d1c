"""What the reading process (`aside`) can be asked for, and how it answers: values only."""

from __future__ import annotations

from typing import Any

import msgspec

from byred.codex.rollout.selection import Selection


class Tell(msgspec.Struct, frozen=True, tag="tell", omit_defaults=True):
    """The history of a CODEX_HOME: `turn` after `turn`, then `end` with a History without turns.

    A long turn comes in several pieces. With `follow` it goes on while the record grows: a turn
    comes again with what is new. With `speed` each step comes after the pause that it took, so
    many times as fast as it was.
    """

    home: str
    wanted: Selection = Selection()
    follow: bool = False
    speed: float | None = None


class Write(msgspec.Struct, frozen=True, tag="write", omit_defaults=True):
    """A document of a CODEX_HOME's history in pieces of `text`: md, html, or jsonl (told turns).

    `known` are secrets to take out, beside those that show by their shape.
    """

    home: str
    form: str
    title: str
    wanted: Selection = Selection()
    known: tuple[str, ...] = ()


class Search(msgspec.Struct, frozen=True, tag="search", omit_defaults=True):
    """Where words stand in the records of several CODEX_HOMEs: name → path, searched in order.

    Gives at most `most` hits, each with the name of its home; `end` says whether there are `more`.
    """

    homes: dict[str, str]
    words: str
    exact_case: bool = False
    most: int = 100


Request = Tell | Write | Search


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the answer: one of its fields. The last is `end` or `error`.

    `missing` with an error says that the turn which was asked for does not exist. `unread` names a
    rollout that could not be searched, and why.
    """

    turn: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    text: str | msgspec.UnsetType = msgspec.UNSET
    hit: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    unread: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    end: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    error: str | msgspec.UnsetType = msgspec.UNSET
    missing: bool = False
