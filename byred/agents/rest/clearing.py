"""Which worktrees of ended tasks go, and what goes with them: by the settings, or as a person asks.

Owns the limits and their order. That nothing is lost is the removal's; which ones go for given
figures is the workspace's plain rule.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import structlog

from byred.agents.rest.removal import Removal
from byred.core.errors import ByredError
from byred.core.task import ENDED
from byred.store import grounds, tasks
from byred.store.database import Database
from byred.store.tasks import TaskRow
from byred.workspace.home import homes
from byred.workspace.keeping import retention
from byred.workspace.keeping.retention import Candidate, Limits, disk_usage
from byred.workspace.orders import setup

PAGE = 500

_log = structlog.get_logger("byred.agents")


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """How much may stay; None sets no bound. Sizes in bytes, `age` in seconds.

    `age`, `count` and `size` are of worktrees of ended tasks, `home` of each task's home, `cache`
    of what all tasks of all repositories share of installed dependencies.
    """

    age: float | None = None
    count: int | None = None
    size: int | None = None
    home: int | None = None
    cache: int | None = None

    @property
    def of_worktrees(self) -> bool:
        """Whether worktrees may go at all."""
        return any(bound is not None for bound in (self.age, self.count, self.size))


class Cleared(msgspec.Struct, frozen=True, kw_only=True):
    """A worktree that was looked at: `goes` says what was decided, `error` why it did not."""

    id: int
    title: str
    state: str
    path: str
    size: int
    ended_at: datetime | None
    goes: bool
    why: str
    error: str | None = None


class Clearing(msgspec.Struct, frozen=True, kw_only=True):
    """All that was looked at; `freed` are the bytes that went, or would have."""

    dry_run: bool
    tasks: list[Cleared]
    freed: int


class Clearer:
    """Clears up behind tasks."""

    def __init__(
        self,
        database: Database,
        removal: Removal,
        *,
        cache: Path,
        bounds: Callable[[], Bounds],
    ) -> None:
        self._database = database
        self._removal = removal
        self._cache = cache
        self._bounds = bounds

    async def measure(self, task: TaskRow) -> int:
        """Look at what a task takes on the disk, note it, and give the worktree's part."""
        worktree = Path(task.worktree)
        sizes = await asyncio.to_thread(
            lambda: (disk_usage(worktree), disk_usage(Path(task.home).parent))
        )
        await self._database.write(
            lambda tx: grounds.measured(tx, task.id, worktree=sizes[0], home=sizes[1])
        )
        return sizes[0]

    async def _size(self, task: TaskRow) -> int:
        """Give what a worktree takes: known since its last run, or else looked at now."""
        if task.worktree_bytes is not None and not task.live:
            return task.worktree_bytes
        return await self.measure(task)

    async def tend(self, task_id: int) -> None:
        """Do what is due when a run of a task is over: its home within bounds, its size known."""
        most = self._bounds().home
        try:
            task = await tasks.read(self._database, task_id)
            if most is not None:
                await asyncio.to_thread(homes.clean, Path(task.home), most)
            await self.measure(task)
        except OSError as error:
            _log.warning("not tended", action="tend.failed", task=task_id, error=str(error))

    async def clear(self, *, dry_run: bool, bounds: Bounds | None = None) -> Clearing:
        """Take away what is beyond the bounds, those of the settings unless others are given."""
        bounds = bounds or self._bounds()
        rows = {str(row.id): row for row in await self._with_worktree()}
        candidates = [
            Candidate(
                name,
                Path(row.worktree),
                await self._size(row),
                row.ended_at if row.state in ENDED else None,
            )
            for name, row in rows.items()
        ]
        now = await self._database.write(lambda tx: tx.now)
        looked_at: list[Cleared] = []
        for decision in retention.plan(candidates, _limits(bounds), now):
            row = rows[decision.candidate.task_id]
            error = None
            if decision.goes and not dry_run:
                error = await self._take(row, decision.why)
            looked_at.append(
                Cleared(
                    id=row.id,
                    title=row.title,
                    state=row.state,
                    path=row.worktree,
                    size=decision.candidate.size,
                    ended_at=row.ended_at,
                    goes=decision.goes,
                    why=decision.why,
                    error=error,
                )
            )
        if not dry_run and bounds.cache is not None:
            await asyncio.to_thread(_prune, self._cache, bounds.cache)
        freed = sum(each.size for each in looked_at if each.goes and each.error is None)
        return Clearing(dry_run=dry_run, tasks=looked_at, freed=freed)

    async def finish(self) -> None:
        """Finish what was being taken away, or brought back, when a daemon ended."""
        await self._removal.finish()

    async def _take(self, task: TaskRow, why: str) -> str | None:
        try:
            await self._removal.clear(task.id, why=f"cleared: {why}")
        except ByredError as error:
            _log.warning(
                "worktree not cleared", action="clear.failed", task=task.id, error=str(error)
            )
            return str(error)
        return None

    async def _with_worktree(self) -> list[TaskRow]:
        """Read the tasks that have one."""
        found: list[TaskRow] = []
        before: int | None = None
        while True:
            page = await tasks.listing(self._database, before=before, limit=PAGE)
            found += await asyncio.to_thread(_there, page)
            if len(page) < PAGE:
                return found
            before = page[-1].id


def _there(rows: Sequence[TaskRow]) -> list[TaskRow]:
    return [row for row in rows if row.removed_at is None and Path(row.worktree).is_dir()]


def _limits(bounds: Bounds) -> Limits:
    age = None if bounds.age is None else timedelta(seconds=bounds.age)
    return Limits(age=age, count=bounds.count, size=bounds.size)


def _prune(cache: Path, most: int) -> None:
    """Bring all caches of installed dependencies within one bound, each by its share."""
    folders = [entry for entry in cache.iterdir() if entry.is_dir()] if cache.is_dir() else []
    sizes = {
        folder: {entry.name: disk_usage(entry) for entry in folder.iterdir() if entry.is_dir()}
        for folder in folders
    }
    total = sum(sum(of_folder.values()) for of_folder in sizes.values())
    if total <= most:
        return
    for folder, of_folder in sizes.items():
        setup.prune(folder, most * sum(of_folder.values()) // total, of_folder)
