"""Writes tasks as fast as it can and says which are acknowledged, until it is killed.

Run by test_kill.py: `steady_writer.py DATABASE WRITERS`. Each line on stdout is the id of a task
whose write had returned; one system call a line, so that none is held back in a buffer.
"""

import asyncio
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from byred.core.question import Question
from byred.core.task import Identity, Task
from byred.store import questions, tasks
from byred.store.database import Database, Transaction, open_database


def store(transaction: Transaction) -> int:
    """Store a task with a question, and change both."""
    task_id = tasks.next_id(transaction)
    task = Task(
        id=task_id,
        title="t",
        slug="t",
        prompt="p" * (task_id % 7 * 900),
        repo="/r",
        common_dir="/r/.git",
        base="main",
        base_commit="0" * 40,
        branch=f"byre/{task_id}",
        worktree=f"/w/{task_id}",
        home=f"/s/{task_id}",
        identity=Identity(name="n", email="e"),
        owner="o",
        created_at=transaction.now,
    )
    tasks.insert(transaction, task)
    question = Question(
        id=0,
        task_id=task_id,
        text="?",
        asked_at=transaction.now,
        thread_id="t",
        turn_id="u",
        call_id="c",
    )
    questions.insert(transaction, question)
    tasks.apply(transaction, task_id, lambda task: task.claim(now=datetime.now(UTC)))
    return task_id


async def keep_on(database: Database) -> None:
    """Write without an end."""
    while True:
        task_id = await database.write(store)
        os.write(1, b"%d\n" % task_id)


async def main() -> None:
    """Let the writers compete for the one thread."""
    async with open_database(Path(sys.argv[1])) as database, asyncio.TaskGroup() as group:
        for _ in range(int(sys.argv[2])):
            group.create_task(keep_on(database))


asyncio.run(main())
