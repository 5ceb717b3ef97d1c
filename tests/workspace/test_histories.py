"""Random histories of agents, a person and byred: what was kept once can be had ever after.

`BYRE_HISTORIES=200` runs as many; the default is small, for every run of the suite.
"""

import asyncio
import os
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from byred.workspace import repository
from byred.workspace.errors import Kind, WorkspaceError
from byred.workspace.keeping import checkpoint, kept
from byred.workspace.results import merge
from byred.workspace.results.merge import How
from byred.workspace.trees import pool, tidy, worktree

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = st.sampled_from(["a", "b", "dir/c", "dir/d", "ünï code", "-dash", "x.log", "dir/y.log"])
CONTENTS = st.sampled_from(["", "one\n", "two\n", "one\ntwo\nthree\n", "no end", "\0binary"])
TASK = "1-fix"


class Histories(RuleBasedStateMachine):
    """One person, one task and its forks."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="byre-history-"))
        self.repo = self.folder / "repo"
        self.root = self.folder / "worktrees"
        self.pool = self.root / "repo" / pool.POOL
        self.task = self.root / "repo" / TASK
        self.turns: dict[int, dict[str, bytes]] = {}
        self.commits: set[str] = set()
        self.asides = 0

    # -- helpers -------------------------------------------------------------------------------

    def git(self, *args: str, cwd: Path | None = None, check: bool = True) -> str:
        done = subprocess.run(
            ["git", *args], cwd=cwd or self.repo, capture_output=True, text=True, check=False
        )
        assert not check or done.returncode == 0, f"git {args}: {done.stderr}"
        return done.stdout.rstrip("\n")

    def by_agent(self, *args: str, cwd: Path | None = None) -> None:
        """Run git as the agent, who often asks for what can't be."""
        self.git(*args, cwd=cwd or self.task, check=False)
        self.commits.update(self.git("rev-list", "--all", "--reflog", cwd=self.task).split())

    def files(self, tree: Path) -> dict[str, bytes]:
        """Return the files of a tree that are not ignored, those of inner repositories too."""
        found = {}
        listing = self.git("ls-files", "-z", "-co", "--exclude-standard", cwd=tree)
        for name in filter(None, listing.split("\0")):
            path = tree / name
            if path.is_dir() and (path / ".git").exists():
                inner = self.files(path)
                found |= {
                    f"{name.rstrip('/')}/{below}": content for below, content in inner.items()
                }
            elif path.is_file():
                found[name] = path.read_bytes()
        return found

    def persons(self) -> tuple[object, ...]:
        """Return all that belongs to the person and must not change by itself."""
        return (
            self.git("rev-parse", "HEAD"),
            self.git("status", "--porcelain=v2"),
            self.git("ls-files", "--stage"),
            {
                str(p): p.read_bytes()
                for p in self.repo.rglob("*")
                if p.is_file() and ".git" not in p.relative_to(self.repo).parts
            },
        )

    async def _inspect(self) -> repository.Repository:
        return await repository.inspect(self.repo)

    def byred(self, action):
        """Run one of byred's actions; the person's checkout must stay as it was."""
        before = self.persons()
        try:
            return asyncio.run(action)
        finally:
            assert self.persons() == before

    @property
    def there(self) -> bool:
        return self.task.exists()

    # -- the beginning and the end -------------------------------------------------------------

    @initialize()
    def begin(self) -> None:
        library = self.folder / "library"
        for place in (library, self.repo):
            self.git("init", "-q", str(place), cwd=self.folder)
        (library / "lib.c").write_text("int x;\n")
        self.git("add", "-A", cwd=library)
        self.git("commit", "-qm", "library", cwd=library)
        (self.repo / "README").write_text("hello\n")
        (self.repo / ".gitignore").write_text("*.log\n")
        self.git("submodule", "--quiet", "add", str(library), "sub")
        self.git("add", "-A")
        self.git("commit", "-qm", "first")
        self.git("tag", "start")
        (self.repo / "mine").write_text("the person's, untracked\n")
        self.byred(self._begin())

    async def _begin(self) -> None:
        repo = await self._inspect()
        base = await repository.resolve_base(repo, "start")
        await worktree.ensure(
            repo,
            task_id=1,
            path=self.task,
            branch=f"byre/{TASK}",
            base_commit=base.commit,
            root=self.root,
            pool=self.pool,
        )

    def teardown(self) -> None:
        try:
            if self.repo.exists() and self.git("tag", "-l", "start"):
                self.at_the_end()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def at_the_end(self) -> None:
        """Throw away all that a person might, then look for everything that ever was."""
        if self.there:
            self.byred(self._remove())
        self.byred(self._tidy())
        self.git("reflog", "expire", "--expire=now", "--all")
        self.git("gc", "-q", "--prune=now")
        assert self.git("fsck", "--no-dangling", "--no-progress") == ""
        have = set(self.git("rev-list", "--all").split())
        assert self.commits <= have
        for number, files in self.turns.items():
            self.byred(self._fork(number, f"9-turn-{number}"))
            made = self.root / "repo" / f"9-turn-{number}"
            assert self.files(made) == files, number

    # -- the agent -----------------------------------------------------------------------------

    @precondition(lambda self: self.there)
    @rule(name=NAMES, content=CONTENTS)
    def write(self, name: str, content: str) -> None:
        path = self.task / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)

    @precondition(lambda self: self.there)
    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        (self.task / name).unlink(missing_ok=True)

    @precondition(lambda self: self.there)
    @rule(name=NAMES, target_name=NAMES)
    def rename(self, name: str, target_name: str) -> None:
        self.by_agent("mv", "-f", "--", name, target_name)

    @precondition(lambda self: self.there)
    @rule(name=NAMES)
    def stage(self, name: str) -> None:
        self.by_agent("add", "--", name)

    @precondition(lambda self: self.there)
    @rule(amend=st.booleans())
    def commit(self, amend: bool) -> None:
        self.by_agent("add", "-A", "--", ".", ":!sub")
        self.by_agent("commit", "-qm", "agent's", *(["--amend"] if amend else []))

    @precondition(lambda self: self.there)
    @rule(
        args=st.sampled_from(
            [
                ("reset", "-q", "--hard", "HEAD^"),
                ("reset", "-q", "--soft", "HEAD^"),
                ("rebase", "-q", "main"),
                ("rebase", "--abort"),
                ("merge", "-q", "--no-edit", "main"),
                ("merge", "--abort"),
                ("stash", "-u", "-q"),
                ("switch", "-q", "--detach"),
                ("switch", "-q", "-c", "byre-side"),
                ("switch", "-q", f"byre/{TASK}"),
                ("switch", "-q", "byre-side"),
                ("commit", "-q", "--allow-empty", "-m", "empty"),
                ("rm", "-q", "-r", "-f", "--ignore-unmatch", "dir"),
            ]
        )
    )
    def use_git(self, args: tuple[str, ...]) -> None:
        self.by_agent(*args)

    @precondition(lambda self: self.there)
    @rule(what=st.sampled_from(["fill", "commit", "dirty", "move"]))
    def work_in_the_submodule(self, what: str) -> None:
        sub = self.task / "sub"
        if what == "fill":
            self.by_agent("submodule", "--quiet", "update", "--init")
        if not (sub / ".git").exists():
            return
        if what == "dirty":
            (sub / "lib.c").write_text("int dirty;\n")
        if what == "commit":
            (sub / "more.c").write_text("int more;\n")
            self.git("add", "-A", cwd=sub)
            self.git("commit", "-q", "--allow-empty", "-m", "in the submodule", cwd=sub)
        if what == "move":
            self.by_agent("add", "sub")

    @precondition(lambda self: self.there)
    @rule(what=st.sampled_from(["init", "write", "commit", "remove"]))
    def work_in_a_nested_repository(self, what: str) -> None:
        nested = self.task / "nested"
        if what == "init" and not nested.exists():
            self.git("init", "-q", str(nested))
        if not (nested / ".git").exists():
            return
        if what == "write":
            (nested / "n").write_text("nested\n")
        if what == "commit":
            self.git("add", "-A", cwd=nested)
            self.git("commit", "-q", "--allow-empty", "-m", "nested", cwd=nested)
        if what == "remove":
            shutil.rmtree(nested)

    # -- the person ----------------------------------------------------------------------------

    @rule(content=CONTENTS)
    def the_person_commits(self, content: str) -> None:
        (self.repo / "dir").mkdir(exist_ok=True)
        (self.repo / "dir" / "c").write_text(content)
        self.git("add", "dir")
        self.git("commit", "-q", "--allow-empty", "-m", "person's")
        self.commits.add(self.git("rev-parse", "HEAD"))

    # -- byred ---------------------------------------------------------------------------------

    @precondition(lambda self: self.there)
    @rule()
    def checkpoint(self) -> None:
        number = len(self.turns) + 1
        files = self.files(self.task)
        before = self.git("status", "--porcelain=v2", "--branch", cwd=self.task)
        made = self.byred(checkpoint.record(self.task, task_id=1, number=number))
        assert made.snapshot.skipped == ()
        assert self.files(self.task) == files
        assert self.git("status", "--porcelain=v2", "--branch", cwd=self.task) == before
        self.turns[number] = files

    @precondition(lambda self: self.there and self.turns)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.turns)))
        self.byred(self._restore(number))
        assert self.files(self.task) == self.turns[number]

    async def _restore(self, number: int) -> None:
        await checkpoint.restore(await self._inspect(), self.task, task_id=1, number=number)

    @precondition(lambda self: self.turns)
    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.turns)))
        self.byred(self._fork(number, "2-fork"))
        made = self.root / "repo" / "2-fork"
        assert self.files(made) == self.turns[number]
        self.byred(self._remove("2", "2-fork"))
        assert not made.exists()

    async def _fork(self, number: int, name: str) -> None:
        repo = await self._inspect()
        await checkpoint.fork(
            repo,
            task_id=1,
            number=number,
            source=self.task,
            to=2,
            path=self.root / "repo" / name,
            branch=f"byre/{name}",
            root=self.root,
        )

    @rule(how=st.sampled_from(list(How)))
    def merge(self, how: How) -> None:
        before = self.persons()
        refused = asyncio.run(self._merge(how))
        if refused is not None:
            assert refused.kind in (Kind.CONFLICT, Kind.NOT_FOUND)
            assert self.persons() == before
            return
        assert (self.repo / "mine").read_text() == "the person's, untracked\n"
        assert self.git("status", "--porcelain", "--ignore-submodules=all") == "?? mine"

    async def _merge(self, how: How) -> WorkspaceError | None:
        try:
            await merge.merge(await self._inspect(), source=f"byre/{TASK}", how=how)
        except WorkspaceError as error:
            return error
        return None

    @precondition(lambda self: self.there)
    @rule()
    def remove_and_undelete(self) -> None:
        files = self.files(self.task)
        head = self.git("rev-parse", "HEAD", cwd=self.task)
        branch = self.git("branch", "--show-current", cwd=self.task)
        self.byred(self._remove())
        assert not self.there
        self.byred(self._undelete())
        assert self.files(self.task) == files
        assert self.git("rev-parse", "HEAD", cwd=self.task) == head
        assert self.git("branch", "--show-current", cwd=self.task) == branch

    async def _remove(self, task_id: str = "1", name: str = TASK) -> None:
        await kept.remove(
            await self._inspect(),
            path=self.root / "repo" / name,
            root=self.root,
            task_id=task_id,
            branch=f"byre/{name}",
            now=NOW,
            pool=self.pool,
        )

    async def _undelete(self) -> None:
        await kept.undelete(await self._inspect(), task_id="1", path=self.task, root=self.root)

    @rule()
    def fill_the_pool(self) -> None:
        self.byred(self._fill())

    async def _fill(self) -> None:
        repo = await self._inspect()
        await pool.fill(repo, self.pool, commit=str(repo.head), size=1)

    async def _tidy(self) -> None:
        await tidy.tidy(await self._inspect(), self.root / "repo")


COUNT = int(os.environ.get("BYRE_HISTORIES", "6"))


@pytest.mark.promise("every_turn_is_kept")
@pytest.mark.timeout(COUNT * 60 + 120)
def test_no_history_loses_a_byte_that_was_ever_kept():
    run_state_machine_as_test(
        Histories,
        settings=settings(
            max_examples=COUNT,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate,) if COUNT <= 6 else tuple(Phase),
            print_blob=True,
        ),
    )
