"""A server with commands that know no task, and clients for it."""

import asyncio
import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from byred.api.connection import Limits
from byred.api.contract import Command, Context, Notification, Stream
from byred.api.socket import serve
from byred.core.errors import (
    ConflictError,
    InvalidError,
    LimitError,
    NotFoundError,
    WrongStateError,
)

BOUND = 60.0
REFUSALS = {
    "not_found": NotFoundError,
    "wrong_state": WrongStateError,
    "conflict": ConflictError,
    "limit": LimitError,
    "invalid": InvalidError,
}


class Nothing(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    pass


class Echo(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    text: str
    times: int = 1


class Count(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    to: int = 3
    size: int = 0


class Pair(msgspec.Struct, frozen=True):
    left: str
    right: str


class World:
    """What the commands of the tests share with the tests."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.gate = asyncio.Event()
        self.waiting = asyncio.Event()
        self.streams = 0
        self.closed = asyncio.Event()
        self.pulled = 0
        self.contexts: list[Context] = []

    async def echo(self, context: Context, request: Echo) -> dict[str, Any]:
        self.calls.append(request.text[:100])
        return {"text": request.text * request.times, "user": context.peer.user}

    async def pair(self, _context: Context, _request: Nothing) -> Pair:
        return Pair("a\nb", "\u2028")

    async def refuse(self, _context: Context, request: Echo) -> dict[str, Any]:
        raise REFUSALS.get(request.text, InvalidError)(f"cannot do this: {request.text}; do that")

    async def break_down(self, _context: Context, _request: Nothing) -> dict[str, Any]:
        raise RuntimeError("a secret of the daemon")

    async def encode(self, _context: Context, _request: Nothing) -> dict[str, Any]:
        return {"what": object()}

    async def wait(self, context: Context, _request: Nothing) -> dict[str, Any]:
        self.contexts.append(context)
        self.waiting.set()
        await self.gate.wait()
        return {"waited": True}

    async def push(self, context: Context, request: Count) -> dict[str, Any]:
        for number in range(request.to):
            context.notify("pushed", {"number": number, "fill": "x" * request.size})
        return {}

    async def count(self, _context: Context, request: Count) -> Stream:
        return Stream({"to": request.to}, self._count(request))

    async def _count(self, request: Count) -> AsyncGenerator[Notification, None]:
        self.streams += 1
        try:
            for number in range(request.to):
                self.pulled += 1
                yield Notification("counted", {"number": number, "fill": "x" * request.size})
            await self.gate.wait()
        finally:
            self.streams -= 1
            self.closed.set()

    async def stumble(self, _context: Context, _request: Nothing) -> Stream:
        async def source() -> AsyncGenerator[Notification, None]:
            yield Notification("stumbled", {})
            raise RuntimeError("a secret of the daemon")

        return Stream({}, source())

    def table(self) -> dict[str, Command[Any]]:
        commands: list[Command[Any]] = [
            Command("test.echo", Echo, self.echo),
            Command("test.pair", Nothing, self.pair),
            Command("test.refuse", Echo, self.refuse),
            Command("test.break", Nothing, self.break_down),
            Command("test.encode", Nothing, self.encode),
            Command("test.wait", Nothing, self.wait),
            Command("test.push", Count, self.push),
            Command("test.count", Count, self.count),
            Command("test.stumble", Nothing, self.stumble),
        ]
        return {command.name: command for command in commands}


class Client:
    """A client that says exactly what it is told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._id = 0

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        async with asyncio.timeout(BOUND):
            await self.writer.drain()

    async def line(self) -> Any:
        """Give the next line, decoded; raise EOFError at the end."""
        async with asyncio.timeout(BOUND):
            line = await self.reader.readline()
        if not line.endswith(b"\n"):
            raise EOFError
        return json.loads(line)

    async def ask(self, text: bytes | str) -> Any:
        await self.send((text if isinstance(text, bytes) else text.encode()) + b"\n")
        return await self.line()

    async def call(self, method: str, **params: Any) -> Any:
        """Give the reply to a call, skipping notifications."""
        self._id += 1
        message = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        await self.send(json.dumps(message).encode() + b"\n")
        while "id" not in (reply := await self.line()):
            pass
        assert reply["id"] == self._id
        return reply

    async def ended(self) -> None:
        """Wait for the end, throwing away what comes before it."""
        async with asyncio.timeout(BOUND):
            try:
                while await self.reader.read(1 << 20):
                    pass
            except ConnectionError:
                pass

    def close(self) -> None:
        self.writer.close()


class Server:
    def __init__(self, path: Path, world: World) -> None:
        self.path = path
        self.world = world
        self.clients: list[Client] = []

    async def connect(self) -> Client:
        async with asyncio.timeout(BOUND):
            client = Client(*await asyncio.open_unix_connection(str(self.path), limit=1 << 26))
        self.clients.append(client)
        return client

    def connect_raw(self) -> socket.socket:
        """Give a client that is nothing but a socket: it reads only when the test does."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.connect(str(self.path))
        sock.setblocking(False)
        return sock


Serving = Callable[..., AbstractAsyncContextManager[Server]]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give a folder with a short path: that of a socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="byred-") as name:
        yield Path(name)


@pytest.fixture
def serving(folder: Path) -> Serving:
    """Give a function that serves the commands of a World with some limits changed."""

    @asynccontextmanager
    async def serving(**limits: Any) -> AsyncIterator[Server]:
        world = World()
        path = folder / "byred.sock"
        server = Server(path, world)
        try:
            async with serve(path, world.table(), limits=Limits(**limits)):
                try:
                    yield server
                finally:
                    world.gate.set()
        finally:
            for client in server.clients:
                client.close()

    return serving


@pytest.fixture
async def server(serving: Serving) -> AsyncIterator[Server]:
    async with serving() as server:
        yield server


@pytest.fixture
async def client(server: Server) -> Client:
    return await server.connect()


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], Awaitable[None]]:
    """Give a function that waits until something is so, for what sends no signal."""

    async def eventually(so: Callable[[], bool]) -> None:
        async with asyncio.timeout(BOUND):
            while not so():
                await asyncio.sleep(0.01)

    return eventually


SERVER = """
import asyncio, contextlib, pathlib, runpy, sys
from byred import log
from byred.api.connection import Limits
from byred.api.socket import serve

async def main():
    log.configure(level="warning", form="json")
    world = runpy.run_path(sys.argv[1])["World"]()
    limits = Limits(line=int(sys.argv[3])) if sys.argv[3:] else Limits()
    async with serve(pathlib.Path(sys.argv[2]), world.table(), limits=limits):
        print("ready", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture
async def separate(folder: Path, request: pytest.FixtureRequest) -> AsyncIterator[tuple[Path, int]]:
    """Give the socket and the pid of a server in a process of its own.

    An indirect parameter is its limit of a line.
    """
    path = folder / "s.sock"
    limit = [str(request.param)] if hasattr(request, "param") else []
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SERVER, Path(__file__), path, *limit,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
        yield path, process.pid
    finally:
        process.kill()
        await process.wait()
