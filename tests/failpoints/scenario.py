"""The standard scenario: what people do with tasks, on a daemon that may die at any moment.

It has acts, so that each can be lived alone, from where those before it end. What a daemon that is
gone refuses is done again once it is back, as people do, unless the database says that it was done.
"""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from byred.testing.model import ScriptedModel
from byred.testing.script import Ask, Script, Step
from tests.e2e.conftest import BOUND, Daemon, git


def commit(name: str) -> str:
    return (
        f"echo {name} > {name}.txt && git add {name}.txt && git commit -q -m '{name}' && "
        "git rev-parse HEAD"
    )


SCRIPTS = (
    Script(
        name="asks",
        match="asks one",
        steps=(
            Step(shell=commit("before")),
            Step(ask=Ask(text="Which way?", options=("left", "right"))),
            Step(shell=commit("after")),
            Step(say="Done."),
        ),
    ),
    Script(name="sleeps", match="sleeps", steps=(Step(shell="sleep 600"), Step(say="Done."))),
    Script(name="quick", steps=(Step(shell=commit("quick")), Step(say="Done."))),
)
REPOSITORY_SAYS = """
copy = [".env"]
ports = ["web"]
verify = ["test -e deps/a"]
[setup]
run = "mkdir -p deps && echo installed > deps/a"
key = ["README"]
keep = ["deps"]
[hooks]
after_create = "true"
before_run = "true"
after_turn = "true"
before_remove = "true"
"""
ACTS = (
    "begin",
    "talk",
    "work",
    "look",
    "fork",
    "merge",
    "restore",
    "cancel",
    "discard",
    "undelete",
    "follow_up",
    "clear",
)
"""The parts of the scenario: methods of `Person`."""
ASKS, QUICK = 1, 2
ENDED = ("succeeded", "cancelled", "failed")


class Mortal(Daemon):
    """A daemon that is told where to die, once; `deaths` counts."""

    def __init__(
        self, folder: Path, model: ScriptedModel, *, transport: str, armed: str = ""
    ) -> None:
        super().__init__(folder, model)
        self.settings["codex"]["transport"] = transport
        # A server on a socket that dies with its daemon's word is an infrastructure failure.
        self.settings["scheduler"] = {
            "max_running": 4,
            "retry": {"attempts": 10, "first": "50ms", "cap": "200ms"},
        }
        self.settings["workspace"] = {"pool": {"trees": 1, "homes": 1, "load": 1000.0}}
        self.seen = folder.parent / "seen"
        self.temporary = folder / "tmp"
        self.temporary.mkdir(exist_ok=True)
        self.armed = armed
        self.deaths = 0

    async def start(self, **_environment: str) -> None:
        """Start it, again if it dies where it is told before it serves."""
        self.write_config()
        self._spawn({"BYRE_FAILPOINT": self.armed, "BYRE_FAILPOINTS_SEEN": str(self.seen)})
        async with asyncio.timeout(BOUND):
            while not await self.alive():
                await asyncio.sleep(0.05)

    async def alive(self) -> bool:
        """Whether it serves; one that died is started again, unarmed."""
        assert self.process is not None
        status = self.process.poll()
        if status is not None:
            assert status == -signal.SIGKILL, f"{status}: {self.log.read_text()[-4000:]}"
            assert self.armed, self.log.read_text()[-4000:]
            assert not self.deaths, "it died a second time"
            self.deaths += 1
            self._spawn({})
        try:
            async with self.client() as client:
                await client.call("daemon.status")
        except (OSError, EOFError):
            return False
        return True

    def _spawn(self, environment: dict[str, str]) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "byred.daemon", "--config", str(self.config)],
                env=os.environ | {"TMPDIR": str(self.temporary)} | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def row(self, sql: str, *values: Any) -> Any:
        """Read one row of the database, whether the daemon lives or not."""
        path = self.state / "byred.sqlite3"
        if not path.exists():
            return None
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20)) as connection:
            try:
                return connection.execute(sql, values).fetchone()
            except sqlite3.OperationalError as error:
                if "no such table" in str(error):
                    return None
                raise


