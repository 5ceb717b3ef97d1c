"""The machine of a task: every event in every situation, in one table."""

import inspect
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from byred.core.errors import Kind, WrongStateError
from byred.core.retry import FailureClass, RetryPolicy
from byred.core.task import Result, Step, Task, TaskError, TaskState, Tokens

NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
DUE = NOW + timedelta(seconds=10)
POLICY = RetryPolicy()
RESULT = Result(summary="done", commits=("a" * 40,), files_changed=1, dirty=False)
BROKEN = TaskError(kind="agent", message="it is hopeless")

EVENTS: dict[str, Callable[[Task], Step]] = {
    "submitted": lambda task: task.submitted(),
    "await_words": lambda task: task.await_words(),
    "unblocked": lambda task: task.unblocked(),
    "claim": lambda task: task.claim(now=NOW),
    "placed": lambda task: task.placed("byre/7-other", "/w/other"),
    "thread_started": lambda task: task.thread_started("thread-2"),
    "turn_started": lambda task: task.turn_started("turn-2"),
    "asked": lambda task: task.asked(),
    "answered": lambda task: task.answered(),
    "verify": lambda task: task.verify(),
    "succeed": lambda task: task.succeed(RESULT, now=NOW),
    "attempt_failed": lambda task: task.attempt_failed(
        FailureClass.AGENT, "it crashed", policy=POLICY, now=NOW, retry_at=DUE
    ),
    "attempt_failed/last": lambda task: task.attempt_failed(
        FailureClass.AGENT, "it crashed", policy=POLICY, now=NOW, retry_at=None
    ),
    "give_up": lambda task: task.give_up(BROKEN, now=NOW),
    "due": lambda task: task.due(),
    "cancel": lambda task: task.cancel(by="ada", now=NOW),
    "hold_back": lambda task: task.hold_back(by="ada"),
    "hold_for_account": lambda task: task.hold_for_account("usage limit", until=DUE),
    "hold_for_repair": lambda task: task.hold_for_repair("the worktree is gone"),
    "release": lambda task: task.release(by="ada", open_questions=0),
    "release/asking": lambda task: task.release(by="ada", open_questions=2),
    "interrupt": lambda task: task.interrupt(by="ada"),
    "told": lambda task: task.told(by="ada"),
    "retry": lambda task: task.retry(by="ada"),
    "stopped": lambda task: task.stopped(now=NOW),
    "recovered": lambda task: task.recovered(now=NOW, open_questions=0),
    "recovered/asking": lambda task: task.recovered(now=NOW, open_questions=2),
    "restored": lambda task: task.restored(2, "refs/byre/restored/7/1", RESULT, by="ada"),
    "brought_back": lambda task: task.brought_back("byre/7-other", "/w/other", by="ada"),
    "counted": lambda task: task.counted(Tokens(total=5)),
}

