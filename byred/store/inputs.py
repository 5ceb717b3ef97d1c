"""The table `inputs`: what is to be said to an agent, and whether its thread holds it."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

import msgspec

from byred.store.database import Transaction
from byred.store.queries import load
from byred.store.rows import from_row, stamp


class InputKind(StrEnum):
    """Why something is said to the agent."""

    PROMPT = "prompt"
    TELL = "tell"
    CONTINUE = "continue"
    VERIFY = "verify"


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """One text for a task's agent: `sent_at` to its server of now, `taken_at` by its thread."""

    id: int
    task_id: int
    kind: InputKind
    text: str
    author: str
    created_at: datetime
    sent_at: datetime | None = None
    taken_at: datetime | None = None
    turn_id: str | None = None


def insert(
    transaction: Transaction, task_id: int, kind: InputKind, text: str, *, author: str
) -> Input:
    """Store a text that the agent is to get."""
    cursor = transaction.connection.execute(
        load("inputs")["insert"],
        {
            "task_id": task_id,
            "kind": kind,
            "text": text,
            "author": author,
            "created_at": stamp(transaction.now),
        },
    )
    return Input(
        id=int(cursor.fetchone()[0]),
        task_id=task_id,
        kind=kind,
        text=text,
        author=author,
        created_at=transaction.now,
    )


def verify_rounds(transaction: Transaction, task_id: int) -> int:
    """Count the failed checks that the agent was told of since a person last set it to work.

    That is since the newest text of a person's, or since the task had ended: only a person makes it
    go on then. The events `task.verify_failed` are counted, too.
    """
    query = load("inputs")["verify_rounds"]
    row = transaction.connection.execute(query, {"task_id": task_id}).fetchone()
    return int(row["number"])


def pending(transaction: Transaction, task_id: int) -> list[Input]:
    """Give the texts that the thread is not known to hold, oldest first."""
    rows = transaction.connection.execute(load("inputs")["pending"], {"task_id": task_id})
    return [_input(row) for row in rows]


def of_task(transaction: Transaction, task_id: int) -> list[Input]:
    """Give everything that was ever to be said to a task's agent, oldest first."""
    rows = transaction.connection.execute(load("inputs")["of_task"], {"task_id": task_id})
    return [_input(row) for row in rows]


def sent(transaction: Transaction, ids: Sequence[int]) -> None:
    """Note that a turn is about to be asked to take these texts."""
    transaction.connection.execute(
        load("inputs")["sent"], {"ids": _list(ids), "at": stamp(transaction.now)}
    )


def unsent(transaction: Transaction, task_id: int) -> None:
    """Note that a task has a new server, to which nothing was sent yet."""
    transaction.connection.execute(load("inputs")["unsent"], {"task_id": task_id})


def taken(transaction: Transaction, ids: Sequence[int], turn_id: str) -> None:
    """Note that the thread holds these texts, in this turn."""
    parameters = {"ids": _list(ids), "at": stamp(transaction.now), "turn_id": turn_id}
    transaction.connection.execute(load("inputs")["taken"], parameters)


def untaken(transaction: Transaction, ids: Sequence[int]) -> None:
    """Note that the thread does not hold these texts after all."""
    transaction.connection.execute(load("inputs")["untaken"], {"ids": _list(ids)})


def _list(ids: Sequence[int]) -> str:
    return msgspec.json.encode(list(ids)).decode()


def _input(row: sqlite3.Row) -> Input:
    return from_row(row, Input, ())
