"""What is done beside the tasks: repositories put right after a crash, worktrees taken away.

Owns when. What goes is the clearer's, what is put right the workspace's; nothing here holds up a
task, and nothing that fails here ends the daemon.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import structlog

from byred.agents.rest.clearing import Bounds, Clearer
from byred.core.errors import ByredError
from byred.core.event import Event, NewEvent
from byred.core.task import ENDED
from byred.store import tasks
from byred.store.database import Database
from byred.store.errors import SchemaError
from byred.workspace.errors import WorkspaceError
from byred.workspace.repository import inspect
from byred.workspace.trees.tidy import tidy

# What grows too old does so unseen; an hour is near enough.
LOOK_SECONDS = 3600.0
# Tasks that end together are cleared up behind together.
SETTLE_SECONDS = 2.0

_ENDINGS = frozenset(f"task.{state}" for state in ENDED)
_log = structlog.get_logger("byred.agents")


class Housekeeping:
    """Runs beside the scheduler."""

    def __init__(
        self,
        database: Database,
        clearer: Clearer,
        *,
        bounds: Callable[[], Bounds],
        root: Callable[[], Path],
    ) -> None:
        self._database = database
        self._clearer = clearer
        self._bounds = bounds
        self._root = root
        self._wake = asyncio.Event()
        self._forget = database.listen(self._on_events)

    def look(self) -> None:
        """Look again soon, after a change of the settings for one."""
        self._wake.set()

    async def run(self) -> None:
        """Keep house until cancelled."""
        try:
            await self._try(self._tidy())
            while True:
                await self._try(self._clearer.finish())
                if self._bounds().of_worktrees:
                    await self._try(self._clear())
                await self._sleep()
        finally:
            self._forget()

    async def _try(self, work: Awaitable[None]) -> None:
        """Do what can be done now: a disk without room, a lock, are no reason to end anything."""
        try:
            await work
        except SchemaError:
            raise
        except (ByredError, WorkspaceError, OSError) as error:
            _log.warning("house not kept", action="housekeeping.failed", error=str(error))

    async def _clear(self) -> None:
        await self._clearer.clear(dry_run=False)

    async def _sleep(self) -> None:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await self._wake.wait()
                await asyncio.sleep(SETTLE_SECONDS)
        except TimeoutError:
            pass
        self._wake.clear()

    async def _tidy(self) -> None:
        """Sweep the repositories of all tasks that there are: a crash may have come anywhere."""
        for each in await tasks.repositories(self._database):
            try:
                repository = await inspect(Path(each.repo))
                done = await tidy(repository, self._root() / repository.name)
                if done:
                    await self._tell("repository.repaired", each.repo, repairs=done)
            except WorkspaceError as error:
                await self._tell("repository.not_repaired", each.repo, why=error.message)
                _log.warning(
                    "repository not tidied",
                    action="tidy.failed",
                    repo=each.repo,
                    error=error.message,
                )

    async def _tell(self, kind: str, repo: str, **data: Any) -> None:
        event = NewEvent(kind=kind, data={"repo": repo, **data})
        await self._database.write(lambda tx: tx.emit(event))

    def _on_events(self, events: Sequence[Event]) -> None:
        if any(event.kind in _ENDINGS for event in events):
            self._wake.set()
