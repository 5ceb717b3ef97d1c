"""Lines without end on a server's stdout, most of them wrong: what is right among them arrives.

`BYRED_FUZZ_LINES` says how many lines are written in all; `BYRED_FUZZ_SEED` with which seed.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from byred.codex import Client, ClientInfo, RequestFailed, StdioTransport
from byred.codex.message import Counters
from byred.testing.fake_server import fake_server

LINES = int(os.environ.get("BYRED_FUZZ_LINES", "100000"))
SEED = int(os.environ.get("BYRED_FUZZ_SEED", "1"))
CALLERS = 8
LIMIT = 1 << 18
MIB = 1 << 20
BOUND = 60.0
INFO = ClientInfo("byred-tests", "0")


def resident() -> int:
    """Give the memory (bytes) that this process has now."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


@asynccontextmanager
async def garbage() -> AsyncIterator[StdioTransport]:
    """Run the server of garbage, and see it end well."""
    process = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("garbage.py"), str(LINES), str(SEED), str(LIMIT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    incoming, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), process.stdout
    )
    pipe, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, process.stdin)
    writer = asyncio.StreamWriter(pipe, protocol, None, loop)
    try:
        yield StdioTransport(reader, writer, limit=LIMIT)
        assert await asyncio.to_thread(process.wait, BOUND) == 0
    finally:
        process.kill()
        process.wait()
        incoming.close()
        pipe.close()


async def handle(request) -> dict[str, str]:
    right = request.params.wire.get("right")
    if isinstance(right, str):
        return {"to": right}
    raise RequestFailed(-32601, "not asked by anybody")


@pytest.mark.timeout(120 + LINES // 1000)
@pytest.mark.promise("other_tasks_unharmed")
async def test_what_is_right_among_wrong_lines_of_a_server_arrives_once_and_in_order(caplog):
    reports: Counter[bool] = Counter()
    over = asyncio.Event()
    calls = 0
    served = 0

    async def ask(client: Client, caller: int) -> None:
        nonlocal calls
        while not over.is_set():
            asked = {"caller": caller, "call": calls}
            calls += 1
            assert await client.call("fuzz/echo", asked) == asked

    async def ping(server, client: Client) -> None:
        nonlocal served
        while not over.is_set():
            async with asyncio.timeout(BOUND), asyncio.TaskGroup() as both:
                both.create_task(client.call("ping", timeout=BOUND))
                await server.reply(await server.expect("ping", timeout=BOUND), {})
            served += 1
            await asyncio.sleep(0.02)

    async with (
        fake_server() as (other_server, other_transport),
        Client.open(other_transport, client_info=INFO, handler=handle) as other,
        garbage() as transport,
        Client.open(
            transport,
            client_info=INFO,
            handler=handle,
            request_timeout=BOUND,
            on_bad_line=lambda _line, why: reports.update([len(why) <= 500]),
            unread_of_turns=MIB,
        ) as client,
        asyncio.TaskGroup() as group,
    ):
        thread = await client.start_thread()
        events = thread.events()
        before = resident()
        begun = time.monotonic()
        turn = await thread.start_turn("go")
        tasks = [group.create_task(ask(client, number)) for number in range(CALLERS)]
        tasks.append(group.create_task(ping(other_server, other)))
        told = 0
        after_half = 0
        async for event in events:
            if event.method == "turn/completed":
                break
            assert event.data["delta"] == str(told)
            told += 1
            if told == LINES // 40:
                after_half = resident()
        after = resident()
        took = time.monotonic() - begun
        assert (await turn.result()).status == "completed"
        over.set()
        await asyncio.wait(tasks)
        report = await client.call("fuzz/report")
        await client.wait_handlers(BOUND)
        counters = client.counters
        assert other.counters == Counters()
    print(
        f"{LINES:,} lines in {took:.0f} s, {calls:,} calls, {served:,} of another connection;"
        f" resident {before / MIB:.1f}, {after_half / MIB:.1f}, {after / MIB:.1f} MiB"
    )
    assert told == report["told"] == len(range(0, LINES, 20))
    assert (report["doubled"], report["wrong"]) == (0, [])
    assert min(served, calls, report["asked"], report["again"], report["over"]) > 10
    # Each line that could not be used was counted once, and told of once in few words.
    assert counters.oversized == report["over"]
    assert report["sure"] <= counters.bad_lines <= report["sure"] + report["odd"]
    assert counters.duplicate_answers >= report["again"]
    assert (counters.late_answers, counters.handler_errors) == (0, 0)
    unused = (
        counters.bad_lines,
        counters.oversized,
        counters.unknown_answers,
        counters.duplicate_answers,
        counters.duplicate_requests,
    )
    assert reports == {True: sum(unused)}
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
    # What the second half needed was given back by the first.
    assert after < after_half + 32 * MIB
