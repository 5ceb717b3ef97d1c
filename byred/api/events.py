"""The command `events.follow`: everything that happened after a `seq`, and then what happens."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from functools import partial
from typing import Any

import msgspec

from byred.api.contract import Command, Context, Notification, Stream
from byred.api.parts import Id, Parts
from byred.core.errors import InvalidError
from byred.core.event import Event
from byred.fresh import Fresh
from byred.store import events
from byred.store.database import Database

PAGE = 500
# Seconds between two hand-outs: an event alone goes out at once, a flood in pieces.
PAUSE = 0.02


class Follow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`events.follow`; without `after` it starts now."""

    after: Id | None = None


def commands(parts: Parts) -> list[Command[Any]]:
    """Give the commands on events."""
    return [Command("events.follow", Follow, partial(_follow, Feed(parts.database)))]


async def _follow(feed: "Feed", _context: Context, request: Follow) -> Stream:
    newest = await events.newest(feed.database)
    after = newest if request.after is None else request.after
    if not 0 <= after <= newest:
        raise InvalidError(f"after must be between 0 and {newest}, the newest event, not {after}")
    return Stream({"seq": newest}, feed.follow(after))


class Told(msgspec.Struct, frozen=True):
    """An event, as it is told to all."""

    seq: int
    notification: Notification


class Feed:
    """The events of a database, told to any number of followers for as long as it is open.

    Who keeps up reads nothing from the database: each event is made into text once for all.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self._followers: set[Fresh[Told]] = set()
        self._committed: list[Told] = []
        self._next = 0.0
        database.listen(self._on_events)

    async def follow(self, after: int) -> AsyncGenerator[Sequence[Notification], None]:
        """Give the events after `seq`: from the database until all are read, then as they come."""
        fresh: Fresh[Told] = Fresh()
        self._followers.add(fresh)
        try:
            while True:
                fresh.clear()
                page = await events.after(self.database, after, limit=PAGE)
                if page:
                    after = page[-1].seq
                    yield [Notification("event", event) for event in page]
                if len(page) == PAGE:
                    continue
                while (new := await fresh.take()) is not None:
                    if new[-1].seq > after:
                        yield [told.notification for told in new if told.seq > after]
                        after = new[-1].seq
        finally:
            self._followers.discard(fresh)

    def _on_events(self, committed: Sequence[Event]) -> None:
        if not self._followers:
            return
        if not self._committed:
            loop = asyncio.get_running_loop()
            self._next = max(self._next, loop.time())
            loop.call_at(self._next, self._hand_out)
        self._committed += [_told(event) for event in committed]

    def _hand_out(self) -> None:
        self._next = asyncio.get_running_loop().time() + PAUSE
        committed, self._committed = self._committed, []
        for follower in self._followers:
            follower.put(committed)


def _told(event: Event) -> Told:
    return Told(event.seq, Notification("event", msgspec.Raw(msgspec.json.encode(event))))
