"""Replies that go on: several at a time, as fast as their client reads, ended with it."""

import asyncio

import pytest


async def follow(client, number: int, **params: int) -> None:
    text = "".join(f',"{name}":{value}' for name, value in params.items())
    await client.send(
        b'{"jsonrpc":"2.0","id":%d,"method":"test.count","params":{%b}}\n'
        % (number, text[1:].encode())
    )


async def test_the_first_reply_comes_before_the_notifications(client) -> None:
    await follow(client, 5, to=3)
    assert await client.line() == {"jsonrpc": "2.0", "id": 5, "result": {"to": 3}}
    for number in range(3):
        line = await client.line()
        assert line["method"] == "counted"
        assert line["params"]["number"] == number


async def test_several_streams_and_calls_share_a_connection(server, client) -> None:
    for number in range(5):
        await follow(client, number, to=10)
    lines = [await client.line() for _ in range(5 * 11)]
    assert sorted(line["id"] for line in lines if "id" in line) == [0, 1, 2, 3, 4]
    assert len([line for line in lines if line.get("method") == "counted"]) == 50
    assert "result" in await client.call("test.pair")
    assert server.world.streams == 5


async def test_a_stream_in_a_batch_begins_after_the_batch_was_answered(client) -> None:
    await client.send(
        b'[{"jsonrpc":"2.0","id":1,"method":"test.count","params":{"to":1}},'
        b'{"jsonrpc":"2.0","id":2,"method":"test.pair"}]\n'
    )
    assert [part["id"] for part in await client.line()] == [1, 2]
    assert (await client.line())["method"] == "counted"


async def test_more_streams_than_allowed_are_refused(serving) -> None:
    async with serving(streams=2) as server:
        client = await server.connect()
        for number in range(3):
            await follow(client, number, to=0)
        replies = [await client.line() for _ in range(3)]
        assert ["error" in reply for reply in replies] == [False, False, True]
        assert replies[2]["error"]["data"] == {"kind": "limit"}
        reply = await client.ask(
            '[{"jsonrpc":"2.0","id":7,"method":"test.count"},{"jsonrpc":"2.0","method":"test.count"}]'
        )
        assert [part["error"]["data"] for part in reply] == [{"kind": "limit"}]


@pytest.mark.parametrize("how", ["close", "write_eof"])
async def test_a_stream_ends_with_its_client(server, client, how: str) -> None:
    await follow(client, 1, to=1)
    await client.line()
    await client.line()
    getattr(client.writer, how)()
    async with asyncio.timeout(10):
        await server.world.closed.wait()
    assert server.world.streams == 0


async def test_a_stream_that_breaks_ends_its_connection_alone(server, client) -> None:
    other = await server.connect()
    assert await client.ask('{"jsonrpc":"2.0","id":1,"method":"test.stumble"}')
    await client.ended()
    assert "result" in await other.call("test.pair")


async def test_a_source_is_asked_for_no_more_than_its_client_reads(serving) -> None:
    async with serving(pause=65536) as server:
        slow, quick = await server.connect(), await server.connect()
        await follow(slow, 1, to=100_000, size=10_000)
        await follow(quick, 1, to=0)
        await quick.line()
        for _ in range(50):
            assert "result" in await quick.call("test.pair")
        pulled = server.world.pulled
        # What the kernel, this client's reader and the pause hold: far below a gigabyte.
        assert pulled < 20_000
        assert (await slow.line())["result"]
        for number in range(pulled + 10):
            assert (await slow.line())["params"]["number"] == number


async def test_streams_end_when_the_server_does(serving) -> None:
    async with serving() as server:
        client = await server.connect()
        await follow(client, 1, to=1)
        await client.line()
    assert server.world.streams == 0
    await client.ended()
