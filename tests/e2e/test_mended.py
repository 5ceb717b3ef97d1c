"""A new task meets what others left at its place, and is given a worktree that is right."""

import os
import shutil
import time
from pathlib import Path

import pytest

from byred.core import names
from byred.workspace.repository import folder_name
from tests.e2e.conftest import Daemon, git

LEFT = (
    # The first, since it prunes what the others leave, too.
    "pruned registration",
    "registration without a directory",
    "directory without a git file",
    "files of nobody",
    "branch without a worktree",
    "branch that is out elsewhere",
    "stale locks",
)


def leave(kind: str, repo: Path, tree: Path, branch: str, elsewhere: Path) -> None:
    """Make by hand what a crash, an old program or a person leaves."""
    tree.parent.mkdir(parents=True, exist_ok=True)
    add = ("worktree", "add", "-q", "-b", branch)
    match kind:
        case "registration without a directory":
            git(*add, str(tree), cwd=repo)
            shutil.rmtree(tree)
        case "directory without a git file":
            git(*add, str(tree), cwd=repo)
            (tree / ".git").unlink()
            (tree / "kept.txt").write_text("work\n")
        case "files of nobody":
            tree.mkdir()
            (tree / "kept.txt").write_text("work\n")
        case "branch without a worktree":
            git("branch", branch, cwd=repo)
        case "branch that is out elsewhere":
            git(*add, str(elsewhere), cwd=repo)
        case "stale locks":
            git(*add, str(tree), cwd=repo)
            own = Path(git("rev-parse", "--absolute-git-dir", cwd=tree))
            shared = repo / ".git" / "refs" / "heads" / f"{branch}.lock"
            for lock in (own / "index.lock", own / "HEAD.lock", shared):
                lock.touch()
                os.utime(lock, (time.time() - 600,) * 2)
        case "pruned registration":
            git(*add, str(tree), cwd=repo)
            aside = tree.rename(elsewhere)
            git("worktree", "prune", cwd=repo)
            aside.rename(tree)
            (tree / "kept.txt").write_text("work\n")


@pytest.mark.promise("main_checkout_untouched")
async def test_what_others_left_is_put_right_for_a_new_task(
    daemon: Daemon, repo: Path, tmp_path: Path
) -> None:
    folder = daemon.state / "worktrees" / folder_name(repo / ".git")
    for number, kind in enumerate(LEFT, 1):
        slug = names.slug_of(names.title_of(kind))
        tree = folder / f"{number}-{slug}"
        leave(kind, repo, tree, f"byre/{number}-{slug}", tmp_path / f"elsewhere {number}")
    tasks = [await daemon.submit(repo, kind) for kind in LEFT]
    for number, (kind, task) in enumerate(zip(LEFT, tasks, strict=True), 1):
        assert (task["id"], Path(task["worktree"]).parent) == (number, folder)
        done = await daemon.wait(number, "succeeded", "failed")
        assert (done["state"], done["attempt"]) == ("succeeded", 1), (kind, done)
        tree = Path(done["worktree"])
        assert git("rev-parse", "--show-toplevel", cwd=tree) == str(tree)
        assert git("branch", "--show-current", cwd=tree) == done["branch"]
        assert git("show", "HEAD:hello.txt", cwd=tree) == "hello"
        elsewhere = kind == "branch that is out elsewhere"
        assert done["branch"] == f"byre/{tree.name}" + ("-2" if elsewhere else "")
        told = [e["data"] for e in await daemon.events(number) if e["kind"] == "task.mended"]
        assert len(told) == (0 if kind == "branch without a worktree" else 1), (kind, told)
    # What was anybody's work is there: in its place or beside it.
    assert sorted(path.read_text() for path in folder.rglob("kept.txt")) == ["work\n"] * 3
    assert "prunable" not in git("worktree", "list", "--porcelain", cwd=repo)
    assert list((repo / ".git").rglob("*.lock")) == []
    assert git("fsck", "--no-dangling", "--no-progress", cwd=repo) == ""
