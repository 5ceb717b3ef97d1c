"""Databases of every earlier schema, with tasks in the middle of their work, open and go on.

A new step of the schema needs a file here, of what the one before it wrote.
"""

import sqlite3
from collections.abc import Collection, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from byred.agents.process import ProcessIdentity
from byred.core.question import QuestionState
from byred.core.task import TaskState
from byred.scheduler.recovery import recover
from byred.store import identity, leases, opening, questions, tasks
from byred.store.database import open_database

WRITTEN = sorted((Path(__file__).parent / "written_by").glob("schema_*.sql"))


def test_every_earlier_schema_is_here() -> None:
    numbers = [int(path.stem.removeprefix("schema_")) for path in WRITTEN]
    assert numbers == list(range(1, opening.migrations()[-1][0]))


@pytest.mark.promise("newer_database_untouched")
@pytest.mark.promise("no_task_lost")
@pytest.mark.parametrize("written", WRITTEN, ids=lambda each: each.stem)
async def test_what_an_earlier_byred_left_goes_on(written: Path, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(written.read_text(encoding="utf-8"))

    async def end(_home: Path, _identity: ProcessIdentity | None) -> Sequence[ProcessIdentity]:
        return ()

    async def nobody() -> Collection[Path]:
        return ()

    async with open_database(path) as database:
        found = await recover(database, end, homes_in_use=nobody, launcher="plain", adopt=True)
        assert (found.tasks, found.stuck, found.at_work) == ((1, 2), (), ())
        rows = {row.id: row for row in await tasks.listing(database, limit=9)}
        states = {number: (row.state, row.parked) for number, row in rows.items()}
        assert states == {
            1: (TaskState.QUEUED, False),
            2: (TaskState.WAITING, True),
            3: (TaskState.QUEUED, False),
            4: (TaskState.SUCCEEDED, False),
        }
        assert (rows[1].thread_id, rows[1].turns, rows[1].pid) == ("thread-1", 1, None)
        asked = await questions.listing(database, limit=9)
        assert [each.state for each in asked] == [QuestionState.OPEN]
        assert await database.write(leases.taken_ports) == {20001, 20002}
        claimed = await database.write(
            lambda tx: tasks.apply(tx, 1, lambda task: task.claim(now=tx.now))
        )
        assert claimed.attempt == 1


@pytest.mark.parametrize("written", WRITTEN, ids=lambda each: each.stem)
async def test_a_backup_from_before_there_were_identities_has_that_of_what_it_is_of(
    written: Path, tmp_path: Path
) -> None:
    found = set()
    for name in ("database", "backup"):
        with closing(sqlite3.connect(tmp_path / name)) as connection:
            connection.executescript(written.read_text(encoding="utf-8"))
        async with open_database(tmp_path / name) as database:
            found.add(await database.write(identity.get))
    (one,) = found
    moment = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert int(one, 16) == int(moment.timestamp()) * 1_000_000


async def test_each_new_database_has_an_identity_of_its_own(tmp_path: Path) -> None:
    found = set()
    for name in ("one", "two", "two"):
        async with open_database(tmp_path / name) as database:
            found.add(await database.write(identity.get))
    assert len(found) == 2
    assert all(len(each) == 16 for each in found)
