"""Where the turns of a plain rollout begin, found at the speed of memory and kept up to date.

With it a turn in the middle of a huge file is read by itself, and only what was added since the
last look is looked at again.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

import msgspec

from byred.codex.rollout.errors import RolloutError
from byred.codex.rollout.line import Line, parse
from byred.codex.rollout.reader import read, whole
from byred.codex.rollout.reading import string
from byred.codex.rollout.story import Turn
from byred.codex.rollout.telling import Teller

# Unescaped, so it cannot stand inside a string; both spellings, with or without a space.
_MARKS = tuple(
    b'"type":' + space + b'"' + tag + b'"'
    for tag in (b"task_started", b"turn_started")
    for space in (b"", b" ")
)
_BLOCK = 1024 * 1024


class TurnIndex(msgspec.Struct, frozen=True):
    """The offsets and ids of the turns' first lines, and how far the file was looked at."""

    offsets: tuple[int, ...] = ()
    turn_ids: tuple[str, ...] = ()
    seen: int = 0


def indexed(path: Path, known: TurnIndex | None = None) -> TurnIndex:
    """Return the index of a rollout, going on from `known` where the file has only grown.

    Raises RolloutError for a compressed rollout, OSError when there is none.
    """
    if path.suffix == ".zst":
        raise RolloutError(f"cannot index {path}: it is compressed; read it forward")
    size = path.stat().st_size
    known = known if known is not None and known.seen <= size else TurnIndex()
    if size == known.seen:
        return known
    offsets, turn_ids = list(known.offsets), list(known.turn_ids)
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as view:
        end = view.rfind(b"\n") + 1
        for mark in sorted(_found(view, known.seen, end)):
            begin = view.rfind(b"\n", 0, mark) + 1
            stop = view.find(b"\n", mark)
            if offsets and offsets[-1] == begin:
                continue
            try:
                line = parse(view[begin : stop if stop >= 0 else end], begin)
            except RolloutError:
                continue
            if line.type == "event_msg" and line.tag == "task_started":
                offsets.append(begin)
                turn_ids.append(string(line.payload.get("turn_id")))
    return TurnIndex(tuple(offsets), tuple(turn_ids), max(end, known.seen))


def turn(path: Path, index: TurnIndex, number: int) -> Turn:
    """Return turn `number` of a rollout, counted from 1, reading that turn alone.

    Raises RolloutError when there is no such turn.
    """
    if not 1 <= number <= len(index.offsets):
        raise RolloutError(f"cannot show turn {number}: {path} has {len(index.offsets)} turns")
    ends = (*index.offsets, None)
    teller = Teller(after=number - 1)
    for found in read(path, index.offsets[number - 1], ends[number]):
        if isinstance(found, Line):
            teller.feed(found)
    told = teller.finish()
    if told is None:
        raise RolloutError(f"cannot show turn {number}: its lines in {path} are broken")
    return told


def turn_ids(path: Path) -> Iterator[str]:
    """Yield the ids of the turns that began in a rollout, plain or compressed."""
    if path.suffix != ".zst":
        yield from indexed(path).turn_ids
        return
    for line in whole(path):
        if line.type == "event_msg" and line.tag == "task_started":
            yield string(line.payload.get("turn_id"))


def mentions(path: Path, word: bytes) -> bool:
    """Whether these bytes may stand in a rollout; of a compressed one that is not known."""
    if path.suffix == ".zst":
        return True
    kept = b""
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            if word in block or word in kept + block[: len(word)]:
                return True
            kept = block[-len(word) :]
    return False


def _found(view: mmap.mmap, start: int, end: int) -> list[int]:
    places: list[int] = []
    for mark in _MARKS:
        place = view.find(mark, start, end)
        while place >= 0:
            places.append(place)
            place = view.find(mark, place + 1, end)
    return places
