"""Many tasks at once on the same repositories: each has its own ground, and git is as it should be.

`BYRE_MANY=30` queues thirty on one repository and ten on each of three more; the default is small,
for every run of the suite.
"""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from byred.testing.script import Script, Step
from tests.e2e.conftest import COMMIT, Daemon, git

COUNT = int(os.environ.get("BYRE_MANY", "6"))
ELSEWHERE = max(2, COUNT // 3)
ONE = "echo task $BYRE_TASK_ID > mine.txt && " + COMMIT
TWO = "echo again >> mine.txt && " + COMMIT


@pytest.fixture
def scripts() -> tuple[Script, ...]:
    return (Script(name="work", steps=(Step(shell=ONE), Step(shell=TWO), Step(say="Done."))),)


def new_repository(path: Path) -> Path:
    path.mkdir()
    git("init", "-q", "-b", "main", cwd=path)
    (path / "README").write_text("A repository.\n")
    git("add", "-A", cwd=path)
    git("commit", "-q", "-m", "First", cwd=path)
    return path


@pytest.mark.promise("identity_on_every_commit")
@pytest.mark.promise("main_checkout_untouched")
@pytest.mark.promise("limits_hold")
@pytest.mark.timeout(120 + COUNT * 60)
async def test_many_tasks_at_once_on_few_repositories_are_all_right(
    down: Daemon, repo: Path, tmp_path: Path
) -> None:
    down.settings["scheduler"]["max_running"] = 4
    down.settings["identity"] = {"name": "agent {id}", "email": "agent-{id}@example.org"}
    # Some trees are made ahead while others are claimed and made.
    down.settings["workspace"] = {"pool": {"trees": 2, "homes": 1, "load": 0}}
    others = [new_repository(tmp_path / f"other {number}") for number in range(3)]
    await down.start()
    wanted = [repo] * COUNT + others * ELSEWHERE
    tasks = await asyncio.gather(*(down.submit(each, "Work") for each in wanted))
    done = [await down.wait(task["id"], "succeeded", "failed") for task in tasks]
    assert [task["state"] for task in done] == ["succeeded"] * len(wanted), done
    assert {task["attempt"] for task in done} == {1}
    for task in done:
        tree, me = Path(task["worktree"]), f"agent {task['id']} <agent-{task['id']}@example.org>"
        assert git("rev-parse", "--show-toplevel", cwd=tree) == str(tree)
        assert git("branch", "--show-current", cwd=tree) == task["branch"]
        assert (tree / "mine.txt").read_text() == f"task {task['id']}\nagain\n"
        made = git("log", "--format=%an <%ae>|%cn <%ce>", "main..", cwd=tree)
        assert made.splitlines() == [f"{me}|{me}"] * 2
        assert git("status", "--porcelain", cwd=tree) == ""
    names = ("task.mended", "task.identity_differs", "task.checkpoint_failed", "task.backing_off")
    events = [event for task in done for event in await down.events(task["id"])]
    assert [event for event in events if event["kind"] in names] == []
    down.stop()
    assert ".lock" not in down.log.read_text()
    for each, count in ((repo, COUNT), *((other, ELSEWHERE) for other in others)):
        look_for_damage(each, {task["worktree"] for task in done if task["repo"] == str(each)})
        assert len(git("branch", "--list", "byre/*", cwd=each).splitlines()) == count


def look_for_damage(repo: Path, expected: set[str]) -> None:
    fsck = ["git", "fsck", "--no-dangling", "--no-progress"]
    done = subprocess.run(fsck, cwd=repo, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
    listing = git("worktree", "list", "--porcelain", cwd=repo)
    assert "prunable" not in listing
    assert "locked" not in listing
    trees = {
        line.removeprefix("worktree ")
        for line in listing.splitlines()
        if line.startswith("worktree ")
    }
    assert {tree for tree in trees if "/.pool/" not in tree} == expected | {str(repo)}
    assert list((repo / ".git").rglob("*.lock")) == []
    assert git("status", "--porcelain", cwd=repo) == ""
    assert git("branch", "--show-current", cwd=repo) == "main"
