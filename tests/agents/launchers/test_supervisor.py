"""The order of things around one server, with every launcher and real children."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from byred.agents import supervisor as module
from byred.agents.launchers.contract import LaunchError
from byred.agents.supervisor import Supervisor, cut_file

PATIENCE = 20.0
STOP_LIMIT = 10.0
"""Seconds that any stop may take, as promised."""


@pytest.fixture
async def supervisor(world):
    supervisor = Supervisor(world.launcher)
    yield supervisor
    await supervisor.release()
    await world.launcher.sweep(world.home, None)


@pytest.fixture
def start(world, supervisor):
    async def start(mode, *, listens=False):
        async def record(identity):
            recorded.append(identity)

        recorded = []
        server = await supervisor.start(world.spec(mode, listens=listens), record)
        assert recorded == [server.identity]
        assert await world.report() == "ready"
        return server

    return start


async def test_a_server_is_recorded_while_it_lives_and_before_it_is_returned(world, supervisor):
    events = []

    async def record(identity):
        events.append(("recorded", identity.is_alive(), identity))

    server = await supervisor.start(world.spec("plain"), record)
    assert events == [("recorded", True, server.identity)]


async def test_a_record_that_fails_leaves_no_server(world, supervisor):
    async def record(_identity):
        await world.report()
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await supervisor.start(world.spec("detached"), record)
    assert world.survivors() == []


async def test_a_start_that_is_cancelled_while_recording_leaves_no_server(world, supervisor):
    reached = asyncio.Event()

    async def record(_identity):
        await world.report()
        reached.set()
        await asyncio.Event().wait()

    starting = asyncio.ensure_future(supervisor.start(world.spec("detached"), record))
    await asyncio.wait_for(reached.wait(), PATIENCE)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert world.survivors() == []


@pytest.mark.promise("no_task_twice")
async def test_an_old_server_on_the_home_is_gone_before_the_new_one_is_recorded(world, supervisor):
    old = await world.start("detached", listens=True)
    before = set(world.survivors())
    seen = []

    async def record(_identity):
        seen.append(before & set(world.survivors()))

    server = await supervisor.start(world.spec("plain"), record)
    assert seen == [set()]
    assert not old.identity.is_alive()
    assert server.identity.is_alive()


async def test_a_stale_socket_is_gone_before_the_new_server_starts(world, supervisor):
    spec = world.spec("plain", listens=True)
    spec.socket.symlink_to("/nowhere/to/be/seen")
    seen = []

    async def record(_identity):
        seen.append(spec.socket.is_symlink())

    await supervisor.start(spec, record)
    assert seen == [False]


async def test_a_willing_server_ends_at_the_end_of_its_input(world, supervisor, start):
    end = await supervisor.stop(await start("plain"))
    assert (end.code, end.signal) == (0, None)
    assert world.survivors() == []


async def test_a_listening_server_is_asked_by_term(world, supervisor, start):
    end = await supervisor.stop(await start("plain", listens=True))
    assert (end.code, end.signal) == (0, None)
    assert world.survivors() == []


async def test_a_server_deaf_to_the_end_of_its_input_gets_term(world, supervisor, start):
    end = await supervisor.stop(await start("deaf"))
    assert (end.code, end.signal) == (7, None)


async def test_a_server_that_ignores_everything_is_killed_within_ten_seconds(
    world, supervisor, start
):
    server = await start("stubborn")
    began = time.monotonic()
    end = await supervisor.stop(server, grace=60)
    assert time.monotonic() - began < STOP_LIMIT
    assert (end.code, end.signal) == (None, signal.SIGKILL)
    assert world.survivors() == []


@pytest.mark.parametrize("mode", ["detached", "hundred", "holder", "fleeing"])
async def test_what_a_server_started_ends_with_it(world, supervisor, start, mode):
    end = await supervisor.stop(await start(mode))
    assert end.code == 0
    assert world.survivors() == []


async def test_what_a_dead_server_left_ends_with_the_stop(world, supervisor, start):
    server = await start("detached")
    os.kill(server.identity.pid, signal.SIGKILL)
    await asyncio.wait_for(server.wait(), PATIENCE)
    end = await supervisor.stop(server)
    assert end.signal == signal.SIGKILL
    assert world.survivors() == []


async def test_without_grace_a_server_is_killed_at_once(world, supervisor, start):
    end = await supervisor.stop(await start("plain"), grace=0)
    assert end.signal == signal.SIGKILL


async def test_stopped_twice_it_tells_the_same_end(supervisor, start):
    server = await start("plain")
    assert await supervisor.stop(server) == await supervisor.stop(server)


@pytest.mark.parametrize("grace", [0, 1])
@pytest.mark.parametrize("turns", [1, 2, 5, 20])
async def test_a_stop_that_is_cancelled_still_ends_everything(
    world, supervisor, start, grace, turns
):
    server = await start("stubborn")
    stopping = asyncio.ensure_future(supervisor.stop(server, grace=grace))
    for _ in range(turns):
        await asyncio.sleep(0)
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert world.survivors() == []


async def test_what_cannot_be_ended_is_said_and_the_server_kept(supervisor, start, monkeypatch):
    server = await start("plain")

    async def hangs():
        await asyncio.Event().wait()

    monkeypatch.setattr(module, "KILL_LIMIT", 0.1)
    with monkeypatch.context() as patch:
        patch.setattr(server, "kill_tree", hangs)
        with pytest.raises(LaunchError, match=r"cannot end everything of task 17 .* by hand"):
            await supervisor.stop(server)
    monkeypatch.undo()
    await supervisor.stop(server)


async def test_recovery_ends_what_an_earlier_daemon_left(world, supervisor):
    old = await world.start("detached", listens=True)
    ended = await supervisor.recover(world.home, old.identity)
    assert old.identity in ended
    assert world.survivors() == []


async def test_an_adopted_server_is_supervised_as_a_started_one(world, supervisor, start):
    server = await start("detached", listens=True)
    adopted = await supervisor.adopt(server.identity, server.spec)
    await supervisor.stop(adopted)
    assert world.survivors() == []
    await asyncio.wait_for(server.wait(), PATIENCE)


async def test_a_server_that_is_gone_is_not_adopted(world, supervisor, start):
    server = await start("plain", listens=True)
    await supervisor.stop(server)
    assert await supervisor.adopt(server.identity, server.spec) is None


async def test_many_lives_leave_no_descriptor_and_no_zombie(supervisor, start, children):
    await supervisor.stop(await start("plain"))
    before = (descriptors(), children())
    for life in range(12):
        await supervisor.stop(await start("plain", listens=life % 2 == 1))
    assert (descriptors(), children()) == before


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_stderr_is_kept_bounded_while_the_server_runs(world, supervisor, start, monkeypatch):
    monkeypatch.setattr(module, "LOOK_INTERVAL", 0.01)
    await start("plain")
    cut = asyncio.Event()

    def noted(path):
        cut_file(path)
        loop.call_soon_threadsafe(cut.set)

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(module, "cut_file", noted)
    world.stderr.write_bytes(b"x" * (module.STDERR_MAX + 1))
    running = asyncio.ensure_future(supervisor.run())
    await asyncio.wait_for(cut.wait(), PATIENCE)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert world.stderr.stat().st_size == module.STDERR_KEEP


def test_a_long_file_keeps_its_last_lines(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"first\n" * 100 + b"last\n")
    with path.open("ab") as writer:
        cut_file(path, most=100, keep=11)
        writer.write(b"after\n")
    assert path.read_bytes() == b"first\nlast\nafter\n"


def test_a_short_or_missing_file_stays_as_it_is(tmp_path):
    path = tmp_path / "log"
    cut_file(path)
    path.write_bytes(b"short\n")
    cut_file(path, most=6, keep=1)
    assert path.read_bytes() == b"short\n"
