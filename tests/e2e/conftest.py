"""A real daemon as a process, the real codex, a scripted model in the test, a client."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from byred.testing.model import ScriptedModel
from byred.testing.script import Ask, Script, Step

BOUND = 60.0
"""Seconds after which something that did not happen fails the test."""

SECRETS = {"BYRE_E2E_API_KEY": "s3cret-one", "GITHUB_TOKEN": "s3cret-two", "MY_PASSWORD": "three"}

COMMIT = "git add -A && git commit -q -m 'The work of a task'"


def git(*arguments: str, cwd: Path) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    person = {
        "GIT_AUTHOR_NAME": "A Person",
        "GIT_AUTHOR_EMAIL": "person@example.org",
        "GIT_COMMITTER_NAME": "A Person",
        "GIT_COMMITTER_EMAIL": "person@example.org",
    }
    command = ["git", *arguments]
    try:
        done = subprocess.run(
            command, cwd=cwd, env=clean | person, check=True, capture_output=True, text=True
        )
    except subprocess.CalledProcessError as error:
        error.add_note(error.stderr)
        raise
    return done.stdout.strip()


class Client:
    """A plain JSON-RPC client on the daemon's socket; one call at a time, notifications kept."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._number = 0
        self.notifications: list[dict[str, Any]] = []

    async def send(self, raw: bytes) -> None:
        self._writer.write(raw)
        await self._writer.drain()

    async def receive(self) -> dict[str, Any]:
        line = await asyncio.wait_for(self._reader.readline(), BOUND)
        # One that is killed may have written half a line.
        if not line.endswith(b"\n"):
            raise EOFError("the daemon closed the connection")
        return json.loads(line)

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Give the whole reply, a result or an error."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        await self.send(json.dumps(message).encode() + b"\n")
        while True:
            reply = await self.receive()
            if reply.get("id") == self._number:
                return reply
            self.notifications.append(reply)

    async def call(self, method: str, **params: Any) -> Any:
        reply = await self.ask(method, **params)
        assert "error" not in reply, reply
        return reply["result"]

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()


class Daemon:
    """A byred process with a folder of its own; it can be killed and started again."""

    def __init__(self, folder: Path, model: ScriptedModel) -> None:
        self.folder = folder
        self.model = model
        self.state = folder / "state"
        self.socket = folder / "s"
        self.config = folder / "byred.toml"
        self.log = folder / "daemon.log"
        self.settings: dict[str, Any] = {
            "daemon": {"state_dir": str(self.state), "socket": str(self.socket)},
            "codex": {"auth_file": "", "config": model.codex_config()},
            "scheduler": {"max_running": 8, "retry": {"first": "100ms", "cap": "1s"}},
        }
        self.prefix: tuple[str, ...] = ()
        """What to start it with: a command that becomes the daemon."""
        self.python = [sys.executable, "-X", "dev"]
        self.process: subprocess.Popen[bytes] | None = None

    def write_config(self) -> None:
        # What is made ahead is for those tests that are about it: it takes time from all others.
        self.settings.setdefault("workspace", {}).setdefault("pool", {"trees": 0, "homes": 0})
        self.config.write_text(tomli_w.dumps(self.settings))

    async def start(self, **environment: str) -> None:
        self.write_config()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.prefix, *self.python, "-m", "byred.daemon", "--config", str(self.config)],
                env=os.environ | SECRETS | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        await self.until(self._answers)

    async def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()
        try:
            async with self.client() as client:
                await client.call("daemon.status")
        except (OSError, EOFError):
            return False
        return True

    async def until(self, condition: Callable[[], Any]) -> None:
        """Ask again until it is so; only for what tells nobody when it changes."""
        async with asyncio.timeout(BOUND):
            while not await condition():
                await asyncio.sleep(0.02)

    @contextlib.asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        reader, writer = await asyncio.open_unix_connection(str(self.socket), limit=1 << 26)
        client = Client(reader, writer)
        try:
            yield client
        finally:
            await client.close()

    async def call(self, method: str, **params: Any) -> Any:
        async with self.client() as client:
            return await client.call(method, **params)

    async def call_refused(self, method: str, **params: Any) -> dict[str, Any]:
        """Give the error of a call that is to be refused."""
        async with self.client() as client:
            reply = await client.ask(method, **params)
        assert "error" in reply, reply
        return reply["error"]

    async def submit(self, repo: Path, prompt: str, **more: Any) -> dict[str, Any]:
        return await self.call("task.submit", repo=str(repo), prompt=prompt, **more)

    async def wait(self, task_id: int, *states: str) -> dict[str, Any]:
        """Wait for events until a task is in one of these states."""
        async with self.client() as client:
            seen = await client.call("events.follow")
            assert seen["seq"] >= 0
            try:
                async with asyncio.timeout(BOUND):
                    while True:
                        task = await client.call("task.get", id=task_id)
                        if task["state"] in states:
                            return task
                        if not client.notifications:
                            client.notifications.append(await client.receive())
                        client.notifications.clear()
            except TimeoutError:
                raise TimeoutError(f"{task}\n{self.log.read_text()[-4000:]}") from None

    async def event(self, kind: str, after: int = 0, **match: Any) -> dict[str, Any]:
        """Wait for an event of a kind, past ones included."""
        async with self.client() as client, asyncio.timeout(BOUND):
            await client.call("events.follow", after=after)
            while True:
                queue = client.notifications
                message = queue.pop(0) if queue else await client.receive()
                event = message["params"]
                if event["kind"] == kind and all(event[key] == match[key] for key in match):
                    return event

    async def events(self, task_id: int) -> list[dict[str, Any]]:
        """Give all events of a task until now."""
        async with self.client() as client:
            newest = (await client.call("daemon.status"))["seq"]
            await client.call("events.follow", after=0)
            found: list[dict[str, Any]] = []
            while not found or found[-1]["seq"] < newest:
                queue = client.notifications
                message = queue.pop(0) if queue else await client.receive()
                found.append(message["params"])
        return [event for event in found if event["task_id"] == task_id]

    async def question(self, task_id: int) -> dict[str, Any]:
        """Wait for a task's open question."""
        await self.wait(task_id, "waiting")
        page = await self.call("question.list", states=["open"], task_id=task_id)
        return page["questions"][0]

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(BOUND)

    def stop(self) -> int:
        """Stop it as systemd does; give the exit status."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(BOUND)

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)

    def processes(self, home: str | None = None) -> dict[int, bytes]:
        """Give the processes whose CODEX_HOME is this one, or any of this daemon's: pid, command.

        Seen from outside, whatever namespaces they are in.
        """
        wanted = f"CODEX_HOME={home or self.state}".encode()
        found: dict[int, bytes] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    variables = (entry / "environ").read_bytes().split(b"\0")
                    if any(each.startswith(wanted) for each in variables):
                        found[int(entry.name)] = (entry / "cmdline").read_bytes()
        return found

    def shoot_leftovers(self) -> None:
        """End what was to outlive the daemon and must not outlive the test."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def leftovers(self) -> list[str]:
        """Say which processes of tasks there still are."""
        return [f"{pid}: {command!r}" for pid, command in self.processes().items()]


