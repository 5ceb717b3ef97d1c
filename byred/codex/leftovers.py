"""What a killed server or a full disk leaves in a home that no later server gets past.

Each is mended as codex itself could have written it. Only for a home that no server is on.
"""

import contextlib
import os
import shutil
import sqlite3
from pathlib import Path
from typing import BinaryIO

import msgspec

_BUSY_SECONDS = 1.0


def end_indexing(home: Path) -> bool:
    """Let the next server index a home's threads when the last one died while it did; say if so.

    The index says "running" then. A server waits 30 s for that to change and ends, and so does
    every one after it for a quarter of an hour (0.163.0).
    """
    found = False
    for path in home.glob("state_*.sqlite"):
        # What cannot be read or written is left as it is: codex has its own say about that.
        with (
            contextlib.suppress(sqlite3.DatabaseError),
            contextlib.closing(sqlite3.connect(path, timeout=_BUSY_SECONDS)) as index,
            index,
        ):
            ended = "UPDATE backfill_state SET status = 'pending' WHERE status = 'running'"
            found = index.execute(ended).rowcount > 0 or found
    return found


def mend_beginnings(home: Path) -> list[Path]:
    """Give a home's threads back whose records begin with a piece of a line; return the records.

    When a full disk cuts the first line of a record, codex writes all of it again after that piece
    once there is room, but resumes no record that does not begin with a whole line (0.163.0). The
    piece goes. A record that was never written again is left as it is.

    Raises:
        OSError: a record cannot be read, or not be written anew; it is as it was.
    """
    return [path for path in sorted(home.glob("sessions/**/rollout-*.jsonl")) if _mend(path)]


def _mend(path: Path) -> bool:
    with path.open("rb") as record:
        begins = _beginning(record)
        if not begins:
            return False
        record.seek(begins)
        beside = path.with_name(f".{path.name}.byre")
        try:
            with beside.open("wb") as whole:
                shutil.copyfileobj(record, whole)
                whole.flush()
                os.fsync(whole.fileno())
            shutil.copystat(path, beside)
            beside.rename(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    return True


def _beginning(record: BinaryIO) -> int:
    """Return where the first line begins that opens a record, 0 when nothing is to be done."""
    at = 0
    for line in record:
        try:
            found = msgspec.json.decode(line)
        except msgspec.DecodeError:
            at += len(line)
            continue
        opens = isinstance(found, dict) and found.get("type") == "session_meta"
        return at if opens else 0
    return 0
