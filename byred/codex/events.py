"""What the server tells, as values in order, and the bounded place where they wait to be read.

Owns the event type and its stream. Which stream an event belongs to is the session's.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Collection
from typing import Final, cast

from byred.codex.errors import CodexError, ConsumerTooSlow
from byred.codex.message import Message
from byred.codex.protocol.types import NOTIFICATIONS
from byred.codex.record import Record

MAX_UNREAD_BYTES: Final = 64 * 1024 * 1024
"""Bytes of events that one stream keeps for a reader that is slow."""
EVENT_BYTES: Final = 400
"""What an event counts for beside its bytes on the wire: Python's own objects."""


class Event(Message, frozen=True, gc=False):
    """One notification of the server.

    `data` is its params as they came; `params` the same as the method's generated type, or as a
    bare `Record` for a method that this version does not know.
    """

    @property
    def params(self) -> Record:
        """The params, typed; made anew at each reading, so keep it when you read it twice."""
        return NOTIFICATIONS.get(self.method, Record).wrap(self.data)

    @property
    def known(self) -> bool:
        """Whether this version has a type for the method."""
        return self.method in NOTIFICATIONS

    @property
    def thread_id(self) -> str:
        """The thread that the event is about; empty when it names none."""
        value = self.data.get("threadId")
        return value if type(value) is str else ""

    @property
    def turn_id(self) -> str:
        """The turn that the event is about; empty when it names none."""
        value = self.data.get("turnId")
        if value is None and type(turn := self.data.get("turn")) is dict:
            value = turn.get("id")
        return value if type(value) is str else ""


class EventStream:
    """Events of one turn, thread or connection, read by one `async for` at a time.

    Putting never waits. When more than the bound is unread, all of it is dropped and the reader
    gets `ConsumerTooSlow`. Events of the methods in `without` are not given, only noticed.
    """

    def __init__(self, *, max_bytes: int = MAX_UNREAD_BYTES, without: Collection[str] = ()) -> None:
        self._unread: deque[tuple[Event, int]] = deque()
        self._bytes = 0
        self._max_bytes = max_bytes
        self._without = frozenset(without)
        self.heard = -math.inf
        """When an event of `without` came last, on the monotonic clock."""
        self._ended: CodexError | bool = False
        self._reader: asyncio.Future[None] | None = None

    def put(self, event: Event, size: int) -> None:
        """Add an event that took `size` bytes on the wire."""
        if self._ended:
            return
        if event.method in self._without:
            self.heard = time.monotonic()
            return
        size += EVENT_BYTES
        self._unread.append((event, size))
        self._bytes += size
        if self._bytes > self._max_bytes:
            self._overflow()
        if self._reader is not None:
            self._wake()

    def end(self, error: CodexError | None = None) -> None:
        """Take no more; after the last event the reader stops, or gets `error`.

        Its reader may call this, too, when it has seen enough.
        """
        if not self._ended:
            self._ended = error or True
            self._wake()

    @property
    def ended(self) -> bool:
        """Whether nothing more is put here."""
        return bool(self._ended)

    def _overflow(self) -> None:
        count, held = len(self._unread), self._bytes
        self._unread.clear()
        self._bytes = 0
        self._ended = ConsumerTooSlow(
            f"cannot keep {count:,} unread events ({held:,} bytes): read the stream faster,"
            " or opt out of what nobody reads"
        )

    def _wake(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None and not reader.done():
            reader.set_result(None)

    def __aiter__(self) -> AsyncIterator[Event]:
        return cast("AsyncIterator[Event]", self)

    async def __anext__(self) -> Event:
        while not self._unread:
            if isinstance(self._ended, CodexError):
                raise self._ended
            if self._ended:
                raise StopAsyncIteration
            if self._reader is not None:
                raise RuntimeError("cannot read a stream of events twice at once")
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        event, size = self._unread.popleft()
        self._bytes -= size
        return event
