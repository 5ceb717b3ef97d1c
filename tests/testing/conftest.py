"""A real codex app-server on a raw JSON-RPC loop, without byred's own client."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from codex_cli_bin import bundled_codex_path

from byred.testing.model import ScriptedModel
from byred.testing.script import Script, parse

BOUND = 60.0
BYRE = {
    "type": "namespace",
    "name": "byre",
    "description": "Talk to people",
    "tools": [
        {
            "type": "function",
            "name": "ask_human",
            "description": "Ask a person",
            "inputSchema": {
                "type": "object",
                "properties": {"text": {"type": "string"}},
                "required": ["text"],
            },
        }
    ],
}


class Codex:
    """One app-server over stdio: calls, notifications, requests of the server."""

    def __init__(self, home: Path, cwd: Path) -> None:
        self.home = home
        self.cwd = cwd
        self.seen: list[dict[str, Any]] = []
        self._changed = asyncio.Condition()
        self._replies: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._ids = 0

    async def start(self) -> None:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "CODEX_HOME": str(self.home),
            "GIT_AUTHOR_NAME": "Agent",
            "GIT_AUTHOR_EMAIL": "agent@example.org",
            "GIT_COMMITTER_NAME": "Agent",
            "GIT_COMMITTER_EMAIL": "agent@example.org",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "PORT": "4711",
        }
        self._errors = (self.home / "stderr.log").open("ab")
        self.process = await asyncio.create_subprocess_exec(
            str(bundled_codex_path()),
            "app-server",
            "-c",
            "check_for_update_on_startup=false",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=self._errors,
            limit=1 << 27,
            env=environment,
            cwd=self.home,
        )
        self._reader = asyncio.create_task(self._read())
        client = {"clientInfo": {"name": "test", "version": "0"}}
        await self.call("initialize", client | {"capabilities": {"experimentalApi": True}})
        await self.send({"method": "initialized"})

    async def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        await self.process.stdin.drain()

    async def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._ids += 1
        reply: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._replies[self._ids] = reply
        await self.send({"id": self._ids, "method": method, "params": params})
        message = await asyncio.wait_for(reply, BOUND)
        assert "error" not in message, message
        return message["result"]

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            message = json.loads(line)
            if "method" not in message:
                self._replies.pop(message["id"]).set_result(message)
                continue
            async with self._changed:
                self.seen.append(message)
                self._changed.notify_all()

    async def wait(
        self, method: str, like: Callable[[dict[str, Any]], bool] = lambda _: True, after: int = 0
    ) -> dict[str, Any]:
        """The first message of `method` that `like`s, from the index `after` on."""

        def found() -> dict[str, Any] | None:
            wanted = (m for m in self.seen[after:] if m["method"] == method)
            return next((m for m in wanted if like(m["params"])), None)

        async with self._changed:
            try:
                message = await asyncio.wait_for(self._changed.wait_for(found), BOUND)
            except TimeoutError:
                raise AssertionError([m["method"] for m in self.seen]) from None
        assert message is not None
        return message

    async def thread(self, **more: Any) -> str:
        params = {"cwd": str(self.cwd), "dynamicTools": [BYRE], **more}
        return str((await self.call("thread/start", params))["thread"]["id"])

    async def begin(self, thread: str, text: str | None = None, **more: Any) -> str:
        """Start a turn; its id."""
        words = [] if text is None else [{"type": "text", "text": text}]
        reply = await self.call("turn/start", {"threadId": thread, "input": words, **more})
        return str(reply["turn"]["id"])

    async def ended(self, turn: str) -> dict[str, Any]:
        """The turn, once it is over."""
        message = await self.wait("turn/completed", lambda p: p["turn"]["id"] == turn)
        return dict(message["params"]["turn"])

    async def turn(self, thread: str, text: str | None = None, **more: Any) -> dict[str, Any]:
        return await self.ended(await self.begin(thread, text, **more))

    async def answer(self, asked: dict[str, Any], text: str) -> None:
        items = [{"type": "inputText", "text": text}]
        await self.send({"id": asked["id"], "result": {"contentItems": items, "success": True}})

    def texts(self) -> list[str]:
        """What the agent said, in order."""
        done = [m["params"]["item"] for m in self.seen if m["method"] == "item/completed"]
        return [item["text"] for item in done if item["type"] == "agentMessage"]

    async def stop(self, number: int = signal.SIGTERM) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)
        await self._gone()
        self._reader.cancel()
        await asyncio.wait({self._reader}, timeout=BOUND)
        self._errors.close()
        self.process._transport.close()  # type: ignore[attr-defined]
        # One turn of the loop closes the pipes; without it they are reported as leaked.
        await asyncio.sleep(0)

    async def _gone(self) -> None:
        """Wait by pidfd: `Process.wait` waits for whoever holds the pipes."""
        loop = asyncio.get_running_loop()
        try:
            watched = os.pidfd_open(self.process.pid)
        except ProcessLookupError:
            return
        over = asyncio.Event()
        loop.add_reader(watched, over.set)
        try:
            await asyncio.wait_for(over.wait(), BOUND)
        finally:
            loop.remove_reader(watched)
            os.close(watched)


class Bench:
    """What a test needs to put a model and servers together."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.codexes: list[Codex] = []

    def home(self, model: ScriptedModel, name: str = "home", **config: Any) -> Path:
        home = self.root / name
        home.mkdir(exist_ok=True)
        settings = {
            "approval_policy": "never",
            "sandbox_mode": "danger-full-access",
            "features": {"plugins": False, "apps": False},
            **model.codex_config(),
            **config,
        }
        (home / "config.toml").write_text(tomli_w.dumps(settings))
        return home

    async def codex(self, model: ScriptedModel, name: str = "home", **config: Any) -> Codex:
        cwd = self.root / f"{name}-work"
        cwd.mkdir(exist_ok=True)
        codex = Codex(self.home(model, name, **config), cwd)
        await codex.start()
        self.codexes.append(codex)
        return codex

    async def get(self, url: str) -> bytes:
        """The body of a plain GET."""

        def fetch() -> bytes:
            with urllib.request.urlopen(url, timeout=BOUND) as reply:
                return bytes(reply.read())

        return await asyncio.to_thread(fetch)


def one(*steps: str, name: str = "s") -> tuple[Script, ...]:
    """One script without `match`, from steps that are written as TOML inline tables."""
    return parse(f'[[scripts]]\nname = "{name}"\nsteps = [{", ".join(steps)}]\n')


@pytest.fixture
def steps() -> Callable[..., tuple[Script, ...]]:
    return one


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    made = Bench(tmp_path)
    yield made
    for codex in made.codexes:
        await codex.stop(signal.SIGKILL)


@pytest.fixture
def repository(tmp_path: Path) -> Callable[[Path], Path]:
    """Make a git repository with one commit."""

    def make(folder: Path) -> Path:
        git = shutil.which("git")
        assert git is not None
        folder.mkdir(exist_ok=True)
        who = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
        for words in (
            ["init", "--quiet", "--initial-branch=main"],
            [*who, "commit", "--quiet", "--allow-empty", "-m", "Begin"],
        ):
            subprocess.run([git, *words], cwd=folder, check=True)
        return folder

    return make
