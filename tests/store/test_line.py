"""What the scheduler reads after every change: no more than it needs, in the right order."""

from collections.abc import Callable
from contextlib import closing
from datetime import timedelta

from byred.core.task import Hold, Task, TaskState
from byred.store import line
from byred.store.database import Database, Transaction
from tests.store.conftest import START

Submit = Callable[..., Task]


async def test_the_queue_comes_by_priority_and_then_by_age(
    database: Database, submit: Submit
) -> None:
    def fill(transaction: Transaction) -> list[line.Place]:
        for priority in (0, 5, -1, 5):
            submit(transaction, priority=priority)
        submit(transaction, state=TaskState.BLOCKED, priority=9)
        return list(line.queued(transaction))

    found = await database.write(fill)
    assert [place.id for place in found] == [2, 4, 1, 3]
    assert found[0] == line.Place(id=2, priority=5, common_dir="/r/.git")


async def test_a_queue_that_is_not_read_to_its_end_is_in_nobodys_way(
    database: Database, submit: Submit
) -> None:
    def fill(transaction: Transaction) -> None:
        for _ in range(3):
            submit(transaction)
        with closing(line.queued(transaction)) as places:
            assert next(places).id == 1
        submit(transaction)

    await database.write(fill)
    queued = await database.write(lambda tx: list(line.queued(tx)))
    assert [place.id for place in queued] == [1, 2, 3, 4]


async def test_the_placed_are_the_live_ones_that_are_not_parked(
    database: Database, submit: Submit, change_task: Callable[..., None]
) -> None:
    def fill(transaction: Transaction) -> list[line.Place]:
        for state, parked in (
            (TaskState.PREPARING, False),
            (TaskState.RUNNING, False),
            (TaskState.WAITING, False),
            (TaskState.WAITING, True),
            (TaskState.VERIFYING, False),
            (TaskState.QUEUED, False),
            (TaskState.HELD, False),
            (TaskState.SUCCEEDED, False),
        ):
            task = submit(transaction)
            change_task(transaction, task.id, state=state, parked=parked)
        return line.placed(transaction)

    placed = await database.write(fill)
    assert [(place.id, place.waiting) for place in placed] == [
        (1, False),
        (2, False),
        (3, True),
        (5, False),
    ]


async def test_a_rest_is_due_when_its_time_has_come(
    database: Database, submit: Submit, change_task: Callable[..., None]
) -> None:
    later = START + timedelta(hours=1)

    def fill(transaction: Transaction) -> None:
        for at in (START, later + timedelta(hours=1), later):
            task = submit(transaction)
            change_task(transaction, task.id, state=TaskState.BACKING_OFF, retry_at=at)

    assert await database.write(line.next_due) is None
    await database.write(fill)
    assert await database.write(lambda tx: line.due(tx, later + timedelta(hours=2))) == [1]
    # Further off than any rest is put: the clock was put back meanwhile.
    assert await database.write(lambda tx: line.due(tx, later)) == [1, 2]
    assert await database.write(line.next_due) == later


async def test_a_blocked_task_goes_on_when_all_that_it_waits_for_has_succeeded(
    database: Database, submit: Submit, change_task: Callable[..., None]
) -> None:
    def fill(transaction: Transaction) -> None:
        for _ in range(2):
            submit(transaction)
        submit(transaction, state=TaskState.BLOCKED, depends_on=(1, 2))
        submit(transaction, state=TaskState.BLOCKED, depends_on=(1,))

    await database.write(fill)
    assert await database.write(line.unblocked) == []
    await database.write(lambda tx: change_task(tx, 1, state=TaskState.SUCCEEDED))
    assert await database.write(line.unblocked) == [4]
    await database.write(lambda tx: change_task(tx, 2, state=TaskState.SUCCEEDED))
    assert await database.write(line.unblocked) == [3, 4]


async def test_only_those_that_their_account_holds_are_held_for_it(
    database: Database, submit: Submit, change_task: Callable[..., None]
) -> None:
    def fill(transaction: Transaction) -> list[int]:
        for hold in (Hold.ACCOUNT, Hold.PERSON, Hold.ACCOUNT):
            task = submit(transaction)
            change_task(transaction, task.id, state=TaskState.HELD, hold=hold)
        return line.held_for_account(transaction)

    assert await database.write(fill) == [1, 3]
