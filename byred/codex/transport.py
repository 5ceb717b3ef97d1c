"""Two ways to carry messages to and from a server: its standard streams, and its Unix socket.

Owns bytes and their ends: framing on the streams, WebSocket on the socket, limits and time limits
of a write. Knows no JSON and starts no process.
"""

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast
from urllib.parse import unquote, urlsplit

from byred.codex.errors import MessageTooLarge, TransportClosed, TransportError
from byred.codex.framing import MAX_MESSAGE, LineSplitter, Oversized

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

_CHUNK = 256 * 1024
_CLOSE_TIMEOUT = 2.0
"""Seconds for the peer to take part in a close; it may be dead or stopped."""


class Transport(Protocol):
    """A way to carry whole messages, each the bytes of one JSON value in UTF-8 without LF."""

    async def send(self, message: bytes) -> None:
        """Write one message; raises `TransportClosed`, or `MessageTooLarge` with nothing sent."""

    async def receive(self) -> bytes:
        """Return the next message; raises `TransportClosed`, or `MessageTooLarge` and goes on."""

    def receive_ready(self) -> list[bytes]:
        """Return the messages that are already here, without waiting; often none.

        It may stop early: what it leaves comes from the next `receive`.
        """

    async def aclose(self) -> None:
        """End the connection; nobody may be waiting in `receive`. Twice is once."""


def _check_outgoing(message: bytes, limit: int) -> None:
    if len(message) > limit:
        raise MessageTooLarge(
            f"cannot send a message of {len(message):,} bytes: the limit is {limit:,}",
            size=len(message),
            limit=limit,
        )
    if b"\n" in message:
        raise ValueError("cannot send a message that holds a raw line feed: encode it as JSON")


class StdioTransport:
    """One JSON object a line on a server's stdin (`writer`) and stdout (`reader`)."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        limit: int = MAX_MESSAGE,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._lines = LineSplitter(limit)
        self._limit = limit
        self._closed = False

    async def send(self, message: bytes) -> None:
        """See `Transport.send`."""
        _check_outgoing(message, self._limit)
        if self._closed or self._writer.is_closing():
            raise TransportClosed("cannot write to the server: its stdin is closed")
        try:
            self._writer.write(message + b"\n")
            await self._writer.drain()
        except (OSError, RuntimeError) as error:
            raise TransportClosed(f"cannot write to the server: {error}") from error

    async def receive(self) -> bytes:
        """See `Transport.receive`."""
        ready = self._lines.ready
        while not ready:
            if self._closed:
                raise TransportClosed("the connection was closed on this side")
            try:
                chunk = await self._reader.read(_CHUNK)
            except (OSError, RuntimeError) as error:
                raise TransportClosed(f"cannot read from the server: {error}") from error
            if not chunk:
                rest = self._lines.finish()
                raise TransportClosed(
                    "the server closed its stdout"
                    + (f" in the middle of a message of {len(rest):,}+ bytes" if rest else "")
                )
            self._lines.feed(chunk)
        message = ready.popleft()
        if isinstance(message, Oversized):
            self._lines.oversized -= 1
            raise MessageTooLarge(
                f"a message of {message.size:,} bytes came: the limit is {self._limit:,}",
                size=message.size,
                limit=self._limit,
                head=message.head,
            )
        return message

    def receive_ready(self) -> list[bytes]:
        """See `Transport.receive_ready`."""
        ready = self._lines.ready
        if self._lines.oversized:
            return []
        messages = cast("list[bytes]", list(ready))
        ready.clear()
        return messages

    async def aclose(self) -> None:
        """Close stdin, which asks the server to end."""
        if self._closed:
            return
        self._closed = True
        self._writer.close()
        # A server that is already gone makes the close fail: it is closed either way.
        with contextlib.suppress(OSError, RuntimeError, TimeoutError):
            async with asyncio.timeout(_CLOSE_TIMEOUT):
                await self._writer.wait_closed()


class UnixTransport:
    """WebSocket messages over a Unix socket; made by `connect_unix`."""

    def __init__(self, websocket: "ClientConnection", *, limit: int = MAX_MESSAGE) -> None:
        self._websocket = websocket
        self._limit = limit

    async def send(self, message: bytes) -> None:
        """See `Transport.send`."""
        from websockets.exceptions import ConnectionClosed  # noqa: PLC0415 - 40 ms that stdio never needs

        _check_outgoing(message, self._limit)
        try:
            await self._websocket.send(message, text=True)
        except (ConnectionClosed, OSError) as error:
            raise TransportClosed(f"cannot write to the server: {error}") from error

    async def receive(self) -> bytes:
        """See `Transport.receive`."""
        from websockets.exceptions import ConnectionClosed  # noqa: PLC0415 - as above

        try:
            message = await self._websocket.recv(decode=False)
        except (ConnectionClosed, OSError) as error:
            raise TransportClosed(f"the server ended the connection: {error}") from error
        if len(message) > self._limit:
            raise MessageTooLarge(
                f"a message of {len(message):,} bytes came: the limit is {self._limit:,}",
                size=len(message),
                limit=self._limit,
                head=bytes(message[:4096]),
            )
        return message

    def receive_ready(self) -> list[bytes]:
        """See `Transport.receive_ready`; a WebSocket gives them one by one."""
        return []

    async def aclose(self) -> None:
        """Close the connection; the server goes on."""
        await self._websocket.close()


def parse_endpoint(endpoint: str) -> Path:
    """Return the path of `unix:///absolute/path`; anything else raises `TransportError`."""
    parts = urlsplit(endpoint)
    path = unquote(parts.path)
    if (
        parts.scheme != "unix"
        or parts.netloc
        or parts.query
        or parts.fragment
        or not path.startswith("/")
        or path.endswith("/")
        or "\0" in path
    ):
        raise TransportError(
            f"cannot use the endpoint {endpoint!r}: only unix:///absolute/path is accepted"
        )
    return Path(path)


async def connect_unix(
    path: str | Path,
    timeout: float = 10.0,  # noqa: ASYNC109 - the whole handshake has one bound
    *,
    limit: int = MAX_MESSAGE,
) -> UnixTransport:
    """Connect to a server's Unix socket (a path, or `unix:///absolute/path`).

    An ordinary HTTP Upgrade on the socket, never TCP. Raises `TransportError` when nobody listens
    there or the handshake does not end within `timeout` seconds.
    """
    from websockets.asyncio.client import unix_connect  # noqa: PLC0415 - 40 ms that stdio never needs
    from websockets.exceptions import WebSocketException  # noqa: PLC0415

    socket = parse_endpoint(path) if isinstance(path, str) and "://" in path else Path(path)
    if not socket.is_absolute():
        raise TransportError(f"cannot connect to {socket}: the path must be absolute")
    try:
        websocket = await unix_connect(
            str(socket),
            "ws://localhost/",
            open_timeout=timeout,
            close_timeout=_CLOSE_TIMEOUT,
            # A message over the limit but under this costs its own waiter, not the connection.
            max_size=4 * limit,
            max_queue=1024,
            ping_interval=None,
            compression=None,
        )
    except (OSError, WebSocketException, TimeoutError) as error:
        raise TransportError(
            f"cannot connect to the server at {socket}: {str(error) or type(error).__name__};"
            " see that it runs with --listen unix://"
        ) from error
    return UnixTransport(websocket, limit=limit)
