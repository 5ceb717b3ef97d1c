"""Fills a disk of its own under an open database; prints what happened as JSON.

Run by test_full_disk.py in a private mount namespace: `on_a_small_disk.py FOLDER`, where FOLDER
becomes a small tmpfs. Everything that it mounts goes with the namespace.
"""

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from byred.core.task import Identity, Task
from byred.store import events, tasks
from byred.store.database import Database, Transaction, open_database
from byred.store.errors import StoreError

SIZE = "8m"
TAKEN = 6 * 1024 * 1024


def store(transaction: Transaction, prompt: str) -> int:
    """Store a task with a prompt of some size."""
    task_id = tasks.next_id(transaction)
    task = Task(
        id=task_id,
        title="t",
        slug="t",
        prompt=prompt,
        repo="/r",
        common_dir="/r/.git",
        base="main",
        base_commit="0" * 40,
        branch=f"byre/{task_id}",
        worktree=f"/w/{task_id}",
        home=f"/s/{task_id}",
        identity=Identity(name="n", email="e"),
        owner="o",
        created_at=datetime.now(UTC),
    )
    tasks.insert(transaction, task)
    tasks.apply(transaction, task_id, lambda task: task.told(by="a"))
    return task_id


async def submit(database: Database, size: int = 5_000) -> int:
    """Store one task."""
    return await database.write(lambda transaction: store(transaction, "p" * size))


def fill(folder: Path) -> Path:
    """Take all the room that is left; give the file that takes it."""
    filler = folder / "filler"
    with filler.open("ab", buffering=0) as file:
        for size in (65_536, 4_096, 1):
            while True:
                try:
                    file.write(b"\0" * size)
                except OSError:
                    break
    return filler


async def state(database: Database) -> tuple[list[int], int]:
    """Give what is stored: ids of tasks, and the newest event."""
    listed = await tasks.listing(database, limit=1_000_000)
    return sorted(task.id for task in listed), await events.newest(database)


async def write_until_full(path: Path, report: dict[str, Any]) -> None:
    """One caller after the other, then many at once, then room again."""
    acknowledged: list[int] = []
    filler = path.with_name("filler")
    await asyncio.to_thread(filler.write_bytes, bytes(TAKEN))
    async with open_database(path) as database:
        try:
            while len(acknowledged) < 10_000:
                acknowledged.append(await submit(database))
        except StoreError as error:
            report["alone"] = str(error)
        report["after_one"] = [acknowledged, *await state(database)]
        fill(path.parent)
        outcomes = await asyncio.gather(
            *[submit(database, 50_000) for _ in range(50)], return_exceptions=True
        )
        report["together"] = sorted({str(outcome) for outcome in outcomes})
        report["after_many"] = await state(database)
        await asyncio.to_thread(filler.unlink)
        report["again"] = [await submit(database) for _ in range(5)]
        report["after_room"] = await state(database)
    with closing(sqlite3.connect(path)) as connection:
        report["check"] = connection.execute("PRAGMA integrity_check").fetchone()[0]


async def open_when_full(folder: Path, report: dict[str, Any]) -> None:
    """Make a database where there is no room for one, then where there is."""
    path = folder / "new.sqlite3"
    filler = fill(folder)
    try:
        async with open_database(path):
            report["opened"] = True
    except StoreError as error:
        report["opening"] = str(error)
    await asyncio.to_thread(filler.unlink)
    async with open_database(path) as database:
        report["opened_with_room"] = await submit(database)


async def reopen_when_full(path: Path, report: dict[str, Any]) -> None:
    """Open a database with facts in it on a disk without room: reading works."""
    async with open_database(path) as database:
        report["facts"] = await state(database)
    filler = fill(path.parent)
    try:
        async with open_database(path) as database:
            report["facts_when_full"] = await state(database)
    except StoreError as error:
        report["reopening"] = str(error)
    await asyncio.to_thread(filler.unlink)
    async with open_database(path) as database:
        report["facts_afterwards"] = await state(database)


def main() -> None:
    """Mount the small disk and go through the three acts."""
    folder = Path(sys.argv[1])
    report: dict[str, Any] = {}
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder], check=True)
    path = folder / "byred.sqlite3"
    asyncio.run(write_until_full(path, report))
    asyncio.run(open_when_full(folder, report))
    asyncio.run(reopen_when_full(path, report))
    os.write(1, json.dumps(report).encode())


main()
