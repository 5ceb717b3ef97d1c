"""The turns of a task: counted, kept, and brought over from an older file."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from byred.core.errors import NotFoundError
from byred.core.task import Task
from byred.store import opening, turns
from byred.store.database import Database, Transaction, open_database


@pytest.fixture
async def store(database: Database, submit: Callable[..., Task]) -> Database:
    """Two tasks, whose turns started in turn."""

    def fill(transaction: Transaction) -> None:
        for _ in range(2):
            submit(transaction)
        for name in ("a", "b", "c"):
            for task_id in (1, 2):
                turns.start(
                    transaction, task_id, f"{name}-{task_id}", thread_id="thread", attempt=1
                )

    await database.write(fill)
    return database


async def test_turns_are_counted_for_each_task(store: Database) -> None:
    rows = await turns.of_task(store, 2)
    assert [(row.number, row.turn_id) for row in rows] == [(1, "a-2"), (2, "b-2"), (3, "c-2")]
    again = await turns.of_task(store, 2, after=1, limit=1)
    assert [row.number for row in again] == [2]


async def test_a_turn_that_starts_twice_keeps_its_number(store: Database) -> None:
    await store.write(lambda tx: turns.start(tx, 1, "a-1", thread_id="other", attempt=2))
    rows = await turns.of_task(store, 1)
    assert [(row.number, row.attempt) for row in rows] == [(1, 1), (2, 1), (3, 1)]


async def test_the_checkpoint_before_a_turn_is_the_newest_that_there_is(store: Database) -> None:
    assert await store.write(lambda tx: turns.newest_kept(tx, 1)) is None
    await store.write(lambda tx: turns.kept(tx, 1, 1, "c0ffee"))
    await store.write(lambda tx: turns.kept(tx, 1, 3, "decade"))
    newest = await store.write(lambda tx: turns.newest_kept(tx, 1))
    before = await store.write(lambda tx: turns.newest_kept(tx, 1, before=3))
    assert newest is not None
    assert before is not None
    assert (newest.checkpoint, before.checkpoint) == ("decade", "c0ffee")
    assert await store.write(lambda tx: turns.newest_kept(tx, 2)) is None
    started = await store.write(lambda tx: turns.newest(tx, 2))
    assert started is not None
    assert started.turn_id == "c-2"


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (2, "turn 2 of task 1 has no checkpoint; byre turns 1 lists those that have one"),
        (4, "there is no turn 4 of task 1; its turns are 1 to 3"),
    ],
)
async def test_what_was_not_kept_is_not_found(store: Database, number: int, sentence: str) -> None:
    with pytest.raises(NotFoundError, match=sentence):
        await store.write(lambda tx: turns.with_checkpoint(tx, 1, number))


async def test_a_task_without_turns_says_so(
    database: Database, submit: Callable[..., Task]
) -> None:
    await database.write(submit)
    with pytest.raises(NotFoundError, match="it has had none yet"):
        await database.write(lambda tx: turns.with_checkpoint(tx, 1, 1))


async def test_the_turns_of_an_older_file_are_counted_when_it_is_brought_up(
    path: Path, submit: Callable[..., Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = opening.migrations()
    monkeypatch.setattr(opening, "migrations", lambda: newest[:1])
    async with open_database(path):
        pass
    monkeypatch.undo()
    with closing(sqlite3.connect(path)) as old, old:
        for number in (1, 2):
            old.execute(
                "INSERT INTO tasks (id, title, slug, prompt, repo, common_dir, base, base_commit,"
                " branch, worktree, home, identity, owner, state, labels, depends_on, created_at,"
                " tokens) VALUES (?1, '', '', '', '', '', '', '', ?2, ?2, ?3, '{}', '', 'running',"
                " '[]', '[]', '2026-03-01T12:00:00.000000Z', '{}')",
                (number, f"/w/{number}", f"/h/{number}"),
            )
        for task, name in ((1, "x"), (2, "y"), (1, "z")):
            old.execute(
                "INSERT INTO turns (task_id, turn_id, thread_id, attempt, started_at)"
                " VALUES (?, ?, 't', 1, '2026-03-01T12:00:00.000000Z')",
                (task, name),
            )
    async with open_database(path) as database:
        rows = [*await turns.of_task(database, 1), *await turns.of_task(database, 2)]
        assert [(row.number, row.turn_id) for row in rows] == [(1, "x"), (2, "z"), (1, "y")]
