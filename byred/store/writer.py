"""The one writer: a thread that runs functions as transactions and commits them in groups.

Each function has a savepoint of its own, so that its error undoes it alone; the group has one
commit and one sync. Nobody hears of success, no listener of an event, before the sync. Owns the
writing connection from its start to its close; what the functions do is theirs.
"""

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from byred import failpoint
from byred.core.event import Event, NewEvent
from byred.store.errors import StoreError, explained
from byred.store.queries import load
from byred.store.rows import stamp

T = TypeVar("T")
Clock = Callable[[], datetime]

# One commit carries at most this many functions, so that the first waits for few others.
GROUP = 256


class Transaction:
    """What a writing function gets: the connection, one time for all its rows, and `emit`."""

    def __init__(self, connection: sqlite3.Connection, now: datetime) -> None:
        self.connection = connection
        self.now = now
        self.events: list[Event] = []

    def emit(self, event: NewEvent) -> Event:
        """Append an event to the log, in this transaction."""
        cursor = self.connection.execute(
            load("events")["append"],
            {
                "at": stamp(self.now),
                "kind": event.kind,
                "task_id": event.task_id,
                "question_id": event.question_id,
                "data": msgspec.json.encode(event.data).decode(),
            },
        )
        stored = Event(
            seq=int(cursor.fetchone()[0]),
            at=self.now,
            kind=event.kind,
            task_id=event.task_id,
            question_id=event.question_id,
            data=event.data,
        )
        self.events.append(stored)
        return stored


class _Outcome(msgspec.Struct, frozen=True):
    result: Any = None
    error: BaseException | None = None
    events: Sequence[Event] = ()
    changed: bool = False


class _Job(msgspec.Struct, frozen=True):
    function: Callable[[Transaction], Any]
    # asyncio.Future[_Outcome], which msgspec cannot look into.
    future: Any
    place: str


class Writer:
    """Runs functions of a `Transaction`, in the order in which they were given.

    `committed` is called on the loop with the events of each group, oldest first.
    """

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        clock: Clock,
        committed: Callable[[Sequence[Event]], None],
    ) -> None:
        self._path = path
        self._connection = connection
        self._clock = clock
        self._committed = committed
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="byred-store", daemon=True)
        self._thread.start()

    async def write(self, function: Callable[[Transaction], T]) -> T:
        """Run `function` as one transaction and give its result once that is on the disk.

        Raises whatever `function` raises, with SQLite's own errors put into a sentence.
        """
        if self._closed:
            raise StoreError(f"cannot store in {self._path}: it is closed; start byred again")
        future: asyncio.Future[_Outcome] = self._loop.create_future()
        self._jobs.put(_Job(function, future, failpoint.mark()))
        outcome = await future
        if outcome.error is not None:
            error = explained(self._path, outcome.error)
            raise error from (None if error is outcome.error else outcome.error)
        result: T = outcome.result
        return result

    async def close(self) -> None:
        """Finish what was asked for and close the connection."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _serve(self) -> None:
        try:
            more = True
            while more:
                group, more = self._next_group()
                if group:
                    self._settle(group, self._commit(group))
        finally:
            self._connection.close()

    def _next_group(self) -> tuple[list[_Job], bool]:
        """Wait for a job and take those that wait behind it; say whether more may come."""
        group: list[_Job] = []
        try:
            while len(group) < GROUP:
                job = self._jobs.get(block=not group)
                if job is None:
                    return group, False
                group.append(job)
        except queue.Empty:
            pass
        return group, True

    def _commit(self, group: Sequence[_Job]) -> list[_Outcome]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            now = self._clock()
            outcomes = [self._run(job, now) for job in group]
            _reach("before", group, outcomes)
            self._connection.execute("COMMIT")
            _reach("after", group, outcomes)
        # Whatever it is, each caller of the group waits for it and gets it.
        except BaseException as error:  # noqa: BLE001
            # A rollback that fails leaves the next BEGIN to fail and to say so to its callers.
            with contextlib.suppress(sqlite3.Error):
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
            return [_Outcome(error=error)] * len(group)
        return outcomes

    def _run(self, job: _Job, now: datetime) -> _Outcome:
        transaction = Transaction(self._connection, now)
        before = self._connection.total_changes
        self._connection.execute("SAVEPOINT job")
        try:
            result = job.function(transaction)
        # The error is the caller's, whatever it is: it is raised where it waits.
        except BaseException as error:
            if not self._connection.in_transaction:
                # SQLite itself has undone the whole group, as it does on a full disk.
                raise
            self._connection.execute("ROLLBACK TO job")
            outcome = _Outcome(error=error)
        else:
            outcome = _Outcome(
                result=result,
                events=transaction.events,
                changed=self._connection.total_changes != before,
            )
        self._connection.execute("RELEASE job")
        return outcome

    def _settle(self, group: Sequence[_Job], outcomes: Sequence[_Outcome]) -> None:
        def tell() -> None:
            for job, outcome in zip(group, outcomes, strict=True):
                if not job.future.done():
                    job.future.set_result(outcome)
            events = [event for outcome in outcomes for event in outcome.events]
            if events:
                self._committed(events)

        # A loop that was closed meanwhile has nobody left who could be told.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(tell)


def _reach(moment: str, group: Sequence[_Job], outcomes: Sequence[_Outcome]) -> None:
    for job, outcome in zip(group, outcomes, strict=True):
        if outcome.changed and job.place:
            kinds = dict.fromkeys(event.kind for event in outcome.events)
            failpoint.reach(moment, " ".join(("commit", *kinds)), job.place)
