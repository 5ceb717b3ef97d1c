"""The whole life of two tasks' ground, step by step, for a process that is killed on the way.

`python life.py FOLDER HOW` goes on at the step that a file in FOLDER names, as a daemon goes on at
what its store says, and does that step again. The first run of a step is killed at its first git
command, the next at its second, and so on, until one comes through; the git on PATH is a shim that
kills before, after or in the middle of the command (HOW). Prints how many runs were killed.
"""

import asyncio
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from byred.workspace import repository
from byred.workspace.keeping import checkpoint, kept
from byred.workspace.results import merge
from byred.workspace.trees import pool, tidy, worktree

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DELAYS = ("0", "0.002", "0.005")
GIT = os.environ["REAL_GIT"]


class Life:
    """The steps; each may be begun again after it was cut anywhere."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "worktrees"
        self.pool = self.root / "repo" / pool.POOL

    def place(self, name: str) -> Path:
        return self.root / "repo" / name

    async def repo(self) -> repository.Repository:
        return await repository.inspect(self.folder / "repo")

    async def fill(self) -> None:
        repo = await self.repo()
        await pool.fill(repo, self.pool, commit=str(repo.head), size=1)

    async def begin(self) -> None:
        repo = await self.repo()
        base = await repository.resolve_base(repo, "start")
        await worktree.ensure(
            repo,
            task_id=1,
            path=self.place("1-a"),
            branch="byre/1-a",
            base_commit=base.commit,
            root=self.root,
            pool=self.pool,
        )

    async def work(self) -> None:
        self.agent("a", "committed\n")
        self.git("add", "a")
        if self.git("status", "--porcelain", "--untracked-files=no"):
            self.git("commit", "-q", "-m", "agent's")
        self.agent("u", "untracked\n")

    async def first_checkpoint(self) -> None:
        await checkpoint.record(self.place("1-a"), task_id=1, number=1)

    async def more_work(self) -> None:
        self.agent("u", "changed\n")
        self.agent("later", "later\n")
        self.git("rm", "-q", "--ignore-unmatch", "README")

    async def second_checkpoint(self) -> None:
        await checkpoint.record(self.place("1-a"), task_id=1, number=2)

    async def restore(self) -> None:
        await checkpoint.restore(await self.repo(), self.place("1-a"), task_id=1, number=1)

    async def fork(self) -> None:
        await checkpoint.fork(
            await self.repo(),
            task_id=1,
            number=2,
            source=self.place("1-a"),
            to=2,
            path=self.place("2-b"),
            branch="byre/2-b",
            root=self.root,
        )

    async def merge(self) -> None:
        await merge.merge(await self.repo(), source="byre/1-a", how=merge.How.MERGE)

    async def remove(self) -> None:
        await self._remove("1", "1-a")

    async def undelete(self) -> None:
        await kept.undelete(await self.repo(), task_id="1", path=self.place("1-a"), root=self.root)

    async def remove_fork(self) -> None:
        await self._remove("2", "2-b")

    async def tidy(self) -> None:
        await tidy.tidy(await self.repo(), self.root / "repo")

    async def _remove(self, task_id: str, name: str) -> None:
        await kept.remove(
            await self.repo(),
            path=self.place(name),
            root=self.root,
            task_id=task_id,
            branch=f"byre/{name}",
            now=NOW,
            pool=self.pool,
        )

    def agent(self, name: str, content: str) -> None:
        (self.place("1-a") / name).write_text(content)

    def git(self, *args: str) -> str:
        """Run git as the agent does: no part of the run that is killed."""
        done = subprocess.run(
            [GIT, *args], cwd=self.place("1-a"), capture_output=True, text=True, check=True
        )
        return done.stdout

    async def go_on(self) -> None:
        steps = [
            self.fill,
            self.begin,
            self.work,
            self.first_checkpoint,
            self.more_work,
            self.second_checkpoint,
            self.restore,
            self.fork,
            self.merge,
            self.remove,
            self.fill,
            self.undelete,
            self.remove_fork,
            self.fill,
            self.tidy,
        ]
        note = self.folder / "step"
        at = int(note.read_text()) if note.exists() else 0
        for number in range(at, len(steps)):
            note.write_text(str(number))
            await steps[number]()
        note.write_text(str(len(steps)))


def run(folder: Path, at: int, how: str) -> bool:
    """Do one run in a process of its own; say whether it came through."""
    (folder / "count").write_text("0")
    child = os.fork()
    if child == 0:
        delay = DELAYS[at % len(DELAYS)]
        os.environ.update(KILL_AT=str(at), KILL_HOW=how, KILL_DELAY=delay)
        asyncio.run(Life(folder).go_on())
        os._exit(0)
    _, status = os.waitpid(child, 0)
    exit_status = os.waitstatus_to_exitcode(status)
    if exit_status not in (0, -signal.SIGKILL):
        raise SystemExit(f"a run ended with {exit_status}")
    return exit_status == 0


def main() -> None:
    folder, how = Path(sys.argv[1]), sys.argv[2]
    note = folder / "step"
    kills, at, step = 0, 1, "0"
    while not run(folder, at, how):
        kills += 1
        now = note.read_text()
        at, step = (at + 1, step) if now == step else (1, now)
    print(kills)


if __name__ == "__main__":
    main()
