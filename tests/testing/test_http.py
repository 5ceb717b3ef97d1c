"""The HTTP server is small and strict: what it doesn't understand is refused, never guessed."""

import asyncio

import pytest

from byred.testing.http import MAX_BODY, MAX_HEAD, HttpServer

BOUND = 20.0


class Wire:
    """A client that sends bytes as they are."""

    def __init__(self, server):
        self.server = server

    async def __call__(self, data, *, shut=True):
        """Everything that comes back for `data` until the server closes."""
        reader, writer = await asyncio.open_connection(*self.server.address)
        try:
            writer.write(data)
            if shut:
                writer.write_eof()
            return await asyncio.wait_for(reader.read(), BOUND)
        finally:
            writer.close()


class Handler:
    """Echoes a body, streams for `/stream`, waits for ever on `/wait`."""

    def __init__(self):
        self.seen = []
        self.waiting = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def __call__(self, request, exchange):
        self.seen.append(request)
        match request.path:
            case "/stream" | "/cut":
                await exchange.begin(200, {"x-a": "b"})
                await exchange.write(b"one")
                await exchange.write(b"two" * 10)
                if request.path == "/cut":
                    exchange.cut()
                else:
                    await exchange.end()
            case "/wait":
                self.waiting.set()
                try:
                    await asyncio.get_running_loop().create_future()
                finally:
                    self.cancelled.set()
            case "/defect":
                raise ZeroDivisionError
            case _:
                await exchange.send(200, request.body, {"x-method": request.method})


@pytest.fixture
async def handler():
    return Handler()


@pytest.fixture
async def wire(handler):
    server = HttpServer(handler, "127.0.0.1", 0)
    task = asyncio.create_task(server.run())
    await asyncio.wait_for(server.ready.wait(), BOUND)
    yield Wire(server)
    task.cancel()
    await asyncio.wait({task}, timeout=BOUND)
    assert task.cancelled()


async def test_a_request_gets_its_reply_and_the_connection_another(wire, handler):
    reader, writer = await asyncio.open_connection(*wire.server.address)
    for body in (b"abc", b"", b"x" * 300_000):
        writer.write(b"POST /a?b=c HTTP/1.1\r\nContent-Length: %d\r\nX-Y:  z \r\n\r\n" % len(body))
        writer.write(body)
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), BOUND)
        assert head == (
            b"HTTP/1.1 200 OK\r\nx-method: POST\r\ncontent-length: %d\r\n\r\n" % len(body)
        )
        assert await asyncio.wait_for(reader.readexactly(len(body)), BOUND) == body
    writer.close()
    assert [(r.method, r.path, r.headers["x-y"]) for r in handler.seen] == [("POST", "/a", "z")] * 3


async def test_a_reply_in_pieces_is_chunked(wire):
    got = await wire(b"GET /stream HTTP/1.1\r\nConnection: close\r\n\r\n", shut=False)
    assert got == (
        b"HTTP/1.1 200 OK\r\nx-a: b\r\ntransfer-encoding: chunked\r\n\r\n"
        b"3\r\none\r\n1e\r\n" + b"two" * 10 + b"\r\n0\r\n\r\n"
    )


async def test_a_cut_reply_has_no_end_and_closes_the_connection(wire):
    got = await wire(b"GET /cut HTTP/1.1\r\n\r\n", shut=False)
    assert got.endswith(b"twotwo\r\n")


REFUSED = [
    (b"GET / HTTP/1.0\r\n\r\n", 400, b"expected a request line of HTTP/1.1"),
    (b"nonsense\r\n\r\n", 400, b"expected a request line"),
    (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400, b"expected a header, got 'no colon'"),
    (b"GET / HTTP/1.1\r\na : b\r\n\r\n", 400, b"expected a header"),
    (b"GET / HTTP/1.1\r\n: b\r\n\r\n", 400, b"expected a header"),
    (b"POST / HTTP/1.1\r\nContent-Length: 1x\r\n\r\n", 400, b"to be a number, got '1x'"),
    (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400, b"to be a number, got '-1'"),
    (b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY + 1), 413, b"at most"),
    (b"POST / HTTP/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n", 413, b"at most"),
    (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411, b"expected a Content-Length"),
    (b"POST / HTTP/1.1\r\nContent-Encoding: zstd\r\n\r\n", 415, b"not compressed"),
    (b"GET /" + b"a" * (MAX_HEAD + 10), 431, b"bytes of headers"),
]


@pytest.mark.parametrize(("data", "status", "text"), REFUSED)
async def test_what_is_not_understood_is_refused_with_a_sentence(wire, handler, data, status, text):
    got = await wire(data, shut=False)
    assert got.startswith(b"HTTP/1.1 %d " % status)
    assert b"\r\nconnection: close\r\n" in got
    assert text in got
    assert handler.seen == []


@pytest.mark.parametrize(
    "data",
    [b"", b"GET /", b"GET / HTTP/1.1\r\n", b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab"],
)
async def test_a_client_that_leaves_in_the_middle_gets_nothing(wire, handler, data):
    assert await wire(data) == b""
    assert handler.seen == []


async def test_a_second_request_before_the_reply_ends_the_connection(wire, handler):
    request = b"GET /wait HTTP/1.1\r\n\r\n"
    assert await wire(request * 2, shut=False) == b""
    await asyncio.wait_for(handler.cancelled.wait(), BOUND)
    assert len(handler.seen) == 1


async def test_a_handler_is_cancelled_when_its_client_leaves(wire, handler):
    _, writer = await asyncio.open_connection(*wire.server.address)
    writer.write(b"GET /wait HTTP/1.1\r\n\r\n")
    await asyncio.wait_for(handler.waiting.wait(), BOUND)
    writer.transport.abort()
    await asyncio.wait_for(handler.cancelled.wait(), BOUND)


async def test_stopping_the_server_ends_the_handlers_and_the_connections(handler):
    server = HttpServer(handler, "127.0.0.1", 0)
    task = asyncio.create_task(server.run())
    await asyncio.wait_for(server.ready.wait(), BOUND)
    reader, writer = await asyncio.open_connection(*server.address)
    writer.write(b"GET /wait HTTP/1.1\r\n\r\n")
    await asyncio.wait_for(handler.waiting.wait(), BOUND)
    task.cancel()
    await asyncio.wait({task}, timeout=BOUND)
    assert handler.cancelled.is_set()
    assert await asyncio.wait_for(reader.read(), BOUND) == b""
    writer.close()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(*server.address)


async def test_a_defect_in_a_handler_ends_the_server_loudly(handler):
    server = HttpServer(handler, "127.0.0.1", 0)
    task = asyncio.create_task(server.run())
    await asyncio.wait_for(server.ready.wait(), BOUND)
    assert await Wire(server)(b"GET /defect HTTP/1.1\r\n\r\n", shut=False) == b""
    await asyncio.wait({task}, timeout=BOUND)
    assert isinstance(task.exception(), ExceptionGroup)
    assert task.exception().subgroup(ZeroDivisionError) is not None


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])
def test_only_loopback_is_listened_on(host):
    with pytest.raises(ValueError, match="expected a loopback address"):
        HttpServer(Handler.__call__, host, 0)
