"""Ten thousand frames a second of ten agents, fifty followers, and how soon `status` is told.

`python -m tests.bench.streams [SECONDS]`. The daemon is whole and as it is shipped; only its agents
are stand-ins (`_stream_codex`) that say what codex says, faster. Every frame goes through the
client into the task's transcript, those that a person reads into its log, turns and tokens into the
store. Fifty clients follow all events, another follows each task's log, and one asks for the status
again and again on new connections; followers and asker are processes of their own.

The rate is that of the frames that were taken: from the first until the last turn's end is stored.
Every frame must be in a transcript, every line in a log, every event with every follower, in order.
Exits with 1 when one is missing, the rate is not reached, or the 99th percentile is above what is
promised.

Beside other work the wait for a core counts, too: `chrt -r 1` before the command takes it out.
"""

import asyncio
import json
import os
import sqlite3
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from byred.core.task import ENDINGS
from tests.bench import _stream_codex
from tests.bench._daemon import cpu_seconds, stopped
from tests.bench.parked import SCRIPT
from tests.e2e.conftest import Daemon

TASKS = 10
FOLLOWERS = 50
SECONDS = 20.0
RATE = 10_000
OFFERED = 10_300
MOST = 0.010
LIMIT = 120.0


class Figures(msgspec.Struct, kw_only=True):
    """What was found: frames a second, seconds for each status, and what went wrong."""

    rate: float
    status: list[float]
    events: int
    lines: int
    cpu: float
    wrong: list[str]


def agent(folder: Path, *, rate: float, frames: int) -> Path:
    """Make a program to be started in codex's place."""
    (folder / "plan").write_text(json.dumps([rate, frames]))
    program = folder / "codex"
    source = _stream_codex.__file__
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E {source} {folder} "$@"\n')
    program.chmod(0o755)
    return program


