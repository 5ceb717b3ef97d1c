"""The two transports at their edges."""

import asyncio

import pytest

from byred.codex import (
    MessageTooLarge,
    StdioTransport,
    TransportClosed,
    TransportError,
    connect_unix,
)
from byred.codex.transport import parse_endpoint
from byred.testing.fake_server import fake_server, fake_unix_server


def test_only_an_absolute_unix_endpoint_is_accepted():
    assert str(parse_endpoint("unix:///run/a.sock")) == "/run/a.sock"
    assert str(parse_endpoint("unix:///run/a%20b.sock")) == "/run/a b.sock"


@pytest.mark.parametrize(
    "endpoint",
    [
        "unix://relative.sock",
        "unix:relative",
        "unix://",
        "unix:///",
        "unix:///a/",
        "unix://host/a.sock",
        "unix:///a.sock?x=1",
        "unix:///a.sock#x",
        "ws://localhost/",
        "tcp://127.0.0.1:1",
        "/run/a.sock",
        "unix:///a%00b",
    ],
)
def test_any_other_endpoint_is_refused(endpoint):
    with pytest.raises(TransportError, match="only unix:///absolute/path is accepted"):
        parse_endpoint(endpoint)


@pytest.mark.parametrize("path", ["relative.sock", "ws://localhost:1/", "/no/such/socket"])
async def test_what_cannot_be_connected_to_says_so(path):
    with pytest.raises(TransportError, match=r"cannot (connect|use)"):
        await connect_unix(path)


async def test_somebody_who_speaks_no_websocket_ends_the_handshake(tmp_path):
    path = tmp_path / "mute.sock"
    ended = asyncio.Event()

    async def mute(reader, writer):
        await ended.wait()
        writer.close()

    server = await asyncio.start_unix_server(mute, path)
    try:
        with pytest.raises(TransportError, match="cannot connect to the server"):
            await connect_unix(path, timeout=0.2)
    finally:
        ended.set()
        server.close()
        await server.wait_closed()


@pytest.mark.parametrize("make", [fake_server, fake_unix_server])
async def test_messages_go_through_whole_in_both_directions(tmp_path, make):
    arguments = [] if make is fake_server else [tmp_path / "s.sock"]
    big = "x" * 3_000_000
    async with make(*arguments) as (server, transport):
        await transport.send(b'{"method":"up","params":{"text":"%s"}}' % big.encode())
        assert (await server.expect("up"))["params"]["text"] == big
        async with asyncio.TaskGroup() as group:
            group.create_task(server.send({"method": "down", "params": {"text": big}}))
            assert len(await transport.receive()) > 3_000_000
        await transport.aclose()
        await transport.aclose()


@pytest.mark.parametrize("make", [fake_server, fake_unix_server])
async def test_what_is_sent_must_be_one_line_within_the_limit(tmp_path, make):
    arguments = [] if make is fake_server else [tmp_path / "s.sock"]
    async with make(*arguments, limit=100) as (_server, transport):
        with pytest.raises(MessageTooLarge, match="cannot send a message of 101 bytes"):
            await transport.send(b"x" * 101)
        with pytest.raises(ValueError, match="raw line feed"):
            await transport.send(b"a\nb")
        await transport.send(b"{}")
        await transport.aclose()
        with pytest.raises(TransportClosed):
            await transport.send(b"{}")


async def test_a_server_that_is_gone_closes_the_transport_and_not_more():
    async with fake_server() as (server, transport):
        server.hang_up()
        with pytest.raises(TransportClosed, match="the server closed its stdout"):
            await transport.receive()
        for _ in range(3):  # the first writes may still find room in the socket
            outcome = await asyncio.gather(transport.send(b"x" * 5_000_000), return_exceptions=True)
        assert isinstance(outcome[0], TransportClosed)


async def test_a_socket_server_that_drops_the_connection_says_so(tmp_path):
    async with fake_unix_server(tmp_path / "s.sock") as (server, transport):
        await server.close()
        with pytest.raises(TransportClosed, match="the server ended the connection"):
            await transport.receive()


async def test_a_message_far_over_the_limit_on_a_socket_ends_only_that_connection(tmp_path):
    async with fake_unix_server(tmp_path / "s.sock", limit=1000) as (server, transport):
        await server.raw(b'{"id":1,"result":"' + b"x" * 3000 + b'"}')
        with pytest.raises(MessageTooLarge) as caught:
            await transport.receive()
        assert caught.value.head.startswith(b'{"id":1')
        await server.raw(b'{"id":1,"result":"' + b"x" * 9000 + b'"}')
        with pytest.raises(TransportClosed):
            await transport.receive()


async def test_pipes_that_split_a_message_anywhere_give_it_whole():
    async with fake_server() as (server, transport):
        for byte in b'{"method":"a"}\n{"method":"b"}':
            await server.raw(bytes((byte,)))
        assert await transport.receive() == b'{"method":"a"}'
        await server.raw(b"\n")
        assert await transport.receive() == b'{"method":"b"}'
        assert isinstance(transport, StdioTransport)
        assert transport.receive_ready() == []
