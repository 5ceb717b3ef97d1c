"""What ended tasks left goes in time, and can always be brought back; a full disk stops starts."""

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from byred.testing.model import ScriptedModel
from byred.testing.script import Script, Step
from tests.e2e.conftest import COMMIT, SCRIPTS, Daemon, command_runs, git

Byre = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def scripts() -> tuple[Script, ...]:
    work = Script(
        name="work",
        match="(?i)work",
        steps=(
            Step(shell="echo a > a.txt && " + COMMIT + " && echo loose > loose.txt"),
            Step(say="The word is alpha."),
            Step(shell="echo b > b.txt && " + COMMIT),
            Step(say="The word is beta."),
        ),
    )
    return (work, *SCRIPTS)


async def worked(daemon: Daemon, repo: Path) -> dict[str, Any]:
    task = await daemon.submit(repo, "Work")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    return done


async def measured(daemon: Daemon, task_id: int) -> dict[str, Any]:
    """Give a task once what it takes is known: that is looked at after its end."""
    found: dict[str, Any] = {}

    async def known() -> bool:
        nonlocal found
        found = await daemon.call("task.get", id=task_id)
        return found["disk"] is not None

    await daemon.until(known)
    return found


@pytest.mark.promise("nothing_of_a_task_deleted")
async def test_the_oldest_go_as_asked_and_a_dry_run_says_the_same(
    daemon: Daemon, repo: Path, byre: Byre
) -> None:
    first, second = await worked(daemon, repo), await worked(daemon, repo)
    long = await daemon.submit(repo, "Take long")
    long = await daemon.wait(long["id"], "running")
    await command_runs(daemon, long)
    await measured(daemon, second["id"])
    nothing = await asyncio.to_thread(byre, "gc")
    assert "freed 0 B of 0 worktrees" in nothing.stdout
    dry = await asyncio.to_thread(byre, "--json", "gc", "--dry-run", "--keep", "1")
    assert dry.returncode == 0, dry.stderr
    planned = {task["id"]: task for task in json.loads(dry.stdout)["tasks"]}
    assert [planned[number]["goes"] for number in (1, 2, 3)] == [True, False, False]
    assert planned[1]["why"] == "1 younger ones are there"
    assert planned[3]["why"] == "its task has not ended"
    assert planned[1]["size"] > 0
    assert Path(first["worktree"]).is_dir()
    done = await asyncio.to_thread(byre, "gc", "--keep", "1")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[0] for line in lines if "gone" in line] == ["1"]
    assert not Path(first["worktree"]).exists()
    assert Path(second["worktree"]).is_dir()
    assert Path(long["worktree"]).is_dir()
    # The branch has what the base has not, so it stays to be seen.
    assert git("branch", "--list", first["branch"], cwd=repo)
    event = await daemon.event("task.removed", task_id=first["id"])
    assert event["data"]["why"] == "cleared: 1 younger ones are there"
    await daemon.call("task.merge", id=second["id"])
    await daemon.call("daemon.gc", count=0)
    assert not Path(second["worktree"]).exists()
    # This one's does not: the base has it all.
    assert git("branch", "--list", second["branch"], cwd=repo) == ""
    for task in (first, second):
        await daemon.call("task.undelete", id=task["id"])
        assert (Path(task["worktree"]) / "loose.txt").read_text() == "loose\n"
        assert git("log", "-1", "--format=%an", task["branch"], cwd=repo) == f"byre {task['id']}"


async def test_a_cleared_task_goes_on_with_its_thread(
    daemon: Daemon, repo: Path, model: ScriptedModel
) -> None:
    task = await worked(daemon, repo)
    await daemon.call("daemon.gc", age=0)
    assert not Path(task["worktree"]).exists()
    # Of its home only the record of what was said is left.
    assert [entry.name for entry in Path(task["home"]).iterdir()] == ["sessions"]
    await daemon.call("task.tell", id=task["id"], text="Go on")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["thread_id"] == task["thread_id"]
    assert done["result"]["summary"] == "The word is beta."
    assert "The word is alpha." in json.dumps(model.requests[-1].input)
    assert len(done["result"]["commits"]) == 2


async def test_the_settings_clear_by_themselves(down: Daemon, repo: Path) -> None:
    down.settings["workspace"] = {"retention": {"count": 1}}
    await down.start()
    first = await worked(down, repo)
    second = await worked(down, repo)
    event = await down.event("task.removed", task_id=first["id"])
    assert event["data"]["ref"] == f"refs/byre/kept/{first['id']}"
    assert Path(second["worktree"]).is_dir()
    # A change of the settings is enough, too.
    down.settings["workspace"] = {"retention": {"size": "0.000001MB"}}
    down.write_config()
    await down.event("task.removed", task_id=second["id"])


async def test_what_each_task_takes_is_shown(daemon: Daemon, repo: Path, byre: Byre) -> None:
    task = await worked(daemon, repo)
    found = await measured(daemon, task["id"])
    assert found["disk"]["worktree"] >= 4096
    assert found["disk"]["home"] > 100_000
    wide = await asyncio.to_thread(byre, "ls", "--all", "--wide")
    head, row = wide.stdout.splitlines()
    assert head.split() == [
        *("ID", "STATE", "AGE", "TRY", "REPO", "DISK", "TURNS", "BRANCH", "TITLE")
    ]
    assert row.split()[-4:] == ["MB", "1", task["branch"], "Work"]
    await daemon.call("task.discard", id=task["id"])
    wide = await asyncio.to_thread(byre, "ls", "--all", "--wide")
    assert f"{task['branch']} (kept)" in wide.stdout


async def test_nothing_starts_on_a_disk_that_is_nearly_full(
    down: Daemon, repo: Path, byre: Byre
) -> None:
    down.settings["workspace"] = {"min_free": "900000TB"}
    await down.start()
    task = await down.submit(repo, "Work")
    status = None

    async def full() -> bool:
        nonlocal status
        status = await down.call("daemon.status")
        return status["full"] is not None

    await down.until(full)
    explained = await asyncio.to_thread(byre, "explain", str(task["id"]))
    assert "nothing new starts" in explained.stdout
    assert "are free on the disk of" in explained.stdout
    assert "byre gc" in explained.stdout
    assert (await down.call("task.get", id=task["id"]))["state"] == "queued"
    down.settings["workspace"] = {"min_free": ""}
    down.write_config()
    done = await down.wait(task["id"], "succeeded", "failed")
    assert (done["state"], done["attempt"]) == ("succeeded", 1)
    assert (await down.call("daemon.status"))["full"] is None


async def test_of_a_task_that_never_ran_nothing_is_taken_away(down: Daemon, repo: Path) -> None:
    down.settings["workspace"] = {"min_free": "900000TB"}
    await down.start()
    task = await down.submit(repo, "Work")
    await down.call("task.cancel", id=task["id"])
    refused = await down.call_refused("task.discard", id=task["id"])
    assert "cannot find anything kept" in refused["message"]
    assert (await down.call("task.get", id=task["id"]))["removed_at"] is None
