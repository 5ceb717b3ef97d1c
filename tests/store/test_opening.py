"""Which files are opened, which are refused, and that a refusal leaves them as they are."""

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

from byred.core.task import Task, TaskState
from byred.store import opening, tasks
from byred.store.database import Transaction, open_database
from byred.store.errors import SchemaError, StoreError

PAGE = 4096


def contents(folder: Path) -> dict[str, bytes]:
    """Read every file in a folder."""
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


def change(path: Path, how: Callable[[bytes], bytes] | None) -> None:
    """Rewrite a file, or remove it."""
    if how is None:
        path.unlink()
    else:
        path.write_bytes(how(path.read_bytes() if path.exists() else b""))


async def fill(path: Path, submit: Callable[..., Task], number: int = 200) -> None:
    async with open_database(path) as database:

        def store(transaction: Transaction) -> None:
            for _ in range(number):
                submit(transaction, prompt="p" * 500)

        await database.write(store)


async def refusal(path: Path) -> SchemaError:
    """Open a database that must be refused, and check that nothing in its folder changed."""
    before = contents(path.parent)
    with pytest.raises(SchemaError) as refused:
        async with open_database(path):
            pytest.fail("it was opened")
    assert contents(path.parent) == before
    assert str(path) in str(refused.value)
    return refused.value


async def test_a_database_is_made_from_nothing(path: Path) -> None:
    async with open_database(path) as database:
        rows = await database.rows("SELECT name FROM sqlite_schema WHERE type = 'table'", {})
        assert {"tasks", "questions", "events", "leases"} <= {row["name"] for row in rows}
        assert await tasks.listing(database, limit=5) == []
        version = (await database.rows("PRAGMA user_version", {}))[0][0]
        assert version == opening.migrations()[-1][0]


async def test_every_table_is_strict(path: Path) -> None:
    async with open_database(path) as database:
        rows = await database.rows(
            "SELECT name FROM pragma_table_list "
            "WHERE schema = 'main' AND type = 'table' AND NOT strict AND name NOT LIKE 'sqlite%'",
            {},
        )
        assert [row["name"] for row in rows] == []


async def test_the_writer_syncs_each_commit_and_keeps_references(path: Path) -> None:
    async with open_database(path) as database:

        def settings(transaction: Transaction) -> list[object]:
            names = ("journal_mode", "synchronous", "foreign_keys")
            return [
                transaction.connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names
            ]

        assert await database.write(settings) == ["wal", 2, 1]


async def test_what_was_stored_is_there_after_reopening(
    path: Path, submit: Callable[..., Task]
) -> None:
    await fill(path, submit, 3)
    async with open_database(path) as database:
        assert [task.id for task in await tasks.listing(database, limit=9)] == [3, 2, 1]


def test_the_steps_of_the_schema_are_numbered_without_a_gap() -> None:
    numbers = [number for number, _ in opening.migrations()]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.promise("newer_database_untouched")
async def test_a_newer_database_is_refused_and_left_as_it_is(
    path: Path, submit: Callable[..., Task]
) -> None:
    await fill(path, submit, 3)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA user_version = 9999")
    error = await refusal(path)
    assert "its schema is 9999 and this byred knows up to" in str(error)
    assert "start the newer byred" in str(error)


@pytest.mark.promise("newer_database_untouched")
async def test_a_newer_version_that_stands_in_the_log_alone_is_seen(
    path: Path, submit: Callable[..., Task], tmp_path: Path
) -> None:
    await fill(path, submit, 3)
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA user_version = 9999")
        for end in ("", "-wal"):
            copy = crashed / f"{path.name}{end}"
            copy.write_bytes(path.with_name(f"{path.name}{end}").read_bytes())
    kept = contents(crashed)
    with pytest.raises(SchemaError, match="its schema is 9999"):
        async with open_database(crashed / path.name):
            pytest.fail("it was opened")
    after = contents(crashed)
    after.pop(f"{path.name}-shm", None)  # SQLite's own index of the log; it holds no facts
    assert after == kept


def overwrite_the_middle(data: bytes) -> bytes:
    middle = len(data) // 2 // PAGE * PAGE
    return data[:middle] + b"\xa5" * (4 * PAGE) + data[middle + 4 * PAGE :]


