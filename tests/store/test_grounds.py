"""What became of a task's ground, beside the task and in its row."""

from collections.abc import Callable

import pytest

from byred.core.task import Task
from byred.store import grounds, tasks
from byred.store.database import Database, Transaction
from byred.store.grounds import Ground, Merged


@pytest.fixture
async def store(database: Database, submit: Callable[..., Task]) -> Database:
    await database.write(submit)
    await database.write(submit)
    return database


def merged(transaction: Transaction, into: str) -> Merged:
    return Merged(
        into=into,
        how="ff",
        before="a" * 40,
        after="b" * 40,
        path=None,
        merged_by="ada",
        merged_at=transaction.now,
    )


async def test_nothing_is_known_of_a_task_that_nothing_became_of(store: Database) -> None:
    assert await store.write(lambda tx: grounds.get(tx, 1)) == Ground()
    row = await tasks.read(store, 1)
    assert (row.merged, row.removed_at) == (None, None)
    await store.write(lambda tx: grounds.brought_back(tx, 1))
    assert await store.write(lambda tx: grounds.get(tx, 1)) == Ground()


async def test_where_a_task_was_forked_is_in_its_row(store: Database) -> None:
    await store.write(lambda tx: grounds.forked(tx, 2, of=1, turn=3))
    await store.write(lambda tx: grounds.removed(tx, 2))
    known = await store.write(lambda tx: grounds.get(tx, 2))
    assert (known.forked_task, known.forked_turn) == (1, 3)
    row = await tasks.read(store, 2)
    assert row.forked_from == tasks.ForkedFrom(task=1, turn=3)
    assert (await tasks.read(store, 1)).forked_from is None


async def test_each_fact_leaves_the_others_as_they_are(store: Database) -> None:
    await store.write(lambda tx: grounds.removed(tx, 1))
    await store.write(lambda tx: grounds.merged(tx, 1, merged(tx, "main")))
    await store.write(lambda tx: grounds.merged(tx, 1, merged(tx, "next")))
    row = await tasks.read(store, 1)
    assert row.merged is not None
    assert row.merged.into == "next"
    assert row.removed_at is not None
    assert row.removed_at < row.merged.merged_at
    await store.write(lambda tx: grounds.brought_back(tx, 1))
    row = await tasks.read(store, 1)
    assert (row.merged is not None, row.removed_at) == (True, None)
    other = await tasks.read(store, 2)
    assert (other.merged, other.removed_at) == (None, None)
