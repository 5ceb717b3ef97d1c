"""What the fields of a task say after an event: attempts, times, reasons, errors."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from byred.core.errors import WrongStateError
from byred.core.retry import FailureClass, RetryPolicy
from byred.core.task import Hold, Result, Task, TaskError, TaskState, Tokens, next_retry

RESULT = Result(summary="mended", commits=("a" * 40,), files_changed=2, dirty=False)


def test_a_claim_counts_attempts_by_failures_and_keeps_the_first_start(
    make_task: Callable[..., Task], now: datetime, later: datetime
) -> None:
    first = make_task("queued", attempt=0).claim(now=now).task
    assert (first.attempt, first.started_at) == (1, now)
    again = make_task("queued", attempt=1, failures=0, started_at=now).claim(now=later).task
    assert (again.attempt, again.started_at) == (1, now)
    third = make_task("queued", failures=2, started_at=now).claim(now=later)
    assert third.task.attempt == 3
    assert third.event.data["attempt"] == 3


def test_a_claim_forgets_the_error_of_the_attempt_before(
    make_task: Callable[..., Task], now: datetime
) -> None:
    error = TaskError(kind="stall", message="silent")
    assert make_task("queued", error=error).claim(now=now).task.error is None


def test_a_failed_attempt_rests_and_says_why_and_until_when(
    make_task: Callable[..., Task], now: datetime
) -> None:
    due = now + timedelta(seconds=10)
    step = make_task("running").attempt_failed(
        FailureClass.STALL, "silent for 5 min", policy=RetryPolicy(), now=now, retry_at=due
    )
    assert step.task.retry_at == due
    assert step.task.failures == 1
    assert step.task.error == TaskError(kind="stall", message="silent for 5 min")
    assert step.task.reason == "stall: silent for 5 min"
    assert step.event.data["failure"] is FailureClass.STALL
    assert step.event.data["retry_at"] == due
    after = step.task.due().task
    assert (after.state, after.retry_at, after.failures) == (TaskState.QUEUED, None, 1)


@pytest.mark.promise("retries_are_bounded")
def test_a_task_fails_with_its_story_when_the_policy_has_no_more(
    make_task: Callable[..., Task], now: datetime
) -> None:
    policy = RetryPolicy(attempts=3)
    task = make_task("running")
    tries = 0
    while task.state is TaskState.RUNNING:
        tries += 1
        wait = next_retry(policy, task.failures, roll=0.5)
        retry_at = None if wait is None else now + timedelta(seconds=wait)
        task = task.attempt_failed(
            FailureClass.AGENT, "no", policy=policy, now=now, retry_at=retry_at
        ).task
        if task.state is TaskState.BACKING_OFF:
            assert task.retry_at == now + timedelta(seconds=(10, 20)[tries - 1])
            task = task.due().task.claim(now=now).task.turn_started(f"turn-{tries}").task
            assert task.attempt == tries + 1
    assert tries == 3
    assert task.state is TaskState.FAILED
    assert task.reason == "attempt 3 of 3 failed: no"
    assert task.error == TaskError(kind="agent", message="no")
    assert task.ended_at == now


def test_holding_for_the_account_or_waiting_for_a_slot_costs_no_attempt(
    make_task: Callable[..., Task], now: datetime, later: datetime
) -> None:
    running = make_task("running", failures=1, attempt=2)
    held = running.hold_for_account("usage limit", until=later)
    assert held.task.held_until == later
    assert held.task.hold is Hold.ACCOUNT
    assert held.event.data["until"] == later
    again = held.task.release(by="the reset", open_questions=0).task.claim(now=later).task
    assert (again.attempt, again.failures) == (2, 1)


def test_success_keeps_what_the_task_left(make_task: Callable[..., Task], now: datetime) -> None:
    done = make_task("verifying", failures=1).succeed(RESULT, now=now).task
    assert done.result == RESULT
    assert done.error is None
    assert done.ended_at == now


def test_giving_up_fails_with_the_error_that_it_was_given(
    make_task: Callable[..., Task], now: datetime
) -> None:
    error = TaskError(kind="bad_request", message="the model refuses the request")
    failed = make_task("running").give_up(error, now=now).task
    assert (failed.error, failed.reason) == (error, error.message)


@pytest.mark.parametrize("situation", ["succeeded", "failed", "cancelled"])
def test_telling_an_ended_task_starts_it_afresh_on_its_thread_and_ground(
    situation: str, make_task: Callable[..., Task]
) -> None:
    before = make_task(situation, failures=3, result=RESULT, started_at=None)
    after = before.told(by="ada").task
    assert after.state is TaskState.QUEUED
    assert (after.failures, after.ended_at, after.error, after.result) == (0, None, None, None)
    assert (after.thread_id, after.worktree) == (before.thread_id, before.worktree)
    assert after.reason == "told by ada"


@pytest.mark.parametrize("situation", ["failed", "cancelled"])
def test_retrying_an_ended_task_gives_it_all_its_attempts_again(
    situation: str, make_task: Callable[..., Task], now: datetime
) -> None:
    again = make_task(situation, failures=3).retry(by="ada").task
    assert again.failures == 0
    assert again.claim(now=now).task.attempt == 1


def test_a_refusal_names_the_command_that_helps(make_task: Callable[..., Task]) -> None:
    with pytest.raises(WrongStateError, match=r"byre tell 7 TEXT goes on with it"):
        make_task("succeeded").retry(by="ada")
    with pytest.raises(WrongStateError, match=r"byre explain"):
        make_task("running").retry(by="ada")
    with pytest.raises(WrongStateError, match=r"byre retry starts it again"):
        make_task("failed").hold_back(by="ada")


@pytest.mark.parametrize("how", ["release", "retry", "told"])
def test_a_task_that_never_ran_waits_again_for_what_it_depends_on(
    how: str, make_task: Callable[..., Task], now: datetime
) -> None:
    blocked = make_task("blocked")
    match how:
        case "release":
            after = blocked.hold_back(by="ada").task.release(by="ada", open_questions=0).task
        case "retry":
            after = blocked.cancel(by="ada", now=now).task.retry(by="ada").task
        case _:
            after = blocked.cancel(by="ada", now=now).task.told(by="ada").task
    assert after.state is TaskState.BLOCKED
    assert after.unblocked().task.state is TaskState.QUEUED


def test_a_task_that_ran_already_does_not_wait_for_the_others_again(
    make_task: Callable[..., Task],
) -> None:
    held = make_task("held", depends_on=(3,), attempt=1)
    assert held.release(by="ada", open_questions=0).task.state is TaskState.QUEUED


def test_a_parked_task_has_no_runner_and_its_answer_queues_it(
    make_task: Callable[..., Task], now: datetime
) -> None:
    parked = make_task("waiting").recovered(now=now, open_questions=1, reason="gave it back").task
    assert parked.parked
    assert not parked.live
    assert parked.reason == "gave it back"
    answered = parked.answered().task
    assert (answered.state, answered.parked) == (TaskState.QUEUED, False)


def test_the_ground_of_a_task_may_differ_from_the_plan(make_task: Callable[..., Task]) -> None:
    step = make_task("preparing").placed("byre/7-mend-2", "/w/7-mend-2")
    assert (step.task.branch, step.task.worktree) == ("byre/7-mend-2", "/w/7-mend-2")
    assert step.event.kind == "task.placed"


def test_token_totals_are_taken_as_they_come(make_task: Callable[..., Task]) -> None:
    step = make_task("running").counted(Tokens(input=3, output=2, total=5))
    assert step.task.tokens.total == 5
    assert step.event.data == {"total": 5}
