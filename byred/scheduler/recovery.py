"""Store against world, before anything starts: what an interrupted run left is mended.

A task that was live has no runner now. Its server is ended by identity, with all that it started;
then the task goes on where it was. Nothing that was stored is taken back. Each difference has one
repair, told as an event `task.repaired`; one that cannot be made holds its task for a person. What
is wrong with worktrees and repositories is found and told by those who use them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from pathlib import Path

import msgspec
import structlog

from byred.agents.launchers.sockets import remove_socket
from byred.agents.process import ProcessIdentity
from byred.core.errors import ByredError
from byred.core.event import NewEvent
from byred.core.task import ENDED, Hold, Task
from byred.store import attempts, leases, line, processes, questions, tasks
from byred.store.database import Database, Transaction

EndLeftover = Callable[[Path, ProcessIdentity | None], Awaitable[Sequence[ProcessIdentity]]]
HomesInUse = Callable[[], Awaitable[Collection[Path]]]

AT_ONCE = 32
"""Tasks that are mended at once: they share their looks at all processes and their commits."""

_log = structlog.get_logger("byred.scheduler")


class Recovered(msgspec.Struct, frozen=True):
    """What was found.

    `tasks` go on later, the leftovers of those in `stuck` could not be ended, and the servers of
    those `at_work` only need somebody to listen.
    """

    tasks: tuple[int, ...]
    stuck: tuple[int, ...]
    at_work: tuple[Task, ...]


async def recover(
    database: Database,
    end_leftover: EndLeftover,
    *,
    homes_in_use: HomesInUse,
    launcher: str,
    adopt: bool,
) -> Recovered:
    """Reconcile every task that an earlier daemon left live; safe to repeat at any point.

    With `adopt`, a task whose server was started on a socket by the same `launcher` and lives is
    left as it is. Every other server is ended, and so is whatever else runs with the home of a task
    that has none.
    """
    live, servers, holders = await database.write(_look)
    by_task = {
        row.task_id: ProcessIdentity(row.pid, row.start_time, row.boot_id) for row in servers
    }
    sockets = {row.task_id: Path(row.socket) for row in servers if row.socket is not None}
    adoptable = {
        row.task_id
        for row in servers
        if adopt and row.socket is not None and row.launcher == launcher
    }
    at_work: list[Task] = []
    recovered: list[int] = []
    stuck: list[int] = []
    places = asyncio.Semaphore(AT_ONCE)

    async def mend(task: Task) -> None:
        async with places:
            try:
                ended = await end_leftover(Path(task.home), by_task.get(task.id))
                if task.id in sockets:
                    await asyncio.to_thread(remove_socket, sockets[task.id])
            except (ByredError, OSError) as error:
                await _stuck(database, task.id, error)
                stuck.append(task.id)
                return
            state = await database.write(partial(_go_on, task_id=task.id, ended=ended))
        _log.info("task recovered", action="recovery.task", task=task.id, state=state)
        recovered.append(task.id)

    try:
        async with asyncio.TaskGroup() as mending:
            for task in live:
                identity = by_task.get(task.id)
                adopted = task.live and task.id in adoptable
                if adopted and identity is not None and identity.is_alive():
                    at_work.append(task)
                else:
                    mending.create_task(mend(task), name=f"recovery of task {task.id}")
    except ExceptionGroup as group:
        # Whatever is wrong with the store is wrong for all, and is said once.
        raise group.exceptions[0] from group
    for task_id in holders:
        if task_id not in stuck:
            await database.write(partial(_give_back, task_id=task_id))
    spared = {task.id for task in at_work} | set(recovered) | set(stuck)
    stuck += await _end_strays(database, end_leftover, homes_in_use, spared)
    return Recovered(tuple(sorted(recovered)), tuple(sorted(stuck)), tuple(at_work))


def _look(
    transaction: Transaction,
) -> tuple[list[Task], list[processes.ProcessRow], list[int]]:
    servers = processes.alive(transaction)
    ids = {row.task_id for row in servers} | {place.id for place in line.placed(transaction)}
    live = [tasks.get(transaction, task_id) for task_id in sorted(ids)]
    return live, servers, leases.held_by_ended(transaction)


async def _end_strays(
    database: Database, end_leftover: EndLeftover, homes_in_use: HomesInUse, spared: Collection[int]
) -> list[int]:
    """End what runs with the home of a task that has no server; give those where that failed."""
    try:
        used = await homes_in_use()
    except OSError as error:
        _log.warning("no look at processes", action="recovery.blind", error=str(error))
        return []
    homes = await database.write(partial(tasks.of_homes, homes=[str(home) for home in used]))
    stuck: list[int] = []
    for task_id, home in homes.items():
        if task_id in spared:
            continue
        try:
            ended = await end_leftover(Path(home), None)
        except (ByredError, OSError) as error:
            await _stuck(database, task_id, error)
            stuck.append(task_id)
            continue
        found = f"{_processes(ended)} of it ran, and it has no server"
        event = _repaired(task_id, found, "processes ended")
        await database.write(partial(_emit, event=event))
    return stuck


async def _stuck(database: Database, task_id: int, error: Exception) -> None:
    """Let a person act on what byred cannot mend."""
    _log.error("leftover not ended", action="recovery.stuck", task=task_id, error=str(error))
    reason = f"cannot go on: {error}; then: byre release {task_id}"
    await database.write(partial(_hold, task_id=task_id, reason=reason))


def _give_back(transaction: Transaction, task_id: int) -> None:
    leases.give_back(transaction, task_id)
    transaction.emit(_repaired(task_id, "it had ended and held ports", "ports given back"))


def _emit(transaction: Transaction, event: NewEvent) -> None:
    transaction.emit(event)


def _repaired(task_id: int, found: str, repair: str) -> NewEvent:
    return NewEvent(kind="task.repaired", task_id=task_id, data={"found": found, "repair": repair})


def _processes(ended: Collection[ProcessIdentity]) -> str:
    return "a process" if len(ended) == 1 else f"{len(ended)} processes"


def _go_on(transaction: Transaction, task_id: int, ended: Sequence[ProcessIdentity]) -> str:
    if ended:
        found = f"{_processes(ended)} of its server's ran without a daemon"
        transaction.emit(_repaired(task_id, found, "server ended"))
    elif processes.alive_of(transaction, task_id) is not None:
        transaction.emit(_repaired(task_id, "its server is gone", "server noted as ended"))
    processes.ended(transaction, task_id, "ended when the daemon started again")
    attempts.end(transaction, task_id, "interrupted", "the daemon ended in the middle")
    task = tasks.get(transaction, task_id)
    if task.live:
        questions.withdraw_lost(transaction, task_id)
        open_questions = len(questions.open_of_task(transaction, task_id))
        task = tasks.apply(
            transaction,
            task_id,
            lambda task: task.recovered(now=transaction.now, open_questions=open_questions),
        )
        transaction.emit(_repaired(task_id, "it was live and had no runner", f"now {task.state}"))
    if task.state in ENDED or task.hold is Hold.INTERRUPTED:
        questions.withdraw_all(transaction, task_id, by="the end of the task")
    if task.state in ENDED:
        leases.give_back(transaction, task_id)
    return task.state


def _hold(transaction: Transaction, task_id: int, reason: str) -> None:
    transaction.emit(NewEvent(kind="task.not_repaired", task_id=task_id, data={"why": reason}))
    if tasks.get(transaction, task_id).state not in ENDED:
        tasks.apply(transaction, task_id, lambda task: task.hold_for_repair(reason))
