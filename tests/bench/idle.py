"""What a daemon with nothing to do costs: CPU over ten seconds, with a hundred ended tasks stored.

The tasks are put into the store directly: what counts is the daemon that has them, not their runs.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from byred.core.task import Identity, Task, TaskState
from byred.store import tasks
from byred.store.database import Transaction, open_database

SECONDS = 10.0
TASKS = 100


def ended(number: int) -> Task:
    now = datetime.now(UTC)
    return Task(
        id=number,
        title=f"Task {number}",
        slug=f"task-{number}",
        prompt="x",
        repo="/repo",
        common_dir="/repo/.git",
        base="main",
        base_commit="0" * 40,
        branch=f"byre/{number}",
        worktree=f"/worktrees/{number}",
        home=f"/homes/{number}",
        identity=Identity(name="byre", email="byre@localhost"),
        owner="nobody",
        created_at=now,
    )


async def fill(path: Path) -> None:
    async with open_database(path) as database:

        def store(transaction: Transaction) -> None:
            for number in range(1, TASKS + 1):
                tasks.insert(transaction, ended(number))
                tasks.apply(
                    transaction,
                    number,
                    lambda task: task.cancel(by="bench", now=transaction.now),
                )

        await database.write(store)


def status(path: Path) -> dict[str, object]:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(b'{"jsonrpc":"2.0","id":1,"method":"daemon.status"}\n')
        return json.loads(client.makefile("rb").readline())["result"]


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="byre-bench-") as folder:
        root = Path(folder)
        (root / "state").mkdir()
        asyncio.run(fill(root / "state" / "byred.sqlite3"))
        config = root / "byred.toml"
        config.write_text(f'[daemon]\nstate_dir = "{root}/state"\nsocket = "{root}/s"\n')
        daemon = subprocess.Popen(
            [sys.executable, "-m", "byred.daemon", "--config", str(config)],
            stderr=subprocess.DEVNULL,
        )
        try:
            deadline = time.monotonic() + 30
            while not (root / "s").exists():
                if time.monotonic() > deadline or daemon.poll() is not None:
                    raise SystemExit("the daemon did not start")
                time.sleep(0.05)
            counted = status(root / "s")["tasks"]
            time.sleep(2)
            before = cpu_seconds(daemon.pid)
            time.sleep(SECONDS)
            used = cpu_seconds(daemon.pid) - before
        finally:
            daemon.terminate()
            daemon.wait(20)
    tick = 1 / os.sysconf("SC_CLK_TCK")
    print(f"tasks stored                  {counted}")
    print(
        f"CPU over {SECONDS:g} s idle           {used:.2f} s (one tick of the kernel: {tick:.2f} s)"
    )
    # One tick is the least that the kernel can show; TaskState keeps the word of the table honest.
    return 0 if used <= tick and counted == {TaskState.CANCELLED: TASKS} else 1


if __name__ == "__main__":
    raise SystemExit(main())
