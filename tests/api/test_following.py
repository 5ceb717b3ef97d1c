"""Who follows the events gets each once, in order, whether it keeps up or falls behind."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest

from byred.api import events
from byred.api.contract import Notification
from byred.core.event import NewEvent
from byred.fresh import MOST, Fresh
from byred.store.database import Database, Transaction, open_database

BOUND = 30.0


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_database(tmp_path / "byred.sqlite3") as opened:
        yield opened


async def emit(database: Database, number: int) -> None:
    def put(transaction: Transaction) -> None:
        for each in range(number):
            transaction.emit(NewEvent(kind="task.progress", data={"number": each}))

    await database.write(put)


def seq(notification: Notification) -> int:
    found = msgspec.json.decode(msgspec.json.encode(notification.params))["seq"]
    assert isinstance(found, int)
    return found


async def read(feed: events.Feed, after: int, last: int) -> list[int]:
    """Follow until the last is there."""
    found: list[int] = []
    async with asyncio.timeout(BOUND), aclosing(feed.follow(after)) as source:
        async for together in source:
            found += [seq(each) for each in together]
            if found[-1] >= last:
                break
    return found


@pytest.mark.promise("event_stream_has_no_gap")
async def test_followers_that_come_at_any_moment_miss_nothing(database: Database) -> None:
    feed = events.Feed(database)
    total = 400
    following = []
    for written in range(total):
        await emit(database, 1)
        if written % 20 == 0:
            following.append((written // 2, asyncio.create_task(read(feed, written // 2, total))))
    for after, task in following:
        assert await task == list(range(after + 1, total + 1))


async def test_one_that_fell_behind_reads_on_where_it_was(database: Database) -> None:
    feed = events.Feed(database)
    async with asyncio.timeout(BOUND), aclosing(feed.follow(0)) as source:
        await emit(database, 1)
        assert [seq(each) for each in await anext(source)] == [1]
        # While it does nothing more comes than is kept for it, in one piece and in several.
        await emit(database, MOST + 1)
        for _ in range(3):
            await emit(database, MOST - 1)
        last = 1 + MOST + 1 + 3 * (MOST - 1)
        found = [1]
        while found[-1] < last:
            found += [seq(each) for each in await anext(source)]
        assert found == list(range(1, last + 1))
        # And it is told the next as before.
        await emit(database, 1)
        assert [seq(each) for each in await anext(source)] == [last + 1]


async def test_a_flood_goes_out_in_pieces(database: Database) -> None:
    feed = events.Feed(database)
    async with asyncio.timeout(BOUND), aclosing(feed.follow(0)) as source:
        waiting = asyncio.ensure_future(anext(source))
        await emit(database, 1)
        assert len(await waiting) == 1
        await asyncio.gather(*[emit(database, 1) for _ in range(100)])
        pieces = 0
        got = 0
        while got < 100:
            got += len(await anext(source))
            pieces += 1
        assert pieces < 50


async def test_what_is_kept_is_given_once_and_a_gap_is_said() -> None:
    fresh: Fresh[int] = Fresh()
    fresh.put([1, 2])
    fresh.put([3])
    assert await fresh.take() == [1, 2, 3]
    fresh.put([4])
    fresh.miss()
    fresh.put([5])
    assert await fresh.take() is None
    fresh.clear()
    fresh.put([6])
    assert await fresh.take() == [6]
    fresh.put(range(MOST))
    fresh.put([7])
    assert await fresh.take() is None


async def test_a_follower_that_waits_is_woken_by_a_gap() -> None:
    fresh: Fresh[int] = Fresh()
    waiting = asyncio.create_task(fresh.take())
    await asyncio.sleep(0)
    fresh.miss()
    assert await asyncio.wait_for(waiting, BOUND) is None
