"""One suite for all launchers: what `contract` promises, with real children."""

import asyncio
import itertools
import os
import resource
import signal
import time
from pathlib import Path

import pytest

from byred.agents.launchers.contract import LaunchError
from byred.agents.process import ProcessIdentity, pids, read_environment, read_stat

PATIENCE = 20.0
LIMIT = 2.0
TROUBLE = ["detached", "hundred", "stubborn", "closes", "holder", "fleeing"]


async def within(awaitable, seconds=PATIENCE):
    async with asyncio.timeout(seconds):
        return await awaitable


async def test_a_server_talks_over_its_streams(world):
    server = await world.start("plain")
    reader, writer = server.streams
    writer.write(b"hello\n")
    await writer.drain()
    assert await within(reader.readline()) == b"hello\n"


async def test_a_line_of_three_megabytes_goes_through_whole(world):
    server = await world.start("plain")
    reader, writer = server.streams
    line = b"x" * 3_000_000 + b"\n"
    writer.write(line)
    assert await within(reader.readexactly(len(line))) == line


async def test_closing_the_input_ends_a_server_with_its_status(world):
    server = await world.start("plain")
    await server.close_input()
    end = await within(server.wait())
    assert (end.code, end.signal) == (0, None)


async def test_the_exit_status_of_a_server_arrives(world):
    server = await world.launcher.start(world.spec("exit", argument="42"))
    world.servers.append(server)
    end = await within(server.wait())
    assert (end.code, end.signal, end.text) == (42, None, "exited with status 42")


async def test_many_may_wait_for_an_exit_before_and_after_it(world):
    server = await world.start("plain")
    waiting = [asyncio.ensure_future(server.wait()) for _ in range(5)]
    await server.close_input()
    ends = await within(asyncio.gather(*waiting))
    assert {*ends, await server.wait()} == {ends[0]}


async def test_a_cancelled_wait_disturbs_nobody(world):
    server = await world.start("plain")
    waiting = asyncio.ensure_future(server.wait())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await server.close_input()
    assert (await within(server.wait())).code == 0


@pytest.mark.parametrize("listens", [False, True])
async def test_term_reaches_the_server_itself(world, listens):
    server = await world.start("deaf", listens=listens)
    await server.terminate()
    assert (await within(server.wait())).code == 7


async def test_a_killed_server_is_known_by_its_signal(world):
    server = await world.start("plain")
    (pid,) = world.servers_own()
    os.kill(pid, signal.SIGKILL)
    end = await within(server.wait())
    assert (end.code, end.signal) == (None, signal.SIGKILL)


async def test_the_exit_is_seen_while_a_grandchild_holds_the_pipes(world):
    server = await world.start("holder")
    os.kill(server.identity.pid, signal.SIGKILL)
    end = await within(server.wait(), LIMIT)
    assert end.signal == signal.SIGKILL


async def test_writing_to_a_dead_server_is_a_lost_connection(world):
    server = await world.start("plain")
    _, writer = server.streams
    os.kill(server.identity.pid, signal.SIGKILL)
    await within(server.wait())
    with pytest.raises(ConnectionError):
        await within(keep_writing(writer))


async def keep_writing(writer):
    while True:
        writer.write(b"anybody there?\n" * 10_000)
        await writer.drain()


async def test_a_server_that_closes_its_pipes_is_still_running(world):
    server = await world.start("closes")
    assert not await server.is_empty()
    assert server.identity.is_alive()


@pytest.mark.promise("no_process_left")
@pytest.mark.parametrize("mode", TROUBLE)
async def test_after_kill_tree_nothing_is_left(world, mode):
    server = await world.start(mode)
    assert world.survivors()
    began = time.monotonic()
    await server.kill_tree()
    assert time.monotonic() - began < LIMIT
    assert world.survivors() == []
    assert await server.is_empty()
    assert (await server.wait()) is not None


@pytest.mark.parametrize("mode", TROUBLE)
async def test_after_the_server_was_killed_nothing_stays_behind_a_kill_tree(world, mode):
    server = await world.start(mode)
    os.kill(server.identity.pid, signal.SIGKILL)
    await within(server.wait())
    began = time.monotonic()
    await server.kill_tree()
    assert time.monotonic() - began < LIMIT
    assert world.survivors() == []


@pytest.mark.promise("no_process_left")
@pytest.mark.parametrize("mode", TROUBLE)
async def test_a_sweep_ends_all_that_a_forgotten_server_left(world, mode):
    server = await world.start(mode, listens=True)
    began = time.monotonic()
    ended = await world.launcher.sweep(world.home, server.identity)
    assert time.monotonic() - began < LIMIT
    assert world.survivors() == []
    assert server.identity in ended


async def test_a_sweep_finds_a_server_that_was_never_recorded(world):
    server = await world.start("detached", listens=True)
    ended = await world.launcher.sweep(world.home, None)
    assert world.survivors() == []
    assert server.identity in ended


async def test_a_sweep_of_an_empty_home_ends_nothing(world):
    assert list(await world.launcher.sweep(world.home, None)) == []


async def test_a_sweep_leaves_other_homes_alone(world, tmp_path):
    server = await world.start("plain")
    other = tmp_path / "tasks" / "1" / "home"
    await world.launcher.sweep(other, None)
    await world.launcher.sweep(world.home.with_name("home2"), None)
    assert server.identity.is_alive()


