"""The table `attempts`: the story of a task's tries."""

from datetime import datetime

import msgspec

from byred.store.database import Database, Transaction
from byred.store.queries import load
from byred.store.rows import from_row, stamp


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a runner over a task; several may share a number when a try was interrupted."""

    task_id: int
    number: int
    started_at: datetime
    ended_at: datetime | None = None
    outcome: str | None = None
    message: str | None = None


def start(transaction: Transaction, task_id: int, number: int) -> None:
    """Note that a runner took the task."""
    parameters = {"task_id": task_id, "number": number, "started_at": stamp(transaction.now)}
    transaction.connection.execute(load("attempts")["start"], parameters)


def end(transaction: Transaction, task_id: int, outcome: str, message: str | None) -> None:
    """Note how it went."""
    parameters = {
        "task_id": task_id,
        "at": stamp(transaction.now),
        "outcome": outcome,
        "message": message,
    }
    transaction.connection.execute(load("attempts")["end"], parameters)


def outcomes(transaction: Transaction, task_id: int, *, beginning: str, newest: int) -> list[str]:
    """Give the outcomes of a task's newest tries of those that begin like this."""
    parameters = {"task_id": task_id, "pattern": f"{beginning}%", "newest": newest}
    rows = transaction.connection.execute(load("attempts")["outcomes"], parameters)
    return [row["outcome"] for row in rows]


async def of_task(database: Database, task_id: int) -> list[Attempt]:
    """Read the attempts of a task, oldest first."""
    rows = await database.rows(load("attempts")["of_task"], {"task_id": task_id})
    return [from_row(row, Attempt, ()) for row in rows]
