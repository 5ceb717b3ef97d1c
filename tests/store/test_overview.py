"""The figures of the daemon's status: always right, and read only when they may have changed."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from byred.core.question import Question
from byred.core.task import Task, TaskState, Tokens
from byred.store import attempts, questions, tasks
from byred.store.database import Database, Transaction
from byred.store.overview import Figures, Overview

Submit = Callable[..., Task]
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def ask(transaction: Transaction, task_id: int) -> None:
    tasks.apply(transaction, task_id, lambda task: task.claim(now=NOW))
    attempts.start(transaction, task_id, 1)
    tasks.apply(transaction, task_id, lambda task: task.thread_started("thread"))
    tasks.apply(transaction, task_id, lambda task: task.turn_started("turn"))
    tasks.apply(transaction, task_id, lambda task: task.asked())
    question = Question(
        id=0,
        task_id=task_id,
        text="Which door?",
        asked_at=NOW,
        thread_id="thread",
        turn_id="turn",
        call_id="call",
    )
    questions.insert(transaction, question)


def count(transaction: Transaction, task_id: int, total: int) -> None:
    tokens = Tokens(input=0, cached_input=0, output=0, reasoning=0, total=total)
    tasks.apply(transaction, task_id, lambda task: task.counted(tokens))


async def test_everything_that_was_acknowledged_is_in_the_figures(
    database: Database, submit: Submit
) -> None:
    overview = Overview(database)
    assert await overview.read() == Figures(tasks={}, questions_open=0, seq=0)
    task = await database.write(submit)
    assert await overview.read() == Figures(tasks={TaskState.QUEUED: 1}, questions_open=0, seq=1)
    await database.write(lambda tx: ask(tx, task.id))
    found = await overview.read()
    assert found.tasks == {TaskState.WAITING: 1}
    assert found.questions_open == 1
    await database.write(lambda tx: questions.withdraw_all(tx, task.id, by="a test"))
    assert (await overview.read()).questions_open == 0


async def test_counts_of_tokens_cost_no_reading_but_move_the_seq(
    database: Database, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    overview = Overview(database)
    task = await database.write(submit)
    before = await overview.read()
    await database.write(lambda tx: count(tx, task.id, 7))
    monkeypatch.setattr(database, "rows", None)
    after = await overview.read()
    assert after.seq == before.seq + 1
    assert after.tasks == before.tasks


async def test_what_changes_during_a_reading_is_read_by_the_next(
    database: Database, submit: Submit
) -> None:
    overview = Overview(database)
    for number in range(1, 30):
        reading = asyncio.create_task(overview.read())
        await database.write(submit)
        await reading
        assert (await overview.read()).tasks == {TaskState.QUEUED: number}
        assert (await overview.read()).seq == number
