"""How long from `byre submit` to the first turn, against a script that does only what must be done.

`python -m tests.bench.start [FILES]`, on a repository of 20,000 files. The script claims a worktree
that was made ahead, starts the native server in a home that was made ahead, initializes, starts the
thread and the turn. byred has besides to take the task, to store it and all that happens, and to
prove that nothing of an earlier run is left. Both are called as commands, by turns, in one run;
their medians and the ratio, and the same against the script's work without the start of Python.
Exits with 1 when byred takes more than 1.5 times as long.
"""

import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import tomli_w

from byred.testing.model import ScriptedModel
from byred.testing.script import Script, Step
from byred.workspace import repository
from byred.workspace.home import homes
from byred.workspace.trees import pool
from tests.bench import _bare_start
from tests.bench.worktrees import git, make_repository

ROUNDS = 9
PROMISED = 1.5
SCRIPT = Script(name="any", steps=(Step(say="Done."),))


class Plain:
    """The script, and the ground that is made ahead for it."""

    def __init__(self, root: Path, source: Path, config: dict[str, Any]) -> None:
        self.root = root
        self.source = source
        self.config = config
        self.count = 0
        self.work: list[float] = []
        """Seconds of each run without the start of Python and its imports."""

    async def fill(self) -> None:
        repo = await repository.inspect(self.source)
        commit = git("rev-parse", "HEAD", cwd=self.source).strip()
        await pool.fill(repo, pool.folder_of(self.root, repo), commit=commit, size=1)
        await homes.make_ahead(self.root / "homes", size=1, config=self.config, warm=self.warm)

    async def warm(self, home: Path) -> None:
        process = await _bare_start.server(home, home)
        async with _bare_start.client(process):
            pass
        await process.wait()

    async def run(self) -> float:
        """Run the script and give the seconds from its call until its turn ran."""
        self.count += 1
        begun = time.monotonic()
        script = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.bench._bare_start"),
            *(self.root, self.source, str(self.count), json.dumps(self.config)),
            stdout=asyncio.subprocess.PIPE,
        )
        assert script.stdout
        async with asyncio.timeout(60):
            self.work.append(float(await script.stdout.readline()))
            took = time.monotonic() - begun
            await script.wait()
        return took


class Daemon:
    """byred, told by its command."""

    def __init__(self, root: Path, source: Path, config: dict[str, Any]) -> None:
        self.root = root
        self.source = source
        self.socket = root / "s"
        table = {
            "daemon": {"state_dir": str(root / "state"), "socket": str(self.socket)},
            "codex": {"auth_file": "", "config": config},
            "workspace": {"pool": {"trees": 1, "homes": 1, "load": 0}},
        }
        (root / "byred.toml").write_text(tomli_w.dumps(table))
        self.process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        with (self.root / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "byred.daemon", "--config", str(self.root / "byred.toml")],
                stderr=log,
            )
        await self.until(self.socket.exists)
        # The first task makes the repository one that is in use.
        await self.run()

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(20)

    async def until(self, condition: Any) -> None:
        async with asyncio.timeout(120):
            while not condition():
                await asyncio.sleep(0.05)

    async def status(self) -> dict[str, Any]:
        async with asyncio.timeout(30):
            reader, writer = await asyncio.open_unix_connection(str(self.socket))
            writer.write(b'{"jsonrpc":"2.0","id":1,"method":"daemon.status"}\n')
            found: dict[str, Any] = json.loads(await reader.readline())["result"]
            writer.close()
            return found

    async def warm(self) -> None:
        """Wait until its ground is made ahead."""
        async with asyncio.timeout(120):
            while (await self.status())["warm"] != {"trees": 1, "homes": 1}:
                await asyncio.sleep(0.1)

    async def run(self) -> float:
        """Submit one task and give the seconds until its turn ran."""
        reader, writer = await asyncio.open_unix_connection(str(self.socket), limit=1 << 24)
        writer.write(b'{"jsonrpc":"2.0","id":1,"method":"events.follow"}\n')
        await reader.readline()
        begun = time.monotonic()
        submit = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "byred.cli.main", "--socket", str(self.socket)),
            *("submit", "--repo", str(self.source), "Say hello"),
            stdout=asyncio.subprocess.DEVNULL,
        )
        took = 0.0
        async with asyncio.timeout(60):
            while True:
                event = json.loads(await reader.readline())["params"]
                if event["kind"] == "task.running" and not took:
                    took = time.monotonic() - begun
                if event["kind"] == "task.succeeded":
                    break
        await submit.wait()
        writer.close()
        return took


async def measure(files: int) -> int:
    with tempfile.TemporaryDirectory(prefix="byre-bench-", dir="/var/tmp") as folder:
        root = Path(folder)
        for name in ("plain", "byred"):
            (root / name).mkdir()
        make_repository(root / "source", files)
        async with ScriptedModel((SCRIPT,)) as model:
            config = model.codex_config()
            plain = Plain(root / "plain", root / "source", config)
            daemon = Daemon(root / "byred", root / "source", config)
            await daemon.start()
            try:
                times: dict[str, list[float]] = {"script": [], "byred": []}
                for _ in range(ROUNDS):
                    for name, one in (("script", plain), ("byred", daemon)):
                        # Nobody is to wait for what was written for the other.
                        await plain.fill()
                        await daemon.warm()
                        await asyncio.to_thread(os.sync)
                        times[name].append(await one.run())
            finally:
                daemon.stop()
        shutil.rmtree(root / "byred" / "state", ignore_errors=True)
    medians = {name: statistics.median(found) for name, found in times.items()}
    ratio = medians["byred"] / medians["script"]
    inside = statistics.median(plain.work)
    for name, median in medians.items():
        low, high = min(times[name]), max(times[name])
        print(f"{name:8} {median * 1000:7.0f} ms   ({low * 1000:.0f} to {high * 1000:.0f})")
    print(f"ratio    {ratio:7.2f}      (promised: at most {PROMISED})")
    without = medians["byred"] / inside
    print(
        f"         {without:7.2f}      against the script's own {inside * 1000:.0f} ms (no promise)"
    )
    return 0 if ratio <= PROMISED else 1


def main() -> int:
    files = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdecimal() else 20_000
    return asyncio.run(measure(files))


if __name__ == "__main__":
    raise SystemExit(main())
