"""Real servers on both transports, homes with a scripted model, and fake servers."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from byred.codex import (
    Client,
    ClientInfo,
    RequestFailed,
    ServerRequest,
    StdioTransport,
    ThreadOptions,
    Transport,
    connect_unix,
    find_binary,
)
from byred.testing.fake_server import FakeServer, fake_server, fake_unix_server
from byred.testing.model import ScriptedModel
from byred.testing.script import Script, Step

INFO = ClientInfo("byred-tests", "0")
BOUND = 30.0


@pytest.fixture(autouse=True)
async def clean_loop() -> AsyncIterator[None]:
    """No task left, no complaint of asyncio's debug mode (warnings are errors already)."""
    loop = asyncio.get_running_loop()
    loop.set_debug(True)
    loop.slow_callback_duration = 5.0  # the machine is shared: slowness is not what is tested
    complaints: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _loop, context: complaints.append(context))
    before = asyncio.all_tasks()
    yield
    await asyncio.sleep(0)
    mine = {asyncio.current_task()}
    left = {task for task in asyncio.all_tasks() - before - mine if not task.done()}
    assert not left
    assert not complaints


@pytest.fixture(scope="session")
def codex_program() -> Path:
    return find_binary(os.environ.get("BYRED_TEST_CODEX")).path


class Home:
    """A CODEX_HOME that talks to a scripted model, and servers that run in it."""

    def __init__(self, root: Path, program: Path) -> None:
        self.root = root
        self.program = program
        self.work = root / "work"
        self.work.mkdir(parents=True)
        self.sockets = 0

    def configure(self, *parts: dict[str, Any]) -> None:
        config: dict[str, Any] = {
            "check_for_update_on_startup": False,
            "features": {"plugins": False, "apps": False},
        }
        for part in parts:
            for name, value in part.items():
                old = config.get(name)
                config[name] = old | value if isinstance(old, dict) else value
        (self.root / "config.toml").write_text(tomli_w.dumps(config))

    def options(self, **settings: Any) -> ThreadOptions:
        return ThreadOptions(
            **{"cwd": self.work, "sandbox": "danger-full-access", "approval_policy": "never"}
            | settings
        )

    async def spawn(self, *arguments: str, **pipes: Any) -> asyncio.subprocess.Process:
        with (self.root / "stderr.log").open("ab") as log:
            return await asyncio.create_subprocess_exec(
                self.program,
                "app-server",
                *arguments,
                stderr=log,
                # The owner's own profile would be read before each command of the agent.
                env={**os.environ, "CODEX_HOME": str(self.root), "HOME": str(self.root)},
                **pipes,
            )

    @asynccontextmanager
    async def stdio(self) -> AsyncIterator[Transport]:
        """A server of its own for the transport."""
        pipe = asyncio.subprocess.PIPE
        process = await self.spawn(stdin=pipe, stdout=pipe)
        assert process.stdin
        assert process.stdout
        try:
            yield StdioTransport(process.stdout, process.stdin)
        finally:
            await end(process)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Path]:
        """A server that listens on a Unix socket; gives its path."""
        self.sockets += 1
        path = self.root / f"{self.sockets}.sock"
        null = asyncio.subprocess.DEVNULL
        process = await self.spawn("--listen", f"unix://{path}", stdin=null, stdout=null)
        try:
            async with asyncio.timeout(BOUND):
                while not path.exists():
                    assert process.returncode is None
                    await asyncio.sleep(0.02)
            yield path
        finally:
            if process.returncode is None:
                process.terminate()
            await end(process)

    @asynccontextmanager
    async def unix(self) -> AsyncIterator[Transport]:
        async with self.listening() as path:
            yield await connect_unix(path)


async def end(process: asyncio.subprocess.Process) -> None:
    """Wait for a server that was asked to end; it gets no mercy after that."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), 10)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise


@pytest.fixture
def home(tmp_path: Path, codex_program: Path) -> Home:
    return Home(tmp_path / "home", codex_program)


@pytest.fixture(params=["stdio", "unix"])
def transport_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def refuse(request: ServerRequest) -> Any:
    raise RequestFailed(-32601, f"the test does not answer {request.method}")


Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def connect(home: Home, transport_kind: str) -> Connect:
    """Open a client of a new server of `home`, on either transport."""

    @asynccontextmanager
    async def opened(handler: Any = refuse, **options: Any) -> AsyncIterator[Client]:
        carry = home.stdio if transport_kind == "stdio" else home.unix
        async with (
            carry() as transport,
            Client.open(
                transport,
                client_info=INFO,
                handler=handler,
                **({"request_timeout": BOUND} | options),
            ) as client,
        ):
            yield client

    return opened


@pytest.fixture
async def script(home: Home) -> AsyncIterator[Callable[..., Awaitable[ScriptedModel]]]:
    """Start a model that plays these steps, and make `home` use it."""
    started: list[ScriptedModel] = []

    async def start(*steps: Step, config: dict[str, Any] | None = None) -> ScriptedModel:
        model = ScriptedModel([Script("test", steps=steps or (Step(say="done"),))])
        await model.__aenter__()
        started.append(model)
        home.configure(model.codex_config(), config or {})
        return model

    yield start
    for model in started:
        await model.__aexit__(None, None, None)


Fake = Callable[..., AbstractAsyncContextManager[tuple[FakeServer, Client]]]


@pytest.fixture
def fake(tmp_path: Path, transport_kind: str) -> Fake:
    """Open a client of a fake server, on either transport."""

    @asynccontextmanager
    async def opened(
        handler: Any = refuse, *, limit: int | None = None, **options: Any
    ) -> AsyncIterator[tuple[FakeServer, Client]]:
        made = (
            fake_server(limit=limit)
            if transport_kind == "stdio"
            else fake_unix_server(tmp_path / "fake.sock", limit=limit)
        )
        async with (
            made as (server, transport),
            Client.open(
                transport,
                client_info=INFO,
                handler=handler,
                **({"request_timeout": BOUND} | options),
            ) as client,
        ):
            yield server, client

    return opened


@pytest.fixture
def open_stdio(home: Home) -> Connect:
    """Open a client of a new server of `home` over stdio, for what no transport changes."""

    @asynccontextmanager
    async def opened(handler: Any = refuse, **options: Any) -> AsyncIterator[Client]:
        async with (
            home.stdio() as transport,
            Client.open(
                transport,
                client_info=INFO,
                handler=handler,
                **({"request_timeout": BOUND} | options),
            ) as client,
        ):
            yield client

    return opened


def user_texts(sent) -> list[str]:
    return [
        part["text"]
        for item in sent.input
        if item.get("role") == "user"
        for part in item["content"]
        if part["type"] == "input_text" and not part["text"].startswith("<")
    ]
