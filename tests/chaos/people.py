"""What people do in a chaos run, and a journal of it: the run's own account, kept apart from byred.

Each call has one of three ends: acknowledged, refused, or the reply was lost. Only the first is a
promise; after the second nothing may have happened, after the third either.
"""

import asyncio
import random
import subprocess
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from tests.chaos.scripts import PROMPTS
from tests.e2e.conftest import Daemon, git

ENDED = ("succeeded", "failed", "cancelled")
MERGES = ("merge", "squash", "rebase", "ff")


class End(StrEnum):
    """How a call ended."""

    DONE = "done"
    REFUSED = "refused"
    LOST = "lost"


@dataclass
class Merge:
    """A merge that was acknowledged, and what the branch was then."""

    task: int
    repo: Path
    into: str
    how: str
    tip: str
    after: str


@dataclass
class Journal:
    """What the run did, by its own account."""

    keys: dict[str, str] = field(default_factory=dict)
    forks: dict[str, int] = field(default_factory=dict)
    tasks: dict[int, str] = field(default_factory=dict)
    cancels: set[int] = field(default_factory=set)
    answers: dict[int, list[tuple[str, End]]] = field(default_factory=dict)
    told: dict[int, list[tuple[str, End]]] = field(default_factory=dict)
    merges: list[Merge] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    troubles: dict[str, int] = field(default_factory=dict)
    refusals: dict[str, int] = field(default_factory=dict)
    deaths: list[str] = field(default_factory=list)
    calls: int = 0
    lost: int = 0

    def count(self, what: str, end: End) -> None:
        """Count a thing that a person did."""
        self.counts[f"{what} {end}"] = self.counts.get(f"{what} {end}", 0) + 1

    def trouble(self, what: str) -> None:
        """Count a trouble that was made."""
        self.troubles[what] = self.troubles.get(what, 0) + 1


