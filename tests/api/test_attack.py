"""Clients that misbehave: they hurt themselves alone."""

import asyncio
import contextlib
import json
import statistics
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from byred.api.contract import Command

MIB = 1 << 20
PAIR = b'{"jsonrpc":"2.0","id":1,"method":"test.pair"}\n'


async def assert_served(client) -> None:
    assert (await client.call("test.pair"))["result"]["left"] == "a\nb"


@pytest.mark.promise("other_clients_unharmed")
async def test_twenty_lines_of_garbage_are_answered_one_by_one(server, client) -> None:
    other = await server.connect()
    await client.send(b"".join(b"\x00\xff garbage %d\n" % number for number in range(20)))
    for _ in range(20):
        await assert_served(other)
        assert (await client.line())["error"]["code"] == -32700
    await assert_served(client)


@pytest.mark.promise("other_clients_unharmed")
async def test_a_line_of_20_mb_is_refused_and_the_next_is_served(server, client) -> None:
    other = await server.connect()
    sending = asyncio.create_task(client.send(b'{"x":"' + b"x" * 20_000_000 + b'"}\n' + PAIR))
    await assert_served(other)
    error = (await client.line())["error"]
    assert error["code"] == -32600
    assert error["message"] == "cannot take a line of more than 16777216 bytes: skipped it"
    assert (await client.line())["id"] == 1
    await sending
    await assert_served(other)


async def test_a_line_just_below_the_limit_is_served(serving) -> None:
    async with serving(line=MIB) as server:
        client = await server.connect()
        start = b'{"jsonrpc":"2.0","id":1,"method":"test.echo","params":{"text":"'
        fill = MIB - len(start) - len(b'"}}')
        assert len((await client.ask(start + b"x" * fill + b'"}}'))["result"]["text"]) == fill
        reply = await client.ask(start + b"x" * (fill + 1) + b'"}}')
        assert "cannot take a line of more than" in reply["error"]["message"]


async def test_a_reply_larger_than_the_backlog_reaches_a_client_that_reads(serving) -> None:
    async with serving(backlog=MIB) as server:
        client = await server.connect()
        reply = await client.call("test.echo", text="x" * MIB, times=4)
        assert len(reply["result"]["text"]) == 4 * MIB


@pytest.mark.promise("other_clients_unharmed")
async def test_a_client_that_never_reads_is_cut_off_when_it_stalls(serving) -> None:
    async with serving(stall=0.2) as server:
        other = await server.connect()
        deaf = server.connect_raw()
        loop = asyncio.get_running_loop()
        call = (
            b'{"jsonrpc":"2.0","id":1,"method":"test.echo","params":{"text":"x","times":100000}}\n'
        )

        async def flood() -> None:
            while True:
                await loop.sock_sendall(deaf, call)

        with deaf:
            flooding = asyncio.create_task(flood())
            async with asyncio.timeout(60):
                while not flooding.done():
                    await assert_served(other)
                    await asyncio.sleep(0.01)
        assert isinstance(flooding.exception(), ConnectionError)
        # What it had not read is gone, and so is what it asked for.
        assert len(server.world.calls) < 1000
        await assert_served(other)


async def test_a_client_that_does_not_read_what_it_is_told_is_cut_off(serving) -> None:
    async with serving(backlog=MIB, pause=65536) as server:
        client, other = await server.connect(), await server.connect()
        client.reader._transport.pause_reading()
        push = b'{"jsonrpc":"2.0","id":1,"method":"test.push","params":{"to":1000,"size":100000}}\n'
        await client.send(push)
        await assert_served(other)
        client.reader._transport.resume_reading()
        await client.ended()
        await assert_served(other)


async def test_the_one_with_the_most_unread_is_cut_off_when_all_have_too_much(serving) -> None:
    async with serving(backlog_of_all=4 * MIB, backlog=8 * MIB) as server:
        other = await server.connect()
        deaf = [server.connect_raw() for _ in range(6)]
        loop = asyncio.get_running_loop()
        push = b'{"jsonrpc":"2.0","id":1,"method":"test.push","params":{"to":15,"size":100000}}\n'
        for sock in deaf:
            await loop.sock_sendall(sock, push)
        for _ in range(10):
            await assert_served(other)
        ended = 0
        for sock in deaf:
            try:
                async with asyncio.timeout(3):
                    while await loop.sock_recv(sock, MIB):
                        pass
                ended += 1
            except ConnectionError:
                ended += 1
            except TimeoutError:
                pass
            sock.close()
        assert 1 <= ended < 6


