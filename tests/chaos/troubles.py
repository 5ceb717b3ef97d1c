"""What goes wrong in a chaos run, chosen by a seed: kills, a full disk, a clock that jumps, a lock.

A kill comes and is over; the disk stays full, and the database locked, for some seconds, in which
other things go wrong too.
"""

import asyncio
import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.chaos.ground import Clock, Disk
from tests.chaos.people import Journal
from tests.e2e.conftest import BOUND, SECRETS, Daemon

HOUR = 3600
JUMPS = (0, 1, -1, 60, -60, HOUR, -HOUR, 24 * HOUR, -24 * HOUR)
KINDS = {"daemon": 8, "stop": 2, "server": 8, "git": 5, "command": 4, "helper": 3}
"""Kills, and how often each is chosen."""
BESIDE = {"disk": 3, "clock": 2, "lock": 2}
"""What lasts, and how often; one of them comes with every fourth kill."""
BACK = 120.0
"""Seconds within which a daemon must be back, once nothing hinders it."""


class Guarded(Daemon):
    """A daemon on a clock of its own, started again when it cannot start, as systemd would."""

    def __init__(self, *arguments: object, clock: Clock, temporary: Path) -> None:
        super().__init__(*arguments)
        self._clock = clock
        self._temporary = temporary
        self.log = self.folder / "daemon.log"
        self.refused: list[str] = []

    async def start(self, **environment: str) -> None:
        """Start until it answers."""
        self.write_config()
        async with asyncio.timeout(BACK):
            while not await self._started(environment):
                await asyncio.sleep(0.3)

    async def _started(self, environment: dict[str, str]) -> bool:
        own = {"TMPDIR": str(self._temporary)} | self._clock.environment | environment
        with self.log.open("ab") as log:
            begin = log.tell()
            self.process = subprocess.Popen(
                [sys.executable, "-m", "byred.daemon", "--config", str(self.config)],
                env=os.environ | SECRETS | own,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        async with asyncio.timeout(BOUND):
            while self.process.poll() is None:
                with contextlib.suppress(OSError, EOFError):
                    async with asyncio.timeout(BOUND), self.client() as client:
                        reply = await client.ask("daemon.status")
                        if "error" not in reply or self.process.poll() is None:
                            return True
                await asyncio.sleep(0.02)
        self.refused.append(self.log.read_bytes()[begin:].decode(errors="replace").strip())
        return False


class Troubles:
    """Makes trouble, so many kills."""

    def __init__(
        self,
        daemon: Guarded,
        journal: Journal,
        *,
        disk: Disk,
        clock: Clock,
        seed: int,
        kills: int,
    ) -> None:
        self._daemon = daemon
        self._journal = journal
        self._disk = disk
        self._clock = clock
        self._random = random.Random(f"{seed} troubles")
        self._kills = kills
        self._lasting: set[asyncio.Task[None]] = set()

    async def run(self, pause: float) -> None:
        """Make all of it, `pause` seconds apart at most; nothing lasts when this returns."""
        try:
            for number in range(self._kills):
                if number and number % 25 == 0:
                    print(f"{number} of {self._kills} kills", flush=True)
                await self._wait(self._random.uniform(0.0, pause))
                if number % 4 == 3:
                    self._begin(_choice(self._random, BESIDE))
                await self._kill(_choice(self._random, KINDS))
            if self._lasting:
                await asyncio.wait(self._lasting)
        finally:
            for task in self._lasting:
                task.cancel()
            await asyncio.gather(*self._lasting, return_exceptions=True)
            self._disk.free()
            self._clock.jump(0)
        await self.back()

    async def _wait(self, seconds: float) -> None:
        """Wait, and see whether the daemon ends meanwhile, which nobody asked it to."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while True:
            await self.back()
            if loop.time() >= until:
                return
            await asyncio.sleep(0.05)

    async def back(self) -> None:
        process = self._daemon.process
        status = None if process is None else process.poll()
        if status is not None:
            tail = self._daemon.log.read_bytes()[-3000:].decode(errors="replace")
            self._journal.deaths.append(f"status {status}: {tail}")
            await self._daemon.start()

    def _begin(self, what: str) -> None:
        seconds = self._random.choice((0.2, 0.5, 1.0, 2.0, 4.0))
        jump = self._random.choice(JUMPS)
        exclusive = self._random.random() < 0.5
        if what == "clock":
            if self._clock.jumps:
                self._clock.jump(jump)
                self._journal.trouble("clock jumped")
        elif what == "lock":
            # Now and then for longer than anybody waits.
            seconds = 12.0 if seconds == 4.0 else seconds
            self._last("database locked", self._lock(seconds, exclusive))
        elif self._disk.small:
            self._last("disk filled", self._fill(seconds))

    def _last(self, what: str, work: Awaitable[None]) -> None:
        self._journal.trouble(what)
        task = asyncio.ensure_future(work)
        self._lasting.add(task)
        task.add_done_callback(self._lasting.discard)

    async def _fill(self, seconds: float) -> None:
        try:
            await asyncio.to_thread(self._disk.fill)
            await asyncio.sleep(seconds)
        finally:
            self._disk.free()

    async def _lock(self, seconds: float, exclusive: bool) -> None:
        program = (
            "import sqlite3, sys, time\n"
            "held = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)\n"
            "held.execute('BEGIN ' + sys.argv[2])\n"
            "time.sleep(float(sys.argv[3]))\n"
        )
        database = str(self._daemon.state / "byred.sqlite3")
        how = "EXCLUSIVE" if exclusive else "IMMEDIATE"
        holder = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, database, how, str(seconds),
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            await holder.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                holder.kill()

    # Kills

    async def _kill(self, what: str) -> None:
        kills: dict[str, Callable[[], Awaitable[bool]]] = {
            "daemon": self._kill_daemon,
            "stop": self._stop,
            "server": self._kill_server,
            "git": lambda: self._shoot_child(lambda line: line.startswith(b"git\0")),
            "helper": lambda: self._shoot_child(
                lambda line: b"app-server" not in line and not line.startswith(b"git\0")
            ),
            "command": self._kill_command,
        }
        done = await kills[what]()
        self._journal.trouble(f"{what} killed" if done else f"{what} (none there)")

    async def _kill_daemon(self) -> bool:
        await asyncio.to_thread(self._daemon.kill)
        await self._daemon.start()
        return True

    async def _stop(self) -> bool:
        status = await asyncio.to_thread(self._daemon.stop)
        if status:
            self._journal.deaths.append(f"stopped with status {status}")
        await self._daemon.start()
        return True

    async def _kill_server(self) -> bool:
        database = sqlite3.connect(
            f"file:{self._daemon.state / 'byred.sqlite3'}?mode=ro", uri=True, timeout=1
        )
        with contextlib.closing(database), contextlib.suppress(sqlite3.Error):
            rows = database.execute("SELECT pid FROM processes WHERE ended_at IS NULL").fetchall()
            return self._shoot([pid for (pid,) in rows])
        return False

    async def _shoot_child(self, fits: Callable[[bytes], bool]) -> bool:
        assert self._daemon.process is not None
        parent = self._daemon.process.pid
        # Such a process lives for milliseconds: look for a while.
        for _ in range(40):
            found = [pid for pid, line in children(parent) if fits(line)]
            if found:
                return self._shoot(found)
            await asyncio.sleep(0.005)
        return False

    async def _kill_command(self) -> bool:
        found = await asyncio.to_thread(self._daemon.processes)
        return self._shoot([pid for pid, line in found.items() if b"app-server" not in line])

    def _shoot(self, pids: list[int]) -> bool:
        if not pids:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._random.choice(sorted(pids)), signal.SIGKILL)
        return True


def _choice(source: random.Random, weights: dict[str, int]) -> str:
    return source.choices(list(weights), weights=list(weights.values()))[0]


def children(parent: int) -> list[tuple[int, bytes]]:
    """Give the children of a process, with the command of each."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                stat = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                if int(stat[1]) == parent:
                    found.append((int(entry.name), (entry / "cmdline").read_bytes()))
    return found