async def test_a_pid_that_was_given_away_again_is_not_touched(world):
    server = await world.start("plain", listens=True)
    true = server.identity
    stale = ProcessIdentity(true.pid, true.start_time - 1, true.boot_id)
    other_boot = ProcessIdentity(true.pid, true.start_time, "another-boot")
    elsewhere = world.home.with_name("elsewhere")
    for wrong in (stale, other_boot):
        assert not wrong.is_alive()
        assert list(await world.launcher.sweep(elsewhere, wrong)) == []
        assert await world.launcher.adopt(wrong, server.spec) is None
    assert true.is_alive()


async def test_a_listening_server_is_adopted_and_its_exit_seen(world):
    server = await world.start("plain", listens=True)
    adopted = await world.launcher.adopt(server.identity, server.spec)
    world.servers.append(adopted)
    assert adopted.identity == server.identity
    assert adopted.streams is None
    assert not await adopted.is_empty()
    await adopted.terminate()
    await within(adopted.wait())
    await within(server.wait())


@pytest.mark.parametrize("mode", ["detached", "stubborn"])
async def test_an_adopted_server_is_ended_with_all_it_started(world, mode):
    server = await world.start(mode, listens=True)
    adopted = await world.launcher.adopt(server.identity, server.spec)
    await adopted.kill_tree()
    assert world.survivors() == []
    assert await adopted.is_empty()
    await adopted.release()


async def test_a_server_on_pipes_cannot_be_adopted(world):
    server = await world.start("plain")
    assert await world.launcher.adopt(server.identity, server.spec) is None


async def test_stderr_is_appended_to_the_file(world):
    world.stderr.write_text("before\n")
    server = await world.launcher.start(world.spec("nonsense"))
    world.servers.append(server)
    assert (await within(server.wait())).code == 1
    assert world.stderr.read_text() == "before\nunknown mode nonsense\n"


async def test_the_environment_is_the_spec_and_the_home_alone(world, monkeypatch):
    monkeypatch.setenv("DAEMON_SECRET", "hidden")
    spec = world.spec("plain", env={"ODD": "a 'quoted' \"$value\"\nwith a line"})
    server = await world.launcher.start(spec)
    world.servers.append(server)
    await world.report()
    (pid,) = world.servers_own()
    entries = read_environment(pid).split(b"\0")
    seen = dict(entry.split(b"=", 1) for entry in entries if entry)
    # A shell in between tells where it is.
    assert seen.pop(b"PWD", os.fsencode(spec.cwd)) == os.fsencode(spec.cwd)
    wanted = {**spec.env, "CODEX_HOME": str(world.home)}
    assert seen == {name.encode(): value.encode() for name, value in wanted.items()}


async def test_a_missing_program_is_named(world):
    spec = world.spec("plain")
    missing = world.home / "no-such-codex"
    with pytest.raises(LaunchError, match=f"cannot start the server of task 17: .*{missing}"):
        await world.launcher.start(type(spec)(**{**fields(spec), "argv": (str(missing),)}))


async def test_a_start_that_is_cancelled_leaves_nothing(world):
    for turns in range(12):
        starting = asyncio.ensure_future(world.launcher.start(world.spec("detached")))
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        (result,) = await asyncio.gather(starting, return_exceptions=True)
        if not isinstance(result, asyncio.CancelledError):
            world.servers.append(result)
        else:
            assert world.survivors() == []


@pytest.fixture
def few_descriptors():
    """Let the process open so many files more, and no others."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)

    def allow(more):
        used = {int(path.name) for path in Path("/proc/self/fd").iterdir()}
        free = (number for number in itertools.count() if number not in used)
        first_refused = next(itertools.islice(free, more, None))
        resource.setrlimit(resource.RLIMIT_NOFILE, (first_refused, before[1]))

    yield allow
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_a_start_without_descriptors_is_refused_and_leaves_nothing(world, few_descriptors):
    # The first thread of the pool and the like are there before it gets tight.
    await world.launcher.sweep(world.home, None)
    refused = 0
    for more in (1, 2, 3, 4, 5, 6, 8, 10, 20):
        few_descriptors(more)
        try:
            server = await world.launcher.start(world.spec("detached"))
        except LaunchError:
            refused += 1
        else:
            few_descriptors(1000)
            await server.kill_tree()
            await server.release()
        few_descriptors(1000)
        assert world.survivors() == []
    assert 0 < refused < 9


async def test_what_was_used_is_known_during_and_after(world):
    server = await world.start("hundred")
    during = await server.usage()
    await server.kill_tree()
    after = await server.usage()
    assert during.peak_memory > 1_000_000
    assert after.peak_memory >= during.peak_memory
    assert after.cpu_seconds > 0


async def test_released_twice_it_leaves_the_server_alone(world):
    server = await world.start("plain", listens=True)
    await server.release()
    await server.release()
    assert server.identity.is_alive()
    await world.launcher.sweep(world.home, server.identity)
    world.servers.remove(server)


def fields(spec):
    return {name: getattr(spec, name) for name in type(spec).__slots__}


async def test_orphans_that_ended_are_not_kept_as_zombies(world):
    server = await world.start("orphans")
    reader, writer = server.streams
    writer.write(b"still there\n")
    await within(reader.readline())
    async with asyncio.timeout(PATIENCE):
        while zombies_below(world.survivors()):
            await asyncio.sleep(0.01)


def zombies_below(parents):
    stats = [stat for pid in pids() if (stat := read_stat(pid))]
    return [stat.pid for stat in stats if stat.state == "Z" and stat.parent in parents]


async def test_a_process_that_shed_its_environment_too_ends_with_the_task(world):
    if world.launcher.name == "plain":
        pytest.skip("plain contains by observation alone, and says so")
    server = await world.start("scrubbed")
    assert len(world.servers_own()) == 2
    await server.kill_tree()
    assert world.survivors() == []
    assert await server.is_empty()
