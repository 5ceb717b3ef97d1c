"""The acts of the standard scenario, each lived from its beginning and killed at one failpoint.

`check` holds the end of each to what byred promises.
"""

import asyncio
import copy
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from byred.testing.model import ScriptedModel
from tests.failpoints.checker import check, left
from tests.failpoints.scenario import ACTS, Journal, Mortal, Person, make_repository


@dataclass
class Ready:
    """An act as it begins: the folder as it was then, and what was done and said before."""

    copy: Path
    journal: Journal
    forks: dict[int, int]
    said: int
    left: set[str] = field(default_factory=set)
    passed: list[str] = field(default_factory=list)


@dataclass
class Lived:
    """How an act went: whether it was killed where it was told, and what is wrong."""

    died: bool
    wrong: list[str]
    seconds: float


class Stage:
    """Where acts are lived, one at a time, in one folder: `rehearse` comes first."""

    def __init__(self, folder: Path, model: ScriptedModel, *, transport: str) -> None:
        self.folder = folder
        self.model = model
        self.transport = transport
        self.acts: dict[str, Ready] = {}

    async def rehearse(self, acts: tuple[str, ...] = ACTS) -> None:
        """Live the whole scenario without a kill; note how each act begins and what it passes."""
        place = self.folder / "life"
        place.mkdir()
        make_repository(place / "repo")
        (place / "d").mkdir()
        person = Person(Mortal(place / "d", self.model, transport=self.transport), place / "repo")
        for act in acts:
            ready = self.acts[act] = Ready(
                self.folder / "copies" / act,
                copy.deepcopy(person.journal),
                dict(person.forks),
                len(self.model.requests),
            )
            put(place, ready.copy)
            wrong = await self._live(person, act, wait=True)
            assert not wrong, (act, wrong)
            ready.passed = list(dict.fromkeys(person.daemon.seen.read_text().splitlines()))
            ready.left = left(person.daemon, person.repo)
            person.daemon.seen.unlink()

    def failpoints(self) -> dict[str, str]:
        """Give all that were passed, each with the first act that passes it."""
        found: dict[str, str] = {}
        for act, ready in self.acts.items():
            for name in ready.passed:
                found.setdefault(name, act)
        return found

    async def kill_at(self, name: str, act: str) -> Lived:
        """Live an act once more, and die at a failpoint of it."""
        ready = self.acts[act]
        place = self.folder / "life"
        await asyncio.to_thread(put, ready.copy, place)
        before = self.model.requests[: ready.said]
        start = len(self.model.requests)
        daemon = Mortal(place / "d", self.model, transport=self.transport, armed=name)
        person = Person(daemon, place / "repo")
        person.journal, person.forks = copy.deepcopy(ready.journal), dict(ready.forks)
        began = time.monotonic()
        wait = name.startswith(("agents.warming", "workspace.trees.pool", "workspace.home.homes"))
        wrong = await self._live(person, act, wait=wait, said=before, start=start)
        if not wrong and daemon.deaths:
            extra = left(daemon, person.repo) - ready.left
            wrong += [f"left: {each}" for each in sorted(extra)]
        return Lived(bool(daemon.deaths), wrong, time.monotonic() - began)

    async def _live(
        self,
        person: Person,
        act: str,
        *,
        wait: bool,
        said: Sequence[Any] = (),
        start: int = 0,
    ) -> list[str]:
        daemon = person.daemon
        wrong: list[str] = []
        try:
            await daemon.start()
            await getattr(person, act)()
            if wait:
                await person.warm(trees=min(len(person.journal.tasks), 1))
            await person.stop()
            wrong += [f"process: {each}" for each in daemon.leftovers()]
        except (AssertionError, TimeoutError) as error:
            wrong.append(f"it did not come through: {type(error).__name__}: {error}")
        finally:
            await asyncio.to_thread(daemon.end)
            daemon.shoot_leftovers()
        log = daemon.log.read_text()
        if "Traceback" in log:
            wrong.append(f"the log has a traceback: {log[-3000:]}")
        requests = [msgspec.to_builtins(sent) for sent in (*said, *self.model.requests[start:])]
        return wrong or check(daemon, person, requests)


def put(source: Path, target: Path) -> None:
    """Make `target` a copy of `source`, with all times as they are."""
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(exist_ok=True)
    subprocess.run(["cp", "-a", "--reflink=auto", str(source), str(target)], check=True)
