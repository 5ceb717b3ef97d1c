"""How long a task waits for its worktree, against plain `git worktree add`, in one run.

`python -m tests.bench.worktrees [FILES]` makes a repository of 20,000 files, adds worktrees to it
by turns plainly, cold and warm, and prints the medians, their ratios and what was promised. Exits
with 1 when a promise is broken or a tree is not what git makes.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from byred.workspace import repository
from byred.workspace.keeping import kept
from byred.workspace.repository import Repository
from byred.workspace.trees import pool, worktree

ROUNDS = 3
OTHERS = 200
"""Worktrees that exist already in the second part."""
PROMISED = {"cold": 0.6, "warm": 0.1, f"warm beside {OTHERS} others": 0.1}


def git(*args: str, cwd: Path, stdin: bytes | None = None) -> str:
    """Run plain git, as a person does."""
    done = subprocess.run(["git", *args], cwd=cwd, input=stdin, capture_output=True, check=True)
    return done.stdout.decode()


def make_repository(folder: Path, files: int) -> None:
    """Make a repository with `files` files of some 2 kB in folders of fifty."""
    git("init", "-q", "-b", "main", str(folder), cwd=folder.parent)
    stream = bytearray()
    stream += b"commit refs/heads/main\ncommitter B <b@localhost> 0 +0000\ndata 1\n.\n"
    for number in range(files):
        content = f"line {number}\n".encode() * 180
        stream += f"M 100644 inline d{number // 2500}/e{number // 50}/f{number}.txt\n".encode()
        stream += b"data %d\n%b\n" % (len(content), content)
    git("fast-import", "--quiet", cwd=folder, stdin=bytes(stream))
    git("reset", "--hard", "-q", cwd=folder)
    git("config", "user.name", "Bench", cwd=folder)
    git("config", "user.email", "bench@localhost", cwd=folder)


class Bench:
    """One repository, and ways to give a task a worktree of it."""

    def __init__(self, folder: Path) -> None:
        """Work in `folder`."""
        self.folder = folder
        self.source = folder / "source"
        self.root = folder / "worktrees"
        self.count = 0
        self.times: dict[str, list[float]] = {}

    async def repo(self) -> Repository:
        """Look at the repository."""
        return await repository.inspect(self.source)

    async def plain(self, kind: str = "plain") -> Path:
        """Add a worktree with git alone."""
        self.count += 1
        path = self.folder / "plain" / str(self.count)
        begun = time.monotonic()
        await asyncio.to_thread(
            git, "worktree", "add", "-q", "-b", f"plain/{self.count}", str(path), cwd=self.source
        )
        self.times.setdefault(kind, []).append(time.monotonic() - begun)
        return path

    async def task(self, kind: str, *, warm: bool) -> worktree.Worktree:
        """Give a task a worktree, everything included that byred does for it."""
        self.count += 1
        name = f"{self.count}-task"
        begun = time.monotonic()
        repo = await self.repo()
        base = await repository.resolve_base(repo, None)
        made = await worktree.ensure(
            repo,
            task_id=self.count,
            path=self.root / repo.name / name,
            branch=f"byre/{name}",
            base_commit=base.commit,
            root=self.root,
            pool=pool.folder_of(self.root, repo) if warm else None,
        )
        self.times.setdefault(kind, []).append(time.monotonic() - begun)
        return made

    async def fill(self, size: int, kind: str | None = None) -> None:
        """Make trees ahead."""
        repo = await self.repo()
        begun = time.monotonic()
        ready = await pool.fill(
            repo, pool.folder_of(self.root, repo), commit=str(repo.head), size=size
        )
        if ready != size:
            raise SystemExit(f"the pool has {ready} trees instead of {size}")
        if kind is not None:
            self.times.setdefault(kind, []).append(time.monotonic() - begun)

    async def end(self, made: worktree.Worktree) -> None:
        """Take a task's worktree away, for the pool."""
        repo = await self.repo()
        begun = time.monotonic()
        await kept.remove(
            repo,
            path=made.path,
            root=self.root,
            task_id=made.path.name.removesuffix("-task"),
            branch=made.branch,
            now=datetime.now(UTC),
            pool=pool.folder_of(self.root, repo),
        )
        self.times.setdefault("end (kept)", []).append(time.monotonic() - begun)

    def drop(self, path: Path) -> None:
        """Remove a worktree, untimed."""
        git("worktree", "remove", "--force", str(path), cwd=self.source)

    def report(self) -> bool:
        """Print the figures; say whether every promise was kept."""
        base = statistics.median(self.times["plain"])
        good = True
        for kind, times in self.times.items():
            middle = statistics.median(times)
            most = PROMISED.get(kind)
            kept_it = most is None or middle <= most * base
            good = good and kept_it
            promise = (
                "" if most is None else f"  promised {most:.2f} {'ok' if kept_it else 'BROKEN'}"
            )
            print(f"{kind:24} {middle:8.3f} s  {middle / base:6.3f} of plain{promise}")
        return good


def same(one: Path, other: Path) -> bool:
    """Say whether git finds the same in both trees."""
    questions = (("status", "--porcelain", "--ignored"), ("ls-files", "-s"), ("write-tree",))
    return all(git(*each, cwd=one) == git(*each, cwd=other) for each in questions)


async def run(folder: Path, files: int) -> bool:
    """Measure; return whether every promise was kept."""
    bench = Bench(folder)
    await asyncio.to_thread(make_repository, bench.source, files)
    await bench.fill(ROUNDS)
    for _ in range(ROUNDS):
        plain = await bench.plain()
        cold = await bench.task("cold", warm=False)
        warm = await bench.task("warm", warm=True)
        for made in (cold, warm):
            if not await asyncio.to_thread(same, plain, made.path):
                raise SystemExit(f"{made.path} is not what git makes")
        await bench.end(warm)
        await bench.fill(ROUNDS, "scrub and refill one")
        await asyncio.to_thread(bench.drop, plain)
        await asyncio.to_thread(bench.drop, cold.path)
    for number in range(OTHERS):
        place = folder / "others" / str(number)
        args = ("worktree", "add", "-q", "--no-checkout", "-b", f"other/{number}", str(place))
        await asyncio.to_thread(git, *args, cwd=bench.source)
    for _ in range(ROUNDS):
        await bench.task(f"warm beside {OTHERS} others", warm=True)
    return bench.report()


def main(files: int = 20_000) -> int:
    """Run in a temporary folder; return 1 when a promise was broken."""
    with tempfile.TemporaryDirectory(prefix="byre-bench-", dir=os.environ.get("TMPDIR")) as folder:
        good = asyncio.run(run(Path(folder).resolve(), files))
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:2])))
