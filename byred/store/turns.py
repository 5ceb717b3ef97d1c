"""The table `turns`: the turns of a task, counted from 1, and the checkpoint of each."""

import sqlite3
from datetime import datetime

import msgspec

from byred.core.errors import NotFoundError
from byred.store.database import Database, Transaction
from byred.store.queries import load
from byred.store.rows import LAST, from_row, stamp


class TurnRow(msgspec.Struct, frozen=True, kw_only=True):
    """One turn. `checkpoint` is the commit that keeps the tree as it was at its end, if any."""

    task_id: int
    number: int
    turn_id: str
    thread_id: str
    attempt: int
    started_at: datetime
    ended_at: datetime | None = None
    status: str | None = None
    error: str | None = None
    checkpoint: str | None = None


def start(
    transaction: Transaction, task_id: int, turn_id: str, *, thread_id: str, attempt: int
) -> None:
    """Note that a turn runs, under the task's next number; the same turn is noted once."""
    parameters = {
        "task_id": task_id,
        "turn_id": turn_id,
        "thread_id": thread_id,
        "attempt": attempt,
        "started_at": stamp(transaction.now),
    }
    transaction.connection.execute(load("turns")["start"], parameters)


def end(
    transaction: Transaction, task_id: int, turn_id: str, status: str, error: str | None
) -> None:
    """Note how a turn ended."""
    parameters = {
        "task_id": task_id,
        "turn_id": turn_id,
        "at": stamp(transaction.now),
        "status": status,
        "error": error,
    }
    transaction.connection.execute(load("turns")["end"], parameters)


def kept(transaction: Transaction, task_id: int, number: int, checkpoint: str) -> None:
    """Note the commit that keeps the tree of a turn."""
    parameters = {"task_id": task_id, "number": number, "checkpoint": checkpoint}
    transaction.connection.execute(load("turns")["kept"], parameters)


def newest(transaction: Transaction, task_id: int) -> TurnRow | None:
    """Give the turn of a task that started last."""
    row = transaction.connection.execute(load("turns")["newest"], {"task_id": task_id}).fetchone()
    return None if row is None else _turn(row)


def newest_kept(
    transaction: Transaction, task_id: int, *, before: int | None = None
) -> TurnRow | None:
    """Give the last turn with a checkpoint, of those below the number `before` if that is given."""
    parameters = {"task_id": task_id, "before": LAST if before is None else before}
    row = transaction.connection.execute(load("turns")["newest_kept"], parameters).fetchone()
    return None if row is None else _turn(row)


def with_checkpoint(transaction: Transaction, task_id: int, number: int) -> TurnRow:
    """Give a turn that has a checkpoint.

    Raises:
        NotFoundError: there is no such turn, or nothing was kept of it.
    """
    parameters = {"task_id": task_id, "number": number}
    row = transaction.connection.execute(load("turns")["by_number"], parameters).fetchone()
    if row is None:
        last = newest(transaction, task_id)
        known = "it has had none yet" if last is None else f"its turns are 1 to {last.number}"
        raise NotFoundError(f"there is no turn {number} of task {task_id}; {known}")
    turn = _turn(row)
    if turn.checkpoint is None:
        raise NotFoundError(
            f"turn {number} of task {task_id} has no checkpoint; byre turns {task_id} lists those "
            "that have one"
        )
    return turn


async def of_task(
    database: Database, task_id: int, *, after: int = 0, limit: int = LAST
) -> list[TurnRow]:
    """Read at most `limit` turns of a task from above the number `after` on, in order."""
    parameters = {"task_id": task_id, "after": after, "limit": limit}
    return [_turn(row) for row in await database.rows(load("turns")["of_task"], parameters)]


def _turn(row: sqlite3.Row) -> TurnRow:
    return from_row(row, TurnRow, ())
