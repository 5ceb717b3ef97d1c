"""One task from claim to end: ground, server, thread, turns, verification, verdict.

Owns the order of these. A run ends with one `Verdict`, stored only when the server and all that it
started are proven gone; until then the task's ports and worktree are its own. What a person wants
meanwhile is read from the store whenever the run is woken.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import structlog

from byred.agents import verdict
from byred.agents.aftermath import Aftermath
from byred.agents.ground.furnishing import run_hooks
from byred.agents.ground.ground import Ground, prepare, regain
from byred.agents.ground.orders import HookName
from byred.agents.launchers.contract import LaunchError, Server, ServerSpec
from byred.agents.locks import TaskLocks
from byred.agents.process import ProcessIdentity
from byred.agents.rest.results import result_of
from byred.agents.supervisor import Supervisor
from byred.agents.talk import tools
from byred.agents.talk.talk import RunnerOptions, Talk
from byred.agents.talk.throttle import Throttle
from byred.agents.tasklog import TaskLog, TaskLogs
from byred.agents.verdict import Met, Verdict
from byred.codex.errors import CodexError, TransportClosed
from byred.core.errors import ByredError
from byred.core.event import Event, NewEvent
from byred.core.retry import FailureClass
from byred.core.task import ENDED, Hold, Task, TaskState
from byred.store import attempts, inputs, leases, processes, questions, tasks
from byred.store.database import Database, Transaction
from byred.store.errors import SchemaError, StoreBusyError, StoreError
from byred.workspace.errors import Kind as WorkspaceKind
from byred.workspace.errors import WorkspaceError
from byred.workspace.trees import worktree as worktrees

# Events after which a run has to look at what the store wants of it.
WAKING = frozenset(
    {
        "task.cancelling",
        "task.holding",
        "task.interrupting",
        "task.told",
        "task.waiting",
        "task.running",
        "question.answered",
        "question.withdrawn",
        "question.expired",
    }
)

# How long the exit of a server whose streams ended may take to be seen.
EXIT_SECONDS = 2.0

_STOPPING = "stopped with the daemon; goes on when it is back"
_log = structlog.get_logger("byred.agents")


@dataclass(frozen=True, slots=True)
class _Run:
    """A run of a task: `wake` makes it look at what the store wants, `over` is its very end.

    `wanted_back` is set while another task could run in its place.
    """

    wake: asyncio.Event
    over: asyncio.Event
    wanted_back: asyncio.Event


class Runner:
    """Runs tasks, one call a task; all that it needs is handed in."""

    def __init__(
        self,
        database: Database,
        *,
        supervisor: Supervisor,
        launcher: str,
        locks: TaskLocks,
        asks: tools.Asks,
        logs: TaskLogs,
        notify: Callable[[str, str], None],
        tend: Callable[[int], Awaitable[None]],
        options: Callable[[], RunnerOptions],
        clock: Callable[[], datetime],
        roll: Callable[[], float],
    ) -> None:
        self._database = database
        self._supervisor = supervisor
        self._launcher = launcher
        self._locks = locks
        self._asks = asks
        self._logs = logs
        self._notify = notify
        self._tend = tend
        self._options = options
        self._clock = clock
        self._roll = roll
        self._throttle = Throttle(asyncio.get_running_loop().time)
        self._runs: dict[int, _Run] = {}
        self._forget = database.listen(self._on_events)

    def close(self) -> None:
        """Stop listening to the store."""
        self._forget()

    def want_back(self, task_ids: Collection[int]) -> None:
        """Say in whose places others could run: these, if they wait for a person, make room."""
        for task_id, run in self._runs.items():
            if task_id not in task_ids:
                run.wanted_back.clear()
            elif not run.wanted_back.is_set():
                run.wanted_back.set()
                run.wake.set()

    async def run(self, task: Task, *, adopt: bool = False) -> None:
        """Run a claimed task until it has a verdict, or one whose server outlived the daemon.

        Cancelled, it ends its server and suspends the task; a server on a socket is left at work,
        if the settings say so, for the next daemon to adopt.
        """
        before = self._runs.get(task.id)
        run = self._runs[task.id] = _Run(asyncio.Event(), asyncio.Event(), asyncio.Event())
        try:
            if before is not None:
                # Its verdict let the task be claimed again; it may still be closing its log.
                await before.over.wait()
            async with self._locks.hold(task.id), self._logs.open(task.id) as log:
                # A person may have moved its ground before the lock was free.
                task = await self._database.write(lambda tx: tasks.get(tx, task.id))
                try:
                    ending = await self._attempt(task, log, adopt=adopt)
                except asyncio.CancelledError:
                    await asyncio.shield(self._suspend(task.id, log))
                    raise
                await self._settle(task.id, ending, log)
                await self._tend(task.id)
        except SchemaError:
            # Nothing can be known without the database: the daemon ends with what there is to do.
            raise
        except StoreBusyError as error:
            _log.warning("not stored", action="run.not_stored", task=task.id, why=str(error))
        # A fault of byred's own must cost this attempt, never the other tasks.
        except Exception as error:  # noqa: BLE001 - the boundary between tasks
            _log.exception("a run was lost by a fault of byred", action="run.lost", task=task.id)
            await self._rescue(task, error)
        finally:
            run.over.set()
            if self._runs.get(task.id) is run:
                del self._runs[task.id]

    async def _suspend(self, task_id: int, log: TaskLog) -> None:
        """Let a task go on later: its agent works on, or its server is gone with the daemon."""
        try:
            if await self._left_at_work(task_id):
                log.append("state", "the daemon stops; the agent works on")
            else:
                await self._settle(task_id, verdict.suspended(_STOPPING), log)
        except StoreBusyError as error:
            # The next daemon finds the task live without a runner, which says the same.
            _log.warning("not stored", action="run.not_stored", task=task_id, why=str(error))

    async def _rescue(self, task: Task, error: Exception) -> None:
        """Give a task whose run was lost a state that it can leave again."""
        message = f"byred failed: {type(error).__name__}: {error}; see the daemon's log"
        ending = self._failed(self._options(), FailureClass.INFRASTRUCTURE, message)
        try:
            await self._end_leftover(task)
        except (ByredError, OSError) as left:
            ending = verdict.needs_repair(f"{message}; and {left}")

        def store(transaction: Transaction) -> None:
            if tasks.get(transaction, task.id).live:
                settle(transaction, task.id, ending)

        await self._database.write(store)

    async def _left_at_work(self, task_id: int) -> bool:
        row = await self._database.write(lambda tx: processes.alive_of(tx, task_id))
        return row is not None and row.socket is not None

    async def _attempt(  # noqa: PLR0911 - each trouble has its verdict
        self, task: Task, log: TaskLog, *, adopt: bool
    ) -> Verdict:
        options = self._options()
        try:
            if adopt:
                return await self._adopt(task, options, log)
            log.append("state", f"attempt {task.attempt}: preparing")
            await self._end_leftover(task)
            ground = await self._ready(task, options, log)
            spec = _spec(task, ground, options)
            server = await self._supervisor.start(
                spec, lambda identity: self._record(task, spec, identity)
            )
            return await self._with_server(task, ground, server, options, log)
        except WorkspaceError as error:
            return self._of_workspace(error, options)
        except CodexError as error:
            return verdict.of_error(error, retries=options.retry, roll=self._roll())
        except LaunchError as error:
            return self._failed(options, FailureClass.INFRASTRUCTURE, str(error))
        except StoreError:
            # Whether a fact is stored is not this attempt's doing.
            raise
        except OSError as error:
            message = f"cannot go on: {error}; check the disk and its permissions"
            return self._failed(options, FailureClass.INFRASTRUCTURE, message)
        # A fault of byred's own must cost this attempt, never the other tasks.
        except Exception as error:  # noqa: BLE001 - the boundary between tasks
            _log.exception("a run failed by a fault of byred", action="run.fault", task=task.id)
            message = f"byred failed: {type(error).__name__}: {error}; see the daemon's log"
            return self._failed(options, FailureClass.INFRASTRUCTURE, message)

    def _failed(self, options: RunnerOptions, failure: FailureClass, message: str) -> Verdict:
        return verdict.failed(failure, message, retries=options.retry, roll=self._roll())

    def _of_workspace(self, error: WorkspaceError, options: RunnerOptions) -> Verdict:
        match error.kind:
            case WorkspaceKind.INVALID | WorkspaceKind.NOT_FOUND:
                return verdict.gave_up(error.kind, error.message)
            case WorkspaceKind.CONFLICT:
                return verdict.needs_repair(error.message)
            case _:
                return self._failed(options, FailureClass.INFRASTRUCTURE, error.message)

    async def _ready(self, task: Task, options: RunnerOptions, log: TaskLog) -> Ground:
        """Give the task its ground, with everything done there that comes before a server."""
        try:
            ground = await prepare(task, options.ground, self._database, log)
            # A turn that was cut off is over now: what it left is kept before anything else.
            await self._aftermath(task, ground, log).keep()
            await run_hooks(
                HookName.BEFORE_RUN,
                ground.orders,
                cwd=ground.worktree.path,
                env=ground.environment,
                folder=ground.home.parent / "hooks",
                log=log,
            )
        except BaseException:
            # What a command left in the background is not to outlive the attempt.
            await self._supervisor.recover(Path(task.home), None)
            raise
        return ground

    def _aftermath(self, task: Task, ground: Ground, log: TaskLog) -> Aftermath:
        return Aftermath(task, ground, self._database, log)

    # The server

    async def _end_leftover(self, task: Task) -> None:
        """Prove that no server of an earlier run has the task's home.

        A home that was never made needs no proof: nothing of a task starts before it is there.
        """
        old = await self._database.write(lambda tx: processes.alive_of(tx, task.id))
        if old is None and not await asyncio.to_thread(Path(task.home).exists):
            return
        identity = None
        if old is not None:
            identity = ProcessIdentity(old.pid, old.start_time, old.boot_id)
        left = await self._supervisor.recover(Path(task.home), identity)

        def note(transaction: Transaction) -> None:
            processes.ended(transaction, task.id, "ended before the next run")
            if left:
                data = {"found": f"{len(left)} processes of an earlier run", "repair": "ended"}
                transaction.emit(NewEvent(kind="task.repaired", task_id=task.id, data=data))

        if old is not None or left:
            await self._database.write(note)

    async def _adopt(self, task: Task, options: RunnerOptions, log: TaskLog) -> Verdict:
        """Go on with a server that outlived the daemon; if it is gone, the task goes on later."""
        row = await self._database.write(lambda tx: processes.alive_of(tx, task.id))
        if row is None or row.socket is None:
            return verdict.suspended("its server was gone when the daemon came back")
        ground = await regain(task, options.ground, self._database)
        spec = _spec(task, ground, options, socket=Path(row.socket))
        identity = ProcessIdentity(row.pid, row.start_time, row.boot_id)
        server = await self._supervisor.adopt(identity, spec)
        if server is None:
            await self._end_leftover(task)
            return verdict.suspended("its server was gone when the daemon came back")
        log.append("state", "the daemon is back; the agent worked on")
        event = NewEvent(kind="task.adopted", task_id=task.id, data={"pid": row.pid})
        await self._database.write(lambda tx: tx.emit(event))
        return await self._with_server(task, ground, server, options, log, adopted=True)

    async def _with_server(
        self,
        task: Task,
        ground: Ground,
        server: Server,
        options: RunnerOptions,
        log: TaskLog,
        *,
        adopted: bool = False,
    ) -> Verdict:
        exit_text = ""
        leave = stopping = False
        try:
            return await self._talk(task, ground, server, options, log, adopted=adopted)
        except TransportClosed as error:
            # The connection ends with the server; its exit says more than the closed pipe.
            exit_text = await self._exit_of(server)
            ending = f"the codex server ended ({exit_text})" if exit_text else str(error)
            return self._failed(options, FailureClass.INFRASTRUCTURE, ending)
        except asyncio.CancelledError:
            stopping = True
            leave = server.spec.socket is not None and not options.end_agents
            raise
        finally:
            if leave:
                await server.release()
            elif stopping:
                # That it is gone is found out anew if it cannot be stored now.
                with contextlib.suppress(StoreBusyError):
                    await self._end(task, server, exit_text)
            else:
                await self._end(task, server, exit_text)
            if not stopping:  # else there is no time, and the next run does it
                await self._aftermath(task, ground, log).keep()

    async def _end(self, task: Task, server: Server, exit_text: str) -> None:
        gone = await self._supervisor.stop(server)
        usage = await server.usage()
        outcome = exit_text or gone.text
        await self._database.write(
            lambda tx: processes.ended(
                tx, task.id, outcome, None if usage is None else asdict(usage)
            )
        )

    async def _exit_of(self, server: Server) -> str:
        try:
            async with asyncio.timeout(EXIT_SECONDS):
                return (await server.wait()).text
        except TimeoutError:
            return ""

    async def _record(self, task: Task, spec: ServerSpec, identity: ProcessIdentity) -> None:
        def record(transaction: Transaction) -> None:
            processes.insert(
                transaction,
                task_id=task.id,
                pid=identity.pid,
                start_time=identity.start_time,
                boot_id=identity.boot_id,
                launcher=self._launcher,
                socket=None if spec.socket is None else str(spec.socket),
            )
            inputs.unsent(transaction, task.id)

        await self._database.write(record)

    async def _talk(
        self,
        task: Task,
        ground: Ground,
        server: Server,
        options: RunnerOptions,
        log: TaskLog,
        *,
        adopted: bool,
    ) -> Verdict:
        talk = Talk(
            task,
            ground,
            options,
            adopted=adopted,
            database=self._database,
            log=log,
            asks=self._asks,
            throttle=self._throttle,
            wake=self._runs[task.id].wake,
            wanted_back=self._runs[task.id].wanted_back.is_set,
            aftermath=self._aftermath(task, ground, log),
            notify=self._notify,
            clock=self._clock,
            roll=self._roll,
        )
        summary = await talk.over(server)
        if isinstance(summary, Verdict):
            return summary
        return await self._verify(task, ground, summary)

    # The end

    async def _verify(self, task: Task, ground: Ground, summary: str) -> Verdict:
        """Look at what the agent left: git is believed, not its words."""
        found = await worktrees.status(ground.worktree.path, task.base_commit)
        return verdict.succeeded(result_of(summary, found))

    async def _settle(self, task_id: int, ending: Verdict, log: TaskLog) -> None:
        """Store the verdict; what an ended task held is given back with it."""
        task = await self._database.write(lambda tx: settle(tx, task_id, ending))
        log.append("state", f"{task.state}: {task.reason or ending.message}")

    def _on_events(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.kind in WAKING and event.task_id in self._runs:
                self._runs[event.task_id].wake.set()


def _spec(
    task: Task, ground: Ground, options: RunnerOptions, *, socket: Path | None = None
) -> ServerSpec:
    """Say how the task's server is started: on streams, or on a socket in the task's folder."""
    folder = ground.home.parent
    if socket is None and options.sockets:
        socket = folder / "s"
    listen = () if socket is None else ("--listen", f"unix://{socket}")
    return ServerSpec(
        argv=(
            str(options.codex),
            "app-server",
            "--strict-config",
            "-c",
            "check_for_update_on_startup=false",
            *listen,
        ),
        cwd=options.servers_dir,
        env=ground.environment,
        home=ground.home,
        task_id=task.id,
        stderr=folder / "stderr.log",
        socket=socket,
        limits=options.resources,
    )


def settle(transaction: Transaction, task_id: int, ending: Verdict) -> Task:
    """Apply a verdict to a task whose server is gone, and give back what it need not hold."""
    questions.withdraw_lost(transaction, task_id)
    before = tasks.get(transaction, task_id)
    met = Met(
        now=transaction.now,
        open_questions=len(questions.open_of_task(transaction, task_id)),
        failures=_failures(transaction, before),
    )
    task = tasks.apply(transaction, task_id, lambda task: ending.step(task, met))
    waiting = inputs.pending(transaction, task_id)
    if task.state is TaskState.SUCCEEDED and waiting:
        # Told in the very moment of its end: the same as told right after it.
        author = waiting[0].author
        task = tasks.apply(transaction, task_id, lambda task: task.told(by=author))
    if task.state in ENDED or task.hold is Hold.INTERRUPTED:
        questions.withdraw_all(transaction, task_id, by="the end of the task")
    if task.state in ENDED and processes.alive_of(transaction, task_id) is None:
        leases.give_back(transaction, task_id)
    outcome = ending.outcome
    if outcome.startswith(verdict.FAILED) and task.failures == before.failures:
        # A person stopped it, or its question outlives it: the failure costs nothing.
        outcome = f"cut off by {outcome.removeprefix(verdict.FAILED)}"
    attempts.end(transaction, task_id, outcome, ending.message)
    return task


def _failures(transaction: Transaction, task: Task) -> Counter[FailureClass]:
    """Count what used up attempts since the task was last given all of them."""
    outcomes = attempts.outcomes(
        transaction, task.id, beginning=verdict.FAILED, newest=task.failures
    )
    return Counter(FailureClass(each.removeprefix(verdict.FAILED)) for each in outcomes)
