"""Reading rollout files: of any size, from either end, whatever state they are in.

`read` streams forward in memory that does not grow with the file, `read_back` from the end. Both
yield whole lines as `Line` and what cannot be read as one `Gap` for each run of lost bytes, so a
broken place is a value in the stream and never the end of it. Compressed rollouts (`.jsonl.zst`)
read like plain ones, forward only. Whose thread a file belongs to is `chain`'s business.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

import msgspec

from byred.codex.rollout.errors import RolloutError
from byred.codex.rollout.jsontext import decode
from byred.codex.rollout.line import Line, parse

READ_AHEAD = 1024 * 1024
"""Bytes read at a time going forward: lines of a megabyte are ordinary."""
LONGEST = 256 * 1024 * 1024
"""Bytes after which a line is given up: twice the longest message that codex's clients accept."""
BLOCK = 256 * 1024
"""Bytes read at a time from the end: more than nearly every line, little against a seek."""


_RECORD = re.compile(rb'\{\s*"(?:timestamp|ordinal|type)"\s*:')
_scanner = json.JSONDecoder()


class Gap(msgspec.Struct, frozen=True, gc=False):
    """Bytes that hold no whole line: where, how many, and why."""

    offset: int
    length: int
    reason: str

    @property
    def end(self) -> int:
        """The offset of the first byte behind the gap."""
        return self.offset + self.length


def existing(path: Path) -> Path:
    """Return the file that holds this rollout, plain or compressed, whichever is there.

    codex moves a rollout between the two forms and prefers the plain one. Raises RolloutError
    when there is neither.
    """
    plain = path.with_suffix("") if path.suffix == ".zst" else path
    for form in (plain, plain.with_name(plain.name + ".zst")):
        if form.is_file():
            return form
    raise RolloutError(f"cannot read {path}: there is no such rollout, plain or compressed")


