"""A real database in a folder of its own, and rows to put into it."""

import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from byred.core.event import NewEvent
from byred.core.question import Question
from byred.core.task import Identity, Step, Task
from byred.store import questions, tasks
from byred.store.database import Database, Transaction, open_database

HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    connection.execute(statement)
print("held", flush=True)
sys.stdin.read()
"""
START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Ticks:
    """A clock whose every look is a second later, so that each commit has a time of its own."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self) -> datetime:
        self.looks += 1
        return START + timedelta(seconds=self.looks)


@pytest.fixture
def clock() -> Ticks:
    return Ticks()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "byred.sqlite3"


@pytest.fixture
async def database(path: Path, clock: Ticks) -> AsyncIterator[Database]:
    async with open_database(path, clock=clock) as opened:
        yield opened


@pytest.fixture
def build_task() -> Callable[..., Task]:
    """Build a task value whose unique columns follow its id."""

    def build(task_id: int, **fields: object) -> Task:
        task = Task(
            id=task_id,
            title=f"Task {task_id}",
            slug=f"task-{task_id}",
            prompt="Mend the door.",
            repo="/r",
            common_dir="/r/.git",
            base="main",
            base_commit="0" * 40,
            branch=f"byre/{task_id}-task",
            worktree=f"/w/{task_id}-task",
            home=f"/s/{task_id}/home",
            identity=Identity(name=f"byre {task_id}", email=f"{task_id}@byre.invalid"),
            owner="ada",
            created_at=START,
        )
        return msgspec.structs.replace(task, **fields)

    return build


@pytest.fixture
def submit(build_task: Callable[..., Task]) -> Callable[..., Task]:
    """Store a new task in a transaction, under the next id."""

    def insert(transaction: Transaction, **fields: object) -> Task:
        task = build_task(tasks.next_id(transaction), **fields)
        tasks.insert(transaction, task)
        return task

    return insert


@pytest.fixture
def change_task() -> Callable[..., None]:
    """Put a stored task into a state, whatever the machine says of it."""

    def change(transaction: Transaction, task_id: int, **fields: object) -> None:
        became = msgspec.structs.replace(tasks.get(transaction, task_id), **fields)
        event = NewEvent(kind="test.changed", task_id=task_id, data={})
        tasks.apply(transaction, task_id, lambda _: Step(task=became, event=event))

    return change


@pytest.fixture
def ask() -> Callable[..., Question]:
    """Store a new open question of a task in a transaction."""
    numbers: Iterator[int] = iter(range(1, 1_000_000))

    def insert(transaction: Transaction, task_id: int, **fields: object) -> Question:
        question = Question(
            id=0,
            task_id=task_id,
            text="Which door?",
            asked_at=transaction.now,
            thread_id="thread-1",
            turn_id="turn-1",
            call_id=f"call-{next(numbers)}",
        )
        return questions.insert(transaction, msgspec.structs.replace(question, **fields))

    return insert


@pytest.fixture
def hold() -> Callable[[Path, list[str]], AbstractContextManager[None]]:
    """Let another process open a database, run statements and stay, for as long as a `with`."""

    @contextmanager
    def holding(path: Path, statements: list[str]) -> Iterator[None]:
        command = [sys.executable, "-c", HOLD, str(path), *statements]
        # Leaving the block closes its stdin, which ends it.
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            yield

    return holding
