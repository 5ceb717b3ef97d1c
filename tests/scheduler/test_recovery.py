"""Store against world: each difference has its repair, told as an event; one that fails is held."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from byred.agents.launchers.census import homes_in_use
from byred.agents.launchers.contract import LaunchError
from byred.agents.launchers.plain import PlainLauncher
from byred.agents.process import ProcessIdentity
from byred.agents.supervisor import Supervisor
from byred.core.task import Hold, Result, TaskState
from byred.scheduler.recovery import Recovered, recover
from byred.store import events, leases, processes, tasks
from byred.store.database import Database, Transaction, open_database
from tests.tasks import a_task

BOUND = 30.0


@pytest.fixture
async def database(tmp_path: Path):
    async with open_database(tmp_path / "db") as database:
        yield database


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "tasks" / "1" / "home"
    path.mkdir(parents=True)
    return path


@pytest.fixture
def sleeper(home: Path) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Start processes that belong to the task, in sessions of their own."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", "print('up', flush=True); import time; time.sleep(600)"]
        process = subprocess.Popen(
            command,
            env=os.environ | {"CODEX_HOME": str(home)},
            start_new_session=True,
            stdout=subprocess.PIPE,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait(BOUND)
        assert process.stdout is not None
        process.stdout.close()


def store(transaction: Transaction, home: Path, *, state: TaskState) -> None:
    now = transaction.now
    tasks.insert(transaction, a_task(home=str(home)))
    tasks.apply(transaction, 1, lambda task: task.claim(now=now))
    if state is TaskState.SUCCEEDED:
        result = Result(summary="", commits=(), files_changed=0, dirty=False)
        tasks.apply(transaction, 1, lambda task: task.verify())
        tasks.apply(transaction, 1, lambda task: task.succeed(result, now=now))


def with_server(transaction: Transaction, identity: ProcessIdentity, socket: Path | None) -> None:
    processes.insert(
        transaction,
        task_id=1,
        pid=identity.pid,
        start_time=identity.start_time,
        boot_id=identity.boot_id,
        launcher="plain",
        socket=None if socket is None else str(socket),
    )


async def mend(database: Database, **more: Any) -> Recovered:
    options: dict[str, Any] = {"homes_in_use": homes_in_use, "launcher": "plain", "adopt": False}
    end = more.pop("end", Supervisor(PlainLauncher()).recover)
    return await recover(database, end, **(options | more))


async def told(database: Database, kind: str = "task.repaired") -> list[str]:
    found = [each for each in await events.after(database, 0, limit=1000) if each.kind == kind]
    return [f"{each.data.get('found')} -> {each.data.get('repair')}" for each in found]


def gone() -> ProcessIdentity:
    process = subprocess.Popen(["sleep", "600"])
    identity = ProcessIdentity.of(process.pid)
    process.kill()
    process.wait(BOUND)
    return identity


async def test_a_live_task_without_a_runner_queues_again(database: Database, home: Path) -> None:
    await database.write(lambda tx: store(tx, home, state=TaskState.PREPARING))
    assert (await mend(database)).tasks == (1,)
    assert await told(database) == ["it was live and had no runner -> now queued"]
    assert (await tasks.read(database, 1)).failures == 0
    before = await events.newest(database)
    assert await mend(database) == Recovered((), (), ())
    assert await events.newest(database) == before


async def test_a_server_that_runs_without_a_daemon_is_ended(
    database: Database, home: Path, sleeper: Callable[[], subprocess.Popen[bytes]]
) -> None:
    server = sleeper()
    identity = ProcessIdentity.of(server.pid)
    await database.write(lambda tx: store(tx, home, state=TaskState.PREPARING))
    await database.write(lambda tx: with_server(tx, identity, None))
    await mend(database)
    assert server.wait(BOUND) == -signal.SIGKILL
    assert (await told(database))[0] == (
        "a process of its server's ran without a daemon -> server ended"
    )


async def test_a_server_that_is_gone_is_noted_and_its_socket_goes(
    database: Database, home: Path
) -> None:
    identity = gone()
    socket = home.parent / "s"
    socket.symlink_to(home.parent / "nowhere")
    await database.write(lambda tx: store(tx, home, state=TaskState.PREPARING))
    await database.write(lambda tx: with_server(tx, identity, socket))
    await mend(database)
    assert (await told(database))[0] == "its server is gone -> server noted as ended"
    assert not socket.is_symlink()
    assert (await tasks.read(database, 1)).pid is None


async def test_ports_of_an_ended_task_are_given_back(database: Database, home: Path) -> None:
    await database.write(lambda tx: store(tx, home, state=TaskState.SUCCEEDED))
    await database.write(lambda tx: leases.take_ports(tx, 1, {"web": 20001}))
    await mend(database)
    assert await told(database) == ["it had ended and held ports -> ports given back"]
    assert (await tasks.read(database, 1)).ports == {}


async def test_what_runs_of_an_ended_task_is_ended(
    database: Database, home: Path, sleeper: Callable[[], subprocess.Popen[bytes]]
) -> None:
    stray = sleeper()
    await database.write(lambda tx: store(tx, home, state=TaskState.SUCCEEDED))
    await mend(database)
    assert stray.wait(BOUND) == -signal.SIGKILL
    assert await told(database) == ["a process of it ran, and it has no server -> processes ended"]
    assert (await tasks.read(database, 1)).state is TaskState.SUCCEEDED


async def test_a_server_at_work_is_left_to_who_takes_it_over(
    database: Database, home: Path, sleeper: Callable[[], subprocess.Popen[bytes]]
) -> None:
    server = sleeper()
    identity = ProcessIdentity.of(server.pid)
    await database.write(lambda tx: store(tx, home, state=TaskState.PREPARING))
    await database.write(lambda tx: with_server(tx, identity, home.parent / "s"))
    found = await mend(database, adopt=True)
    assert [task.id for task in found.at_work] == [1]
    assert server.poll() is None
    assert await told(database) == []


@pytest.mark.parametrize(
    "trouble",
    [LaunchError("cannot end 7"), PermissionError(13, "Permission denied", "/sys/fs/cgroup/x")],
)
async def test_a_repair_that_fails_holds_that_task_alone_for_a_person(
    database: Database, home: Path, trouble: Exception
) -> None:
    await database.write(lambda tx: store(tx, home, state=TaskState.PREPARING))

    async def end(_home: Path, _identity: ProcessIdentity | None) -> Sequence[ProcessIdentity]:
        raise trouble

    assert (await mend(database, end=end)).stuck == (1,)
    task = await tasks.read(database, 1)
    assert (task.state, task.hold) == (TaskState.HELD, Hold.REPAIR)
    assert "byre release 1" in (task.reason or "")
    assert len(await told(database, "task.not_repaired")) == 1


async def test_processes_that_cannot_be_looked_at_do_not_keep_the_daemon_from_starting(
    database: Database, home: Path
) -> None:
    async def blind() -> frozenset[Path]:
        raise PermissionError(13, "Permission denied", "/proc")

    await database.write(lambda tx: store(tx, home, state=TaskState.PREPARING))
    assert (await mend(database, homes_in_use=blind)).tasks == (1,)