class People:
    """Submits tasks and does with them what people might."""

    def __init__(
        self, daemon: Daemon, repos: list[Path], journal: Journal, *, seed: int, flight: int
    ) -> None:
        self._daemon = daemon
        self._repos = repos
        self._journal = journal
        self._random = random.Random(f"{seed} people")
        self._flight = flight
        self._number = 0
        self._tells = 0
        self.full = asyncio.Event()
        """Set once as many tasks as wanted have been in flight."""
        self.enough = False
        """Whether they rest. A call that is cancelled at the moment of its reply may go on."""

    async def call(self, method: str, **params: Any) -> tuple[End, Any]:
        """Call the daemon; with the end the result, or what was said instead."""
        self._journal.calls += 1
        try:
            async with asyncio.timeout(60), self._daemon.client() as client:
                reply = await client.ask(method, **params)
        except (OSError, EOFError, TimeoutError) as error:
            self._journal.lost += 1
            return End.LOST, error
        if "error" in reply:
            why = str(reply["error"].get("data", {}).get("kind", reply["error"]["code"]))
            self._journal.refusals[f"{method} {why}"] = (
                self._journal.refusals.get(f"{method} {why}", 0) + 1
            )
            return End.REFUSED, reply["error"]
        return End.DONE, reply["result"]

    async def live(self) -> None:
        """Act until it is enough."""
        while not self.enough:
            end, listed = await self.call("task.list", limit=1000)
            if end is not End.DONE:
                await asyncio.sleep(0.05)
                continue
            everything = listed["tasks"]
            under_way = [task for task in everything if task["state"] not in ENDED]
            if len(under_way) >= self._flight:
                self.full.set()
            for _ in range(min(self._flight - len(under_way), 6)):
                await self._submit()
            for _ in range(self._random.randrange(1, 4)):
                await self._act(everything)
            await asyncio.sleep(self._random.uniform(0.0, 0.3))

    async def _submit(self) -> None:
        self._number += 1
        key = f"k{self._number}"
        prompt = f"A task that {self._random.choice(PROMPTS)}, number {self._number}."
        repo = self._random.choice(self._repos)
        self._journal.keys[key] = prompt
        while True:
            end, task = await self.call("task.submit", repo=str(repo), prompt=prompt, key=key)
            self._journal.count("submit", end)
            if end is End.DONE:
                self._journal.tasks[task["id"]] = prompt
                return
            await asyncio.sleep(0.05)

    async def _act(self, everything: list[dict[str, Any]]) -> None:
        await self._answer_some()
        roll = self._random.random()
        live = [task for task in everything if task["state"] in ("running", "waiting", "queued")]
        ended = [task for task in everything if task["state"] in ENDED]
        if roll < 0.40:
            if not live:
                return
            task = self._random.choice(live)
            if roll < 0.05:
                await self._simple("cancel", task)
            elif roll < 0.25:
                await self._tell(task)
            elif roll < 0.32:
                await self._simple("interrupt", task)
            elif roll < 0.37:
                await self._fork(task)
            else:
                await self._simple("hold", task)
        elif roll < 0.9:
            if not ended:
                return
            task = self._random.choice(ended[:40])
            if roll < 0.52:
                await self._merge(task, everything)
            elif roll < 0.60:
                await self._fork(task)
            elif roll < 0.67:
                await self._tell(task)
            elif roll < 0.77:
                await self._simple("discard", task)
            elif roll < 0.87:
                gone = [each for each in ended if each["removed_at"]]
                if gone:
                    await self._simple("undelete", self._random.choice(gone))
            else:
                failed = [each for each in ended if each["state"] == "failed"]
                if failed:
                    await self._simple("retry", self._random.choice(failed))
        elif roll < 0.95:
            held = [task for task in everything if task["state"] == "held"]
            if held:
                await self._simple("release", self._random.choice(held))
        else:
            end, _ = await self.call("daemon.gc", count=self._random.randrange(5, 40))
            self._journal.count("gc", end)

    async def _simple(self, what: str, task: dict[str, Any]) -> None:
        if what == "cancel":
            self._journal.cancels.add(task["id"])
        end, _ = await self.call(f"task.{what}", id=task["id"])
        self._journal.count(what, end)

    async def _tell(self, task: dict[str, Any]) -> None:
        self._tells += 1
        text = f"TOLD-{task['id']}-{self._tells}."
        end, _ = await self.call("task.tell", id=task["id"], text=text)
        self._journal.told.setdefault(task["id"], []).append((text, end))
        self._journal.count("tell", end)

    async def _fork(self, task: dict[str, Any]) -> None:
        self._number += 1
        prompt = f"FORK-{task['id']}-{self._number}."
        self._journal.forks[prompt] = task["id"]
        end, made = await self.call("task.fork", id=task["id"], prompt=prompt)
        self._journal.count("fork", end)
        if end is End.DONE:
            self._journal.tasks[made["id"]] = prompt

    async def _merge(self, task: dict[str, Any], everything: list[dict[str, Any]]) -> None:
        by_id = {each["id"]: each for each in everything}
        root = task
        while root["forked_from"] is not None:
            root = by_id[root["forked_from"]["task"]]
        # All of a family in one way: commits that were made anew and the old ones are two.
        how = MERGES[root["id"] % len(MERGES)]
        if (root is not task and how in ("squash", "rebase")) or task["removed_at"]:
            return
        into = self._random.choice(("main", "released"))
        repo = Path(task["repo"])
        tip = await asyncio.to_thread(find, f"refs/heads/{task['branch']}", repo)
        end, merged = await self.call("task.merge", id=task["id"], into=into, how=how)
        self._journal.count(f"merge by {how}", end)
        if end is End.DONE and tip is not None:
            self._journal.merges.append(
                Merge(task["id"], repo, into, how, tip, merged["merged"]["after"])
            )

    async def _answer_some(self) -> None:
        end, page = await self.call("question.list", states=["open"])
        if end is not End.DONE or not page["questions"]:
            return
        chosen = self._random.choice(page["questions"])
        # Two at once are answered at once.
        same = [each for each in page["questions"] if each["task_id"] == chosen["task_id"]]
        await asyncio.gather(*(self.answer(each["id"]) for each in same))

    async def answer(self, question: int) -> None:
        """Answer a question, in words that are used once."""
        said = self._journal.answers.setdefault(question, [])
        text = f"ANSWER-{question}-{len(said)}."
        end, _ = await self.call("question.answer", id=question, text=text)
        said.append((text, end))
        self._journal.count("answer", end)

    async def finish(self) -> bool:
        """Answer, release, retry and undelete what hinders the end; say whether it has come."""
        end, page = await self.call("question.list", states=["open"], limit=1000)
        if end is not End.DONE:
            return False
        for question in page["questions"]:
            await self.answer(question["id"])
        end, listed = await self.call("task.list", limit=1000)
        if end is not End.DONE:
            return False
        for task in listed["tasks"]:
            if task["state"] == "held":
                await self._simple("release", task)
            elif task["state"] == "failed":
                await self._simple("retry", task)
        return all(task["state"] in ("succeeded", "cancelled") for task in listed["tasks"])

    async def tidied(self) -> bool:
        """Say whether no worktree is there that is said to be gone, and none is to go."""
        end, listed = await self.call("task.list", limit=1000)
        if end is not End.DONE:
            return False
        gone = [each for each in listed["tasks"] if each["removed_at"]]
        end, plan = await self.call("daemon.gc", dry_run=True)
        to_go = [each for each in plan["tasks"] if each["goes"]] if end is End.DONE else ["unknown"]
        return not to_go and not any(Path(each["worktree"]).exists() for each in gone)


def find(name: str, repo: Path) -> str | None:
    """Give the commit that a name stands for, None when it stands for none."""
    try:
        return git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", cwd=repo)
    except subprocess.CalledProcessError:
        return None
