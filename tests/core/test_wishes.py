"""What a person asks of a task that runs: kept as an intent, carried out, never lost."""

from collections.abc import Callable
from datetime import datetime

import pytest

from byred.core.errors import WrongStateError
from byred.core.retry import FailureClass, RetryPolicy
from byred.core.task import Hold, Intent, Result, Step, Task, TaskState

LIVE = ("preparing", "running", "waiting", "verifying")
CARRIED_OUT = {
    Intent.CANCEL: (TaskState.CANCELLED, None),
    Intent.HOLD: (TaskState.HELD, Hold.PERSON),
    Intent.INTERRUPT: (TaskState.HELD, Hold.INTERRUPTED),
}


def endings(now: datetime) -> list[Callable[[Task], Step]]:
    """Give the ways in which a task loses its runner without a verdict of its own."""
    policy = RetryPolicy()
    return [
        lambda task: task.stopped(now=now),
        lambda task: task.recovered(now=now, open_questions=0),
        lambda task: task.recovered(now=now, open_questions=2),
        lambda task: task.attempt_failed(
            FailureClass.STALL, "silent", policy=policy, now=now, retry_at=now
        ),
        lambda task: task.attempt_failed(
            FailureClass.STALL, "silent", policy=policy, now=now, retry_at=None
        ),
    ]


@pytest.mark.parametrize("situation", LIVE)
@pytest.mark.parametrize("intent", Intent)
@pytest.mark.promise("wish_survives")
def test_a_wish_is_carried_out_however_the_runner_is_lost(
    situation: str,
    intent: Intent,
    make_task: Callable[..., Task],
    check_whole: Callable[[Task], None],
    now: datetime,
) -> None:
    for end in endings(now):
        after = end(make_task(situation, intent=intent)).task
        assert (after.state, after.hold) == CARRIED_OUT[intent]
        assert after.failures == 0
        check_whole(after)


@pytest.mark.parametrize("situation", LIVE)
def test_cancel_and_hold_of_a_live_task_are_kept_until_its_server_is_gone(
    situation: str, make_task: Callable[..., Task], now: datetime
) -> None:
    task = make_task(situation)
    cancelling = task.cancel(by="ada", now=now)
    assert cancelling.task.intent is Intent.CANCEL
    assert cancelling.event.kind == "task.cancelling"
    assert cancelling.event.data == {"by": "ada"}
    holding = task.hold_back(by="ada")
    assert holding.task.intent is Intent.HOLD
    assert holding.event.kind == "task.holding"


@pytest.mark.parametrize("situation", ["running", "waiting"])
def test_an_interrupt_is_kept_until_the_turn_has_ended(
    situation: str, make_task: Callable[..., Task]
) -> None:
    step = make_task(situation).interrupt(by="ada")
    assert step.task.intent is Intent.INTERRUPT
    assert step.event.kind == "task.interrupting"


@pytest.mark.parametrize("situation", LIVE)
def test_no_later_wish_takes_the_place_of_a_cancel(
    situation: str, make_task: Callable[..., Task], now: datetime
) -> None:
    cancelling = make_task(situation, intent=Intent.CANCEL)
    for wish in (cancelling.hold_back, cancelling.interrupt):
        with pytest.raises(WrongStateError, match="it is being cancelled"):
            wish(by="ada")
    with pytest.raises(WrongStateError):
        cancelling.release(by="ada", open_questions=0)
    assert cancelling.cancel(by="bob", now=now).task.intent is Intent.CANCEL


def test_a_cancel_takes_the_place_of_a_hold_and_of_an_interrupt(
    make_task: Callable[..., Task], now: datetime
) -> None:
    for intent in (Intent.HOLD, Intent.INTERRUPT):
        cancelling = make_task("running", intent=intent).cancel(by="ada", now=now).task
        assert cancelling.intent is Intent.CANCEL


def test_a_hold_that_was_not_carried_out_yet_can_be_released(
    make_task: Callable[..., Task],
) -> None:
    step = make_task("running", intent=Intent.HOLD).release(by="ada", open_questions=0)
    assert step.task.state is TaskState.RUNNING
    assert step.task.intent is None
    assert step.event.kind == "task.released"


@pytest.mark.parametrize("intent", Intent)
def test_trouble_with_the_account_does_not_hide_what_a_person_wants(
    intent: Intent, make_task: Callable[..., Task]
) -> None:
    with pytest.raises(WrongStateError, match=f"a person asked to {intent} it"):
        make_task("running", intent=intent).hold_for_account("limit", until=None)


def test_a_wish_outlasts_the_events_of_a_run(make_task: Callable[..., Task]) -> None:
    task = make_task("preparing", intent=Intent.CANCEL)
    task = task.thread_started("thread-2").task
    task = task.turn_started("turn-2").task
    task = task.asked().task
    task = task.answered().task
    task = task.verify().task
    assert task.state is TaskState.VERIFYING
    assert task.intent is Intent.CANCEL


def test_an_agent_that_is_done_first_has_succeeded(
    make_task: Callable[..., Task], check_whole: Callable[[Task], None], now: datetime
) -> None:
    result = Result(summary="", commits=(), files_changed=0, dirty=False)
    after = make_task("verifying", intent=Intent.CANCEL).succeed(result, now=now).task
    assert after.state is TaskState.SUCCEEDED
    check_whole(after)
