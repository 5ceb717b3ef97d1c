"""How a run ended, as a value: what it means for the task, decided in one place.

A verdict is applied when the server is gone. It meets the task as that is then: a person may have
cancelled it meanwhile, or a question may be open that must outlive the run.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

import msgspec

from byred.codex.errors import CodexError, FailureKind, TurnFailed
from byred.core.retry import FailureClass, Retries
from byred.core.task import Result, Step, Task, TaskError, next_retry

# Without a time in the account's own words, one look an hour costs nothing and finds the reset.
USAGE_PAUSE = timedelta(hours=1)

FAILED = "failed: "
"""How the outcome of an attempt that used one up begins; its class follows."""

_HOPELESS = frozenset(
    {FailureKind.BAD_REQUEST, FailureKind.MODEL_NOT_FOUND, FailureKind.CONTEXT_FULL}
)


class Met(msgspec.Struct, frozen=True, kw_only=True):
    """What a verdict meets when it is applied: the time, and what the store knows of the task.

    `failures` counts those of its attempts that failed, by class.
    """

    now: datetime
    open_questions: int = 0
    failures: Mapping[FailureClass, int] = msgspec.field(default_factory=dict)


class Verdict(msgspec.Struct, frozen=True):
    """One outcome; `step` takes the task and what the verdict meets."""

    outcome: str
    message: str
    step: Callable[[Task, Met], Step]


def succeeded(result: Result) -> Verdict:
    """The agent is done and what it left was looked at."""
    return Verdict("succeeded", result.summary, lambda task, met: task.succeed(result, now=met.now))


def stopped(message: str) -> Verdict:
    """A person wanted it to stop; the task carries out what they wanted."""
    return Verdict("stopped", message, lambda task, met: task.stopped(now=met.now))


def suspended(reason: str) -> Verdict:
    """No verdict: the task goes on later, at the same place."""
    return Verdict(
        "suspended",
        reason,
        lambda task, met: task.recovered(
            now=met.now, open_questions=met.open_questions, reason=reason
        ),
    )


def failed(failure: FailureClass, message: str, *, retries: Retries, roll: float) -> Verdict:
    """The attempt failed. A question that is open outlives it: then the task waits on, parked."""
    policy = retries.of(failure)

    def step(task: Task, met: Met) -> Step:
        if met.open_questions and task.intent is None:
            return task.recovered(now=met.now, open_questions=met.open_questions, reason=message)
        before = met.failures.get(failure, 0)
        wait = next_retry(policy, before, roll=roll)
        retry_at = None if wait is None else met.now + timedelta(seconds=wait)
        return task.attempt_failed(
            failure, message, policy=policy, now=met.now, retry_at=retry_at, of_class=before + 1
        )

    return Verdict(outcome_of(failure), message, step)


def outcome_of(failure: FailureClass) -> str:
    """Name the outcome of an attempt that failed, as the story of the task has it."""
    return f"{FAILED}{failure}"


def unverified(message: str, *, retries: Retries, roll: float) -> Verdict:
    """A check of the repository keeps failing; by default that is the end."""
    if retries.verify.attempts == 1:
        return gave_up(FailureClass.VERIFY, message)
    return failed(FailureClass.VERIFY, message, retries=retries, roll=roll)


def gave_up(kind: str, message: str) -> Verdict:
    """No other attempt can do better: the request itself, or something of a person's, is wrong."""

    def step(task: Task, met: Met) -> Step:
        if task.intent is not None:
            return task.stopped(now=met.now)
        return task.give_up(TaskError(kind=kind, message=message), now=met.now)

    return Verdict(f"gave up: {kind}", message, step)


def needs_repair(message: str) -> Verdict:
    """Something of the task's is in the way that only a person may move."""

    def step(task: Task, met: Met) -> Step:
        if task.intent is not None:
            return task.stopped(now=met.now)
        return task.hold_for_repair(message)

    return Verdict("needs repair", message, step)


def account(message: str, *, until: datetime | None, pause: timedelta | None) -> Verdict:
    """The account cannot work now: the task is held, no attempt is used up."""

    def step(task: Task, met: Met) -> Step:
        if task.intent is not None:
            return task.stopped(now=met.now)
        ends = until if until is not None else (None if pause is None else met.now + pause)
        return task.hold_for_account(message, until=ends)

    return Verdict("account", message, step)


def of_error(error: CodexError, *, retries: Retries, roll: float) -> Verdict:
    """Say what an error of codex's means for the task."""
    message = str(error)
    if isinstance(error, TurnFailed):
        match error.kind:
            case FailureKind.USAGE_LIMIT:
                return account(message, until=error.resets_at, pause=USAGE_PAUSE)
            case FailureKind.UNAUTHORIZED:
                text = f"{message}; log in with codex login, then: byre release ID"
                return account(text, until=None, pause=None)
            case kind if kind in _HOPELESS:
                return gave_up(kind, message)
            case _:
                pass
    failure = FailureClass.AGENT if error.whose == "task" else FailureClass.INFRASTRUCTURE
    return failed(failure, message, retries=retries, roll=roll)
