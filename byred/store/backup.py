"""Copies of the database: made while a daemon writes, put in place, set aside, looked through.

Each leaves either nothing or the whole, and never replaces a file. Whether a daemon uses the
database is the state lock's to say; it is handed in where that matters.
"""

import asyncio
import os
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from datetime import datetime
from pathlib import Path

from byred.core.errors import ConflictError, NotFoundError
from byred.store import opening
from byred.store.errors import SchemaError, StoreError, explained

# What SQLite keeps beside a file; the facts of the log belong to it.
_BESIDE = ("-wal", "-shm", "-journal")
# How far a restored database counts on. What was said and asked after the backup stands under its
# number in a thread, and clients remember how far they followed the events: a number that came
# again would be taken for what had it before. People type those of questions.
_AHEAD = {"questions": 1_000}
_FAR_AHEAD = 1_000_000


async def backup(path: Path, target: Path) -> None:
    """Copy the database at `path` to a new file, as it is at one moment; a daemon may go on.

    Raises:
        ConflictError: `target` exists.
        NotFoundError: there is no database at `path`.
        StoreError: the database is damaged, or `target` cannot be written.
    """
    await asyncio.to_thread(_backup, path, target)


async def restore(source: Path, path: Path, *, lock: AbstractContextManager[object]) -> None:
    """Put a copy of the backup `source` where the daemon expects its database.

    Its counters go on far above those of the backup: what was numbered since is not numbered again.
    `lock` is entered meanwhile, and raises when a daemon runs.

    Raises:
        ConflictError: there is a database at `path`; set it aside first.
        NotFoundError: there is no backup at `source`.
        StoreError: the backup is damaged or newer than this byred, or `path` cannot be written.
    """
    await asyncio.to_thread(_restore, source, path, lock)


async def set_aside(path: Path, *, lock: AbstractContextManager[object], now: datetime) -> Path:
    """Rename the database and what lies beside it, so that the next start makes a new one.

    Nothing is deleted: gives the new name, under which SQLite can still open or recover it.

    Raises:
        ConflictError: the new name is taken.
        NotFoundError: there is no database at `path`.
        StoreError: the files cannot be renamed.
    """
    return await asyncio.to_thread(_set_aside, path, lock, now)


async def check(path: Path) -> tuple[str, ...]:
    """Look through the whole database, also while a daemon runs; give what is wrong with it.

    Raises:
        NotFoundError: there is no database at `path`.
        StoreError: it cannot be read.
    """
    return await asyncio.to_thread(_check, path)


def _backup(path: Path, target: Path) -> None:
    _must_exist(path)
    opening.check(path)
    try:
        with closing(opening.connect_read_only(path)) as connection:
            _copy(connection, target)
    except sqlite3.Error as error:
        raise explained(path, error) from error


def _restore(source: Path, path: Path, lock: AbstractContextManager[object]) -> None:
    _must_exist(source)
    opening.check(source)
    with lock:
        # A log that was left behind would be played into the restored file.
        found = [name for end in ("", *_BESIDE) if (name := _beside(path, end)).exists()]
        if found:
            raise ConflictError(f"cannot restore to {path}: {found[0]} exists; set it aside first")
        try:
            with closing(opening.connect_quietly(source)) as connection:
                _copy(connection, path, change=_count_on)
        except sqlite3.Error as error:
            raise explained(source, error) from error


def _set_aside(path: Path, lock: AbstractContextManager[object], now: datetime) -> Path:
    aside = path.with_name(f"{path.name}.set-aside-{now:%Y%m%dT%H%M%S}")
    with lock:
        if any(_beside(aside, end).exists() for end in ("", *_BESIDE)):
            raise ConflictError(f"cannot set {path} aside: {aside} exists; repeat in a second")
        # The file first: without it a start refuses its log, but would run without its log.
        moved = [end for end in ("", *_BESIDE) if _rename(_beside(path, end), _beside(aside, end))]
    if not moved:
        raise NotFoundError(f"there is no database at {path}; nothing to set aside")
    return aside


def _check(path: Path) -> tuple[str, ...]:
    _must_exist(path)
    try:
        opening.check(path)
    except SchemaError as error:
        return (str(error),)
    try:
        with closing(opening.connect_read_only(path)) as connection:
            rows = connection.execute("PRAGMA integrity_check(100)").fetchall()
            wrong = [row[0] for row in rows if row[0] != "ok"]
            for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
                wrong.append(f"row {row} of {table} refers to a row of {parent} that is missing")
    except sqlite3.Error as error:
        raise explained(path, error) from error
    return tuple(wrong)


def _count_on(copy: sqlite3.Connection) -> None:
    """Let every counter of a database go on from far above where it is."""
    counted = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'"
    for (name,) in copy.execute(counted).fetchall():
        ahead = _AHEAD.get(name, _FAR_AHEAD)
        found = copy.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (name,)).fetchone()
        if found is None:
            copy.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (name, ahead))
        else:
            seq = found[0] + ahead
            copy.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = ?", (seq, name))


def _nothing(_copy: sqlite3.Connection) -> None:
    """Leave a copy as it is."""


def _copy(
    connection: sqlite3.Connection,
    target: Path,
    *,
    change: Callable[[sqlite3.Connection], None] = _nothing,
) -> None:
    """Copy a database beside its place, prove it, and give it its name in one step."""
    if target.exists():
        raise ConflictError(f"cannot write {target}: it exists; name another file")
    part = None
    try:
        # mkstemp makes it readable for its owner alone, as prompts deserve.
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        os.close(handle)
        part = Path(name)
        _fill(part, connection, change)
        # A link, because a rename would replace a file that appeared meanwhile.
        target.hardlink_to(part)
        _sync(target.parent)
    except FileExistsError as error:
        raise ConflictError(f"cannot write {target}: it exists; name another file") from error
    except sqlite3.Error as error:
        raise explained(target, error) from error
    except OSError as error:
        raise StoreError(f"cannot write {target}: {error}; check its folder and disk") from error
    finally:
        if part is not None:
            part.unlink(missing_ok=True)


def _fill(
    part: Path, connection: sqlite3.Connection, change: Callable[[sqlite3.Connection], None]
) -> None:
    with closing(sqlite3.connect(part, isolation_level=None)) as copy:
        connection.backup(copy)
        change(copy)
        # One file, with no log beside it that could be forgotten.
        copy.execute("PRAGMA journal_mode = DELETE")
        found = copy.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(f"the copy is damaged ({found})")
    _sync(part)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _rename(old: Path, new: Path) -> bool:
    try:
        old.rename(new)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreError(f"cannot rename {old} to {new}: {error}; check the permissions") from error
    return True


def _must_exist(path: Path) -> None:
    if not path.exists() or path.stat().st_size == 0:
        raise NotFoundError(f"there is no database at {path}; check the path")


def _beside(path: Path, end: str) -> Path:
    return path.with_name(f"{path.name}{end}")
