"""Where a forked task begins: a thread of another task, up to and with one of its turns.

Owns bringing the thread's record into the new task's home: codex forks only what lies in its own
CODEX_HOME, and a fork refers to the record that it came from for as long as it lives.
"""

import asyncio
import shutil
from pathlib import Path

import msgspec

from byred.codex.rollout import chain
from byred.codex.rollout.errors import RolloutError
from byred.core.errors import NotFoundError
from byred.core.task import Task
from byred.store import grounds, tasks, turns
from byred.store.database import Database, Transaction


class ForkPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a turn: whose, which, the thread that it is of, and the files as they were."""

    task: Task
    turn: int
    turn_id: str
    thread_id: str
    checkpoint: str


def point_of(transaction: Transaction, ground: grounds.Ground) -> ForkPoint | None:
    """Give where a task was forked, None for one that was not.

    Raises:
        NotFoundError: nothing was kept of that turn.
    """
    if ground.forked_task is None or ground.forked_turn is None:
        return None
    return point(transaction, ground.forked_task, ground.forked_turn)


def point(transaction: Transaction, task_id: int, number: int) -> ForkPoint:
    """Give the end of a task's turn.

    Raises:
        NotFoundError: there is no such turn, or nothing was kept of it.
    """
    turn = turns.with_checkpoint(transaction, task_id, number)
    return ForkPoint(
        task=tasks.get(transaction, task_id),
        turn=number,
        turn_id=turn.turn_id,
        thread_id=turn.thread_id,
        checkpoint=str(turn.checkpoint),
    )


async def of_task(database: Database, task_id: int) -> ForkPoint | None:
    """Give where a task was forked, None for one that was not."""
    return await database.write(lambda tx: point_of(tx, grounds.get(tx, task_id)))


async def check_record(origin: ForkPoint) -> None:
    """Make sure that the thread's record is there.

    Raises:
        NotFoundError: it is not, or not all of it.
    """
    await asyncio.to_thread(_lineage, origin)


async def bring_record(origin: ForkPoint, home: Path) -> None:
    """Copy the thread's record into a home, unless that has it; repeatable.

    Raises:
        NotFoundError: it is gone.
    """
    await asyncio.to_thread(_copy, origin, home)


def _copy(origin: ForkPoint, home: Path) -> None:
    source = Path(origin.task.home)
    for path in _lineage(origin):
        target = home / path.relative_to(source)
        if target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".{target.name}.byre")
        # Its owner may be writing to it: a line that is torn at the end is one that codex skips.
        shutil.copy2(path, beside)
        beside.rename(target)


def _lineage(origin: ForkPoint) -> list[Path]:
    """Give the files that hold the thread, those that it was forked from included."""
    home = Path(origin.task.home)
    among = chain.find(home)
    newest = chain.latest(among, origin.thread_id)
    missing = [origin.thread_id]
    parts: list[chain.Part] = []
    if newest is not None:
        try:
            parts, missing = chain.parts(newest, among)
        except (RolloutError, OSError) as error:
            raise NotFoundError(
                f"the thread of task {origin.task.id} cannot be forked: {error}"
            ) from error
    begun = newest is not None and bool(chain.meta(newest).created_at)
    if not missing and not begun:
        raise NotFoundError(
            f"the thread of task {origin.task.id} cannot be forked: its record {newest} breaks off "
            "in its first line, since the disk was full; its files are still there: byre diff "
            f"{origin.task.id} --turn {origin.turn}"
        )
    if missing:
        raise NotFoundError(
            f"the thread of task {origin.task.id} cannot be forked: no record of {missing[0]} is "
            f"in {home}; its files are still there: byre diff {origin.task.id} --turn "
            f"{origin.turn}"
        )
    return [part.path for part in parts]