@dataclass
class Journal:
    """What the person did, by their own account."""

    tasks: dict[int, str] = field(default_factory=dict)
    cancelled: set[int] = field(default_factory=set)
    answered: dict[int, str] = field(default_factory=dict)
    told: dict[int, list[str]] = field(default_factory=dict)


class Person:
    """Who uses the daemon; `journal` and `forks` are what they did, by their own account."""

    def __init__(self, daemon: Mortal, repo: Path) -> None:
        self.daemon = daemon
        self.repo = repo
        self.journal = Journal()
        self.forks: dict[int, int] = {}

    async def call(self, method: str, done: Callable[[], Any] = lambda: None, **params: Any) -> Any:
        """Call until it is done."""
        async with asyncio.timeout(BOUND):
            while True:
                try:
                    async with self.daemon.client() as client:
                        reply = await client.ask(method, **params)
                except (OSError, EOFError):
                    while not await self.daemon.alive():
                        await asyncio.sleep(0.05)
                    if done():
                        return None
                    continue
                assert "error" not in reply, (method, params, reply)
                return reply["result"]

    async def submit(self, name: str, what: str) -> int:
        prompt = f"A task that {what}: {name}."
        task = await self.call("task.submit", repo=str(self.repo), prompt=prompt, key=name)
        self.journal.tasks[task["id"]] = prompt
        return int(task["id"])

    async def wait(self, task_id: int, *states: str, unasked: bool = False) -> dict[str, Any]:
        """Wait for a state; with `unasked`, a task that succeeded after a death will do as well."""
        task: dict[str, Any] = {}
        try:
            async with asyncio.timeout(BOUND):
                while True:
                    task = await self.call("task.get", id=task_id)
                    if task["state"] in states:
                        return task
                    if unasked and self.daemon.deaths and task["state"] == "succeeded":
                        return task
                    assert task["state"] not in (*ENDED, "held"), task
                    await asyncio.sleep(0.15)
        except TimeoutError:
            raise TimeoutError(f"{task}\n{self.daemon.log.read_text()[-4000:]}") from None

    # The acts, in the order of the scenario. What one begins with, those before it have made.

    async def begin(self) -> None:
        await self.call("repo.trust", repo=str(self.repo))

    async def talk(self) -> None:
        task_id = await self.submit("asks", "asks one")
        await self._talk(task_id)

    async def work(self) -> None:
        await self.wait(await self.submit("quick", "is quick"), "succeeded")

    async def look(self) -> None:
        await self.call("task.diff", id=ASKS)
        await self.call("task.patches", id=ASKS)
        await self.call("task.history", id=ASKS)

    async def fork(self) -> None:
        await self.wait(await self._fork(ASKS), "succeeded")

    async def merge(self) -> None:
        await self._merge(QUICK)

    async def restore(self) -> None:
        await self.call("task.restore", id=ASKS, turn=1)

    async def cancel(self) -> None:
        sleeper = await self.submit("sleeper", "sleeps")
        await self._cancel(sleeper)
        await self.wait(sleeper, "cancelled")

    async def discard(self) -> None:
        await self._discard(QUICK)

    async def undelete(self) -> None:
        await self.call("task.undelete", self._gone_or_back(QUICK, gone=False), id=QUICK)

    async def follow_up(self) -> None:
        text = "TOLD-afterwards"
        told = lambda: self.daemon.row("SELECT 1 FROM inputs WHERE text = ?", text)  # noqa: E731
        await self.call("task.tell", told, id=QUICK, text=text)
        self.journal.told[QUICK] = [text]
        await self.wait(QUICK, "succeeded")

    async def clear(self) -> None:
        await self.call("daemon.gc", age=0.0)

    async def _talk(self, task_id: int) -> None:
        await self.wait(task_id, "waiting", "running", unasked=True)
        text = "TOLD-in-between"
        told = lambda: self.daemon.row("SELECT 1 FROM inputs WHERE text = ?", text)  # noqa: E731
        await self.call("task.tell", told, id=task_id, text=text)
        self.journal.told[task_id] = [text]
        # A call that died with its server before it was stored was never asked: the agent goes on.
        task = await self.wait(task_id, "waiting", unasked=True)
        if task["state"] == "succeeded":
            assert self.daemon.row("SELECT 1 FROM questions WHERE task_id = ?", task_id) is None
            return
        page = await self.call("question.list", states=["open"], task_id=task_id)
        question = page["questions"][0]["id"]
        answer = "ANSWER-left"
        answered = lambda: self.daemon.row(  # noqa: E731
            "SELECT 1 FROM questions WHERE id = ? AND answer = ?", question, answer
        )
        await self.call("question.answer", answered, id=question, text=answer)
        self.journal.answered[question] = answer
        task = await self.wait(task_id, "succeeded")
        assert task["attempt"] == 1, task

    async def warm(self, *, trees: int) -> None:
        """Wait for what is made ahead."""
        async with asyncio.timeout(BOUND):
            while True:
                warm = (await self.call("daemon.status"))["warm"]
                if warm["trees"] >= trees and warm["homes"] >= 1:
                    return
                await asyncio.sleep(0.05)

    async def _fork(self, task_id: int) -> int:
        title = "The fork"
        known = lambda: self.daemon.row("SELECT id FROM tasks WHERE title = ?", title)  # noqa: E731
        await self.call(
            "task.fork", known, id=task_id, turn=1, prompt="A fork that goes on.", title=title
        )
        fork = int(known()[0])
        self.forks[fork] = task_id
        return fork

    async def _merge(self, task_id: int) -> None:
        merged = lambda: self.daemon.row(  # noqa: E731
            "SELECT 1 FROM events WHERE kind = 'task.merged' AND task_id = ?", task_id
        )
        await self.call("task.merge", merged, id=task_id)

    async def _cancel(self, task_id: int) -> None:
        await self.wait(task_id, "running")
        cancelled = lambda: self.daemon.row(  # noqa: E731
            "SELECT 1 FROM events WHERE kind = 'task.cancelling' AND task_id = ?", task_id
        )
        await self.call("task.cancel", cancelled, id=task_id)
        self.journal.cancelled.add(task_id)

    async def _discard(self, task_id: int) -> None:
        await self.call("task.discard", self._gone_or_back(task_id, gone=True), id=task_id)

    def _gone_or_back(self, task_id: int, *, gone: bool) -> Callable[[], bool]:
        def done() -> bool:
            task = self.daemon.row("SELECT worktree FROM tasks WHERE id = ?", task_id)
            event = self.daemon.row(
                "SELECT kind FROM events WHERE task_id = ? AND kind IN ('task.removing', "
                "'task.removed', 'task.undeleted') ORDER BY seq DESC",
                task_id,
            )
            wanted = "task.removed" if gone else "task.undeleted"
            return event is not None and event[0] == wanted and Path(task[0]).exists() is not gone

        return done

    async def stop(self) -> None:
        """Stop the daemon; one that dies of it is started and stopped again."""
        while await asyncio.to_thread(self.daemon.stop) != 0:
            while not await self.daemon.alive():
                await asyncio.sleep(0.05)


def make_repository(path: Path) -> Path:
    path.mkdir()
    git("init", "-q", "-b", "main", cwd=path)
    (path / "README").write_text("A repository.\n")
    (path / ".gitignore").write_text(".env\ndeps/\n")
    (path / ".byre.toml").write_text(REPOSITORY_SAYS)
    git("add", "-A", cwd=path)
    git("commit", "-q", "-m", "First", cwd=path)
    (path / ".env").write_text("A=1\n")
    return path
