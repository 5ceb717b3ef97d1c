"""What was made ahead is claimed by a task, whole and without a trace of any other."""

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from byred.testing.script import Script, Step
from tests.e2e.conftest import SCRIPTS, Daemon, git

WARM = {"trees": 1, "homes": 1, "load": 0}


@pytest.fixture
def scripts() -> tuple[Script, ...]:
    messy = Script(
        name="messy",
        match="(?i)mess",
        steps=(
            Step(
                shell="echo ignored > a.log; echo loose > loose.txt; chmod 600 README;"
                " mkdir -p d/e; ln -s /etc d/e/link;"
                " git config --worktree core.editor evil 2> /dev/null;"
                " echo new > new.txt && git add new.txt && git commit -q -m New; echo x >> README"
            ),
            Step(say="A mess."),
        ),
    )
    return (messy, *SCRIPTS)


@pytest.fixture
def repo(repo: Path) -> Path:
    (repo / ".gitignore").write_text("*.log\n")
    git("add", "-A", cwd=repo)
    git("commit", "-q", "-m", "Ignore logs", cwd=repo)
    return repo


@pytest.fixture
async def warm(down: Daemon) -> Daemon:
    down.settings["workspace"] = {"pool": dict(WARM)}
    await down.start()
    return down


async def ready(daemon: Daemon, trees: int = 1, homes: int = 1) -> None:
    """Wait until so much is made."""

    async def made() -> bool:
        status = await daemon.call("daemon.status")
        return bool(status["warm"] == {"trees": trees, "homes": homes})

    await daemon.until(made)


def trees_of(daemon: Daemon) -> list[Path]:
    return sorted(
        path
        for path in (daemon.state / "worktrees").glob("*/.pool/*")
        if not path.name.startswith(".")
    )


def homes_of(daemon: Daemon) -> list[Path]:
    return [path for path in (daemon.state / "homes").iterdir() if not path.name.startswith(".")]


async def done(daemon: Daemon, repo: Path, prompt: str = "Say hello") -> dict[str, Any]:
    task = await daemon.submit(repo, prompt)
    ended = await daemon.wait(task["id"], "succeeded", "failed")
    assert ended["state"] == "succeeded", ended
    return ended


def shape(tree: Path) -> dict[str, tuple[int, bytes]]:
    """Give all of a tree but its git file: modes and contents."""
    found = {}
    for folder, folders, files in os.walk(tree):
        for name in [*folders, *files]:
            path = Path(folder, name)
            inside = str(path.relative_to(tree))
            if inside != ".git":
                content = path.read_bytes() if path.is_file() else b""
                found[inside] = (path.lstat().st_mode, content)
    return found


@pytest.mark.promise("warm_ground_is_clean")
async def test_a_task_claims_the_tree_and_the_home_that_were_made(warm: Daemon, repo: Path) -> None:
    cold = await done(warm, repo)
    await ready(warm)
    (tree,), (home,) = trees_of(warm), homes_of(warm)
    made = (tree.stat().st_ino, home.stat().st_ino)
    assert any(home.glob("state_*.sqlite"))
    # The base moved since: the tree is brought along when it is claimed.
    (repo / "later.txt").write_text("later\n")
    git("add", "-A", cwd=repo)
    git("commit", "-q", "-m", "Later", cwd=repo)
    task = await done(warm, repo)
    worktree = Path(task["worktree"])
    assert (worktree.stat().st_ino, Path(task["home"]).stat().st_ino) == made
    assert git("status", "--porcelain", "--ignored", cwd=worktree) == ""
    assert git("log", "--format=%s", "-2", cwd=worktree).splitlines()[1] == "Later"
    assert git("rev-parse", "--abbrev-ref", "HEAD", cwd=worktree) == task["branch"]
    assert git("log", "-1", "--format=%an", cwd=worktree) == f"byre {task['id']}"
    assert cold["thread_id"] != task["thread_id"]
    # The next ones are made again; nobody else sees them.
    await ready(warm)
    assert {path.stat().st_ino for path in trees_of(warm)} != {made[0]}
    assert git("branch", "--list", cwd=repo).count("\n") == 2
    assert git("fsck", "--no-dangling", cwd=repo) == ""


@pytest.mark.promise("warm_ground_is_clean")
async def test_a_tree_that_comes_back_from_a_task_has_nothing_of_it(
    warm: Daemon, repo: Path, tmp_path: Path
) -> None:
    await done(warm, repo)
    await ready(warm)
    messy = await done(warm, repo, "Make a mess")
    was = Path(messy["worktree"]).stat().st_ino
    # The pool takes it only while it wants one.
    shutil.rmtree(repo / ".git" / "nothing", ignore_errors=True)
    warm.settings["workspace"]["pool"]["trees"] = 2
    warm.write_config()
    await warm.call("task.discard", id=messy["id"])
    await ready(warm, trees=2)
    again = {path.stat().st_ino: path for path in trees_of(warm)}
    assert was in again
    plain = tmp_path / "plain"
    git("worktree", "add", "-q", "--detach", str(plain), cwd=repo)
    for tree in again.values():
        assert shape(tree) == shape(plain)
        assert git("status", "--porcelain", "--ignored", cwd=tree) == ""
    back = await warm.call("task.undelete", id=messy["id"])
    assert (Path(back["worktree"]) / "loose.txt").read_text() == "loose\n"


async def test_what_is_made_ahead_heeds_its_bounds(warm: Daemon, repo: Path) -> None:
    await done(warm, repo)
    await ready(warm)
    warm.settings["workspace"]["pool"] = {"trees": 3, "homes": 0, "load": 0, "size": "0.02MB"}
    warm.write_config()
    await ready(warm, trees=1, homes=0)
    assert homes_of(warm) == []
    warm.settings["workspace"]["pool"] = {"trees": 0, "homes": 0}
    warm.write_config()
    await ready(warm, trees=0, homes=0)
    assert trees_of(warm) == []
    assert ".pool" not in git("worktree", "list", "--porcelain", cwd=repo)
    warm.settings["workspace"]["pool"] = {"trees": 1, "homes": 1, "load": 0.000001}
    warm.write_config()
    await done(warm, repo)
    status = await warm.call("daemon.status")
    assert status["warm"] == {"trees": 0, "homes": 0}


@pytest.mark.promise("no_process_left")
async def test_a_crash_while_ground_is_made_leaves_nothing_in_the_way(
    warm: Daemon, repo: Path
) -> None:
    for _ in range(3):
        await done(warm, repo)

        async def making() -> bool:
            return bool(list((warm.state / "homes" / ".making").glob("*")))

        warm.settings["workspace"]["pool"]["homes"] += 1
        warm.write_config()
        await warm.until(making)
        warm.kill()
        await warm.start()
    homes = warm.settings["workspace"]["pool"]["homes"]
    await ready(warm, trees=1, homes=homes)
    await asyncio.gather(*(done(warm, repo) for _ in range(4)))
    await ready(warm, trees=1, homes=homes)
    assert "prunable" not in git("worktree", "list", "--porcelain", cwd=repo)
    assert warm.stop() == 0
    assert warm.leftovers() == []
