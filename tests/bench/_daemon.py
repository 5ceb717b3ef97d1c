"""What the benchmarks of a whole daemon share: one as it is shipped, and what it takes."""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from byred.testing.model import ScriptedModel
from byred.testing.script import Script
from tests.e2e.conftest import Daemon, git

TICK = 1 / os.sysconf("SC_CLK_TCK")


@asynccontextmanager
async def stopped(scripts: tuple[Script, ...]) -> AsyncIterator[tuple[Daemon, Path]]:
    """Give a daemon that is not started yet, in the user's own Python, and a repository."""
    with tempfile.TemporaryDirectory(prefix="byre-bench-") as folder:
        repo = make_repository(Path(folder) / "repo")
        async with ScriptedModel(scripts) as model:
            daemon = Daemon(Path(folder), model)
            daemon.python = [sys.executable]
            try:
                yield daemon, repo
            finally:
                daemon.end()
                daemon.shoot_leftovers()


def make_repository(path: Path) -> Path:
    """Make a repository with one commit."""
    path.mkdir()
    git("init", "-q", "-b", "main", cwd=path)
    (path / "README").write_text("A repository.\n")
    git("add", "-A", cwd=path)
    git("commit", "-q", "-m", "First", cwd=path)
    return path


def tree(root: int) -> list[int]:
    """Give a process and all its descendants."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                stat = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                parents.setdefault(int(stat[1]), []).append(int(entry.name))
    found = [root]
    for pid in found:
        found += parents.get(pid, [])
    return found


def pss(pids: list[int]) -> int:
    """Give the memory (bytes) of processes, what they share counted once among them all."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
    return total


def cpu_seconds(pids: list[int]) -> float:
    """Give the CPU time that processes and their children that are gone have used."""
    total = 0.0
    for pid in pids:
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            total += sum(int(field) for field in fields[11:15]) * TICK
    return total


async def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command beside the loop."""
    return await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, check=False
    )
