"""The number of a new task: one that no task of this state directory ever had.

The database alone does not know that: it may be a new one beside the folders of those before, or an
older one that was put back. Each task that ever ran has left a folder, so the folders are asked.
"""

import asyncio
from pathlib import Path

import structlog

from byred.store import tasks
from byred.store.database import Database

_LONGEST = 15
"""Digits of a number; a longer name is no task's."""

_log = structlog.get_logger("byred.scheduler")


async def first_free(database: Database, tasks_dir: Path) -> int:
    """Give the number above those of all folders of tasks, and say so if some are not known.

    Raises:
        OSError: the folder cannot be read.
    """
    highest = await asyncio.to_thread(_highest, tasks_dir)
    newest = await tasks.listing(database, limit=1)
    known = newest[0].id if newest else 0
    if highest > known:
        _log.warning(
            "folders of tasks that this database does not know: their numbers are not used again",
            action="numbering.skipped",
            folder=str(tasks_dir),
            known=known,
            highest=highest,
        )
    return highest + 1


def _highest(tasks_dir: Path) -> int:
    try:
        names = [entry.name for entry in tasks_dir.iterdir()]
    except FileNotFoundError:
        return 0
    numbers = (int(name) for name in names if name.isascii() and name.isdecimal())
    return max((number for number in numbers if len(str(number)) <= _LONGEST), default=0)
