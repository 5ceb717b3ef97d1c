"""Homes in which a killed server or a full disk left what stops the next server."""

import asyncio
import contextlib
import errno
import sqlite3
import time
from pathlib import Path

import pytest

from byred.codex import Client, NoRollout, leftovers
from byred.codex.leftovers import end_indexing, mend_beginnings
from byred.testing.script import Step
from tests.codex.conftest import INFO, refuse, user_texts


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


async def test_a_thread_whose_record_begins_with_a_piece_of_a_line_goes_on(connect, home, script):
    model = await script(Step(say="one"), Step(say="two"))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        await (await thread.start_turn("a")).result()
        path = Path((await client.read_thread(thread.id)).thread.path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\n" + whole)
    async with connect() as client:
        with pytest.raises(NoRollout):
            await client.resume_thread(thread.id, home.options())
    assert await asyncio.to_thread(mend_beginnings, home.root) == [path]
    assert path.read_bytes().startswith(whole)
    async with connect() as client:
        again = await client.resume_thread(thread.id, home.options())
        await (await again.start_turn("b")).result()
    assert user_texts(model.requests[-1]) == ["a", "b"]
    assert await asyncio.to_thread(mend_beginnings, home.root) == []
    assert list(path.parent.iterdir()) == [path]


META = b'{"type":"session_meta","payload":{}}\n'
OTHER = b'{"type":"event_msg","payload":{}}\n'


@pytest.mark.parametrize(
    ("content", "left"),
    [
        (META + OTHER, META + OTHER),
        (META[:9] + b"\n" + META + OTHER, META + OTHER),
        (META[:9] + b"\n" + META[:20] + b"\n\n" + META + OTHER + META, META + OTHER + META),
        # Nothing that is whole goes, and nothing opens these.
        (OTHER + META, OTHER + META),
        (META[:9] + b"\n" + OTHER + META, META[:9] + b"\n" + OTHER + META),
        (META[:9] + b"\n" + OTHER, META[:9] + b"\n" + OTHER),
        (META[:9], META[:9]),
        (b"", b""),
        (b"[1]\n" + META, b"[1]\n" + META),
    ],
)
def test_only_what_is_before_a_whole_beginning_goes(tmp_path, content, left):
    path = tmp_path / "sessions" / "2026" / "01" / "01" / "rollout-2026-01-01T00-00-00-x.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert mend_beginnings(tmp_path) == ([path] if content != left else [])
    assert path.read_bytes() == left


def test_a_record_that_cannot_be_written_anew_is_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "sessions" / "rollout-2026-01-01T00-00-00-x.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(META[:9] + b"\n" + META)

    def full(*_files):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(leftovers.shutil, "copyfileobj", full)
    with pytest.raises(OSError, match="No space"):
        mend_beginnings(tmp_path)
    assert path.read_bytes() == META[:9] + b"\n" + META
    assert list(path.parent.iterdir()) == [path]
