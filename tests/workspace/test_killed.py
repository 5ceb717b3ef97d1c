"""A run that is killed in the middle of any git command is finished by the next one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SHIM = """#!/bin/sh
read -r n < "$KILL_FOLDER/count"
n=$((n + 1))
echo $n > "$KILL_FOLDER/count"
if [ "$n" = "$KILL_AT" ]; then
    case $KILL_HOW in
    before) kill -9 $PPID; exit 1 ;;
    after) "$REAL_GIT" "$@"; kill -9 $PPID; exit 1 ;;
    middle) "$REAL_GIT" "$@" & sleep $KILL_DELAY; kill -9 $! $PPID; exit 1 ;;
    esac
fi
exec "$REAL_GIT" "$@"
"""


class Killed:
    """Lives in folders of their own, in a process that is killed where it is told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.real_git = str(shutil.which("git"))
        shim = folder / "bin" / "git"
        shim.parent.mkdir(parents=True)
        shim.write_text(SHIM)
        shim.chmod(0o755)
        # Who is killed leaves temporary files; a daemon empties its own folder at its start.
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.repo = folder / "repo"
        self.repo.mkdir()
        self.git("init", "-q")
        files = {"README": "hello\n", "src/main.txt": "one\n", ".gitignore": "*.log\n"}
        for name, content in files.items():
            (self.repo / name).parent.mkdir(exist_ok=True)
            (self.repo / name).write_text(content)
        self.git("add", "--all")
        self.git("commit", "-q", "-m", "first")
        self.git("tag", "start")
        (self.repo / "mine").write_text("the person's\n")

    def git(self, *args: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            [self.real_git, *args],
            cwd=cwd or self.repo,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, f"git {args}: {done.stderr}"
        return done.stdout.rstrip("\n")

    def live(self, how: str) -> int:
        """Live from the first step to the last; return how often it was killed."""
        done = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("life.py")), str(self.folder), how],
            env={
                **os.environ,
                "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
                "REAL_GIT": self.real_git,
                "KILL_FOLDER": str(self.folder),
                "TMPDIR": str(self.temporary),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    def check(self) -> None:
        """Fail unless everything is as if nothing had ever been killed."""
        assert self.git("fsck", "--no-dangling", "--no-progress") == ""
        listing = self.git("worktree", "list", "--porcelain")
        assert "prunable" not in listing
        assert listing.count("worktree ") == 3  # the person's, the task's, a ready one
        assert [p.name for p in (self.repo / ".git").rglob("*.lock")] == []
        worktrees = self.folder / "worktrees" / "repo"
        task = worktrees / "1-a"
        assert list((worktrees / ".making").iterdir()) == []
        assert (task / "a").read_text() == "committed\n"
        assert (task / "u").read_text() == "untracked\n"
        assert self.git("status", "--porcelain", cwd=task) == "?? u"
        assert self.git("branch", "--show-current", cwd=task) == "byre/1-a"
        assert self.git("show", "refs/byre/checkpoints/1/2:later") == "later"
        assert self.git("show", "refs/byre/kept/2:u") == "changed"
        assert self.git("status", "--porcelain") == "?? mine"
        assert (self.repo / "a").read_text() == "committed\n"
        assert self.git("branch", "--format=%(refname:short)") == "byre/1-a\nmain"


def test_a_life_without_a_kill_ends_well(tmp_path):
    life = Killed(tmp_path / "life")
    assert life.live("never") == 0
    life.check()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("how", ["before", "middle", "after"])
def test_a_life_that_is_killed_at_each_of_its_git_commands_goes_on(tmp_path, how):
    life = Killed(tmp_path / "life")
    assert life.live(how) > 100
    life.check()
