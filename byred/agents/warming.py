"""What is the same for every task, made before one needs it: worktrees and homes.

Owns for which repositories, when, and within which bounds; nothing is made while the machine is
busy. How a tree or a home is made and claimed is the workspace's.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import msgspec
import structlog

import byred
from byred.agents.launchers.contract import LaunchError, ServerSpec
from byred.agents.process import ProcessIdentity
from byred.agents.supervisor import Supervisor
from byred.agents.talk.talk import RunnerOptions
from byred.codex.errors import CodexError
from byred.codex.requests import Reply, ServerRequest
from byred.codex.session import Client, ClientInfo
from byred.codex.transport import StdioTransport
from byred.core.errors import ByredError
from byred.core.event import Event
from byred.core.task import TaskState
from byred.store import tasks
from byred.store.database import Database
from byred.store.tasks import RepositoryUse
from byred.workspace.errors import WorkspaceError
from byred.workspace.home import environment, homes
from byred.workspace.home.environment import Identity
from byred.workspace.keeping.retention import check_floor, disk_usage
from byred.workspace.repository import inspect, resolve_base
from byred.workspace.trees import pool

# A repository without a new task for so long needs no trees any more.
IN_USE = timedelta(days=1)
MOST_REPOSITORIES = 8
# Bases move without a word to us; a tree that is a few commits behind is adjusted when claimed.
LOOK_SECONDS = 600.0
# The task that took a tree gets the machine first.
SETTLE_SECONDS = 2.0
# A machine that is busy now is looked at again.
BUSY_SECONDS = 30.0

_SPENT = frozenset({"task.placed", "task.removed", f"task.{TaskState.QUEUED}"})
_log = structlog.get_logger("byred.agents")


class WarmOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds: trees for each repository in use, homes, bytes of all trees, load per core.

    0 trees or homes switch that off; `size` and `load` may be None, for no bound.
    """

    trees: int
    homes: int
    size: int | None
    load: float | None
    floor: int
    base: str | None
    homes_folder: Path


