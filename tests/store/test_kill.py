"""A process killed while it writes: what it acknowledged is there, and nothing by halves."""

import asyncio
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from byred.core.question import QuestionState
from byred.core.task import TaskState
from byred.store import events, questions, tasks
from byred.store.database import open_database

SCRIPT = Path(__file__).with_name("steady_writer.py")
ROUNDS = 10


def write_and_kill(path: Path, writers: int, acknowledgements: int) -> set[int]:
    """Let a process write, kill it after some acknowledgements; give all that it gave."""
    command = [sys.executable, str(SCRIPT), str(path), str(writers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(acknowledgements)]
        writer.send_signal(signal.SIGKILL)
        lines += writer.stdout.readlines()
    assert writer.returncode == -signal.SIGKILL
    return {int(line) for line in lines if line.endswith(b"\n")}


@pytest.mark.promise("acknowledged_means_stored")
@pytest.mark.promise("state_with_its_event")
@pytest.mark.promise("event_stream_has_no_gap")
@pytest.mark.parametrize("writers", [1, 40])
async def test_every_write_that_returned_is_there_after_a_kill(path: Path, writers: int) -> None:
    dice = random.Random(writers)
    acknowledged: set[int] = set()
    for _ in range(ROUNDS):
        acknowledged |= await asyncio.to_thread(write_and_kill, path, writers, dice.randint(1, 150))
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            assert connection.execute("PRAGMA quick_check").fetchall() == [("ok",)]
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    async with open_database(path) as database:
        stored = await tasks.listing(database, limit=1_000_000)
        asked = await questions.listing(database, limit=1_000_000)
        told = await events.after(database, 0, limit=1_000_000)
    ids = {task.id for task in stored}
    assert acknowledged <= ids
    assert {task.state for task in stored} == {TaskState.PREPARING}
    assert {task.questions for task in stored} == {(question.id,) for question in asked}
    assert {question.state for question in asked} == {QuestionState.OPEN}
    assert [event.seq for event in told] == list(range(1, len(ids) * 3 + 1))
    assert {event.task_id for event in told} == ids
