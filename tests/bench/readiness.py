"""How soon a daemon is ready after SIGKILL, with a hundred live tasks or ten thousand stored.

`python -m tests.bench.readiness`. Ready is when `daemon.status` is answered, from before the
program is started. What is stored was put into the database by byred's own functions:

- nothing: what a start costs by itself;
- 100 live tasks whose servers are gone, as after the end of a machine's power;
- 100 live tasks whose servers still run (stand-ins that ignore SIGTERM) and have to be ended first;
- 100 live tasks that are parked;
- 10,000 ended tasks, each with its turns, texts, a question and twenty events;
- 9,900 of these and 100 queued ones of a long line, so that the first choice is part of it.

Exits with 1 when a start takes longer than is promised.
"""

import asyncio
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from byred.agents.process import ProcessIdentity
from byred.core.event import NewEvent
from byred.core.question import Question
from byred.core.task import Task, TaskState
from byred.store import attempts, inputs, processes, questions, tasks, turns
from byred.store.database import Database, Transaction, open_database
from byred.store.inputs import InputKind
from tests.bench._daemon import stopped
from tests.bench.idle import ended
from tests.bench.parked import SCRIPT
from tests.e2e.conftest import Daemon

LIVE = 100
STORED = 10_000
ROUNDS = 3
MOST_LIVE = 2.0
MOST_STORED = 5.0
EVENTS = 20
STAND_IN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


def task(number: int, state: Path) -> Task:
    """Build a task whose home is where the daemon would put it."""
    home = str(state / "tasks" / str(number) / "home")
    return msgspec.structs.replace(ended(number), home=home, prompt="Mend the door. " * 40)


def store(transaction: Transaction, new: Task, *, state: TaskState, parked: bool = False) -> None:
    """Store a task with what a run of it leaves."""
    tasks.insert(transaction, new)
    thread = f"thread-{new.id}"
    now = transaction.now
    if state is not TaskState.QUEUED:
        tasks.apply(transaction, new.id, lambda task: task.claim(now=now))
        attempts.start(transaction, new.id, 1)
        tasks.apply(transaction, new.id, lambda task: task.thread_started(thread))
        text = inputs.insert(transaction, new.id, InputKind.PROMPT, new.prompt, author="bench")
        tasks.apply(transaction, new.id, lambda task: task.turn_started("turn"))
        turns.start(transaction, new.id, "turn", thread_id=thread, attempt=1)
        inputs.sent(transaction, [text.id])
        inputs.taken(transaction, [text.id], "turn")
        tasks.apply(transaction, new.id, lambda task: task.asked())
        question = Question(
            id=0,
            task_id=new.id,
            text="Which door?",
            asked_at=now,
            thread_id=thread,
            turn_id="turn",
            call_id="call",
        )
        questions.insert(transaction, question)
        for number in range(EVENTS - 6):
            data = {"text": f"a line of what an agent says {number}"}
            transaction.emit(NewEvent(kind="task.progress", task_id=new.id, data=data))
    if state is TaskState.CANCELLED:
        questions.withdraw_all(transaction, new.id, by="bench")
        turns.end(transaction, new.id, "turn", "interrupted", None)
        attempts.end(transaction, new.id, "stopped", "bench")
        tasks.apply(transaction, new.id, lambda task: task.cancel(by="bench", now=now))
        tasks.apply(transaction, new.id, lambda task: task.stopped(now=now))
    if parked:
        tasks.apply(transaction, new.id, lambda task: task.recovered(now=now, open_questions=1))


def serve(transaction: Transaction, task_id: int, identity: ProcessIdentity) -> None:
    """Say that a task has this server."""
    processes.insert(
        transaction,
        task_id=task_id,
        pid=identity.pid,
        start_time=identity.start_time,
        boot_id=identity.boot_id,
        launcher="plain",
        socket=None,
    )


async def nothing(_database: Database, _state: Path) -> list[subprocess.Popen[bytes]]:
    """Store nothing."""
    return []


async def live(
    database: Database, state: Path, *, running: bool = False, parked: bool = False
) -> list[subprocess.Popen[bytes]]:
    """Store live tasks, and start what stands in for their servers."""
    servers = []
    gone = ProcessIdentity(pid=1, start_time=1, boot_id="of another boot")
    for number in range(1, LIVE + 1):
        new = task(number, state)
        identity = gone
        if running:
            server = subprocess.Popen(
                [sys.executable, "-S", "-c", STAND_IN],
                env=os.environ | {"CODEX_HOME": new.home},
                start_new_session=True,
            )
            servers.append(server)
            identity = ProcessIdentity.of(server.pid)

        def put(transaction: Transaction, new: Task = new, who: ProcessIdentity = identity) -> None:
            store(transaction, new, state=TaskState.WAITING, parked=parked)
            if not parked:
                serve(transaction, new.id, who)

        await database.write(put)
    return servers


async def stored(
    database: Database, state: Path, *, queued: int = 0
) -> list[subprocess.Popen[bytes]]:
    """Store ten thousand tasks, the last of them queued."""
    for first in range(1, STORED + 1, 500):

        def put(transaction: Transaction, first: int = first) -> None:
            for number in range(first, first + 500):
                last = number > STORED - queued
                state_of = TaskState.QUEUED if last else TaskState.CANCELLED
                store(transaction, task(number, state), state=state_of)

        await database.write(put)
    return []


async def start(daemon: Daemon) -> float:
    """Start the daemon, and give the seconds until it answers."""
    begun = time.monotonic()
    await daemon.start()
    return time.monotonic() - begun


async def measure(fill: Callable[..., object], **how: object) -> list[float]:
    """Fill a database, and start a daemon on it again and again, killed in between."""
    found = []
    for _ in range(ROUNDS):
        async with stopped((SCRIPT,)) as (daemon, _repo):
            daemon.settings["scheduler"]["max_running"] = 1
            daemon.settings["codex"]["launcher"] = "plain"
            daemon.state.mkdir()
            async with open_database(daemon.state / "byred.sqlite3") as database:
                servers = await fill(database, daemon.state, **how)
            try:
                found.append(await start(daemon))
                left = [each.pid for each in servers if each.poll() is None]
                if left:
                    raise SystemExit(f"{len(left)} servers still run when the daemon is ready")
                daemon.kill()
            finally:
                for each in servers:
                    if each.poll() is None:
                        each.send_signal(signal.SIGKILL)
                    each.wait()
    return found


async def run() -> int:
    looks = (
        ("nothing", None, nothing, {}),
        ("100 live, their servers gone", MOST_LIVE, live, {}),
        ("100 live, their servers to be ended", MOST_LIVE, live, {"running": True}),
        ("100 live, parked", MOST_LIVE, live, {"parked": True}),
        ("10,000 stored", MOST_STORED, stored, {}),
        ("10,000 stored, 100 of them queued", MOST_STORED, stored, {"queued": 100}),
    )
    status = 0
    print(f"{'stored':38}{'median':>9}{'worst':>9}{'promised':>10}")
    for name, most, fill, how in looks:
        found = await measure(fill, **how)
        worst = max(found)
        promised = "" if most is None else f"< {most:g} s"
        print(f"{name:38}{statistics.median(found):7.2f} s{worst:7.2f} s{promised:>10}", flush=True)
        if most is not None and worst >= most:
            status = 1
    return status


def main() -> int:
    return asyncio.run(run())


if __name__ == "__main__":
    raise SystemExit(main())
