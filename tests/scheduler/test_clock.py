"""A retry comes when it is due by whatever clock there is, also one that is put back."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from byred.core.retry import FailureClass, RetryPolicy
from byred.core.task import Identity, Task
from byred.scheduler.dispatch import Limits
from byred.scheduler.scheduler import Scheduler
from byred.store import tasks
from byred.store.database import Database, Transaction, open_database

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LONGEST = 300.0


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_database(tmp_path / "byred.sqlite3", clock=lambda: NOON) as opened:
        yield opened


def task(number: int) -> Task:
    return Task(
        id=number,
        title="A task",
        slug="a-task",
        prompt="A task.",
        repo="/srv/repo",
        common_dir="/srv/repo/.git",
        base="main",
        base_commit="0" * 40,
        branch=f"byre/{number}",
        worktree=f"/srv/worktrees/{number}",
        home=f"/srv/tasks/{number}/home",
        identity=Identity(name="byre", email="byre@localhost"),
        owner="somebody",
        created_at=NOON,
    )


def fail(transaction: Transaction, retry_at: datetime) -> None:
    tasks.insert(transaction, task(1))
    tasks.apply(transaction, 1, lambda task: task.claim(now=transaction.now))
    tasks.apply(
        transaction,
        1,
        lambda task: task.attempt_failed(
            FailureClass.INFRASTRUCTURE,
            "it failed",
            policy=RetryPolicy(),
            now=transaction.now,
            retry_at=retry_at,
        ),
    )


@pytest.mark.parametrize(
    ("away", "starts"),
    [
        (timedelta(seconds=-1), True),
        (timedelta(seconds=LONGEST), False),
        # The clock said tomorrow when the retry was put off, and was put right then.
        (timedelta(days=1), True),
    ],
)
async def test_a_retry_is_due_unless_it_is_within_what_it_may_be_put_off(
    database: Database, away: timedelta, starts: bool
) -> None:
    await database.write(lambda tx: fail(tx, NOON + away))
    await database.write(lambda tx: tasks.insert(tx, task(2)))
    started: asyncio.Queue[int] = asyncio.Queue()

    async def run(task: Task) -> None:
        await started.put(task.id)

    limits = Limits(max_running=1, longest_retry=LONGEST)
    scheduler = Scheduler(
        database,
        run,
        limits,
        adopt=run,
        want_back=lambda _ids: None,
        tell=lambda _title, _text: None,
    )
    running = asyncio.create_task(scheduler.run())
    try:
        # There is room for one, and the older goes first if it may.
        assert await asyncio.wait_for(started.get(), 30) == (1 if starts else 2)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
