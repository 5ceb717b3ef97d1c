"""The named statements: each is used, and none reads a whole table as that grows."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import pytest

from byred.core.task import Task, TaskState
from byred.store import opening
from byred.store.queries import load
from byred.store.rows import columns, stamp
from byred.store.writer import Transaction

START = datetime(2026, 3, 1, tzinfo=UTC)
TABLES = (
    "attempts",
    "events",
    "grounds",
    "identity",
    "inputs",
    "leases",
    "line",
    "processes",
    "questions",
    "tasks",
    "trusted",
    "turns",
)
# Each with its reason.
MAY_SCAN = {
    # The one row of the two figures.
    ("inputs", "verify_rounds"): "SCAN CONSTANT ROW",
    # The only row.
    ("identity", "get"): "SCAN identity",
    # What one task depends on.
    ("line", "unblocked"): "SCAN d VIRTUAL TABLE INDEX 1:",
    # Once, when the daemon starts: a row for each task that was ever removed, forked or measured.
    ("grounds", "removals"): "SCAN g",
    # Once, when the daemon starts.
    ("tasks", "repositories"): "SCAN tasks USING INDEX tasks_branch",
    # A handful: what people said one by one.
    ("trusted", "all"): "SCAN trusted",
    # The states of all tasks, from the index alone.
    ("tasks", "counts"): "SCAN tasks USING COVERING INDEX tasks_state",
    # Only what is leased or alive now, however much there ever was.
    ("leases", "of_ended"): "SCAN l USING COVERING INDEX sqlite_autoindex_leases_2",
    ("processes", "alive"): "SCAN processes USING INDEX processes_alive",
    # Compiled in for references that are checked late; there are none, so it never runs.
    ("questions", "insert"): "SCAN events",
}


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    opened = opening.open_for_writing(path)
    yield opened
    opened.close()


def statements() -> list[tuple[str, str]]:
    return [(table, name) for table in TABLES for name in load(table)]


@pytest.mark.parametrize(("table", "name"), statements())
def test_a_statement_is_used_and_needs_no_scan(
    table: str, name: str, connection: sqlite3.Connection
) -> None:
    module = files("byred.store").joinpath(f"{'writer' if name == 'append' else table}.py")
    assert f'"{name}"' in module.read_text(encoding="utf-8")
    sql = load(table)[name]
    parameters = dict.fromkeys(re.findall(r":([a-z_]+)", sql))
    plan = [row["detail"] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", parameters)]
    scans = [step for step in plan if step.startswith("SCAN") and "json_each" not in step]
    allowed = MAY_SCAN.get((table, name))
    assert scans == ([] if allowed is None else [allowed])


def test_every_file_of_statements_is_in_this_test() -> None:
    folder = files("byred.store").joinpath("queries")
    assert {entry.name for entry in folder.iterdir()} == {f"{table}.sql" for table in TABLES}


class Work:
    """Counts the steps of SQLite's machine, which no other program on this computer slows."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def of(self, table: str, name: str, parameters: dict[str, Any]) -> int:
        """Run a statement to its end and give its steps, in tens."""
        steps = 0

        def count() -> int:
            nonlocal steps
            steps += 1
            return 0

        self._connection.set_progress_handler(count, 10)
        self._connection.execute(load(table)[name], parameters).fetchall()
        self._connection.set_progress_handler(None, 0)
        return steps


def grow(connection: sqlite3.Connection, ids: range, build_task: Callable[..., Task]) -> None:
    """Add tasks that have ended, each with a question that was withdrawn and two events."""
    ended = build_task(1, state=TaskState.CANCELLED, ended_at=START)
    task = columns(ended, ("identity", "labels", "depends_on", "tokens", "result", "error"))
    unique = ("branch", "worktree", "home")
    question = dict.fromkeys(re.findall(r":([a-z_]+)", load("questions")["insert"]), "")
    question |= {"kind": "question", "state": "withdrawn", "options": "[]", "deadline": None}
    event = {"at": stamp(START), "kind": "task.told", "question_id": None, "data": "{}"}
    connection.execute("BEGIN")
    connection.executemany(
        load("tasks")["insert"],
        ({**task, "id": id_, **{name: f"{name} {id_}" for name in unique}} for id_ in ids),
    )
    for id_ in ids:
        connection.execute(load("questions")["insert"], {**question, "task_id": id_})
        for _ in range(2):
            connection.execute(load("events")["append"], {**event, "task_id": id_})
    connection.execute("COMMIT")


def test_what_is_asked_often_costs_no_more_with_ten_thousand_ended_tasks(
    connection: sqlite3.Connection,
    clock: Callable[[], Any],
    submit: Callable[..., Task],
    ask: Callable[..., Any],
    build_task: Callable[..., Task],
) -> None:
    unfinished = msgspec.json.encode([TaskState.QUEUED, TaskState.WAITING]).decode()
    page = {"before": 2**63 - 1, "label": None, "limit": 20}
    asked = {
        ("tasks", "views"): page,
        ("tasks", "views_in_states"): {**page, "states": unfinished},
        ("tasks", "view"): {"id": 5},
        ("line", "queued"): {},
        ("line", "placed"): {},
        ("line", "due"): {"now": "2030-01-01T00:00:00.000000Z", "latest": "2031"},
        ("line", "next_due"): {"now": "2030-01-01T00:00:00.000000Z"},
        ("line", "unblocked"): {},
        ("line", "held_for_account"): {},
        ("tasks", "dependents"): {"id": 5},
        ("tasks", "unmet"): {"ids": "[5, 6]"},
        ("tasks", "next_id"): {},
        ("questions", "listing"): page,
        ("questions", "listing_in_states"): {**page, "states": '["open"]'},
        ("questions", "listing_of_task"): {**page, "task_id": 5, "states": None},
        ("questions", "open_of_task"): {"task_id": 5},
        ("questions", "next_deadline"): {},
        ("questions", "past_deadline"): {"now": "2030-01-01T00:00:00.000000Z"},
        ("questions", "count_open"): {},
        ("events", "after"): {"after": 100, "limit": 20},
        ("events", "of_task"): {"task_id": 5, "after": 0, "limit": 20},
        ("events", "newest"): {},
        ("leases", "of_ended"): {},
        ("processes", "alive"): {},
    }
    work = Work(connection)
    connection.execute("BEGIN")
    transaction = Transaction(connection, clock())
    for _ in range(30):
        ask(transaction, submit(transaction).id)
    connection.execute("COMMIT")
    grow(connection, range(31, 131), build_task)
    few = {key: work.of(*key, parameters) for key, parameters in asked.items()}
    grow(connection, range(131, 10_031), build_task)
    many = {key: work.of(*key, parameters) for key, parameters in asked.items()}
    # A tree that is deeper by a level or two costs a little; a scan would cost a hundredfold.
    slow = {key: (few[key], many[key]) for key in asked if many[key] > 2 * few[key] + 20}
    assert slow == {}
