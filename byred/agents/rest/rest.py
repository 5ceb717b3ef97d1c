"""The ground of a task that has no run: held for one command of a person's at a time.

Owns the refusal while an agent is at work, and the words in which the workspace's refusals reach
clients.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from byred.agents.locks import TaskLocks
from byred.core.errors import (
    ByredError,
    ConflictError,
    InvalidError,
    LimitError,
    NotFoundError,
    WrongStateError,
)
from byred.store import tasks
from byred.store.database import Database
from byred.store.tasks import TaskRow
from byred.workspace.errors import Kind, WorkspaceError

# A run that begins or ends has its ground for a moment; one that works is refused at once.
WAIT_SECONDS = 30.0

_KINDS: dict[Kind, type[ByredError]] = {
    Kind.NOT_FOUND: NotFoundError,
    Kind.CONFLICT: ConflictError,
    Kind.INVALID: InvalidError,
    Kind.LIMIT: LimitError,
    Kind.INFRASTRUCTURE: LimitError,
}


class Rest:
    """Holds tasks' grounds while no run has them."""

    def __init__(self, database: Database, locks: TaskLocks) -> None:
        self._database = database
        self._locks = locks

    @asynccontextmanager
    async def of(self, task_id: int, what: str) -> AsyncIterator[TaskRow]:
        """Hold the ground of a task; `what` completes "cannot be …".

        A WorkspaceError of the block leaves it as the ByredError of its kind.

        Raises:
            WrongStateError: its agent is at work.
            LimitError: another command holds it.
        """
        await self._resting(task_id, what)
        try:
            async with asyncio.timeout(WAIT_SECONDS) as limit, self._locks.hold(task_id):
                limit.reschedule(None)
                task = await self._resting(task_id, what)
                with in_their_words():
                    yield task
        except TimeoutError:
            if not limit.expired():
                raise
            raise LimitError(
                f"task {task_id} cannot be {what} now: somebody else has been busy with its "
                f"worktree for {WAIT_SECONDS:g} s; try again"
            ) from None

    async def _resting(self, task_id: int, what: str) -> TaskRow:
        task = await tasks.read(self._database, task_id)
        if task.live:
            raise WrongStateError(
                f"task {task.id} is {task.state} and cannot be {what}: its agent is at work; wait "
                f"for its end, or byre hold {task.id} first"
            )
        return task


@contextmanager
def in_their_words() -> Iterator[None]:
    """Let a WorkspaceError of the block leave it as the ByredError of its kind."""
    try:
        yield
    except WorkspaceError as error:
        raise _KINDS[error.kind](error.message) from error


def check_there(task: TaskRow, what: str) -> None:
    """Make sure that a task's worktree was not taken away.

    Raises:
        WrongStateError: it was.
    """
    if task.removed_at is not None:
        raise WrongStateError(
            f"task {task.id} cannot be {what}: its worktree was taken away; byre undelete "
            f"{task.id} brings it back"
        )
