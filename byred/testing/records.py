"""What the scripted model was sent and what became of each reply: values, and their file.

`Sent` is the record of one request. In a record file each request is two lines of JSON: one with
`"event": "request"`, on the disk before the first byte of the reply leaves, and one with
`"event": "reply"` when the reply is over. After a kill of the model the second may be missing.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from byred.testing.conversation import Kind
from byred.testing.play import Action


class Outcome(StrEnum):
    """What became of a reply."""

    OPEN = "open"
    """Not over: held by a delay or a gate, or on its way."""
    SENT = "sent"
    """Sent to its end."""
    ERROR = "error"
    """An error was sent, as the script says."""
    CUT = "cut"
    """The connection was broken in the middle, as the script says."""
    ABANDONED = "abandoned"
    """The client was gone before the end, or the model was stopped."""


class Sent(msgspec.Struct, frozen=True):
    """One request of codex, and the reply.

    `number` counts from 1 in this model, `at` and `ended` are Unix times. `thread` and `turn` are
    codex's own ids. `step` is from 0, None when the reply belongs to no step. `new` has the items
    that the thread's request before did not have (all of them in the thread's first request to this
    model), `input` all of them. `tools` are the names that the model may call, with the namespace
    before a dot. `reply` has the items that the script gives.
    """

    number: int
    at: float
    thread: str
    turn: str | None
    kind: Kind
    action: Action
    script: str
    step: int | None
    new: tuple[dict[str, Any], ...]
    input: tuple[dict[str, Any], ...]
    tools: tuple[str, ...]
    reply: tuple[dict[str, Any], ...]
    outcome: Outcome = Outcome.OPEN
    ended: float | None = None


class Memory:
    """The items that a thread sent last, so that equal ones are decoded and kept once."""

    def __init__(self) -> None:
        self._known: dict[bytes, dict[str, Any]] = {}
        self._counts: Counter[bytes] = Counter()

    def take(
        self, raw: Sequence[msgspec.Raw]
    ) -> tuple[tuple[dict[str, Any], ...], tuple[dict[str, Any], ...]]:
        """Decode a request's `input`: all of its items, and those that are new since the last call.

        Raises `msgspec.DecodeError` when an item is not a JSON object.
        """
        counts: Counter[bytes] = Counter()
        known: dict[bytes, dict[str, Any]] = {}
        every, new = [], []
        for each in raw:
            key = bytes(each)
            item = known.get(key) or self._known.get(key)
            if item is None:
                item = msgspec.json.decode(key, type=dict[str, Any])
            known[key] = item
            counts[key] += 1
            every.append(item)
            if counts[key] > self._counts[key]:
                new.append(item)
        self._known, self._counts = known, counts
        return tuple(every), tuple(new)


class Recorder:
    """Appends records to a file, in order; what is added is in the file after the next `flush`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: list[bytes] = []
        self._turn = asyncio.Lock()

    def add_request(self, sent: Sent) -> None:
        """Add the line of a request."""
        fields = msgspec.structs.asdict(sent)
        for left_out in ("input", "outcome", "ended"):
            del fields[left_out]
        self._add({"event": "request", **fields, "items": len(sent.input)})

    def add_reply(self, sent: Sent) -> None:
        """Add the line of a reply that is over."""
        about = {"number": sent.number, "at": sent.ended, "thread": sent.thread}
        self._add({"event": "reply", **about, "outcome": sent.outcome})

    async def flush(self) -> None:
        """Write what was added. A cancellation waits for a write that is on its way."""
        async with self._turn:
            lines, self._lines = self._lines, []
            if not lines:
                return
            write = asyncio.ensure_future(asyncio.to_thread(self._write, b"".join(lines)))
            try:
                await asyncio.shield(write)
            except asyncio.CancelledError:
                # A thread can't be cancelled, and the next write must not overtake it.
                await asyncio.wait({write})
                raise

    def _add(self, record: dict[str, Any]) -> None:
        self._lines.append(msgspec.json.encode(record) + b"\n")

    def _write(self, data: bytes) -> None:
        with self._path.open("ab") as file:
            file.write(data)
