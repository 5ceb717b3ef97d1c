"""The table `events`: everything that happened, in one growing order."""

import sqlite3

from byred.core.event import Event
from byred.store.database import Database
from byred.store.queries import load
from byred.store.rows import from_row


async def after(
    database: Database, seq: int, *, limit: int, task_id: int | None = None
) -> list[Event]:
    """Read at most `limit` events after `seq`, oldest first; of one task if asked for."""
    if task_id is None:
        parameters = {"after": seq, "limit": limit}
        return [_event(row) for row in await database.rows(load("events")["after"], parameters)]
    parameters = {"task_id": task_id, "after": seq, "limit": limit}
    return [_event(row) for row in await database.rows(load("events")["of_task"], parameters)]


async def newest(database: Database) -> int:
    """Give the `seq` of the newest event, 0 when there is none."""
    rows = await database.rows(load("events")["newest"], {})
    return int(rows[0]["seq"])


def _event(row: sqlite3.Row) -> Event:
    return from_row(row, Event, ("data",))
