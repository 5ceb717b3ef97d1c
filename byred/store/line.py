"""The tasks as the scheduler looks at them: who queues, who has a place, what falls due.

It looks after every change, so each function reads only what the choice needs, and of a long queue
only as far as the caller goes. The functions run on the writer.
"""

from collections.abc import Generator
from contextlib import closing
from datetime import datetime

import msgspec

from byred.store.database import Transaction
from byred.store.queries import load
from byred.store.rows import stamp


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A task that queues for a place or has one; `waiting` with one, for a person."""

    id: int
    priority: int
    common_dir: str
    waiting: bool = False


def queued(transaction: Transaction) -> Generator[Place, None, None]:
    """Give the queued tasks one by one, in the order in which they run.

    Nothing may be written before the iterator is closed.
    """
    with closing(transaction.connection.execute(load("line")["queued"])) as rows:
        for row in rows:
            yield Place(id=row["id"], priority=row["priority"], common_dir=row["common_dir"])


def placed(transaction: Transaction) -> list[Place]:
    """Give the tasks that have a runner now, or had one when the daemon died."""
    return [
        Place(
            id=row["id"],
            priority=row["priority"],
            common_dir=row["common_dir"],
            waiting=bool(row["waiting"]),
        )
        for row in transaction.connection.execute(load("line")["placed"])
    ]


def due(transaction: Transaction, latest: datetime) -> list[int]:
    """Give the tasks whose rest after a failed attempt is over, or would last beyond `latest`."""
    parameters = {"now": stamp(transaction.now), "latest": stamp(latest)}
    return [row["id"] for row in transaction.connection.execute(load("line")["due"], parameters)]


def next_due(transaction: Transaction) -> datetime | None:
    """Say when the next rest is over."""
    parameters = {"now": stamp(transaction.now)}
    at = transaction.connection.execute(load("line")["next_due"], parameters).fetchone()["at"]
    return None if at is None else datetime.fromisoformat(at)


def unblocked(transaction: Transaction) -> list[int]:
    """Give the blocked tasks that need not wait: all that they depend on have succeeded."""
    return [row["id"] for row in transaction.connection.execute(load("line")["unblocked"])]


def held_for_account(transaction: Transaction) -> list[int]:
    """Give the tasks that are held for their account, in the order in which they run."""
    rows = transaction.connection.execute(load("line")["held_for_account"])
    return [row["id"] for row in rows]
