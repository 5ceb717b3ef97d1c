"""A fake app-server, for what the real one can't be made to do.

`FakeServer` is the server's end of a connection, driven by a test: it says what it is told, as
whole messages or as raw bytes (garbage, huge or partial lines, wrong ids, duplicates), it can fall
silent, stop reading, or hang up, and it can play a transcript. `python -m byred.testing.fake_server
TRANSCRIPT` plays one on stdin and stdout as a process. It knows no protocol beyond the envelope;
the real server's behaviour is not imitated here.
"""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from byred.codex.framing import LineSplitter
from byred.codex.transport import StdioTransport, Transport, connect_unix

Message = dict[str, Any]

_CHUNK: Final = 256 * 1024
_WAIT: Final = 10.0
HANDSHAKE: Final = {
    "userAgent": "fake/0.163.0 (test)",
    "codexHome": "/nowhere",
    "platformFamily": "unix",
    "platformOs": "linux",
}
"""What the fake server answers to `initialize`, unless it is told not to answer."""


class FakeServer:
    """The server's end of one connection; made by `fake_server` or `fake_unix_server`."""

    def __init__(
        self,
        write: Callable[[bytes], Awaitable[None]],
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._write = write
        self._close = close
        self.received: list[Message] = []
        """Everything that the client sent, in order."""
        self.handshake = True
        """Whether `initialize` is answered."""
        self._news = asyncio.Condition()
        self._taken: set[int] = set()

    async def close(self) -> None:
        """End the connection in an orderly way."""
        if self._close is not None:
            await self._close()

    async def take(self, line: bytes) -> None:
        """Take a message of the client."""
        message: Message = msgspec.json.decode(line)
        async with self._news:
            self.received.append(message)
            self._news.notify_all()
        if self.handshake and message.get("method") == "initialize":
            await self.reply(message, HANDSHAKE)

    async def expect(self, method: str, *, timeout: float = _WAIT) -> Message:  # noqa: ASYNC109 - one bound
        """Return the next message of the client for `method` that nobody expected yet."""
        return await self._find(lambda message: message.get("method") == method, method, timeout)

    async def expect_answer(self, number: int | str, *, timeout: float = _WAIT) -> Message:  # noqa: ASYNC109 - one bound
        """Return the client's answer to the server request of that id."""

        def fits(message: Message) -> bool:
            return "method" not in message and message.get("id") == number

        return await self._find(fits, f"answer to {number!r}", timeout)

    async def _find(self, fits: Callable[[Message], bool], what: str, limit: float) -> Message:
        def found() -> int | None:
            for index, message in enumerate(self.received):
                if index not in self._taken and fits(message):
                    return index
            return None

        async with self._news:
            try:
                async with asyncio.timeout(limit):
                    while (index := found()) is None:
                        await self._news.wait()
            except TimeoutError:
                seen = [message.get("method", message) for message in self.received]
                raise TimeoutError(
                    f"the client sent no {what} in {limit:g} s, but {seen}"
                ) from None
            self._taken.add(index)
            return self.received[index]

    async def send(self, message: Message) -> None:
        """Send one message."""
        await self._write(msgspec.json.encode(message) + b"\n")

    async def raw(self, data: bytes) -> None:
        """Send these bytes as they are: over a stream a line needs its LF."""
        await self._write(data)

    async def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        await self.send({"method": method, "params": params})

    async def ask(self, number: int | str, method: str, **params: Any) -> None:
        """Send a server request."""
        await self.send({"id": number, "method": method, "params": params})

    async def reply(self, request: Message, result: Any) -> None:
        """Answer a request of the client."""
        await self.send({"id": request["id"], "result": result})

    async def fail(self, request: Message, code: int, message: str, data: Any = None) -> None:
        """Answer a request of the client with an error."""
        error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        await self.send({"id": request["id"], "error": error})

    async def play(self, lines: Iterable[bytes], *, timeout: float = _WAIT) -> None:  # noqa: ASYNC109 - one bound
        """Play a transcript: say what the server said, wait where the client spoke.

        A client's request is waited for by its method, its answer by its id; the server's answers
        take the id that the client uses now. The handshake is played too when it is recorded.
        """
        self.handshake = False
        ids: dict[Any, Any] = {}
        for line in lines:
            if not line.strip():
                continue
            entry = msgspec.json.decode(line)
            message: Message = entry["msg"]
            if entry["dir"] == "send":
                if "method" in message:
                    asked = await self.expect(message["method"], timeout=timeout)
                    if "id" in message:
                        ids[message["id"]] = asked["id"]
                else:
                    await self.expect_answer(message["id"], timeout=timeout)
            elif "method" in message:
                await self.send(message)
            else:
                await self.send(message | {"id": ids.get(message["id"], message["id"])})


@asynccontextmanager
async def fake_server(*, limit: int | None = None) -> AsyncIterator[tuple[FakeServer, Transport]]:
    """Give a fake server and the client's transport to it, over a stream as stdio is.

    Call `server.hang_up()` for an early EOF. `limit` is the transport's for one message, in bytes.
    """
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=theirs)
    client_reader, client_writer = await asyncio.open_connection(sock=ours)

    async def write(data: bytes) -> None:
        writer.write(data)
        await writer.drain()

    server = StreamServer(write, writer)
    options = {} if limit is None else {"limit": limit}
    transport = StdioTransport(client_reader, client_writer, **options)
    reading = asyncio.create_task(server.read(reader))
    try:
        yield server, transport
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        for stream in (writer, client_writer):
            stream.close()
        for stream in (writer, client_writer):
            await asyncio.gather(stream.wait_closed(), return_exceptions=True)


