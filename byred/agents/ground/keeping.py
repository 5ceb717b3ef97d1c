"""Keeping a task's files as they are at the end of each turn, and looking at what it committed.

Owns when a checkpoint is due: the newest turn is over and has none yet. So a turn that was cut off,
by a crash of whatever, is kept by whoever comes next, before anything else touches the files. How
files are kept is the workspace's.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from byred.agents.ground.forking import point_of
from byred.agents.ground.naming import name_of
from byred.agents.tasklog import TaskLog
from byred.core.event import NewEvent
from byred.core.task import Task
from byred.store import grounds, turns
from byred.store.database import Database, Transaction
from byred.store.turns import TurnRow
from byred.workspace.errors import WorkspaceError
from byred.workspace.home.environment import Identity
from byred.workspace.home.identity import deviating
from byred.workspace.keeping import checkpoint
from byred.workspace.keeping.checkpoint import Checkpoint
from byred.workspace.results.changes import Commit

# A tree of millions of files takes minutes; one that hangs must not hold the task for ever.
KEEP_SECONDS = 600.0
NAMED = 100
"""Commits of others that an event names."""


async def keep(database: Database, task: Task, worktree: Path, log: TaskLog) -> None:
    """Keep the files of the newest turn, unless that is done; no turn may run now.

    What cannot be kept is an event, and no failure of the task; so is a commit of the turn that
    does not bear the task's identity.
    """
    turn = await database.write(lambda tx: turns.newest(tx, task.id))
    if turn is None or turn.checkpoint is not None:
        return
    since = await database.write(lambda tx: _before(tx, task, turn.number))
    try:
        async with asyncio.timeout(KEEP_SECONDS):
            name = await name_of(database, task)
            made = await checkpoint.record(worktree, task_id=name, number=turn.number)
            identity = Identity(task.identity.name, task.identity.email)
            others = await deviating(worktree, since, task.branch, identity)
    except TimeoutError:
        await _failed(database, turn, f"it took longer than {KEEP_SECONDS:g} s", log)
    except WorkspaceError as error:
        await _failed(database, turn, error.message, log)
    else:
        await database.write(lambda tx: _kept(tx, turn, made, others))
        log.append("checkpoint", f"turn {turn.number} is kept", commit=made.snapshot.commit)
        for commit in others:
            who = _whose(commit)
            said = f"by {who['author']}, committed by {who['committer']}, not by this task"
            log.append("notice", f"commit {commit.sha[:12]} is {said}")


def _before(transaction: Transaction, task: Task, number: int) -> str:
    """Give the commit that was HEAD before a turn, as far as is known: a checkpoint's parent."""
    before = turns.newest_kept(transaction, task.id, before=number)
    if before is not None:
        return f"{before.checkpoint}^1"
    forked = point_of(transaction, grounds.get(transaction, task.id))
    return task.base_commit if forked is None else f"{forked.checkpoint}^1"


def _kept(
    transaction: Transaction, turn: TurnRow, made: Checkpoint, others: Sequence[Commit]
) -> None:
    turns.kept(transaction, turn.task_id, turn.number, made.snapshot.commit)
    data = {
        "turn": turn.number,
        "turn_id": turn.turn_id,
        "commit": made.snapshot.commit,
        "skipped": list(made.snapshot.skipped),
    }
    transaction.emit(NewEvent(kind="task.checkpoint", task_id=turn.task_id, data=data))
    if others:
        data = {"turn": turn.number, "commits": [_whose(commit) for commit in others[:NAMED]]}
        transaction.emit(NewEvent(kind="task.identity_differs", task_id=turn.task_id, data=data))


def _whose(commit: Commit) -> dict[str, str]:
    author, committer = commit.author, commit.committer
    return {
        "commit": commit.sha,
        "author": f"{author.name} <{author.email}>",
        "committer": f"{committer.name} <{committer.email}>",
    }


async def _failed(database: Database, turn: TurnRow, why: str, log: TaskLog) -> None:
    data = {"turn": turn.number, "turn_id": turn.turn_id, "why": why}
    event = NewEvent(kind="task.checkpoint_failed", task_id=turn.task_id, data=data)
    await database.write(lambda tx: tx.emit(event))
    log.append("notice", f"turn {turn.number} is not kept: {why}")
