"""The table `tasks`: store, look up, and change one by an event of the machine.

Functions that take a `Transaction` run on the writer; the others read.
"""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

import msgspec

from byred.core.errors import NotFoundError
from byred.core.task import Step, Task, TaskState
from byred.store.database import Database, Transaction
from byred.store.grounds import Merged
from byred.store.queries import load
from byred.store.rows import LAST, columns, from_row

_JSON = ("identity", "labels", "depends_on", "tokens", "result", "error")


class TaskRow(Task, frozen=True, kw_only=True):
    """A task with what other tables know of it now."""

    questions: tuple[int, ...] = ()
    ports: dict[str, int] = msgspec.field(default_factory=dict)
    pid: int | None = None
    turns: int = 0
    forked_task: int | None = None
    forked_turn: int | None = None
    merged: Merged | None = None
    removed_at: datetime | None = None
    worktree_bytes: int | None = None
    home_bytes: int | None = None

    @property
    def disk(self) -> "Disk | None":
        """What it took on the disk when that was looked at last."""
        if self.worktree_bytes is None or self.home_bytes is None:
            return None
        worktree = 0 if self.removed_at is not None else self.worktree_bytes
        return Disk(worktree=worktree, home=self.home_bytes)

    @property
    def forked_from(self) -> "ForkedFrom | None":
        """At whose turn it began."""
        if self.forked_task is None or self.forked_turn is None:
            return None
        return ForkedFrom(task=self.forked_task, turn=self.forked_turn)


class RepositoryUse(msgspec.Struct, frozen=True, kw_only=True):
    """A repository: a path into it, and when a task of it last began or came."""

    common_dir: str
    repo: str
    used_at: datetime


class Disk(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes on the disk: of the worktree, and of the task's folder with its home."""

    worktree: int
    home: int


class ForkedFrom(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a task's turn."""

    task: int
    turn: int


def next_id(transaction: Transaction) -> int:
    """Give the id of the task that this transaction inserts next."""
    return int(transaction.connection.execute(load("tasks")["next_id"]).fetchone()[0])


def insert(transaction: Transaction, task: Task) -> None:
    """Store a new task and the event that says so."""
    step = task.submitted()
    transaction.connection.execute(load("tasks")["insert"], columns(step.task, _JSON))
    transaction.emit(step.event)


def get(transaction: Transaction, task_id: int) -> Task:
    """Give a task.

    Raises:
        NotFoundError: there is none with this id.
    """
    row = transaction.connection.execute(load("tasks")["get"], {"id": task_id}).fetchone()
    if row is None:
        raise missing(task_id)
    return _task(row)


def by_key(transaction: Transaction, key: str) -> Task | None:
    """Give the task that was submitted under a key, if one was."""
    row = transaction.connection.execute(load("tasks")["by_key"], {"key": key}).fetchone()
    return None if row is None else _task(row)


def apply(transaction: Transaction, task_id: int, event: Callable[[Task], Step]) -> Task:
    """Let one event of the machine happen to a stored task; state and event are stored together.

    Raises:
        NotFoundError: there is no such task.
        WrongStateError: its state does not allow the event.
    """
    step = event(get(transaction, task_id))
    transaction.connection.execute(load("tasks")["save"], columns(step.task, _JSON))
    transaction.emit(step.event)
    return step.task


def of_homes(transaction: Transaction, homes: Sequence[str]) -> dict[int, str]:
    """Give the tasks that have one of these homes."""
    parameters = {"homes": msgspec.json.encode(list(homes)).decode()}
    rows = transaction.connection.execute(load("tasks")["of_homes"], parameters)
    return {row["id"]: row["home"] for row in rows}


def dependents(transaction: Transaction, task_id: int) -> list[Task]:
    """Give the blocked tasks that wait for this one."""
    rows = transaction.connection.execute(load("tasks")["dependents"], {"id": task_id})
    return [_task(row) for row in rows]


def unmet(transaction: Transaction, ids: Sequence[int]) -> list[tuple[int, TaskState]]:
    """Say which of these tasks have not succeeded."""
    rows = transaction.connection.execute(load("tasks")["unmet"], {"ids": _list(ids)})
    return [(row["id"], TaskState(row["state"])) for row in rows]


def unknown(transaction: Transaction, ids: Sequence[int]) -> list[int]:
    """Say which of these ids belong to no task."""
    rows = transaction.connection.execute(load("tasks")["known"], {"ids": _list(ids)})
    known = {row["id"] for row in rows}
    return [task_id for task_id in ids if task_id not in known]


async def read(database: Database, task_id: int) -> TaskRow:
    """Read a task with its open questions, ports and process.

    Raises:
        NotFoundError: there is none with this id.
    """
    rows = await database.rows(load("tasks")["view"], {"id": task_id})
    if not rows:
        raise missing(task_id)
    return _row(rows[0])


async def listing(
    database: Database,
    *,
    states: Iterable[TaskState] | None = None,
    label: str | None = None,
    before: int | None = None,
    limit: int,
) -> list[TaskRow]:
    """Read at most `limit` tasks, newest first, from below the id `before` on."""
    parameters = {"label": label, "before": LAST if before is None else before, "limit": limit}
    if states is None:
        rows = await database.rows(load("tasks")["views"], parameters)
    else:
        parameters["states"] = _list(states)
        rows = await database.rows(load("tasks")["views_in_states"], parameters)
    return [_row(row) for row in rows]


async def repositories(database: Database) -> list[RepositoryUse]:
    """Read the repositories that tasks ever had."""
    rows = await database.rows(load("tasks")["repositories"], {})
    return [from_row(row, RepositoryUse, ()) for row in rows]


async def counts(database: Database) -> dict[TaskState, int]:
    """Count the tasks of each state that occurs."""
    rows = await database.rows(load("tasks")["counts"], {})
    return {TaskState(row["state"]): row["number"] for row in rows}


def missing(task_id: int) -> NotFoundError:
    """Say that there is no such task."""
    return NotFoundError(f"there is no task {task_id}; byre ls --all lists them")


def _list(values: Iterable[TaskState | int]) -> str:
    return msgspec.json.encode(list(values)).decode()


def _task(row: sqlite3.Row) -> Task:
    return from_row(row, Task, _JSON)


def _row(row: sqlite3.Row) -> TaskRow:
    return from_row(row, TaskRow, (*_JSON, "questions", "ports", "merged"))