class StreamServer(FakeServer):
    """A fake server on a stream, which can also stop reading and hang up."""

    def __init__(
        self, write: Callable[[bytes], Awaitable[None]], writer: asyncio.StreamWriter
    ) -> None:
        super().__init__(write)
        self._writer = writer
        self._reads = asyncio.Event()
        self._reads.set()

    def stall(self) -> None:
        """Take nothing more off the stream, until `go_on`."""
        self._reads.clear()

    def go_on(self) -> None:
        """Read again."""
        self._reads.set()

    def hang_up(self) -> None:
        """End the stream, as a server does that dies; a partial line may stand before it."""
        self._writer.close()

    async def read(self, reader: asyncio.StreamReader) -> None:
        """Take what the client sends until it ends."""
        lines = LineSplitter()
        while True:
            await self._reads.wait()
            chunk = await reader.read(_CHUNK)
            if not chunk:
                return
            lines.feed(chunk)
            while lines.ready:
                line = lines.ready.popleft()
                if isinstance(line, bytes):
                    await self.take(line)


@asynccontextmanager
async def fake_unix_server(
    path: Path, *, limit: int | None = None
) -> AsyncIterator[tuple[FakeServer, Transport]]:
    """Give a fake server on the Unix socket `path` and the client's transport to it."""
    from websockets.asyncio.server import ServerConnection, unix_serve  # noqa: PLC0415 - as in the transport

    servers: asyncio.Queue[FakeServer] = asyncio.Queue()

    async def serve(websocket: ServerConnection) -> None:
        async def write(data: bytes) -> None:
            await websocket.send(data.removesuffix(b"\n"), text=True)

        server = FakeServer(write, websocket.close)
        servers.put_nowait(server)
        async for message in websocket:
            await server.take(message.encode() if isinstance(message, str) else message)

    async with unix_serve(serve, str(path), max_size=None, compression=None):
        options = {} if limit is None else {"limit": limit}
        transport = await connect_unix(path, **options)
        try:
            yield await servers.get(), transport
        finally:
            await transport.aclose()


async def _play_on_stdio(transcript: Path) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    out, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    writer = asyncio.StreamWriter(out, protocol, None, loop)

    async def write(data: bytes) -> None:
        writer.write(data)
        await writer.drain()

    server = StreamServer(write, writer)
    lines = await asyncio.to_thread(lambda: transcript.read_bytes().split(b"\n"))
    reading = asyncio.create_task(server.read(reader))
    playing = asyncio.create_task(server.play(lines, timeout=3600))
    # A client that hangs up ends the play; after the play the server stays until it does.
    await asyncio.wait({reading, playing}, return_when=asyncio.FIRST_COMPLETED)
    if playing.done():
        playing.result()
        await reading
    playing.cancel()
    await asyncio.gather(playing, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(_play_on_stdio(Path(sys.argv[1])))
