"""How a database file is opened: looked at first, then brought to this program's schema.

A file that is damaged, newer than this program or another program's is refused before anything is
written to it.
"""

import sqlite3
from contextlib import closing
from importlib.resources import files
from pathlib import Path

from byred.store.errors import SchemaError, StoreError, damaged, explained

# Another process (a backup, a person with sqlite3) may hold the lock for a moment.
BUSY_SECONDS = 10.0
# "byre" in ASCII: stands in the header of each of our files, set by the first step of the schema.
APPLICATION_ID = 0x62797265
# STRICT tables, RETURNING, and JSON functions that are always there.
OLDEST_SQLITE = (3, 38, 0)


def migrations() -> list[tuple[int, str]]:
    """Give the schema's steps in order: number and SQL."""
    folder = files("byred.store").joinpath("schema")
    steps = [
        (int(entry.name[:4]), entry.read_text(encoding="utf-8"))
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    ]
    return sorted(steps)


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open the database for its writer, made or migrated where needed.

    Raises:
        SchemaError: it is newer, damaged or another program's; it stays as it is.
        StoreError: it cannot be opened or written.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        oldest = ".".join(map(str, OLDEST_SQLITE))
        raise StoreError(
            f"cannot use SQLite {sqlite3.sqlite_version}: byred needs {oldest} or newer; "
            "use a Python that comes with one"
        )
    check(path)
    steps = migrations()
    try:
        return _open(path, steps)
    except sqlite3.Error as error:
        raise explained(path, error) from error


def check(path: Path) -> None:
    """Look at the file, where there is one, without changing it.

    Raises:
        SchemaError: it is damaged, another program's, or newer than this byred.
        StoreError: it cannot be read.
    """
    if not path.exists() or path.stat().st_size == 0:
        wal = path.with_name(f"{path.name}-wal")
        if wal.exists() and wal.stat().st_size > 0:
            raise damaged(path, f"it is empty or gone, and {wal.name} beside it is not")
        return
    try:
        with closing(connect_quietly(path)) as connection:
            version = _pragma(connection, "user_version")
            owner = _pragma(connection, "application_id")
            tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
            if owner != APPLICATION_ID and (owner or version or tables):
                raise SchemaError(
                    f"cannot use {path}: it is a database of another program; move it away, "
                    "or point daemon.state_dir elsewhere"
                )
            newest = migrations()[-1][0]
            if version > newest:
                raise SchemaError(
                    f"cannot use {path}: its schema is {version} and this byred knows up to "
                    f"{newest}; start the newer byred, or point daemon.state_dir elsewhere"
                )
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        raise explained(path, error) from error
    if found != "ok":
        raise damaged(path, found)


def read_only(path: Path) -> str:
    """Give the URI under which SQLite opens the file for reading alone."""
    return f"{path.absolute().as_uri()}?mode=ro"


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Open a file for reading alone, also while a daemon writes to it.

    Raises:
        sqlite3.Error: it cannot be opened.
    """
    return sqlite3.connect(read_only(path), uri=True, timeout=BUSY_SECONDS)


def connect_quietly(path: Path) -> sqlite3.Connection:
    """Open a file that nobody writes to, so that looking at it leaves nothing beside it.

    Raises:
        sqlite3.Error: it cannot be opened.
    """
    uri = read_only(path)
    # Without a log to read and with nobody else at work, SQLite needs no files of its own.
    if not any(path.with_name(f"{path.name}{end}").exists() for end in ("-wal", "-journal")):
        uri += "&immutable=1"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS)


def _open(path: Path, steps: list[tuple[int, str]]) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        version = _pragma(connection, "user_version")
        for number, sql in steps:
            if number > version:
                connection.executescript(
                    f"BEGIN IMMEDIATE;\n{sql}\nPRAGMA user_version = {number};\nCOMMIT;"
                )
    except BaseException:
        connection.close()
        raise
    return connection


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