async def test_long_lines_of_many_are_refused_before_they_fill_the_memory(serving) -> None:
    async with serving(held_by_all=8 * MIB) as server:
        other = await server.connect()
        clients = [await server.connect() for _ in range(6)]
        await asyncio.gather(*(client.send(b'"' + b"x" * (3 * MIB)) for client in clients))
        await assert_served(other)
        await asyncio.gather(*(client.send(b'"\n' + PAIR) for client in clients))
        refused = 0
        for client in clients:
            error = (await client.line())["error"]
            refused += error.get("data") == {"kind": "limit"}
            assert (await client.line())["id"] == 1
        assert 1 <= refused < 6
        await assert_served(other)


async def test_a_line_that_is_never_finished_is_told_so_at_the_end(client) -> None:
    await client.send(b'{"jsonrpc":"2.0","id":1,"meth')
    client.writer.write_eof()
    assert (await client.line())["error"]["message"] == "cannot use a line that has no line end"
    await client.ended()


async def test_half_lines_of_many_disturb_nobody(server) -> None:
    clients = [await server.connect() for _ in range(50)]
    for client in clients:
        await client.send(b'{"jsonrpc":"2.0","id":1,')
    other = await server.connect()
    await assert_served(other)
    for client in clients[:25]:
        client.close()
    for client in clients[25:]:
        await client.send(b'"method":"test.pair"}\n')
        assert (await client.line())["id"] == 1


@pytest.mark.parametrize("line", [b"x\n", b"[]\n", PAIR])
async def test_a_flood_is_served_in_turn(server, client, line: bytes) -> None:
    other = await server.connect()
    flood = asyncio.create_task(client.send(line * 20_000))
    read = asyncio.create_task(client.ended())
    await assert_served(other)
    # Whoever is served only after a flood would see it end first.
    assert not read.done()
    for _ in range(5):
        await assert_served(other)
    await flood
    client.writer.write_eof()
    await read


async def test_a_flood_of_nothing_is_no_work(server, client) -> None:
    other = await server.connect()
    flood = asyncio.create_task(client.send(b"\n" * 300_000))
    for _ in range(5):
        await assert_served(other)
    await flood
    await assert_served(client)


async def test_a_thousand_clients_are_served_and_one_more_is_told(serving) -> None:
    async with serving(connections=1000) as server:
        clients = [await server.connect() for _ in range(1000)]
        for client in clients:
            await assert_served(client)
        late = await server.connect()
        error = (await late.line())["error"]
        assert error["message"].startswith("cannot serve more than 1000 connections at once")
        assert error["data"] == {"kind": "limit"}
        await late.ended()
        clients[0].close()
        await assert_served(clients[1])
        for _ in range(100):
            late = await server.connect()
            with contextlib.suppress(EOFError, KeyError, ConnectionError):
                await assert_served(late)
                return
        raise AssertionError("nobody was let in after another had gone")


DEEP = 100_000


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[" * DEEP, -32700),
        ('{"a":' * DEEP, -32700),
        (
            '{"jsonrpc":"2.0","id":1,"method":"test.echo","params":'
            + "[" * DEEP
            + "]" * DEEP
            + "}",
            -32700,
        ),
        ('{"jsonrpc":"2.0","id":1,"method":' + '{"a":' * DEEP + "1" + "}" * DEEP + "}", -32700),
        ('{"jsonrpc":"2.0","id":' + "9" * 5000 + ',"method":"test.pair"}', -32600),
        ('{"jsonrpc":"2.0","id":1e999,"method":"test.pair"}', -32600),
        (
            '{"jsonrpc":"2.0","id":1,"method":"test.echo","params":{"text":"a","times":1e999}}',
            -32602,
        ),
        ('{"jsonrpc":"2.0","id":1,"method":"' + "m" * 100_000 + '"}', -32601),
    ],
)
async def test_extreme_json_is_refused(client, text: str, code: int) -> None:
    reply = await client.ask(text)
    assert reply["error"]["code"] == code
    assert len(reply["error"]["message"]) < 1000
    await assert_served(client)


async def test_invalid_utf_8_is_refused_wherever_it_stands(client) -> None:
    for place in (b'"\xff":1', b'"id":"\xff"', b'"method":"\xff"', b'"params":{"text":"\xff"}'):
        line = b'{"jsonrpc":"2.0","id":1,"method":"test.echo","params":{"text":"a"},%b}' % place
        reply = await client.ask(line)
        assert ("error" in reply) or place == b'"\xff":1'
    await assert_served(client)