async def command_runs(daemon: Daemon, task: dict[str, Any]) -> int:
    """Wait until an agent's command runs, and give its pid as seen from outside.

    The command writes its own pid, as seen from inside, to a file: nothing else that codex or a
    shell's profile starts is taken for it.
    """
    path = Path(str(task["worktree"])) / "command.pid"
    async with asyncio.timeout(BOUND):
        while True:
            inner = path.read_text().strip() if path.exists() else ""
            for pid in daemon.processes(task["home"]) if inner else ():
                with contextlib.suppress(OSError):
                    status = Path(f"/proc/{pid}/status").read_text()
                    if status.split("NSpid:")[1].splitlines()[0].split()[-1] == inner:
                        return pid
            await asyncio.sleep(0.02)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    path = tmp_path / "repo"
    path.mkdir()
    git("init", "-q", "-b", "main", cwd=path)
    (path / "README").write_text("A repository.\n")
    git("add", "-A", cwd=path)
    git("commit", "-q", "-m", "First", cwd=path)
    return path


SCRIPTS = (
    Script(
        name="question",
        match=r"(?i)\bask\b",
        steps=(
            Step(ask=Ask(text="Which colour?", options=("red", "blue"))),
            Step(shell="printf '%s\\n' {answer} > colour.txt && " + COMMIT),
            Step(say="Done: {answer}"),
        ),
    ),
    Script(
        name="environment",
        match="(?i)environment",
        steps=(
            Step(shell="env > environment.txt && git add -A && git commit -q -m Environment"),
            Step(say="Done."),
        ),
    ),
    Script(
        name="long",
        match="(?i)long",
        steps=(
            Step(shell="echo started > started.txt"),
            Step(shell="echo $$ > command.pid; exec sleep 600"),
            Step(shell="echo done > done.txt && " + COMMIT),
            Step(say="Done after all."),
        ),
    ),
    Script(
        name="gated",
        match="(?i)gated",
        steps=(
            Step(shell="echo one > one.txt"),
            Step(shell="echo two > two.txt && " + COMMIT, delay="middle"),
            Step(say="Done."),
        ),
    ),
    Script(
        name="plain",
        steps=(Step(shell="echo hello > hello.txt && " + COMMIT), Step(say="Done.")),
    ),
)


@pytest.fixture
def scripts() -> tuple[Script, ...]:
    """The model's scripts; a test that needs others overrides this."""
    return SCRIPTS


@pytest.fixture
async def model(scripts: tuple[Script, ...]) -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel(scripts) as model:
        yield model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    # The socket's path has to fit into 107 bytes, which pytest's own folders can exceed.
    path = tmp_path / "d"
    path.mkdir()
    return path


@pytest.fixture
async def down(folder: Path, model: ScriptedModel) -> AsyncIterator[Daemon]:
    """A daemon that is not started yet."""
    daemon = Daemon(folder, model)
    yield daemon
    daemon.end()
    left = daemon.leftovers()
    daemon.shoot_leftovers()
    assert not left, left
    log = daemon.log.read_text() if daemon.log.exists() else ""
    for sign in ("Traceback", "Warning:", "was never awaited", "never retrieved"):
        assert sign not in log, log[-6000:]


@pytest.fixture
async def daemon(down: Daemon) -> AsyncIterator[Daemon]:
    """A daemon that runs."""
    await down.start()
    yield down


@pytest.fixture
def byre(down: Daemon) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """Run the command against the daemon."""

    def run(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "byred.cli.main", "--socket", str(down.socket), *arguments],
            capture_output=True,
            text=True,
            timeout=BOUND,
            check=False,
            **more,
        )

    yield run