# `.` is refused, `=` stays as it is; else the situation that the task comes into.
TABLE = """
                    |queu bloc prep runn wait park veri back held inte acco repa succ fail canc
submitted           |=    =    .    .    .    .    .    .    .    .    .    .    .    .    .
await_words         |inte .    .    .    .    .    .    .    .    .    .    .    .    .    .
unblocked           |.    queu .    .    .    .    .    .    .    .    .    .    .    .    .
claim               |prep .    .    .    .    .    .    .    .    .    .    .    .    .    .
placed              |.    .    =    .    .    .    .    .    .    .    .    .    .    .    .
thread_started      |.    .    =    .    .    .    .    .    .    .    .    .    .    .    .
turn_started        |.    .    runn =    =    .    runn .    .    .    .    .    .    .    .
asked               |.    .    .    wait =    .    .    .    .    .    .    .    .    .    .
answered            |.    .    .    .    runn queu .    .    =    =    =    =    .    .    .
verify              |.    .    veri veri .    .    =    .    .    .    .    .    .    .    .
succeed             |.    .    .    .    .    .    succ .    .    .    .    .    .    .    .
attempt_failed      |.    .    back back back .    back .    .    .    .    .    .    .    .
attempt_failed/last |.    .    fail fail fail .    fail .    .    .    .    .    .    .    .
give_up             |fail fail fail fail fail fail fail fail fail fail fail fail .    .    .
due                 |.    .    .    .    .    .    .    queu .    .    .    .    .    .    .
cancel              |canc canc =    =    =    canc =    canc canc canc canc canc .    .    .
hold_back           |held held =    =    =    .    =    held =    held held held .    .    .
hold_for_account    |acco .    acco acco acco .    acco .    .    .    .    .    .    .    .
hold_for_repair     |repa repa repa repa repa repa repa repa repa repa repa =    .    .    .
release             |.    .    .    .    .    .    .    .    queu queu queu queu .    .    .
release/asking      |.    .    .    .    .    .    .    .    park park park park .    .    .
interrupt           |.    .    .    =    =    .    .    .    .    .    .    .    .    .    .
told                |=    =    =    =    =    =    =    =    =    queu =    =    queu queu queu
retry               |.    .    .    .    .    .    .    queu .    .    .    .    .    queu queu
stopped             |.    .    queu queu park .    queu .    .    .    .    .    .    .    .
recovered           |.    .    queu queu queu .    queu .    .    .    .    .    .    .    .
recovered/asking    |.    .    queu queu park .    queu .    .    .    .    .    .    .    .
restored            |=    =    .    .    .    =    .    =    =    =    =    =    =    =    =
brought_back        |=    =    .    .    .    =    .    =    =    =    =    =    =    =    =
counted             |=    =    =    =    =    =    =    =    =    =    =    =    =    =    =
"""
SITUATIONS = (
    "queued",
    "blocked",
    "preparing",
    "running",
    "waiting",
    "parked",
    "verifying",
    "backing_off",
    "held",
    "interrupted",
    "account",
    "repair",
    "succeeded",
    "failed",
    "cancelled",
)


def _cases() -> list[tuple[str, str, str | None]]:
    head, *lines = TABLE.strip("\n").splitlines()
    short = {name[:4]: name for name in SITUATIONS}
    columns = [short[name] for name in head.partition("|")[2].split()]
    cases: list[tuple[str, str, str | None]] = []
    for line in lines:
        event, _, cells = line.partition("|")
        for situation, cell in zip(columns, cells.split(), strict=True):
            expected = {".": None, "=": situation}.get(cell, short.get(cell))
            cases.append((event.strip(), situation, expected))
    return cases


@pytest.mark.parametrize(("event", "situation", "expected"), _cases())
def test_every_event_has_an_answer_in_every_situation(
    event: str,
    situation: str,
    expected: str | None,
    make_task: Callable[..., Task],
    situation_of: Callable[[Task], str],
    check_whole: Callable[[Task], None],
) -> None:
    task = make_task(situation)
    check_whole(task)
    if expected is None:
        with pytest.raises(WrongStateError) as refused:
            EVENTS[event](task)
        sentence, _, advice = str(refused.value).partition(": ")
        assert sentence.startswith(f"task 7 is {task.state} and cannot be ")
        assert len(advice) > len("it ended")
        assert refused.value.kind is Kind.WRONG_STATE
        return
    step = EVENTS[event](task)
    assert situation_of(step.task) == expected
    check_whole(step.task)
    assert step.event.task_id == task.id
    assert step.event.kind.startswith("task.")
    if step.task.state is not task.state:
        assert step.event.kind == f"task.{step.task.state}"
        assert step.event.data["was"] == task.state
    assert msgspec.json.decode(msgspec.json.encode(step.event.data)) is not None


def test_the_table_leaves_no_event_and_no_situation_out() -> None:
    methods = {
        name
        for name, member in inspect.getmembers(Task, inspect.isfunction)
        if not name.startswith("_") and inspect.signature(member).return_annotation == "Step"
    }
    assert {event.partition("/")[0] for event in EVENTS} == methods
    cases = _cases()
    assert {event for event, _, _ in cases} == set(EVENTS)
    assert len(cases) == len(EVENTS) * len(SITUATIONS)


def test_the_situations_cover_every_state(make_task: Callable[..., Task]) -> None:
    assert {make_task(situation).state for situation in SITUATIONS} == set(TaskState)


def test_no_event_changes_what_the_task_is(make_task: Callable[..., Task]) -> None:
    fixed = ("id", "key", "prompt", "repo", "common_dir", "base_commit", "identity", "created_at")
    for event, situation, expected in _cases():
        if expected is not None:
            before = make_task(situation, key="k")
            after = EVENTS[event](before).task
            assert [getattr(after, name) for name in fixed] == [
                getattr(before, name) for name in fixed
            ]
