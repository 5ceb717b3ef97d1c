"""The table `events`: one growing order, read by pages, without a gap."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from byred.core.event import Event
from byred.core.task import Task
from byred.store import events, tasks
from byred.store.database import Database, Transaction, open_database

Submit = Callable[..., Task]


async def follow(database: Database, after: int, *, page: int) -> list[Event]:
    """Read all events after one, the way a client that comes back does."""
    found: list[Event] = []
    while batch := await events.after(database, after, limit=page):
        found += batch
        after = batch[-1].seq
    return found


@pytest.mark.promise("event_stream_has_no_gap")
async def test_whoever_comes_back_misses_nothing_across_errors_and_restarts(
    path: Path, submit: Submit
) -> None:
    def fail(transaction: Transaction) -> None:
        submit(transaction)
        raise LookupError

    for _ in range(3):
        async with open_database(path) as database:
            writes = [database.write(function) for function in [submit, fail, submit] * 20]
            await asyncio.gather(*writes, return_exceptions=True)
    async with open_database(path) as database:
        everything = await follow(database, 0, page=7)
        assert [event.seq for event in everything] == list(range(1, 121))
        assert await events.newest(database) == 120
        for seen in (0, 1, 59, 119, 120, 5_000):
            later = await follow(database, seen, page=50)
            assert later == [event for event in everything if event.seq > seen]


@pytest.mark.promise("event_stream_has_no_gap")
async def test_listening_before_reading_joins_the_past_to_the_present(
    database: Database, submit: Submit
) -> None:
    writing = asyncio.create_task(keep_writing(database, submit, 200))
    for _ in range(20):
        await asyncio.sleep(0)
    heard: list[Event] = []
    forget = database.listen(heard.extend)
    past = await follow(database, 0, page=10)
    await writing
    forget()
    joined = past + [event for event in heard if not past or event.seq > past[-1].seq]
    assert [event.seq for event in joined] == list(range(1, 201))


async def keep_writing(database: Database, submit: Submit, number: int) -> None:
    for _ in range(number):
        await database.write(submit)


async def test_the_events_of_one_task_are_read_alone(database: Database, submit: Submit) -> None:
    def fill(transaction: Transaction) -> None:
        for _ in range(2):
            submit(transaction)
        for task_id in (1, 2, 1):
            tasks.apply(transaction, task_id, lambda task: task.told(by="ada"))

    await database.write(fill)
    mine = await events.after(database, 0, limit=9, task_id=1)
    assert [(event.seq, event.kind) for event in mine] == [
        (1, "task.queued"),
        (3, "task.told"),
        (5, "task.told"),
    ]
    assert [event.seq for event in await events.after(database, 3, limit=9, task_id=1)] == [5]
    assert [event.seq for event in await events.after(database, 0, limit=1, task_id=2)] == [2]


async def test_a_database_without_events_says_zero(database: Database) -> None:
    assert await events.newest(database) == 0
    assert await events.after(database, 0, limit=9) == []
