"""A record of every line of a session, in both directions, that never slows the session.

Owns redaction, the file and its rotation. Lines wait in memory, bounded, and are written by a
thread; what would be over the bound is counted in the file instead of kept, and trouble with the
disk ends the record, never the session.
"""

import asyncio
import random
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Final

_MAX_PENDING: Final = 32 * 1024 * 1024
_FLUSH_EVERY: Final = 0.25
_BACKSLASH: Final = ord("\\")
_KEY: Final = re.compile(
    # A key that ends in one of these words, and the quote that opens its text. Inside a JSON
    # string quotes are escaped, once for each level of nesting.
    rb'(?P<quote>\\*")[\w.-]*(?:e-?mail|tokens?|api_?key|secret|password|authorization|cookie)'
    rb"(?P=quote)\s*:\s*(?P=quote)",
    re.IGNORECASE,
)
_HINTS: Final = (b"mail", b"token", b"api", b"secret", b"password", b"authorization", b"cookie")


_GROUP: Final = 16
"""Lines that are looked at together."""


def redact(line: bytes) -> bytes:
    """Return the line with the texts under e-mail and credential keys replaced, at any depth."""
    if not _suspect(line):
        return line
    parts: list[bytes] = []
    done = 0
    while (found := _KEY.search(line, done)) is not None:
        end = _closing(line, found.end(), len(found["quote"]) - 1)
        parts += (line[done : found.end()], b"[redacted]")
        done = end
    return b"".join((*parts, line[done:])) if parts else line


def _redact_all(lines: Sequence[bytes]) -> list[bytes]:
    """Return the lines, each as `redact` gives it."""
    done: list[bytes] = []
    for start in range(0, len(lines), _GROUP):
        group = lines[start : start + _GROUP]
        done += map(redact, group) if _suspect(b"\n".join(group)) else group
    return done


def _suspect(text: bytes) -> bool:
    # Nearly every text has none of them, and this finds it out far faster than the expression.
    small = text.lower()
    return any(map(small.__contains__, _HINTS))


def _closing(line: bytes, start: int, escapes: int) -> int:
    """Return where the text that begins at `start` ends, its quotes being escaped so many times."""
    place = line.find(b'"', start)
    while place >= 0:
        slashes = place
        while slashes > start and line[slashes - 1] == _BACKSLASH:
            slashes -= 1
        # Each level of nesting doubles the backslashes of the level inside it and adds one.
        if (place - slashes) % (2 * (escapes + 1)) == escapes:
            return place - escapes
        place = line.find(b'"', place + 1)
    return len(line)


class Transcript:
    """An open transcript; made by `open_transcript`."""

    def __init__(
        self,
        path: Path,
        *,
        max_bytes: int,
        keep: int,
        max_pending: int,
        clock: Callable[[], float],
    ) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._max_pending = max_pending
        self._clock = clock
        self._pending: list[tuple[float, str, bytes]] = []
        self._pending_bytes = 0
        self._unsaid = 0
        self._wake = asyncio.Event()
        self._stop = asyncio.Event()
        self.dropped = 0
        """Lines that came faster than the disk took them: counted, and said in the file."""
        self.failure: OSError | None = None
        """What the disk said when a write failed; nothing is recorded after it."""

    def record(self, direction: str, line: bytes) -> None:
        """Keep a line to be written; `direction` is send or recv. Returns at once."""
        if self.failure is not None or self._pending_bytes + len(line) > self._max_pending:
            self.dropped += 1
            self._unsaid += 1
            return
        self._pending.append((self._clock(), direction, line))
        self._pending_bytes += len(line)
        if not self._wake.is_set():
            self._wake.set()

    async def run(self) -> None:
        """Write what is recorded until `stop`, and then the rest."""
        while not self._stop.is_set():
            await self._wake.wait()
            with suppress(TimeoutError):
                # Those of many sessions do not write in step: together they would hold up the loop.
                async with asyncio.timeout(_FLUSH_EVERY * (0.5 + random.random())):  # noqa: S311
                    await self._stop.wait()
            await self.flush()
        await self.flush()

    def stop(self) -> None:
        """Let `run` end; it is never cancelled, since a write goes on in its thread."""
        self._stop.set()
        self._wake.set()

    async def flush(self) -> None:
        """Write what waits now."""
        self._wake.clear()
        batch, self._pending = self._pending, []
        self._pending_bytes = 0
        unsaid, self._unsaid = self._unsaid, 0
        if self.failure is not None or not batch:
            return
        try:
            await asyncio.to_thread(self._write, batch, unsaid)
        except OSError as error:
            self.failure = error
            self.dropped += len(batch)

    def _write(self, batch: list[tuple[float, str, bytes]], unsaid: int) -> None:
        form = b'{"t":%.6f,"dir":"%s","msg":%b}\n'
        clean = _redact_all([_one_line(line) for _when, _direction, line in batch])
        lines = [
            form % (when, direction.encode(), line)
            for (when, direction, _line), line in zip(batch, clean, strict=True)
        ]
        if unsaid:
            lines.append(b'{"t":%.6f,"dropped":%d}\n' % (batch[-1][0], unsaid))
        with self._path.open("ab") as file:
            file.write(b"".join(lines))
            size = file.tell()
        if size > self._max_bytes:
            self._rotate()

    def _rotate(self) -> None:
        names = [self._path, *(Path(f"{self._path}.{n}") for n in range(1, self._keep + 1))]
        for newer, older in reversed(list(pairwise(names))):
            with suppress(FileNotFoundError):
                newer.replace(older)
        if not self._keep:
            self._path.unlink()


def _one_line(line: bytes) -> bytes:
    """Return the line if it can stand as JSON in the file, else as a JSON string."""
    import msgspec  # noqa: PLC0415 - on the writer's thread, where it is already loaded

    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except msgspec.DecodeError:
        return msgspec.json.encode(line.decode(errors="replace"))
    return line


@asynccontextmanager
async def open_transcript(
    path: Path,
    *,
    max_bytes: int = 256 * 1024 * 1024,
    keep: int = 1,
    max_pending: int = _MAX_PENDING,
    clock: Callable[[], float] = time.time,
) -> AsyncIterator[Transcript]:
    """Record a session in `path`, one JSON object a line: `t` (Unix seconds), `dir`, `msg`.

    Over `max_bytes` the file is moved aside to `path.1`, and `keep` older ones stay. At most
    `max_pending` bytes wait to be written; what is over that is dropped and counted. Appends to a
    file that is there.
    """
    transcript = Transcript(
        path, max_bytes=max_bytes, keep=keep, max_pending=max_pending, clock=clock
    )
    writer = asyncio.create_task(transcript.run(), name="codex transcript")
    try:
        yield transcript
    finally:
        transcript.stop()
        await asyncio.wait({writer})