@contextlib.contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a rollout for reading forward, decompressed on the way.

    Raises RolloutError when a compressed one is cut short, or when nothing here can read zstd.
    """
    if path.suffix != ".zst":
        with path.open("rb", buffering=READ_AHEAD) as plain:
            yield plain
        return
    from byred.codex.rollout.zstd import decompressed  # noqa: PLC0415 - few rollouts need it

    with decompressed(path) as stream:
        yield stream


def read(path: Path, start: int = 0, end: int | None = None) -> Iterator[Line | Gap]:
    """Yield the lines and gaps of a rollout in order, from byte `start` up to byte `end`.

    Offsets are those of the decompressed file. Raises RolloutError when there is no such file,
    OSError when it cannot be read.
    """
    path = existing(path)
    gap: Gap | None = None
    found: Line | Gap | None = None
    try:
        with opened(path) as stream:
            _forward(stream, start)
            for found in _lines(stream, start, end):
                if isinstance(found, Gap):
                    gap = _joined(gap, found)
                elif gap is None:
                    yield found
                else:
                    yield gap
                    gap = None
                    yield found
    except RolloutError as error:
        if path.suffix != ".zst" or not path.is_file():
            raise
        gap = _joined(gap, Gap(start if found is None else found.end, 0, str(error)))
    if gap is not None:
        yield gap


def read_back(path: Path, end: int | None = None) -> Iterator[Line | Gap]:
    """Yield the lines and gaps of a plain rollout from the last to the first.

    `end` is the byte to begin at. Raises RolloutError for a compressed rollout: it has no end to
    begin with.
    """
    path = existing(path)
    if path.suffix == ".zst":
        raise RolloutError(f"cannot read {path} from its end: it is compressed; read it forward")
    gap: Gap | None = None
    with path.open("rb") as stream:
        size = stream.seek(0, io.SEEK_END)
        for offset, raw in _blocks_back(stream, size if end is None else min(end, size)):
            for found in reversed(list(_read_one(raw, offset))):
                if isinstance(found, Gap):
                    gap = found if gap is None else _joined(found, gap)
                    continue
                if gap is not None:
                    yield gap
                    gap = None
                yield found
    if gap is not None:
        yield gap


def whole(path: Path, start: int = 0, end: int | None = None) -> Iterator[Line]:
    """Yield the whole lines alone; what is broken is passed over."""
    return (found for found in read(path, start, end) if isinstance(found, Line))


def _forward(stream: IO[bytes], start: int) -> None:
    if start and stream.seekable():
        stream.seek(start)
        return
    left = start
    while left > 0:
        skipped = stream.read(min(left, BLOCK))
        if not skipped:
            return
        left -= len(skipped)


def _lines(stream: IO[bytes], start: int, end: int | None) -> Iterator[Line | Gap]:
    offset = start
    for raw in iter(partial(stream.readline, LONGEST), b""):
        behind = offset + len(raw)
        if end is not None and behind > end:
            if offset < end:
                yield from _read_one(raw[: end - offset], offset)
            return
        try:
            doc: Any = decode(raw)
        except RolloutError:
            doc = None
        if doc.__class__ is dict:
            yield Line(raw[:-1] if raw.endswith(b"\n") else raw, offset, doc)
        else:
            yield from _read_one(raw, offset)
        offset = behind


def _blocks_back(stream: IO[bytes], end: int) -> Iterator[tuple[int, bytes]]:
    """Yield offset and bytes of each physical line from the last on, newline included."""
    tail: list[bytes] = []  # the pieces of a line whose beginning is still to come, last first
    while end > 0:
        begin = max(0, end - BLOCK)
        stream.seek(begin)
        block = stream.read(end - begin)
        stop = len(block)
        # A newline ends the line before it, so the one at the very end begins nothing.
        while (cut := block.rfind(b"\n", 0, stop - 1 if not tail else stop)) >= 0:
            yield begin + cut + 1, b"".join([block[cut + 1 : stop], *reversed(tail)])
            tail.clear()
            stop = cut + 1
        tail.append(block[:stop])
        end = begin
    if tail:
        yield 0, b"".join(reversed(tail))


def _read_one(raw: bytes, offset: int) -> Iterator[Line | Gap]:
    """Yield what one physical line holds: a line, or what can be saved of it and the rest."""
    line = raw.removesuffix(b"\n")
    if not line.strip():
        return
    try:
        yield parse(line, offset)
    except RolloutError as error:
        yield from _saved(line, offset, str(error), torn=not raw.endswith(b"\n"))


def _saved(raw: bytes, offset: int, reason: str, *, torn: bool) -> Iterator[Line | Gap]:
    """Yield the whole records inside a broken line, and gaps for the bytes between them.

    A crash leaves a record without its newline, or a run of NULs, and the next record is written
    right behind it. Such a record begins with the envelope's first member, unescaped, which
    cannot occur inside a string; it counts when it has a time, a type and a payload.
    """
    text = raw.decode("latin-1")  # one character a byte, so that positions are offsets
    lost = 0
    for begin in _RECORD.finditer(raw):
        if begin.start() < lost:
            continue
        try:
            _, end = _scanner.raw_decode(text, begin.start())
            line = parse(raw[begin.start() : end], offset + begin.start())
        except (ValueError, RecursionError):
            continue
        if not line.type or not line.timestamp or "payload" not in line.doc:
            continue
        if raw[lost : begin.start()].strip():
            yield _gap(raw, lost, begin.start(), offset, reason)
        yield line
        lost = end
    if raw[lost:].strip():
        torn_off = "the line is torn: it ends without a newline"
        yield _gap(raw, lost, len(raw), offset, torn_off if torn else reason)


def _gap(raw: bytes, begin: int, end: int, offset: int, reason: str) -> Gap:
    nothing = not raw[begin:end].strip(b"\0 \t\r\n")
    return Gap(offset + begin, end - begin, "NUL bytes where a line was" if nothing else reason)


def _joined(first: Gap | None, second: Gap) -> Gap:
    if first is None:
        return second
    reasons = dict.fromkeys([*first.reason.split("; "), *second.reason.split("; ")])
    return Gap(first.offset, second.end - first.offset, "; ".join(reasons))
