"""Starts tasks when they may start; owns the runs and ends them when the daemon ends.

Nothing polls: a change in the store or the next due time wakes it. Which task is next is
`dispatch`'s rule, what a run does is the runner's.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import closing
from datetime import datetime, timedelta

import msgspec
import structlog

from byred.core.event import Event
from byred.core.task import Task, TaskState
from byred.scheduler.account import AccountPlan, plan
from byred.scheduler.dispatch import Limits, choose
from byred.store import attempts, line, questions, tasks
from byred.store.database import Database, Transaction
from byred.store.errors import StoreBusyError

# The wall clock may jump while the timer counts; a look at least this often bounds the harm.
LONGEST_SLEEP = 60.0
LOOK_FOR_ROOM = 5.0
"""Seconds between two looks at a full disk while something waits for room."""

_STATE_EVENTS = frozenset(f"task.{state}" for state in TaskState)
_log = structlog.get_logger("byred.scheduler")

Run = Callable[[Task], Awaitable[None]]


class _Round(msgspec.Struct):
    started: list[Task]
    give_back: frozenset[int]
    next_due: datetime | None
    now: datetime


class Scheduler:
    """One loop that claims tasks and runs each as a child of its own task group."""

    def __init__(
        self,
        database: Database,
        run: Run,
        limits: Limits,
        *,
        adopt: Run,
        want_back: Callable[[Collection[int]], None],
        tell: Callable[[str, str], None],
        room: Callable[[], str | None] = lambda: None,
    ) -> None:
        """Take what runs tasks.

        `want_back` is told, whenever it may have changed, in whose places others could run;
        `room`, which may block, says why there is none for more.
        """
        self._database = database
        self._run = run
        self._adopt = adopt
        self._limits = limits
        self._want_back = want_back
        self._tell = tell
        self._room = room
        self._full: str | None = None
        self._paused: str | None = None
        self._probe: int | None = None
        self._probe_works = False
        self._wake = asyncio.Event()
        self._draining = False
        self._running = 0
        self._forget = database.listen(self._on_events)

    @property
    def draining(self) -> bool:
        """Whether no new task is started any more."""
        return self._draining

    @property
    def running(self) -> int:
        """How many runs there are now, each with a server of its own."""
        return self._running

    @property
    def paused(self) -> str | None:
        """Why the account lets nothing start now, or None."""
        return self._paused

    @property
    def full(self) -> str | None:
        """Why the machine has no room for anything new, or None."""
        return self._full

    @property
    def limits(self) -> Limits:
        """The limits in force."""
        return self._limits

    def configure(self, limits: Limits) -> None:
        """Put new limits in force; a task that runs is never ended for them."""
        self._limits = limits
        self._wake.set()

    def drain(self) -> None:
        """Start nothing any more; what runs goes on."""
        self._draining = True

    async def run(self, at_work: Sequence[Task] = ()) -> None:
        """Start tasks until cancelled; then every run is cancelled and waited for.

        `at_work` are the tasks whose servers outlived the daemon: they are taken up first.
        """
        try:
            async with asyncio.TaskGroup() as runs:
                for task in at_work:
                    adoption = self._counted(task, self._adopt)
                    runs.create_task(adoption, name=f"task {task.id}")
                while True:
                    self._wake.clear()
                    await self._look_for_room()
                    try:
                        done = await self._database.write(self._round)
                    except StoreBusyError as error:
                        # What runs goes on; whoever falls due meanwhile does so a little later.
                        self.no_room(str(error))
                        await asyncio.sleep(LOOK_FOR_ROOM)
                        continue
                    for task in done.started:
                        runs.create_task(self._counted(task, self._run), name=f"task {task.id}")
                    self._want_back(done.give_back)
                    await self._sleep(done)
        finally:
            self._forget()

    async def _look_for_room(self) -> None:
        full = await asyncio.to_thread(self._room)
        if full is None:
            self._full = None
        else:
            self.no_room(full)

    def no_room(self, why: str) -> None:
        """Take that nothing can start now; it is looked at again before anything does."""
        if self._full is None:
            self._tell("byred: nothing new starts", why)
            _log.warning("no room", action="scheduler.full", why=why)
        self._full = why

    async def _counted(self, task: Task, run: Run) -> None:
        self._running += 1
        try:
            await run(task)
        finally:
            self._running -= 1
            self._wake.set()

    def _round(self, transaction: Transaction) -> _Round:
        """Let what is due become queued, and claim what may start."""
        now = transaction.now
        account = self._account(transaction)
        # Further off than any retry is ever put: the clock was put back meanwhile.
        latest = now + timedelta(seconds=self._limits.longest_retry)
        for task_id in line.due(transaction, latest):
            tasks.apply(transaction, task_id, lambda task: task.due())
        for task_id in line.unblocked(transaction):
            tasks.apply(transaction, task_id, lambda task: task.unblocked())
        dues = [line.next_due(transaction), account.next_look]
        next_due = min((due for due in dues if due is not None), default=None)
        if self._draining:
            return _Round([], frozenset(), next_due, now)
        placed = line.placed(transaction)
        # Closed before anything is written: it reads the rows that are changed then.
        with closing(line.queued(transaction)) as queued:
            if self._full is not None and next(queued, None) is not None:
                # Nobody tells when a disk has room again.
                look = now + timedelta(seconds=LOOK_FOR_ROOM)
                return _Round([], frozenset(), min(look, next_due or look), now)
            if account.paused is not None:
                chosen = choose(
                    (task for task in queued if task.id == account.probe), placed, self._limits
                )
            else:
                chosen = choose(queued, placed, self._limits)
        started: list[Task] = []
        for place in chosen.start:
            claimed = tasks.apply(transaction, place.id, lambda task: task.claim(now=now))
            attempts.start(transaction, claimed.id, claimed.attempt)
            started.append(claimed)
        give_back = frozenset(place.id for place in chosen.give_back)
        return _Round(started, give_back, next_due, now)

    def _account(self, transaction: Transaction) -> AccountPlan:
        """Carry out what the account allows, and say so to people once."""
        ids = line.held_for_account(transaction)
        if self._probe is not None and self._probe not in ids:
            ids.append(self._probe)
        watched = [tasks.get(transaction, task_id) for task_id in ids]
        found = plan(watched, transaction.now, probe=self._probe, works=self._probe_works)
        if found.probe != self._probe or found.paused is None:
            self._probe, self._probe_works = found.probe, False
        for task_id in found.release:
            _release(transaction, task_id)
        if found.paused is not None and self._paused is None:
            self._tell("byred: the account cannot work now, its tasks wait", found.paused)
        self._paused = found.paused
        return found

    async def _sleep(self, done: _Round) -> None:
        if done.next_due is None:
            await self._wake.wait()
            return
        left = (done.next_due - done.now).total_seconds()
        try:
            async with asyncio.timeout(min(left, LONGEST_SLEEP)):
                await self._wake.wait()
        except TimeoutError:
            return

    def _on_events(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.kind == "task.tokens" and event.task_id == self._probe:
                self._probe_works = True
                self._wake.set()
            elif event.kind == "task.queued" and event.data.get("was") == TaskState.HELD:
                # A person who releases one task of a paused account wants to see whether it works.
                if self._paused is not None and self._probe is None:
                    self._probe = event.task_id
                self._wake.set()
            elif event.kind in _STATE_EVENTS:
                self._wake.set()


def _release(transaction: Transaction, task_id: int) -> None:
    open_questions = len(questions.open_of_task(transaction, task_id))
    tasks.apply(
        transaction,
        task_id,
        lambda task: task.release(by="the account", open_questions=open_questions),
    )
