"""Tasks and questions to let things happen to."""

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
import pytest

from byred.core.question import Question
from byred.core.task import Hold, Identity, Intent, Task, TaskError, TaskState

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LATER = datetime(2026, 3, 1, 12, 10, tzinfo=UTC)

# What a situation has beside its state; in the order of the columns of the machine's table.
SITUATIONS: dict[str, dict[str, object]] = {
    "queued": {"state": TaskState.QUEUED},
    "blocked": {"state": TaskState.BLOCKED, "depends_on": (3,), "attempt": 0},
    "preparing": {"state": TaskState.PREPARING},
    "running": {"state": TaskState.RUNNING, "turn_id": "turn-1"},
    "waiting": {"state": TaskState.WAITING, "turn_id": "turn-1"},
    "parked": {"state": TaskState.WAITING, "parked": True},
    "verifying": {"state": TaskState.VERIFYING},
    "backing_off": {"state": TaskState.BACKING_OFF, "failures": 1, "retry_at": LATER},
    "held": {"state": TaskState.HELD, "hold": Hold.PERSON},
    "interrupted": {"state": TaskState.HELD, "hold": Hold.INTERRUPTED},
    "account": {"state": TaskState.HELD, "hold": Hold.ACCOUNT, "held_until": LATER},
    "repair": {"state": TaskState.HELD, "hold": Hold.REPAIR},
    "succeeded": {"state": TaskState.SUCCEEDED, "ended_at": NOW},
    "failed": {
        "state": TaskState.FAILED,
        "ended_at": NOW,
        "failures": 3,
        "error": TaskError(kind="agent", message="it gave up"),
    },
    "cancelled": {"state": TaskState.CANCELLED, "ended_at": NOW},
}


@pytest.fixture
def now() -> datetime:
    return NOW


@pytest.fixture
def later() -> datetime:
    return LATER


@pytest.fixture
def make_task() -> Callable[..., Task]:
    """Make task 7 in a named situation, with other fields on top."""

    def make(situation: str = "queued", **fields: object) -> Task:
        task = Task(
            id=7,
            title="Mend the door",
            slug="mend-the-door",
            prompt="Mend the door.",
            repo="/r",
            common_dir="/r/.git",
            base="main",
            base_commit="0" * 40,
            branch="byre/7-mend-the-door",
            worktree="/w/7-mend-the-door",
            home="/s/7/home",
            identity=Identity(name="byre 7", email="7@byre.invalid"),
            owner="ada",
            attempt=1,
            thread_id="thread-1",
            created_at=NOW,
        )
        return msgspec.structs.replace(task, **{**SITUATIONS[situation], **fields})

    return make


@pytest.fixture
def situation_of() -> Callable[[Task], str]:
    """Name the situation of a task, by the same words as `make_task`."""

    def name(task: Task) -> str:
        match task:
            case Task(state=TaskState.WAITING, parked=True):
                return "parked"
            case Task(state=TaskState.HELD, hold=Hold.PERSON):
                return "held"
            case Task(state=TaskState.HELD):
                return str(task.hold)
            case _:
                return str(task.state)

    return name


@pytest.fixture
def check_whole() -> Callable[[Task], None]:
    """Fail on a task whose fields contradict each other."""

    def check(task: Task) -> None:
        assert not task.parked or task.state is TaskState.WAITING
        assert (task.hold is not None) == (task.state is TaskState.HELD)
        assert task.held_until is None or task.state is TaskState.HELD
        assert (task.retry_at is not None) == (task.state is TaskState.BACKING_OFF)
        assert (task.ended_at is not None) == (
            task.state in (TaskState.SUCCEEDED, TaskState.FAILED, TaskState.CANCELLED)
        )
        assert task.intent is None or task.live
        assert task.turn_id is None or task.live
        assert isinstance(task.intent, Intent | None)

    return check


@pytest.fixture
def question() -> Question:
    """Make an open question of task 7."""
    return Question(
        id=4,
        task_id=7,
        text="Which door?",
        asked_at=NOW,
        thread_id="thread-1",
        turn_id="turn-1",
        call_id="call-1",
    )