class Warmer:
    """Makes ground ahead, beside the scheduler."""

    def __init__(
        self,
        database: Database,
        supervisor: Supervisor,
        *,
        options: Callable[[], WarmOptions],
        runs: Callable[[], RunnerOptions],
    ) -> None:
        self._database = database
        self._supervisor = supervisor
        self._options = options
        self._runs = runs
        self._wake = asyncio.Event()
        self._folders: dict[str, Path] = {}
        self._trees: dict[str, int] = {}
        self._sizes: dict[str, int] = {}
        self._homes = 0
        self._forget = database.listen(self._on_events)

    @property
    def ready(self) -> dict[str, int]:
        """How many trees and homes wait to be claimed now."""
        trees = sum(len(homes.ready(folder)) for folder in self._folders.values())
        return {"trees": trees, "homes": len(homes.ready(self._options().homes_folder))}

    def look(self) -> None:
        """Look again soon, after a change of the settings for one."""
        self._wake.set()

    async def run(self) -> None:
        """Make ahead until cancelled."""
        try:
            while True:
                self._wake.clear()
                done = await self._fill()
                await self._sleep(LOOK_SECONDS if done else BUSY_SECONDS)
        finally:
            self._forget()

    async def _sleep(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
                await asyncio.sleep(SETTLE_SECONDS)
        except TimeoutError:
            return

    async def _fill(self) -> bool:
        """Bring everything to its number; False when the machine was too busy for it."""
        options = self._options()
        try:
            await self._fill_homes(options)
            known = await tasks.repositories(self._database)
            used = await self._in_use(known) if options.trees else set()
            for each in known:
                await self._fill_trees(each, options, wanted=each.common_dir in used)
        except (WorkspaceError, ByredError, CodexError, OSError) as error:
            # Whoever needs what is not there makes it himself, and meets the same trouble.
            _log.warning("nothing made ahead", action="warm.failed", error=str(error))
            return False
        enough_homes = self._homes >= options.homes
        enough_trees = all(self._trees.get(name, 0) >= options.trees for name in used)
        return enough_homes and enough_trees

    async def _in_use(self, known: Sequence[RepositoryUse]) -> set[str]:
        now = await self._database.write(lambda tx: tx.now)
        recent = [each for each in known if now - each.used_at < IN_USE]
        recent.sort(key=lambda each: each.used_at, reverse=True)
        return {each.common_dir for each in recent[:MOST_REPOSITORIES]}

    async def _fill_trees(self, use: RepositoryUse, options: WarmOptions, *, wanted: bool) -> None:
        try:
            repository = await inspect(Path(use.repo))
            folder = pool.folder_of(self._runs().ground.root, repository)
            if not wanted and not await asyncio.to_thread(folder.is_dir):
                return
            self._folders[use.common_dir] = folder
            base = await resolve_base(repository, options.base)
            self._trees[use.common_dir] = await pool.fill(
                repository,
                folder,
                commit=base.commit,
                size=options.trees if wanted else 0,
                go_on=lambda: self._may_go_on(options, use.common_dir),
            )
            self._sizes[use.common_dir] = await asyncio.to_thread(disk_usage, folder)
        except WorkspaceError as error:
            # A repository that is gone or broken is trouble of its own tasks alone.
            self._trees.pop(use.common_dir, None)
            _log.info("no trees made ahead", action="warm.repository", error=error.message)

    async def _fill_homes(self, options: WarmOptions) -> None:
        if not options.homes and not await asyncio.to_thread(options.homes_folder.is_dir):
            return
        runs = self._runs()
        self._homes = await homes.make_ahead(
            options.homes_folder,
            size=options.homes,
            config=runs.ground.config,
            warm=lambda home: self._warm(home, runs),
            go_on=lambda: self._may_go_on(options, None),
        )

    async def _warm(self, home: Path, runs: RunnerOptions) -> None:
        """Let codex make what it makes at its first start in a home."""
        env = environment.build(
            runs.ground.base_environment,
            home=home,
            worktree=home,
            ports={},
            identity=Identity("byred", "byred@localhost"),
            task_id=0,
        )
        spec = ServerSpec(
            argv=(str(runs.codex), "app-server", "--strict-config"),
            cwd=runs.servers_dir,
            env=env,
            home=home,
            task_id=0,
            stderr=home.parent / "stderr.log",
        )
        server = await self._supervisor.start(spec, _remember_nothing)
        try:
            if server.streams is None:
                raise LaunchError(f"cannot warm {home}: its server has no streams")
            async with Client.open(
                StdioTransport(*server.streams),
                client_info=ClientInfo("byred", byred.__version__),
                handler=_refuse,
                request_timeout=runs.request_timeout,
            ):
                pass
        finally:
            await self._supervisor.stop(server)

    def _may_go_on(self, options: WarmOptions, common_dir: str | None) -> bool:
        cores = os.cpu_count() or 1
        if options.load is not None and os.getloadavg()[0] > options.load * cores:
            return False
        try:
            check_floor(self._runs().ground.root, options.floor)
        except WorkspaceError:
            return False
        if options.size is None or common_dir is None:
            return True
        return sum(self._sizes.values()) + self._size_of_one(common_dir) <= options.size

    def _size_of_one(self, common_dir: str) -> int:
        """Give what one more tree of a repository would take, as far as that is known."""
        there = self._trees.get(common_dir, 0)
        return self._sizes.get(common_dir, 0) // there if there else 0

    def _on_events(self, events: Sequence[Event]) -> None:
        if any(event.kind in _SPENT for event in events):
            self._wake.set()


async def _remember_nothing(identity: ProcessIdentity) -> None:
    """Store no identity: the server ends with its streams, and those with the daemon."""


async def _refuse(request: ServerRequest) -> Reply:
    raise ByredError(f"nobody answers {request.method} while a home is made")
