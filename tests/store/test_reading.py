"""Whoever was told of a commit sees it, however many read at the same time."""

import asyncio
from pathlib import Path

import pytest

from byred.core.event import NewEvent
from byred.store import events
from byred.store.database import open_database


@pytest.mark.promise("acknowledged_means_stored")
async def test_a_read_after_an_acknowledged_write_sees_it_among_many_readers(
    tmp_path: Path,
) -> None:
    async with open_database(tmp_path / "db") as database:

        async def look(stop: asyncio.Event) -> None:
            while not stop.is_set():
                await events.after(database, 0, limit=500)

        stop = asyncio.Event()
        async with asyncio.TaskGroup() as readers:
            for _ in range(20):
                readers.create_task(look(stop))
            for number in range(100):
                stored = await database.write(
                    lambda tx, number=number: tx.emit(NewEvent(kind=f"event.{number}"))
                )
                seen = await events.newest(database)
                if seen < stored.seq:
                    stop.set()
                assert seen >= stored.seq
            stop.set()
