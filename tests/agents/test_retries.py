"""Each class of failures has its own count and its own wait."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from byred.agents import verdict
from byred.agents.runner import settle
from byred.codex.errors import FailureKind, TurnFailed
from byred.core.retry import FailureClass, Retries, RetryPolicy
from byred.core.task import Task, TaskState
from byred.store import attempts, tasks
from byred.store.database import Database, Transaction, open_database
from tests.tasks import a_task

RETRIES = Retries(
    agent=RetryPolicy(attempts=2, first=10, jitter=0),
    infrastructure=RetryPolicy(attempts=3, first=100, jitter=0),
    stall=RetryPolicy(attempts=2, first=1000, cap=1000, jitter=0),
    verify=RetryPolicy(attempts=2, first=5, jitter=0),
)


@pytest.fixture
async def database(tmp_path: Path):
    async with open_database(tmp_path / "db") as database:
        await database.write(store)
        yield database


def store(transaction: Transaction) -> None:
    tasks.insert(transaction, a_task())


async def run(database: Database, ending: verdict.Verdict) -> Task:
    """Let one attempt end like this, and the rest after it be over."""

    def attempt(transaction: Transaction) -> Task:
        task = tasks.get(transaction, 1)
        if task.state is TaskState.BACKING_OFF:
            tasks.apply(transaction, 1, lambda task: task.due())
        claimed = tasks.apply(transaction, 1, lambda task: task.claim(now=transaction.now))
        attempts.start(transaction, 1, claimed.attempt)
        return settle(transaction, 1, ending)

    return await database.write(attempt)


def failed(failure: FailureClass) -> verdict.Verdict:
    return verdict.failed(failure, f"a {failure}", retries=RETRIES, roll=0.5)


def rest(task: Task) -> float:
    assert task.retry_at is not None
    return round((task.retry_at - datetime.now(UTC)).total_seconds(), -1)


async def test_failures_of_one_class_do_not_count_against_another(database: Database) -> None:
    infrastructure, agent = FailureClass.INFRASTRUCTURE, FailureClass.AGENT
    task = await run(database, failed(infrastructure))
    assert rest(task) == 100
    task = await run(database, failed(agent))
    assert rest(task) == 10
    task = await run(database, failed(infrastructure))
    assert rest(task) == 200
    assert (task.state, task.failures) == (TaskState.BACKING_OFF, 3)
    task = await run(database, failed(infrastructure))
    assert task.state is TaskState.FAILED
    assert task.reason == "attempt 4, infrastructure 3 of 3, failed: a infrastructure"


async def test_a_crash_loop_ends_with_its_whole_story(database: Database) -> None:
    for number in (1, 2, 3):
        task = await run(database, failed(FailureClass.INFRASTRUCTURE))
        assert task.state is (TaskState.FAILED if number == 3 else TaskState.BACKING_OFF)
    assert task.reason == "attempt 3 of 3 failed: a infrastructure"
    story = await attempts.of_task(database, 1)
    assert [(each.number, each.outcome, each.message) for each in story] == [
        (number, "failed: infrastructure", "a infrastructure") for number in (1, 2, 3)
    ]


async def test_what_a_person_stopped_and_a_full_account_use_nothing_up(
    database: Database,
) -> None:
    limit = TurnFailed("limit", kind=FailureKind.USAGE_LIMIT, info="x")

    def want_hold(transaction: Transaction) -> None:
        tasks.apply(transaction, 1, lambda task: task.claim(now=transaction.now))
        tasks.apply(transaction, 1, lambda task: task.hold_back(by="ann"))
        attempts.start(transaction, 1, 1)
        settle(transaction, 1, failed(FailureClass.AGENT))

    def release(transaction: Transaction) -> None:
        tasks.apply(transaction, 1, lambda task: task.release(by="x", open_questions=0))

    await database.write(want_hold)
    await database.write(release)
    await run(database, verdict.of_error(limit, retries=RETRIES, roll=0.5))
    await database.write(release)
    task = await run(database, failed(FailureClass.AGENT))
    assert (task.state, task.failures) == (TaskState.BACKING_OFF, 1)
    story = await attempts.of_task(database, 1)
    assert [each.outcome for each in story] == ["cut off by agent", "account", "failed: agent"]


async def test_all_attempts_of_every_class_are_there_again_after_a_retry(
    database: Database,
) -> None:
    for _ in range(2):
        task = await run(database, failed(FailureClass.AGENT))
    assert task.state is TaskState.FAILED
    await database.write(lambda tx: tasks.apply(tx, 1, lambda task: task.retry(by="ann")))
    task = await run(database, failed(FailureClass.AGENT))
    assert (task.state, task.failures) == (TaskState.BACKING_OFF, 1)


async def test_failing_checks_are_the_end_unless_they_are_to_be_run_again(
    database: Database,
) -> None:
    again = verdict.unverified("red", retries=RETRIES, roll=0.5)
    assert (await run(database, again)).state is TaskState.BACKING_OFF
    once = verdict.unverified("red", retries=Retries(), roll=0.5)
    task = await run(database, once)
    assert (task.state, task.reason) == (TaskState.FAILED, "red")
