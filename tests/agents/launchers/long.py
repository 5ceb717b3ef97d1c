"""The long version: long.py LAUNCHER [TIMES]. Prints how long it took until nothing was left.

Each time the real codex runs a command that detaches a process, forks a hundred and ignores TERM;
then the task is cancelled, or its server is killed, or its daemon is killed and the next one
starts. What is left is looked for by the processes' command lines, which byred never reads.
"""

import asyncio
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from conftest import World
from test_codex import DAEMON, Agent, ignore

from byred.agents.launchers import choose
from byred.agents.process import ProcessIdentity, raise_file_limit
from byred.agents.supervisor import Supervisor
from byred.testing.script import Step

MODES = ("detached", "hundred", "stubborn")
LIMIT = 2.0
PATIENCE = 60.0


class Trial:
    """One launcher's repetitions."""

    def __init__(self, world, folder):
        self.world = world
        self.agent = Agent(world, folder)
        self.supervisor = Supervisor(world.launcher)

    async def cancelled(self, listens):
        """The turn is interrupted and the server stopped."""
        server = await self.supervisor.start(self.agent.spec(listens=listens), ignore)
        async with self.agent.client(server) as client:
            turn = await self.misbehave(client)
            began = time.monotonic()
            await turn.interrupt()
        await self.supervisor.stop(server)
        return began

    async def server_killed(self, listens):
        """The server gets SIGKILL; its supervisor hears of it and cleans up."""
        server = await self.supervisor.start(self.agent.spec(listens=listens), ignore)
        async with self.agent.client(server) as client:
            await self.misbehave(client)
            began = time.monotonic()
            os.kill(server.identity.pid, signal.SIGKILL)
            await server.wait()
        await self.supervisor.stop(server)
        return began

    async def daemon_killed(self, _listens):
        """The daemon gets SIGKILL; the next one sweeps."""
        spec = self.agent.spec(listens=True)
        daemon = await asyncio.create_subprocess_exec(
            *(sys.executable, DAEMON, self.world.launcher.name, self.world.home, *spec.argv),
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            line = await asyncio.wait_for(daemon.stdout.readline(), PATIENCE)
            identity = ProcessIdentity(**json.loads(line))
            server = await self.world.launcher.adopt(identity, spec)
            async with self.agent.client(server) as client:
                await self.misbehave(client)
            await server.release()
        finally:
            daemon.kill()
            await daemon.wait()
        began = time.monotonic()
        next_one = Supervisor(await choose(self.world.launcher.name))
        await next_one.recover(self.world.home, identity)
        return began

    async def misbehave(self, client):
        thread = await client.start_thread(self.agent.options())
        turn = await thread.start_turn("make trouble")
        for _ in MODES:
            assert await self.world.report() == "ready"
        return turn


async def main(name: str, times: int) -> None:
    raise_file_limit()
    with tempfile.TemporaryDirectory(prefix="byred-long-", ignore_cleanup_errors=True) as folder:
        world = World(Path(folder), await choose(name))
        trial = Trial(world, Path(folder))
        try:
            for ending in (trial.cancelled, trial.server_killed, trial.daemon_killed):
                await repeat(trial, ending, times)
        finally:
            await world.launcher.sweep(world.home, None)
            await world.close()


async def repeat(trial: Trial, ending: Any, times: int) -> None:
    """Play one ending so often, and print how long it took."""
    took = []
    for number in range(times):
        steps = (Step(shell=trial.agent.trouble(*MODES)), Step(say="done"))
        async with trial.agent.model(*steps):
            began = await ending(number % 2 == 1)
            took.append(time.monotonic() - began)
            left = trial.world.survivors()
            assert left == [], f"{ending.__name__} {number}: {left} left"
    usual, most = statistics.median(took), max(took)
    late = sum(each > LIMIT for each in took)
    print(
        f"{trial.world.launcher.name:8} {ending.__name__:14} {times} times: nothing left after "
        f"{usual:.2f} s, at most {most:.2f} s, {late} over {LIMIT:g} s",
        flush=True,
    )


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100))