@asynccontextmanager
async def client(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start one of the processes of clients and wait until it is ready."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.bench._stream_clients", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 26,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(LIMIT):
            assert await process.stdout.readline() == b"ready\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def told(process: asyncio.subprocess.Process, words: str = "") -> Any:
    """Tell a process of clients that it is over, and give what it has found."""
    async with asyncio.timeout(LIMIT):
        out, _ = await process.communicate(words.encode())
    return json.loads(out)


async def measure(
    daemon: Daemon, repo: Path, *, tasks: int, followers: int, rate: float, frames: int
) -> Figures:
    """Let `tasks` agents say `frames` frames each, at `rate` a second in all."""
    orders = daemon.folder / "orders"
    orders.mkdir()
    daemon.settings["codex"]["bin"] = str(agent(orders, rate=rate / tasks, frames=frames))
    daemon.settings["scheduler"]["max_running"] = tasks
    await daemon.start()
    assert daemon.process is not None
    ids = [(await daemon.submit(repo, f"Stream {n}"))["id"] for n in range(tasks)]
    for task in ids:
        await daemon.event("task.running", task_id=task)
    path = str(daemon.socket)
    async with (
        client("followers", path, str(followers), *map(str, ids)) as following,
        client("status", path) as asking,
    ):
        before = cpu_seconds([daemon.process.pid])
        begun = time.time()
        (orders / "go").touch()
        wrong = await ended(daemon, ids)
        cpu = cpu_seconds([daemon.process.pid]) - before
        status = await told(asking)
        last = (await daemon.call("daemon.status"))["seq"]
        seen = await told(following, f"{last}\n")
    daemon.stop()
    turns, events = stored(daemon)
    over = max(datetime.fromisoformat(each).timestamp() for each in turns)
    took = over - begun
    wrong += missing_frames(daemon, ids, frames) + missing_lines(daemon, ids, frames)
    if events < tasks * frames // 100:
        wrong.append(f"{events} counts of tokens stored, of {tasks * frames // 100}")
    for kind in ("events", "logs"):
        for each in seen[kind]:
            short = kind == "events" and each["last"] < last
            if each["disorder"] or short or each["count"] != each["last"] - each["first"]:
                wrong.append(f"a follower of {kind} has seen {each}, of {last}")
    return Figures(
        rate=tasks * frames / took,
        status=[seconds for at, seconds in status if begun <= at <= over],
        events=sum(each["count"] for each in seen["events"]),
        lines=sum(each["count"] for each in seen["logs"]),
        cpu=cpu / took,
        wrong=wrong,
    )


async def ended(daemon: Daemon, ids: list[int]) -> list[str]:
    """Wait for the ends of tasks as one more follower; say which did not end well."""
    wrong = []
    left = set(ids)
    async with daemon.client() as client, asyncio.timeout(LIMIT):
        await client.call("events.follow", after=0)
        while left:
            queue = client.notifications
            event = (queue.pop(0) if queue else await client.receive())["params"]
            if event["kind"] in ENDINGS:
                left.discard(event["task_id"])
                if event["kind"] != "task.succeeded":
                    wrong.append(f"task {event['task_id']}: {event['data']}")
    return wrong


def stored(daemon: Daemon) -> tuple[list[str], int]:
    """Give when the turns ended, and how many counts of tokens are stored."""
    connection = sqlite3.connect(daemon.state / "byred.sqlite3")
    try:
        ended = [row[0] for row in connection.execute("SELECT ended_at FROM turns")]
        kind = "SELECT count(*) FROM events WHERE kind = 'task.tokens'"
        return ended, connection.execute(kind).fetchone()[0]
    finally:
        connection.close()


def missing_frames(daemon: Daemon, ids: list[int], frames: int) -> list[str]:
    """Say which transcripts do not have all that was said."""
    wrong = []
    for task in ids:
        streamed = 0
        folder = daemon.state / "tasks" / str(task)
        for path in folder.glob("transcript.jsonl*"):
            for line in path.read_bytes().splitlines():
                entry = msgspec.json.decode(line)
                if "dropped" in entry:
                    wrong.append(f"task {task}: {entry['dropped']} frames dropped")
                elif entry["dir"] == "recv" and "method" in entry["msg"]:
                    streamed += 1
        # Beside the stream: the text of the task, the turn's begin and end, the last words.
        if streamed != frames + 4:
            wrong.append(f"task {task}: {streamed} frames in the transcript, of {frames + 4}")
    return wrong


def missing_lines(daemon: Daemon, ids: list[int], frames: int) -> list[str]:
    """Say which logs do not have all lines, each once."""
    wrong = []
    for task in ids:
        path = daemon.state / "tasks" / str(task) / "events.jsonl"
        lines = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
        streamed = sum(line["kind"] in ("command", "output") for line in lines)
        if streamed != frames // 100 * _stream_codex.LINES:
            wrong.append(f"task {task}: {streamed} lines of commands in the log")
        if [line["seq"] for line in lines] != list(range(1, len(lines) + 1)):
            wrong.append(f"task {task}: its log has a gap")
    return wrong


async def run(seconds: float) -> int:
    frames = int(OFFERED / TASKS * seconds) // 100 * 100
    async with stopped((SCRIPT,)) as (daemon, repo):
        found = await measure(
            daemon, repo, tasks=TASKS, followers=FOLLOWERS, rate=OFFERED, frames=frames
        )
    cuts = statistics.quantiles(found.status, n=1000)
    half, most, tail = cuts[499], cuts[989], cuts[998]
    print(f"{TASKS} agents, {FOLLOWERS} followers, {os.cpu_count()} cores, {seconds:g} s")
    print(f"frames offered        {OFFERED:9,} a second")
    print(f"frames taken          {found.rate:9,.0f} a second  (promised: {RATE:,})")
    print(f"events followed       {found.events:9,}, lines of logs {found.lines:,}")
    print(f"CPU of the daemon     {found.cpu:9.2f} of a core")
    print(f"status, median        {half * 1e3:9.2f} ms  ({len(found.status):,} calls)")
    print(f"status, 99 of 100     {most * 1e3:9.2f} ms  (promised: below {MOST * 1e3:g})")
    print(f"status, 999 of 1,000  {tail * 1e3:9.2f} ms")
    print(f"missing               {len(found.wrong):9}  {'; '.join(found.wrong[:3])}")
    return 0 if found.rate >= RATE and most < MOST and not found.wrong else 1


def main() -> int:
    given = sys.argv[1:2]
    return asyncio.run(run(float(given[0]) if given and given[0].isdecimal() else SECONDS))


if __name__ == "__main__":
    raise SystemExit(main())
