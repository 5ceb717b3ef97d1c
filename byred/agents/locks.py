"""Who may touch a task's ground: its run, or one command of a person's, never both."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class TaskLocks:
    """A lock for each task that anybody holds or waits for."""

    def __init__(self) -> None:
        self._locks: dict[int, asyncio.Lock] = {}
        self._wanted: dict[int, int] = {}

    @asynccontextmanager
    async def hold(self, task_id: int) -> AsyncIterator[None]:
        """Hold the ground of a task; others wait until the block ends."""
        lock = self._locks.setdefault(task_id, asyncio.Lock())
        self._wanted[task_id] = self._wanted.get(task_id, 0) + 1
        try:
            async with lock:
                yield
        finally:
            self._wanted[task_id] -= 1
            if not self._wanted[task_id]:
                del self._wanted[task_id], self._locks[task_id]

    def held(self, task_id: int) -> bool:
        """Whether somebody holds it now."""
        return task_id in self._locks
