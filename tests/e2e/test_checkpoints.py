"""At the end of every turn the files are kept, whoever ended it; nothing of the agent's moves."""

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from byred.testing.script import Script, Step
from tests.e2e.conftest import SCRIPTS, Daemon, command_runs, git

Byre = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def scripts() -> tuple[Script, ...]:
    turns = Script(
        name="turns",
        match="(?i)turns",
        steps=(
            Step(
                shell="echo '*.log' > .gitignore && echo one > one.txt && git add -A"
                " && git commit -q -m One && echo staged > staged.txt && git add staged.txt"
                " && echo loose > loose.txt && echo noise > noise.log"
            ),
            Step(say="The first turn is done."),
            Step(shell="echo two > two.txt && rm loose.txt && git reset -q"),
            Step(say="The second turn is done."),
        ),
    )
    broken = Script(
        name="broken",
        match="(?i)break",
        steps=(
            Step(shell='mkdir "$(git rev-parse --git-common-dir)"/refs/byre && cd "$_"'),
            Step(shell='echo > "$(git rev-parse --git-common-dir)"/refs/byre/checkpoints'),
            Step(say="Done."),
        ),
    )
    return (turns, broken, *SCRIPTS)


def files_of(repo: Path, revision: str) -> dict[str, str]:
    names = git("ls-tree", "-r", "--name-only", revision, cwd=repo).splitlines()
    return {name: git("show", f"{revision}:{name}", cwd=repo) for name in names}


async def turns_of(daemon: Daemon, task_id: int) -> list[dict[str, Any]]:
    return (await daemon.call("task.turns", id=task_id))["turns"]


@pytest.mark.promise("every_turn_is_kept")
async def test_each_turn_can_be_seen_by_itself(daemon: Daemon, repo: Path, byre: Byre) -> None:
    task = await daemon.submit(repo, "Two turns, please")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    worktree = Path(done["worktree"])
    # What the agent had staged is staged still, and what it had not is not.
    status = git("status", "--porcelain", "--ignored", cwd=worktree).splitlines()
    assert status == ["A  staged.txt", "?? loose.txt", "!! noise.log"]
    assert git("rev-parse", "--abbrev-ref", "HEAD", cwd=worktree) == done["branch"]
    first = f"refs/byre/checkpoints/{task['id']}/1"
    assert files_of(repo, first) == {
        "README": "A repository.",
        ".gitignore": "*.log",
        "one.txt": "one",
        "staged.txt": "staged",
        "loose.txt": "loose",
    }
    await daemon.call("task.tell", id=task["id"], text="Now the second")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["turns"] == 2
    turns = await turns_of(daemon, task["id"])
    assert [turn["number"] for turn in turns] == [1, 2]
    assert [turn["status"] for turn in turns] == ["completed", "completed"]
    assert [turn["checkpoint"] for turn in turns] == [
        git("rev-parse", f"refs/byre/checkpoints/{task['id']}/{number}", cwd=repo)
        for number in (1, 2)
    ]
    one = await asyncio.to_thread(byre, "diff", str(task["id"]), "--turn", "1")
    two = await asyncio.to_thread(byre, "diff", str(task["id"]), "--turn", "2")
    assert "+one\n" in one.stdout
    assert "+loose\n" in one.stdout
    assert two.stdout.count("diff --git") == 2, two.stdout
    assert "+two\n" in two.stdout
    assert "-loose\n" in two.stdout
    # Both together are the whole: each applies after the other.
    clone = repo.parent / "clone"
    git("clone", "-q", str(repo), str(clone), cwd=repo)
    for each in (one, two):
        subprocess.run(["git", "apply"], cwd=clone, input=each.stdout, text=True, check=True)
    assert sorted(path.name for path in clone.iterdir() if path.name != ".git") == [
        ".gitignore",
        "README",
        "one.txt",
        "staged.txt",
        "two.txt",
    ]
    listed = await asyncio.to_thread(byre, "turns", str(task["id"]))
    assert listed.stdout.splitlines()[1].split()[:2] == ["1", "completed"]
    none = await asyncio.to_thread(byre, "diff", str(task["id"]), "--turn", "3")
    assert none.returncode == 4
    assert "there is no turn 3" in none.stderr


@pytest.mark.promise("every_turn_is_kept")
@pytest.mark.parametrize("how", ["kill", "stop"])
async def test_a_turn_that_a_crash_cut_off_is_kept_by_the_next_run(
    daemon: Daemon, repo: Path, how: str
) -> None:
    task = await daemon.submit(repo, "Take long")
    task = await daemon.wait(task["id"], "running")
    await command_runs(daemon, task)
    getattr(daemon, how)()
    await daemon.start()
    kept = await daemon.event("task.checkpoint", task_id=task["id"])
    assert kept["data"]["turn"] == 1
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    first, second = await turns_of(daemon, task["id"])
    assert set(files_of(repo, first["checkpoint"])) == {"README", "started.txt", "command.pid"}
    assert "done.txt" in files_of(repo, second["checkpoint"])


@pytest.mark.parametrize("wish", ["cancel", "interrupt", "hold"])
async def test_a_turn_that_a_person_ended_is_kept(daemon: Daemon, repo: Path, wish: str) -> None:
    task = await daemon.submit(repo, "Take long")
    task = await daemon.wait(task["id"], "running")
    await command_runs(daemon, task)
    await daemon.call(f"task.{wish}", id=task["id"])
    await daemon.event("task.checkpoint", task_id=task["id"])
    (turn,) = await turns_of(daemon, task["id"])
    assert "started.txt" in files_of(repo, turn["checkpoint"])


async def test_a_checkpoint_that_fails_is_an_event_and_no_failure(
    daemon: Daemon, repo: Path
) -> None:
    task = await daemon.submit(repo, "Break the refs")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    event = await daemon.event("task.checkpoint_failed", task_id=task["id"])
    assert event["data"]["turn"] == 1
    assert "refs/byre/checkpoints" in event["data"]["why"]
    (turn,) = await turns_of(daemon, task["id"])
    assert turn["checkpoint"] is None
    refused = await daemon.call_refused("task.diff", id=task["id"], turn=1)
    assert "has no checkpoint" in refused["message"]
