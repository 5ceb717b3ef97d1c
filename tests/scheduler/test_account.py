"""When the account cannot work, nothing starts; one task goes first after the reset."""

from datetime import UTC, datetime, timedelta

import msgspec

from byred.core.task import Hold, Task, TaskState
from byred.scheduler.account import plan
from tests.scheduler.test_dispatch import task

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def held(number: int, until: datetime | None) -> Task:
    return msgspec.structs.replace(
        task(number),
        state=TaskState.HELD,
        hold=Hold.ACCOUNT,
        held_until=until,
        reason="usage limit reached",
    )


def test_an_account_that_works_lets_everything_start() -> None:
    found = plan([task(1), task(2, live=True)], NOW, probe=None, works=False)
    assert (found.paused, found.release, found.next_look) == (None, (), None)


def test_a_usage_limit_pauses_until_the_latest_reset_that_was_read() -> None:
    tasks = [held(1, NOW + timedelta(minutes=5)), held(2, LATER), task(3)]
    found = plan(tasks, NOW, probe=None, works=False)
    assert found.paused == "usage limit reached"
    assert found.release == ()
    assert found.next_look == LATER


def test_after_the_reset_one_task_goes_first() -> None:
    found = plan([held(1, NOW), held(2, NOW), task(3)], NOW, probe=None, works=False)
    assert found.release == (1,)
    assert found.probe == 1
    assert found.paused is not None


def test_the_others_wait_while_the_first_is_out() -> None:
    tasks = [task(1, live=True), held(2, NOW), task(3)]
    found = plan(tasks, NOW, probe=1, works=False)
    assert (found.release, found.probe) == ((), 1)
    assert found.paused is not None


def test_the_others_follow_when_the_model_has_answered() -> None:
    tasks = [task(1, live=True), held(2, NOW), held(3, LATER)]
    found = plan(tasks, NOW, probe=1, works=True)
    assert found.release == (2, 3)
    assert found.paused is None


def test_a_first_one_that_meets_the_limit_again_waits_for_the_new_reset() -> None:
    found = plan([held(1, LATER), held(2, NOW)], NOW, probe=1, works=False)
    assert found.release == ()
    assert found.next_look == LATER


def test_a_lost_login_waits_for_a_person() -> None:
    found = plan([held(1, None)], NOW, probe=None, works=False)
    assert (found.release, found.next_look) == ((), None)
    assert found.paused is not None