def overwrite_the_schema(data: bytes) -> bytes:
    return data[:100] + b"\xff" * 400 + data[500:]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "overwritten in the middle": overwrite_the_middle,
    "overwritten in its schema": overwrite_the_schema,
    "cut by half": lambda data: data[: len(data) // 2],
    "cut to one page": lambda data: data[:PAGE],
    "cut within a page": lambda data: data[: len(data) - 1000],
    "cut within the header": lambda data: data[:60],
    "zeroes": lambda data: bytes(len(data)),
    "a text": lambda _: b"This is my shopping list.\n" * 400,
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.promise("damaged_database_untouched")
async def test_a_damaged_database_is_refused_and_left_as_it_is(
    path: Path, submit: Callable[..., Task], damage: str
) -> None:
    await fill(path, submit)
    change(path, DAMAGE[damage])
    error = await refusal(path)
    assert "it is damaged (" in str(error)
    assert "nothing was changed" in str(error)
    assert "`byred set-aside`" in str(error)
    assert "`byred restore BACKUP`" in str(error)


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.promise("damaged_database_untouched")
async def test_a_database_of_another_program_is_refused(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
        connection.execute(f"PRAGMA user_version = {version}")
    error = await refusal(path)
    assert "it is a database of another program" in str(error)
    assert "move it away" in str(error)


@pytest.mark.parametrize("gone", [True, False])
@pytest.mark.promise("damaged_database_untouched")
async def test_a_log_whose_database_is_gone_or_empty_is_not_thrown_away(
    path: Path, submit: Callable[..., Task], gone: bool
) -> None:
    wal = path.with_name(f"{path.name}-wal")
    async with open_database(path) as database:
        await database.write(submit)
        facts = wal.read_bytes()
    assert facts
    change(path, None if gone else lambda _: b"")
    wal.write_bytes(facts)
    error = await refusal(path)
    assert f"it is empty or gone, and {wal.name} beside it is not" in str(error)


async def test_an_empty_file_is_a_new_database(path: Path) -> None:
    change(path, lambda _: b"")
    async with open_database(path) as database:
        assert await tasks.counts(database) == {}


async def test_a_migration_that_was_cut_off_leaves_nothing_and_is_repeated(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("PRAGMA application_id = 1")
    connection.execute("CREATE TABLE tasks (id INTEGER)")
    connection.close()
    async with open_database(path) as database:
        assert await tasks.counts(database) == {}


async def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    path = tmp_path / "none" / "byred.sqlite3"
    with pytest.raises(StoreError, match=r"unable to open database file; check the disk and its"):
        async with open_database(path):
            pytest.fail("it was opened")


async def test_a_path_with_every_strange_character_is_opened(tmp_path: Path) -> None:
    folder = tmp_path / "a b?c#d%20e&mode=rw'é"
    folder.mkdir()
    async with open_database(folder / "byred.sqlite3") as database:
        assert await tasks.counts(database) == {}
    async with open_database(folder / "byred.sqlite3") as database:
        assert await tasks.counts(database) == {}
    assert [entry.name for entry in folder.iterdir()] == ["byred.sqlite3"]


async def test_a_database_that_another_process_holds_is_called_locked_and_not_damaged(
    path: Path,
    submit: Callable[..., Task],
    hold: Callable[[Path, list[str]], AbstractContextManager[None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await fill(path, submit, 3)
    monkeypatch.setattr(opening, "BUSY_SECONDS", 0.05)
    statements = ["PRAGMA locking_mode = EXCLUSIVE", "BEGIN EXCLUSIVE", "DELETE FROM events"]
    with hold(path, statements):
        with pytest.raises(StoreError, match="another process has locked it") as refused:
            async with open_database(path):
                pytest.fail("it was opened")
        assert not isinstance(refused.value, SchemaError)
    async with open_database(path) as database:
        assert await tasks.counts(database) == {TaskState.QUEUED: 3}


async def test_an_sqlite_that_is_too_old_is_named(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "OLDEST_SQLITE", (99, 1, 0))
    with pytest.raises(StoreError, match=r"byred needs 99\.1\.0 or newer"):
        async with open_database(path):
            pytest.fail("it was opened")
    assert contents(path.parent) == {}
