"""A server on a socket outlives its daemon, and the next daemon takes it over."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from byred.agents.process import ProcessIdentity

DAEMON = Path(__file__).with_name("daemon.py")
PATIENCE = 30.0


class Daemon:
    """A process that starts one server, as daemons do."""

    def __init__(self, world):
        self.world = world

    async def start(self, *argv):
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            DAEMON,
            self.world.launcher.name,
            self.world.home,
            *argv,
            stdout=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(PATIENCE):
            return ProcessIdentity(**json.loads(await self.process.stdout.readline()))

    async def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        async with asyncio.timeout(PATIENCE):
            await self.process.wait()


@pytest.fixture
async def daemon(world):
    daemon = Daemon(world)
    yield daemon
    if daemon.process.returncode is None:
        await daemon.kill()
    await world.launcher.sweep(world.home, None)


async def test_a_server_survives_the_daemons_death_and_is_adopted(world, daemon):
    spec = world.spec("detached", listens=True)
    identity = await daemon.start(*spec.argv)
    assert await world.report() == "ready"
    before = world.survivors()
    await daemon.kill()
    assert identity.is_alive()
    assert world.survivors() == [pid for pid in before if pid != daemon.process.pid]
    server = await world.launcher.adopt(identity, spec)
    world.servers.append(server)
    waiting = asyncio.ensure_future(server.wait())
    await server.terminate()
    async with asyncio.timeout(PATIENCE):
        await waiting
    await server.kill_tree()
    assert world.survivors() == []


@pytest.mark.parametrize("mode", ["detached", "hundred", "stubborn"])
async def test_what_a_killed_daemon_left_is_swept_by_the_next(world, daemon, mode):
    spec = world.spec(mode, listens=True)
    identity = await daemon.start(*spec.argv)
    assert await world.report() == "ready"
    await daemon.kill()
    ended = await world.launcher.sweep(world.home, identity)
    assert identity in ended
    assert world.survivors() == []
