"""What a hundred tasks cost that wait for people, and that all of them end well once answered.

`python -m tests.bench.parked [TASKS]`. Each asks one question and is parked; then the memory (PSS)
of the daemon and all its children is read, and their CPU over ten seconds. All are answered. At no
moment there may be more servers than `scheduler.max_running`. Exits with 1 when a figure is above
what is promised.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from byred.testing.script import Ask, Script, Step
from tests.bench._daemon import TICK, cpu_seconds, pss, stopped, tree
from tests.e2e.conftest import COMMIT, Client, Daemon

TASKS = 100
RUNNING = 4
SETTLED = 3.0
WATCHED = 10.0
MOST_PSS = 150 << 20
SCRIPT = Script(
    name="asks",
    match="(?i)for colour",
    steps=(
        Step(ask=Ask(text="Which colour?", options=("red", "blue"))),
        Step(shell="printf '%s\\n' {answer} > colour.txt && " + COMMIT),
        Step(say="Done: {answer}"),
    ),
)


class Figures(msgspec.Struct, kw_only=True):
    """What was found: bytes, seconds of CPU, servers at once, and what went wrong."""

    pss: int
    processes: int
    cpu: float
    servers: int
    wrong: list[str]


async def measure(
    daemon: Daemon, repo: Path, *, tasks: int, running: int, watched: float
) -> Figures:
    """Park tasks, look at what they cost, answer them, and see them end."""
    daemon.settings["scheduler"]["max_running"] = running
    daemon.settings["human"] = {"park_after": "1s"}
    await daemon.start()
    assert daemon.process is not None
    async with _servers(daemon) as seen:
        for number in range(tasks):
            await daemon.submit(repo, f"Ask for colour {number}")
        await _until(daemon, tasks, lambda task: task["parked"])
        await asyncio.sleep(SETTLED)
        pids = tree(daemon.process.pid)
        memory = pss(pids)
        before = cpu_seconds([daemon.process.pid])
        await asyncio.sleep(watched)
        cpu = cpu_seconds([daemon.process.pid]) - before
        async with daemon.client() as client:
            for question in await _questions(client):
                await client.call("question.answer", id=question["id"], text="blue")
        ended = await _until(daemon, tasks, lambda task: task["ended_at"] is not None)
        async with daemon.client() as client:
            questions = await _questions(client)
    wrong = [
        f"task {task['id']} {task['state']}, attempt {task['attempt']}: {task['reason']}"
        for task in ended
        if task["state"] != "succeeded"
        or task["attempt"] != 1
        or len(task["result"]["commits"]) != 1
        or "blue" not in task["result"]["summary"]
    ]
    wrong += [
        f"question {each['id']} undelivered" for each in questions if not each["delivered_at"]
    ]
    if len(questions) != tasks:
        wrong.append(f"{len(questions)} questions of {tasks} tasks")
    wrong += daemon.leftovers()
    return Figures(pss=memory, processes=len(pids), cpu=cpu, servers=max(seen), wrong=wrong)


@asynccontextmanager
async def _servers(daemon: Daemon) -> AsyncIterator[list[int]]:
    """Count the servers again and again while the block runs."""
    seen = [0]

    def count() -> int:
        homes = set()
        for pid, command in daemon.processes().items():
            if b"app-server" in command:
                home = Path(f"/proc/{pid}/environ").read_bytes().split(b"CODEX_HOME=")[1]
                homes.add(home.split(b"\0")[0])
        return len(homes)

    async def look() -> None:
        while True:
            try:
                seen.append(await asyncio.to_thread(count))
            except (OSError, IndexError):
                continue  # One of them went away meanwhile.
            await asyncio.sleep(0.1)

    looking = asyncio.create_task(look())
    try:
        yield seen
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


async def _pages(client: Client, method: str, key: str) -> list[dict]:
    found: list[dict] = []
    before = {}
    while True:
        page = await client.call(method, limit=100, **before)
        found += page[key]
        if page.get("next") is None:
            return found
        before = {"before": page["next"]}


async def _questions(client: Client) -> list[dict]:
    return await _pages(client, "question.list", "questions")


async def _until(daemon: Daemon, tasks: int, is_so: Callable[[dict], bool]) -> list[dict]:
    """Wait until all tasks are so."""
    async with daemon.client() as client, asyncio.timeout(30 * tasks + 60):
        while True:
            found = await _pages(client, "task.list", "tasks")
            if len(found) == tasks and all(is_so(task) for task in found):
                return found
            await asyncio.sleep(0.5)


async def run(tasks: int) -> int:
    async with stopped((SCRIPT,)) as (daemon, repo):
        found = await measure(daemon, repo, tasks=tasks, running=RUNNING, watched=WATCHED)
        daemon.stop()
    mib = found.pss / (1 << 20)
    print(f"{tasks} tasks parked, the daemon and all its children ({found.processes} processes)")
    print(f"memory (PSS)          {mib:7.1f} MiB  (promised: below {MOST_PSS >> 20})")
    print(
        f"CPU over {WATCHED:g} s         {found.cpu:7.2f} s    (one tick of the kernel: {TICK:.2f})"
    )
    print(f"servers at once       {found.servers:7d}      (scheduler.max_running: {RUNNING})")
    print(f"did not end well      {len(found.wrong):7d}      {'; '.join(found.wrong[:3])}")
    good = found.pss < MOST_PSS and found.cpu <= TICK and found.servers <= RUNNING
    return 0 if good and not found.wrong else 1


def main() -> int:
    tasks = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdecimal() else TASKS
    return asyncio.run(run(tasks))


if __name__ == "__main__":
    raise SystemExit(main())
