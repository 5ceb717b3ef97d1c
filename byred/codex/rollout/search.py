"""Finding words in rollouts of any size: which thread, which turn, what around them.

Lines are looked at as bytes first and decoded only where the words stand, so a search goes at
the speed of the disk. What codex records twice is found once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from byred.codex.rollout import chain
from byred.codex.rollout.errors import RolloutError
from byred.codex.rollout.jsontext import encode
from byred.codex.rollout.line import Line, parse
from byred.codex.rollout.reader import existing, opened
from byred.codex.rollout.reading import string

AROUND = 80
"""Characters of an excerpt on either side of what was found."""
_CAPITAL = re.compile("[A-Z]")
_TURN = b'"task_started"'
_SKIPPED = frozenset({"session_meta", "turn_context", "world_state", "compacted"})
"""Lines that hold prompts and copies: what they say was said elsewhere."""


class Hit(msgspec.Struct, frozen=True):
    """A place where the words stand: file, line, turn, what kind of thing, and the text around."""

    path: str
    thread_id: str
    turn_id: str
    at: str
    offset: int
    what: str
    excerpt: str


class Unread(msgspec.Struct, frozen=True):
    """A rollout that could not be searched to its end, and why."""

    path: str
    reason: str


def search(
    paths: Iterable[Path], words: str, *, exact_case: bool = False
) -> Iterator[Hit | Unread]:
    """Yield the places where `words` stand in these rollouts, in order, and what was not read.

    Raises RolloutError when there is nothing to look for.
    """
    if not words.strip():
        raise RolloutError("cannot search for nothing: give a word")
    for path in paths:
        try:
            yield from _file(existing(path), words, exact_case=exact_case)
        except (RolloutError, OSError) as error:
            yield Unread(str(path), str(error))


def _file(path: Path, words: str, *, exact_case: bool) -> Iterator[Hit]:
    thread_id, _ = chain.ids(path)
    ignore = 0 if exact_case else re.IGNORECASE
    sought = re.compile(re.escape(words), ignore)
    # Only ASCII folds its case in bytes; other words are looked for in every line's text.
    everywhere = not exact_case and not words.isascii()
    written = encode(words)[1:-1]
    quick = written if exact_case else written.lower()
    turn_id = ""
    seen: set[tuple[str, str]] = set()
    offset = 0
    with opened(path) as stream:
        for raw in stream:
            here, offset = offset, offset + len(raw)
            folded = raw if exact_case else raw.lower()
            if quick not in folded and _TURN not in raw and not everywhere:
                continue
            try:
                line = parse(raw.removesuffix(b"\n"), here)
            except RolloutError:
                continue
            if line.type == "event_msg" and line.tag == "task_started":
                turn_id = string(line.payload.get("turn_id"))
                seen.clear()
                continue
            if line.type in _SKIPPED:
                continue
            for text in _texts(line.payload):
                found = sought.search(text)
                if found is None:
                    continue
                excerpt = _excerpt(text, found.start(), found.end())
                if (turn_id, excerpt) not in seen:
                    seen.add((turn_id, excerpt))
                    what = _what(line)
                    yield Hit(str(path), thread_id, turn_id, line.timestamp, here, what, excerpt)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)


def _what(line: Line) -> str:
    role = string(line.payload.get("role"))
    if role:
        return f"{role} message"
    item = line.payload.get("item")
    kind = string(item.get("type")) if isinstance(item, dict) else ""
    if kind:  # `CommandExecution`
        return _CAPITAL.sub(r" \g<0>", kind).strip().lower()
    return (line.tag or line.type).replace("_", " ")


def _excerpt(text: str, start: int, end: int) -> str:
    begin, stop = max(0, start - AROUND), min(len(text), end + AROUND)
    shown = " ".join(text[begin:stop].split())
    return ("…" if begin else "") + shown + ("…" if stop < len(text) else "")
