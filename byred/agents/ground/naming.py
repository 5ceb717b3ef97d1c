"""What a task is called in its repository, where another byred may have one of the same number."""

from pathlib import Path

from byred.core.task import Task
from byred.store import identity
from byred.store.database import Database
from byred.workspace import owner


async def name_of(database: Database, task: Task) -> str:
    """Give a task's name in its repository; all that is kept of it there stands under it.

    Raises:
        WorkspaceError: the repository cannot be written to.
    """
    ours = await database.write(identity.get)
    return await owner.name_in(Path(task.common_dir), task.id, ours)
