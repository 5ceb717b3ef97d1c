"""What the launchers' suite shares: misbehaving children, and an independent look at /proc."""

import asyncio
import os
import secrets
import socket
import sys
from pathlib import Path

import pytest

from byred.agents.launchers import choose
from byred.agents.launchers.contract import Launcher, LaunchError, Limits, Server, ServerSpec

CHILD = Path(__file__).with_name("child.py")
PATIENCE = 20.0
"""Seconds for anything that must happen; a busy machine is slow, not wrong."""


class World:
    """One task's surroundings in a test, and the children that live there."""

    def __init__(self, folder: Path, launcher: Launcher) -> None:
        self.launcher = launcher
        self.marker = f"byred-test-{secrets.token_hex(8)}"
        self.home = folder / "tasks" / "17" / "home"
        self.home.mkdir(parents=True)
        self.stderr = self.home.parent / "stderr.log"
        self.servers: list[Server] = []
        self._reports = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._reports.bind("\0" + self.marker)

    def spec(
        self,
        mode: str,
        *,
        listens: bool = False,
        limits: Limits | None = None,
        argument: str = "",
        env: dict[str, str] | None = None,
    ) -> ServerSpec:
        return ServerSpec(
            argv=(
                sys.executable,
                "-I",
                "-S",
                str(CHILD),
                mode,
                self.marker,
                argument or self.marker,
            ),
            cwd=self.home.parent,
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **(env or {})},
            home=self.home,
            task_id=17,
            stderr=self.stderr,
            socket=self.home / "server.sock" if listens else None,
            limits=limits,
        )

    async def start(self, mode: str, *, listens: bool = False, **rest) -> Server:
        """Start a child and wait until it says that its trouble is in place."""
        server = await self.launcher.start(self.spec(mode, listens=listens, **rest))
        self.servers.append(server)
        assert await self.report() == "ready"
        return server

    async def report(self) -> str:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(PATIENCE):
            return (await loop.sock_recv(self._reports, 4096)).decode()

    def survivors(self) -> list[int]:
        """Processes with our marker in their command line; the code under test is not asked."""
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    line = (folder / "cmdline").read_bytes()
                except (FileNotFoundError, ProcessLookupError):
                    continue
                if self.marker.encode() in line:
                    found.append(int(folder.name))
        return found

    def servers_own(self) -> list[int]:
        """Those of the survivors that are not a launcher's wrapper."""
        return [
            pid
            for pid in self.survivors()
            if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(os.fsencode(sys.executable))
        ]

    async def close(self) -> None:
        for server in self.servers:
            await server.kill_tree()
            await server.release()
        self._reports.close()
        assert self.survivors() == []


# systemd needs to be the manager: test_systemd.py boots one and runs this suite inside.
LAUNCHERS = os.environ.get("BYRED_TEST_LAUNCHERS", "plain,pidns,cgroup").split(",")


@pytest.fixture(params=LAUNCHERS)
async def launcher(request: pytest.FixtureRequest) -> Launcher:
    try:
        return await choose(request.param)
    except LaunchError as error:
        if "BYRED_TEST_LAUNCHERS" in os.environ:
            raise
        pytest.skip(f"not on this machine: {error}")


@pytest.fixture
async def world(tmp_path: Path, launcher: Launcher):
    asyncio.get_running_loop().set_debug(True)
    world = World(tmp_path, launcher)
    yield world
    await world.close()
