"""Backups of a database in use, and what is done with one that is damaged."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path

import pytest

from byred.core.errors import ConflictError, NotFoundError
from byred.core.task import Task
from byred.store import events, tasks
from byred.store.backup import backup, check, restore, set_aside
from byred.store.database import Database, open_database
from byred.store.errors import SchemaError, StoreError

Submit = Callable[..., Task]
NOW = datetime(2026, 3, 1, 12, 30, 5, tzinfo=UTC)


@contextmanager
def taken_by_a_daemon() -> Iterator[None]:
    """Behave as the state lock does while a daemon holds it."""
    raise ConflictError("cannot use it: the daemon with pid 5 is using it; stop that one first")
    yield


def contents(folder: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


def write_over(path: Path, data: bytes, offset: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


async def ids(database: Database) -> list[int]:
    return sorted(task.id for task in await tasks.listing(database, limit=100_000))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "backups"
    folder.mkdir()
    return folder / "saved.sqlite3"


@pytest.fixture
async def filled(path: Path, submit: Submit) -> Path:
    """Give a closed database with 50 tasks in it."""
    async with open_database(path) as database:
        await database.write(lambda tx: [submit(tx, prompt="p" * 2_000) for _ in range(50)])
    return path


@pytest.mark.promise("backup_is_whole")
async def test_a_backup_taken_while_others_write_is_one_moment(
    database: Database, submit: Submit, target: Path
) -> None:
    await database.write(lambda tx: [submit(tx, prompt="p" * 2_000) for _ in range(200)])
    stop = asyncio.Event()

    async def keep_writing() -> int:
        number = 0
        while not stop.is_set():
            await database.write(lambda tx: (submit(tx), submit(tx)))
            number += 2
        return number

    writers = [asyncio.create_task(keep_writing()) for _ in range(3)]
    for number in range(3):
        await backup(database.path, target.with_name(f"{number}.sqlite3"))
    stop.set()
    written = sum(await asyncio.gather(*writers))
    assert written > 0
    for number in range(3):
        async with open_database(target.with_name(f"{number}.sqlite3")) as copy:
            saved = await ids(copy)
            assert saved == list(range(1, len(saved) + 1))
            assert await events.newest(copy) == len(saved)
            assert len(saved) % 2 == 0
            assert 200 <= len(saved) <= 200 + written


async def test_a_backup_of_a_database_at_rest_is_one_file_for_its_owner(
    filled: Path, target: Path
) -> None:
    await backup(filled, target)
    assert [entry.name for entry in target.parent.iterdir()] == [target.name]
    assert target.stat().st_mode & 0o777 == 0o600
    assert await check(target) == ()


@pytest.mark.promise("backup_is_whole")
async def test_a_backup_never_replaces_a_file(filled: Path, target: Path) -> None:
    await asyncio.to_thread(target.write_bytes, b"precious")
    with pytest.raises(ConflictError, match="it exists; name another file"):
        await backup(filled, target)
    assert contents(target.parent) == {target.name: b"precious"}


async def test_what_is_restored_counts_on_above_what_was_counted_since(
    filled: Path, target: Path, submit: Submit
) -> None:
    """Clients remember how far they followed the events, threads the numbers of what was said."""
    await backup(filled, target)
    async with open_database(filled) as database:
        await database.write(lambda tx: [submit(tx) for _ in range(3)])
        newest = await events.newest(database)
    await set_aside(filled, lock=nullcontext(), now=NOW)
    await restore(target, filled, lock=nullcontext())
    async with open_database(filled) as database:
        restored = await events.newest(database)
        assert restored < newest
        await database.write(submit)
        assert await events.newest(database) > newest
        said, asked = await database.write(
            lambda tx: tuple(
                tx.connection.execute(
                    f"SELECT seq FROM sqlite_sequence WHERE name = '{name}'"
                ).fetchone()[0]
                for name in ("inputs", "questions")
            )
        )
        assert said >= 1_000_000
        assert asked >= 1_000


async def test_a_backup_of_nothing_or_into_nowhere_says_so(filled: Path, target: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no database at"):
        await backup(filled.with_name("other.sqlite3"), target)
    with pytest.raises(StoreError, match="check its folder and disk"):
        await backup(filled, target.parent / "none" / "saved.sqlite3")
    assert contents(target.parent) == {}


async def test_a_damaged_database_is_not_backed_up(filled: Path, target: Path) -> None:
    await asyncio.to_thread(write_over, filled, b"\xa5" * 20_000, 40_960)
    with pytest.raises(SchemaError, match="it is damaged"):
        await backup(filled, target)
    assert contents(target.parent) == {}


async def test_a_backup_is_restored_and_goes_on(
    filled: Path, target: Path, tmp_path: Path, submit: Submit
) -> None:
    await backup(filled, target)
    saved = contents(target.parent)
    path = tmp_path / "state" / "byred.sqlite3"
    await asyncio.to_thread(path.parent.mkdir)
    await restore(target, path, lock=nullcontext())
    assert contents(target.parent) == saved
    async with open_database(path) as database:
        assert await ids(database) == list(range(1, 51))
        assert (await database.write(submit)).id == 51


async def test_nothing_is_restored_under_a_running_daemon(
    filled: Path, target: Path, tmp_path: Path
) -> None:
    await backup(filled, target)
    with pytest.raises(ConflictError, match="the daemon with pid 5"):
        await restore(target, tmp_path / "new.sqlite3", lock=taken_by_a_daemon())
    assert not await asyncio.to_thread((tmp_path / "new.sqlite3").exists)
    with pytest.raises(ConflictError, match="the daemon with pid 5"):
        await set_aside(filled, lock=taken_by_a_daemon(), now=NOW)
    assert await check(filled) == ()


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
async def test_a_restore_replaces_nothing_and_mixes_with_no_old_log(
    filled: Path, target: Path, tmp_path: Path, end: str
) -> None:
    await backup(filled, target)
    path = tmp_path / "state" / "byred.sqlite3"
    await asyncio.to_thread(path.parent.mkdir)
    await asyncio.to_thread(path.with_name(f"{path.name}{end}").write_bytes, b"old")
    before = contents(path.parent)
    with pytest.raises(ConflictError, match="exists; set it aside first"):
        await restore(target, path, lock=nullcontext())
    assert contents(path.parent) == before


async def test_a_damaged_or_foreign_backup_is_not_restored(
    filled: Path, target: Path, tmp_path: Path
) -> None:
    await backup(filled, target)
    await asyncio.to_thread(write_over, target, b"\xa5" * 20_000, 40_960)
    with pytest.raises(SchemaError, match="it is damaged"):
        await restore(target, tmp_path / "new.sqlite3", lock=nullcontext())
    with pytest.raises(NotFoundError):
        await restore(target.with_name("none"), tmp_path / "new.sqlite3", lock=nullcontext())
    assert not await asyncio.to_thread((tmp_path / "new.sqlite3").exists)


@pytest.mark.promise("damaged_database_untouched")
async def test_a_damaged_database_is_set_aside_with_its_log_and_to_the_byte(
    path: Path, submit: Submit
) -> None:
    async with open_database(path) as database:
        await database.write(submit)
        left = contents(path.parent)
    left.pop(f"{path.name}-shm")
    for name, data in left.items():
        await asyncio.to_thread(path.with_name(name).write_bytes, data)
    await asyncio.to_thread(write_over, path, b"\xa5" * 400, 100)
    left = contents(path.parent)
    aside = await set_aside(path, lock=nullcontext(), now=NOW)
    assert aside.name == "byred.sqlite3.set-aside-20260301T123005"
    assert contents(path.parent) == {
        name.replace(path.name, aside.name): data for name, data in left.items()
    }
    async with open_database(path) as database:
        assert await ids(database) == []


async def test_a_database_set_aside_can_be_opened_with_all_its_facts(
    path: Path, submit: Submit
) -> None:
    async with open_database(path) as database:
        await database.write(submit)
        left = contents(path.parent)
    for name, data in left.items():
        await asyncio.to_thread(path.with_name(name).write_bytes, data)
    aside = await set_aside(path, lock=nullcontext(), now=NOW)
    async with open_database(aside) as database:
        assert await ids(database) == [1]


async def test_setting_aside_never_replaces_what_was_set_aside(filled: Path) -> None:
    aside = await set_aside(filled, lock=nullcontext(), now=NOW)
    with pytest.raises(NotFoundError, match="nothing to set aside"):
        await set_aside(filled, lock=nullcontext(), now=datetime(2027, 1, 1, tzinfo=UTC))
    await backup(aside, filled)
    before = contents(filled.parent)
    with pytest.raises(ConflictError, match="exists; repeat in a second"):
        await set_aside(filled, lock=nullcontext(), now=NOW)
    assert contents(filled.parent) == before


async def test_a_sound_database_passes_the_check_also_while_it_is_in_use(
    database: Database, submit: Submit
) -> None:
    await database.write(submit)
    assert await check(database.path) == ()


async def test_the_check_names_what_is_wrong(filled: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(filled, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("UPDATE events SET task_id = 999 WHERE seq = 7")
    assert await check(filled) == ("row 7 of events refers to a row of tasks that is missing",)
    await asyncio.to_thread(write_over, filled, b"\xa5" * 20_000, 40_960)
    (found,) = await check(filled)
    assert "it is damaged" in found
    with pytest.raises(NotFoundError):
        await check(tmp_path / "none")


async def test_the_check_finds_an_index_that_differs_from_its_table(filled: Path) -> None:
    with closing(sqlite3.connect(filled, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_schema SET sql = replace(sql, '(state, id)', '(title, id)') "
            "WHERE name = 'tasks_state'"
        )
    found = await check(filled)
    assert any("tasks_state" in problem for problem in found)
