"""A home whose server was killed while it indexed the threads."""

import asyncio
import contextlib
import sqlite3
import time
from pathlib import Path

from byred.codex import Client
from byred.codex.index import end_indexing
from tests.codex.conftest import INFO, refuse


def status(home: Path, change: str | None = None) -> list[tuple[str]]:
    (path,) = home.glob("state_*.sqlite")
    with contextlib.closing(sqlite3.connect(path)) as index, index:
        if change:
            now = int(time.time())
            index.execute("UPDATE backfill_state SET status = ?, updated_at = ?", (change, now))
        return index.execute("SELECT status FROM backfill_state").fetchall()


async def test_a_server_starts_in_a_home_whose_last_one_was_killed_while_it_indexed(home):
    async def life() -> None:
        async with (
            home.stdio() as transport,
            Client.open(transport, client_info=INFO, handler=refuse),
        ):
            pass

    await life()
    assert status(home.root, "running") == [("running",)]
    assert await asyncio.to_thread(end_indexing, home.root)
    # It would wait for half a minute, and then end.
    await life()
    assert status(home.root) == [("complete",)]
    assert not await asyncio.to_thread(end_indexing, home.root)


def test_what_is_no_index_is_left_as_it_is(tmp_path):
    assert not end_indexing(tmp_path)
    damaged = tmp_path / "state_5.sqlite"
    damaged.write_bytes(b"no database, for sure" * 100)
    with contextlib.closing(sqlite3.connect(tmp_path / "state_6.sqlite")) as other, other:
        other.execute("CREATE TABLE threads (id)")
    assert not end_indexing(tmp_path)
    assert damaged.read_bytes() == b"no database, for sure" * 100