REQUESTS = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0", 2]),
        "id": st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just([]),
        "method": st.sampled_from(["test.echo", "test.pair", "test.push", "x"]) | st.integers(),
        "params": st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: (
                st.lists(inner) | st.dictionaries(st.sampled_from(["text", "times", "x"]), inner)
            ),
            max_leaves=5,
        ),
    },
)
TEXTS = REQUESTS.map(lambda request: json.dumps(request).encode())
LINES = (
    st.binary(max_size=100)
    | TEXTS
    | st.lists(TEXTS, max_size=4).map(lambda parts: b"[" + b",".join(parts) + b"]")
    | st.tuples(TEXTS, st.integers(0, 200)).map(lambda cut: cut[0][: cut[1]])
    | st.tuples(TEXTS, st.binary(max_size=3), st.integers(0, 200)).map(
        lambda mix: mix[0][: mix[2]] + mix[1] + mix[0][mix[2] :]
    )
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(LINES, max_size=10))
def test_whatever_one_client_sends_the_next_is_served(serving, lines: list[bytes]) -> None:
    async def run() -> None:
        async with serving(line=500, stall=5) as server:
            other, client = await server.connect(), await server.connect()
            await client.send(b"\n".join(lines) + b"\n")
            await assert_served(other)
            client.writer.write_eof()
            async with asyncio.timeout(60):
                replies = (await client.reader.read()).splitlines()
            for reply in replies:
                for part in parts(json.loads(reply)):
                    assert part["jsonrpc"] == "2.0"
                    assert ("method" in part) or (("result" in part) != ("error" in part))
            await assert_served(other)

    asyncio.run(run())


def parts(reply: object) -> list[dict[str, object]]:
    return reply if isinstance(reply, list) else [reply]


def peak(pid: int) -> int:
    """Give the most memory (bytes) that a process has had at once."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


ATTACKER = """
import asyncio, contextlib, sys

MIB = 1 << 20
CALL = b'{"jsonrpc":"2.0","id":1,"method":"%b","params":%b}\\n'
ATTACKS = [
    b'"' + b"x" * (15 * MIB),
    b"x" * (40 * MIB) + b"\\n",
    b"x\\n" * MIB,
    CALL % (b"test.echo", b'{"text":"x","times":1000000}') * 5000,
    b"[" + b"1," * (8 * MIB) + b"1]\\n",
    CALL % (b"test.count", b'{"to":1000000,"size":1000}') * 10,
]

async def attack(data):
    reader, writer = await asyncio.open_unix_connection(sys.argv[1])
    reader._transport.pause_reading()
    with contextlib.suppress(ConnectionError, TimeoutError):
        async with asyncio.timeout(5):
            for start in range(0, len(data), MIB):
                writer.write(data[start : start + MIB])
                await writer.drain()
    return writer

async def main():
    writers = await asyncio.gather(*(attack(data) for data in ATTACKS * 10))
    for writer in writers:
        writer.transport.abort()

asyncio.run(main())
"""


@pytest.mark.promise("other_clients_unharmed")
async def test_under_everything_at_once_memory_is_bounded_and_others_are_served(separate) -> None:
    path, pid = separate
    before = peak(pid)
    took = []
    loop = asyncio.get_running_loop()
    reader, writer = await asyncio.open_unix_connection(str(path))
    attacker = await asyncio.create_subprocess_exec(sys.executable, "-c", ATTACKER, path)
    over = asyncio.create_task(attacker.wait())
    while not over.done():
        start = loop.time()
        writer.write(PAIR)
        async with asyncio.timeout(60):
            assert b'"result"' in await reader.readline()
        took.append(loop.time() - start)
        await asyncio.sleep(0.01)
    writer.close()
    assert over.result() == 0
    # 60 attackers sent a gigabyte and asked for tens of gigabytes.
    assert peak(pid) - before < 600 * MIB
    assert statistics.median(took) < 0.5


def test_a_command_that_lets_unknown_params_pass_is_no_command() -> None:
    import msgspec  # noqa: PLC0415

    class Loose(msgspec.Struct):
        pass

    async def nothing(*_: object) -> dict[str, object]:
        return {}

    with pytest.raises(TypeError, match="cannot serve x: Loose must forbid unknown fields"):
        Command("x", Loose, nothing)
