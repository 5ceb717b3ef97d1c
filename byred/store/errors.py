"""What can go wrong with the database itself, as opposed to with a request."""

import sqlite3
from pathlib import Path

from byred.core.errors import ByredError, Kind


class StoreError(ByredError, OSError):
    """The database cannot be used; the text says what to do."""

    kind = Kind.LIMIT


class StoreBusyError(StoreError):
    """No room, a lock of another process, a disk in trouble: the same may work later."""


class SchemaError(StoreError):
    """The file is newer than this program, damaged, or not a database of byred's."""


def damaged(path: Path, found: str) -> SchemaError:
    """Say that the file is broken, and that it was left as it is."""
    return SchemaError(
        f"cannot use {path}: it is damaged ({found}); nothing was changed: run `byred set-aside`, "
        "then `byred restore BACKUP`, or start with an empty one; sqlite3 FILE .recover may save "
        "more of the file that was set aside"
    )


def explained(path: Path, error: BaseException) -> BaseException:
    """Turn SQLite's own errors into a sentence; leave every other error as it is.

    A violated constraint is the writing function's own affair and stays sqlite3.IntegrityError.
    """
    if not isinstance(error, sqlite3.Error) or isinstance(error, sqlite3.IntegrityError):
        return error
    code = getattr(error, "sqlite_errorcode", None) or 0
    # The index of the log is a file too, and may be what finds no room.
    if code == sqlite3.SQLITE_IOERR_SHMSIZE:
        code = sqlite3.SQLITE_FULL
    # The low byte is the error, the others only say where it came from.
    match code & 0xFF:
        case sqlite3.SQLITE_FULL:
            text = "the disk is full; free some space and repeat"
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            text = "another process has locked it; end that one and repeat"
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return damaged(path, str(error))
        case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN:
            text = f"{error}; check the disk and its free space, then repeat"
        case _:
            return StoreError(
                f"cannot use {path}: {error}; check the disk, its free space and the permissions"
            )
    return StoreBusyError(f"cannot store in {path}: {text}")
