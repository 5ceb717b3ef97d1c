"""The table `questions`: what agents asked people, and what came of it."""

import sqlite3
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from byred.core.errors import NotFoundError
from byred.core.event import NewEvent
from byred.core.question import (
    Question,
    QuestionKind,
    QuestionState,
    QuestionStep,
    deliver,
    withdraw,
)
from byred.store.database import Database, Transaction
from byred.store.queries import load
from byred.store.rows import LAST, columns, from_row, stamp

_JSON = ("options",)


def insert(transaction: Transaction, question: Question) -> Question:
    """Store a new question (its id is given here) and the event that says so."""
    cursor = transaction.connection.execute(load("questions")["insert"], columns(question, _JSON))
    stored = msgspec.structs.replace(question, id=int(cursor.fetchone()[0]))
    transaction.emit(
        NewEvent(
            kind="question.asked",
            task_id=stored.task_id,
            question_id=stored.id,
            data={"kind": stored.kind, "text": stored.text, "options": stored.options},
        )
    )
    return stored


def get(transaction: Transaction, question_id: int) -> Question:
    """Give a question.

    Raises:
        NotFoundError: there is none with this id.
    """
    row = transaction.connection.execute(load("questions")["get"], {"id": question_id}).fetchone()
    if row is None:
        raise missing(question_id)
    return _question(row)


def by_call(
    transaction: Transaction, task_id: int, thread_id: str, call_id: str
) -> Question | None:
    """Give the question that a tool call asked before, if it did."""
    parameters = {"task_id": task_id, "thread_id": thread_id, "call_id": call_id}
    row = transaction.connection.execute(load("questions")["by_call"], parameters).fetchone()
    return None if row is None else _question(row)


def save(transaction: Transaction, step: QuestionStep) -> Question:
    """Store what a question became, and the event that says so."""
    transaction.connection.execute(load("questions")["save"], columns(step.question, _JSON))
    transaction.emit(step.event)
    return step.question


def move(transaction: Transaction, question: Question, thread_id: str) -> None:
    """Make a question another thread's, which is given its reply: the one that asked is lost."""
    parameters = {"id": question.id, "thread_id": thread_id}
    transaction.connection.execute(load("questions")["move"], parameters)


def delivered(transaction: Transaction, question: Question) -> Question:
    """Note that the agent's thread holds the reply to this question; once is enough.

    Raises:
        InvalidError: it is still open.
    """
    # What the caller holds may be older than the row, and must not be written over it.
    stored = get(transaction, question.id)
    if stored.delivered_at is not None:
        return stored
    return save(transaction, deliver(stored, now=transaction.now))


def open_of_task(transaction: Transaction, task_id: int) -> list[Question]:
    """Give a task's open questions, oldest first."""
    rows = transaction.connection.execute(load("questions")["open_of_task"], {"task_id": task_id})
    return [_question(row) for row in rows]


def closed_for_thread(transaction: Transaction, task_id: int, thread_id: str) -> list[Question]:
    """Give the closed questions whose replies a task's thread is to hold, oldest first.

    Those that it asked, and those of an earlier thread that was lost before the reply came.
    """
    parameters = {"task_id": task_id, "thread_id": thread_id}
    rows = transaction.connection.execute(load("questions")["closed_for_thread"], parameters)
    return [_question(row) for row in rows]


def withdraw_all(transaction: Transaction, task_id: int, *, by: str) -> None:
    """Close every open question of a task that has nobody left to answer to."""
    for question in open_of_task(transaction, task_id):
        save(transaction, withdraw(question, by=by, now=transaction.now))
        delivered(transaction, get(transaction, question.id))


def withdraw_lost(transaction: Transaction, task_id: int) -> None:
    """Close the decisions that a server asked for and that ended with it.

    Only a question of the agent's own outlives its server: codex asks for an approval anew.
    """
    for question in open_of_task(transaction, task_id):
        if question.kind is not QuestionKind.QUESTION:
            save(transaction, withdraw(question, by="the end of the server", now=transaction.now))


def past_deadline(transaction: Transaction) -> list[Question]:
    """Give the open questions whose deadline has come."""
    parameters = {"now": stamp(transaction.now)}
    rows = transaction.connection.execute(load("questions")["past_deadline"], parameters)
    return [_question(row) for row in rows]


async def listing(
    database: Database,
    *,
    states: Iterable[QuestionState] | None = None,
    task_id: int | None = None,
    before: int | None = None,
    limit: int,
) -> list[Question]:
    """Read at most `limit` questions, newest first, from below the id `before` on."""
    parameters: dict[str, Any] = {
        "states": None if states is None else msgspec.json.encode(list(states)).decode(),
        "task_id": task_id,
        "before": LAST if before is None else before,
        "limit": limit,
    }
    if task_id is not None:
        query = "listing_of_task"
    else:
        query = "listing" if states is None else "listing_in_states"
    rows = await database.rows(load("questions")[query], parameters)
    return [_question(row) for row in rows]


async def next_deadline(database: Database) -> datetime | None:
    """Give the earliest deadline of an open question, if one has any."""
    rows = await database.rows(load("questions")["next_deadline"], {})
    text = rows[0]["deadline"]
    return None if text is None else datetime.fromisoformat(text)


async def count_open(database: Database) -> int:
    """Count the open questions."""
    rows = await database.rows(load("questions")["count_open"], {})
    return int(rows[0]["number"])


def missing(question_id: int) -> NotFoundError:
    """Say that there is no such question."""
    return NotFoundError(f"there is no question {question_id}; byre questions --all lists them")


def _question(row: sqlite3.Row) -> Question:
    return from_row(row, Question, _JSON)
