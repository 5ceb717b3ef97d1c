"""A throw-away repository with real git, apart from the machine's own configuration."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from byred.workspace import repository
from byred.workspace.repository import Repository
from byred.workspace.trees import worktree
from byred.workspace.trees.worktree import Worktree


@dataclass(frozen=True)
class Ground:
    """A repository of a person, and a root for tasks' worktrees."""

    repo: Path
    root: Path

    def git(self, *args: str, cwd: Path | None = None, **env: str) -> str:
        """Run git as a person or an agent would."""
        done = subprocess.run(
            ["git", *args],
            cwd=cwd or self.repo,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, f"git {args}: {done.stderr}"
        return done.stdout.rstrip("\n")

    def write(self, files: dict[str, str], *, cwd: Path | None = None) -> None:
        for name, content in files.items():
            path = (cwd or self.repo) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)

    def commit(self, message: str, files: dict[str, str], *, cwd: Path | None = None) -> str:
        self.write(files, cwd=cwd)
        self.git("add", "--all", cwd=cwd)
        self.git("commit", "--quiet", "--allow-empty", "--message", message, cwd=cwd)
        return self.git("rev-parse", "HEAD", cwd=cwd)

    async def inspect(self) -> Repository:
        return await repository.inspect(self.repo)

    def place(self, name: str = "1-fix") -> Path:
        return self.root / "repo" / name

    async def task(
        self, name: str = "1-fix", *, branch: str | None = None, base: str | None = None
    ) -> Worktree:
        """Give a task its worktree, as the runner does."""
        repo = await self.inspect()
        start = await repository.resolve_base(repo, base)
        return await worktree.ensure(
            repo,
            task_id=(branch or name).rpartition("/")[2].split("-")[0],
            path=self.place(name),
            branch=branch or f"byre/{name}",
            base_commit=start.commit,
            root=self.root,
        )

    def clean(self) -> None:
        """Fail when git finds anything wrong with the repository or its worktrees."""
        said = self.git("fsck", "--no-dangling", "--no-progress")
        assert said == ""
        assert "prunable" not in self.git("worktree", "list", "--porcelain")


@pytest.fixture(autouse=True)
def _own_git_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test read or write the configuration of the machine or its owner."""
    file = tmp_path / "gitconfig"
    file.write_text(
        "[user]\n\tname = A Person\n\temail = person@example.org\n"
        '[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(file))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    made = Ground(repo=tmp_path / "repo", root=tmp_path / "worktrees")
    made.repo.mkdir()
    made.git("init", "--quiet")
    made.commit("first", {"README": "hello\n", "src/main.txt": "one\n", ".gitignore": "*.log\n"})
    return made


@pytest.fixture
def new_ground(tmp_path: Path) -> Callable[[str], Ground]:
    """Make further repositories beside the first, each with nothing in it."""

    def make(name: str, *init: str) -> Ground:
        made = Ground(repo=tmp_path / name, root=tmp_path / "worktrees")
        made.repo.mkdir(parents=True)
        made.git("init", "--quiet", *init)
        return made

    return make
