"""A small, strict HTTP/1.1 server on asyncio streams, for loopback.

Owns the framing: requests with a Content-Length, replies whole or chunked, connections kept alive,
one request at a time on each. Refuses the rest (chunked requests, compression, pipelining) instead
of guessing. What a request means is the handler's.
"""

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus

import msgspec

MAX_HEAD = 64 * 1024
MAX_BODY = 64 * 1024 * 1024
# Many servers may connect at the same moment; the default of 100 is too close to that.
_BACKLOG = 256


class Request(msgspec.Struct, frozen=True):
    """One request; names of `headers` are in lower case, `path` has no query."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Refusal(Exception):  # noqa: N818 - it is an answer that ends a request, not an error of ours
    """This request gets an HTTP error with this sentence; the connection is then closed."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Exchange:
    """The reply to one request: call `send` once, or `begin`, `write` … and `end` or `cut`."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.keep_alive = True

    async def send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        """Send a whole reply."""
        self._head(status, {**headers, "content-length": str(len(body))})
        self._writer.write(body)
        await self._writer.drain()

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head of a reply that comes in pieces."""
        self._head(status, {**headers, "transfer-encoding": "chunked"})
        await self._writer.drain()

    async def write(self, piece: bytes) -> None:
        """Send one piece, which must not be empty."""
        self._writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        await self._writer.drain()

    async def end(self) -> None:
        """End a reply that came in pieces."""
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    def cut(self) -> None:
        """Break the connection where it is, after what was written."""
        self.keep_alive = False

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        try:
            reason = HTTPStatus(status).phrase
        except ValueError:
            reason = "Unknown"
        lines = [f"HTTP/1.1 {status} {reason}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._writer.write("\r\n".join([*lines, "", ""]).encode("latin-1", "replace"))


Handler = Callable[[Request, Exchange], Awaitable[None]]


class HttpServer:
    """A server on `host` (a loopback address) and `port` (0: any free one), run by `run`.

    `address` is what it listens on, once `run` has set `ready`.
    """

    def __init__(self, handler: Handler, host: str, port: int) -> None:
        if not ipaddress.ip_address(host).is_loopback:
            raise ValueError(f"cannot listen on {host}: expected a loopback address")
        self._handler = handler
        self._host = host
        self._port = port
        self.ready = asyncio.Event()
        self.address = (host, port)

    async def run(self) -> None:
        """Serve until cancelled; no connection and no handler outlives this call.

        Raises `OSError` (or `OverflowError`) for a port that can't be bound. An exception of a
        handler is a defect: it ends the server and is raised from here.
        """
        connections = asyncio.TaskGroup()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connections.create_task(self._serve(reader, writer))

        # Bound outside the group, so that a port that is taken is an OSError and no group of them.
        server = await asyncio.start_server(
            connected,
            self._host,
            self._port,
            limit=MAX_HEAD,
            backlog=_BACKLOG,
            start_serving=False,
        )
        async with connections:
            try:
                await server.start_serving()
                self.address = server.sockets[0].getsockname()[:2]
                self.ready.set()
                await asyncio.get_running_loop().create_future()
            finally:
                server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            # The client is gone; nobody is left to tell.
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; whether another may follow on this connection."""
        exchange = Exchange(writer)
        try:
            request = await _read(reader)
            if request is None:
                return False
            if not await _while_connected(reader, self._handler(request, exchange)):
                return False
        except Refusal as refusal:
            error = {"type": "invalid_request_error", "message": str(refusal)}
            body = msgspec.json.encode({"error": error})
            headers = {"content-type": "application/json", "connection": "close"}
            await exchange.send(refusal.status, body, headers)
            return False
        return exchange.keep_alive and request.headers.get("connection", "").lower() != "close"


async def _while_connected(reader: asyncio.StreamReader, work: Awaitable[None]) -> bool:
    """Do `work` unless the client goes away first; whether it was done.

    Anything that a client sends before it has its reply counts as going away: it broke the rules.
    """
    doing = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(reader.read(1))
    try:
        await asyncio.wait({doing, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        # Both must be over before the connection is used again or closed.
        finished, connected = doing.done(), not gone.done()
        doing.cancel()
        gone.cancel()
        await asyncio.gather(doing, gone, return_exceptions=True)
    if finished:
        doing.result()
    return finished and connected


async def _read(reader: asyncio.StreamReader) -> Request | None:
    """The next request, None at a clean end; raises `Refusal` for what is not accepted."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError as error:
        raise Refusal(431, f"expected at most {MAX_HEAD} bytes of headers") from error
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or words[2] != "HTTP/1.1":  # noqa: PLR2004 - method, target, version
        raise Refusal(400, f"expected a request line of HTTP/1.1, got {first[:100]!r}")
    headers = _headers(lines)
    body = await reader.readexactly(_length(headers))
    return Request(words[0], words[1].partition("?")[0], headers, body)


def _headers(lines: list[str]) -> dict[str, str]:
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise Refusal(400, f"expected a header, got {line[:100]!r}")
        headers[name.lower()] = value.strip()
    return headers


def _length(headers: Mapping[str, str]) -> int:
    if "transfer-encoding" in headers:
        raise Refusal(411, "expected a Content-Length, not a Transfer-Encoding")
    if headers.get("content-encoding", "identity") != "identity":
        raise Refusal(415, "expected a body that is not compressed")
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()):
        raise Refusal(400, f"expected Content-Length to be a number, got {length[:100]!r}")
    if len(length) > len(str(MAX_BODY)) or int(length) > MAX_BODY:
        raise Refusal(413, f"expected at most {MAX_BODY} bytes")
    return int(length)
