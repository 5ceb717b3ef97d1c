"""Two daemons beside each other, in one repository: both have a task 1, and neither harms it."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from byred.testing.model import ScriptedModel
from byred.testing.script import Script, Step
from byred.workspace.keeping import kept
from byred.workspace.repository import inspect
from tests.e2e.conftest import COMMIT, SCRIPTS, Daemon, command_runs, git
from tests.e2e.test_warm import WARM, ready, trees_of

PROMPT = "Work on the door"
BRANCH = "byre/1-work-on-the-door"


@pytest.fixture
def scripts() -> tuple[Script, ...]:
    work = Script(
        name="work",
        match="(?i)work",
        steps=(
            Step(shell="pwd > whose.txt && " + COMMIT + " && pwd > loose.txt"),
            Step(say="The first turn is done."),
            Step(shell="pwd > second.txt"),
            Step(say="The second turn is done."),
        ),
    )
    return (work, *SCRIPTS)


@pytest.fixture
def transport() -> str:
    return "stdio"


@pytest.fixture
async def both(
    down: Daemon, model: ScriptedModel, tmp_path: Path, transport: str
) -> AsyncIterator[tuple[Daemon, Daemon]]:
    """Two daemons with state directories of their own, and ground made ahead."""
    folder = tmp_path / "e"
    folder.mkdir()
    other = Daemon(folder, model)
    for daemon in (down, other):
        daemon.settings["workspace"] = {"pool": dict(WARM)}
        daemon.settings["codex"]["transport"] = transport
        await daemon.start()
    yield down, other
    other.end()
    left = other.leftovers()
    other.shoot_leftovers()
    assert not left, left
    assert "Traceback" not in other.log.read_text()


async def worked(daemon: Daemon, repo: Path) -> dict[str, Any]:
    task = await daemon.submit(repo, PROMPT)
    return await daemon.wait(task["id"], "succeeded", "failed")


def refs_of(repo: Path) -> dict[str, str]:
    lines = git("for-each-ref", "--format=%(refname) %(objectname)", cwd=repo).splitlines()
    return dict(line.split() for line in lines)


def worktrees_of(daemon: Daemon, repo: Path) -> list[str]:
    lines = git("worktree", "list", "--porcelain", cwd=repo).splitlines()
    return [line for line in lines if line.startswith(f"worktree {daemon.state}/")]


async def at_rest(daemon: Daemon, repo: Path) -> list[str]:
    """Give a daemon's worktrees once the tree made ahead is registered where it is."""
    await ready(daemon)

    async def moved() -> bool:
        return not any("/.making/" in line for line in worktrees_of(daemon, repo))

    await daemon.until(moved)
    return worktrees_of(daemon, repo)


def clean(repo: Path) -> None:
    assert git("fsck", "--no-dangling", "--no-progress", cwd=repo) == ""
    assert "prunable" not in git("worktree", "list", "--porcelain", cwd=repo)
    assert not list((repo / ".git").rglob("*.lock"))


async def kept_as(daemon: Daemon, after: int = 0) -> str:
    event = await daemon.event("task.removed", task_id=1, after=after)
    return str(event["data"]["ref"])


async def seq(daemon: Daemon) -> int:
    return int((await daemon.call("daemon.status"))["seq"])


@pytest.mark.promise("daemons_share_a_repository")
async def test_each_daemon_has_the_work_of_its_own_tasks(
    both: tuple[Daemon, Daemon], repo: Path
) -> None:
    # Ground is made ahead for a repository in use: the first task of each comes before it.
    tasks = await asyncio.gather(*(worked(daemon, repo) for daemon in both))
    for daemon, task in zip(both, tasks, strict=True):
        assert (task["id"], task["state"]) == (1, "succeeded"), task
        where = f"{task['worktree']}\n"
        assert (Path(task["worktree"]) / "whose.txt").read_text() == where
        await daemon.call("task.tell", id=1, text="Go on")
        await daemon.event("task.checkpoint", task_id=1, after=await seq(daemon))
        await daemon.wait(1, "succeeded")
        for turn, name in ((1, "whose.txt"), (2, "second.txt")):
            shown = (await daemon.call("task.diff", id=1, turn=turn))["diff"]
            assert f"+++ b/{name}" in shown
            assert f"+{where}" in shown
            assert all(line[1:] + "\n" == where for line in shown.splitlines() if "+/" in line[:2])
    assert sorted(task["branch"] for task in tasks) == [BRANCH, f"{BRANCH}-2"]

    # One is put back and goes on; the other one is as it was.
    await both[0].call("task.restore", id=1, turn=1)
    assert not (Path(tasks[0]["worktree"]) / "second.txt").exists()
    assert (Path(tasks[1]["worktree"]) / "second.txt").exists()

    await both[0].call("task.merge", id=1)
    assert git("show", "main:whose.txt", cwd=repo) == tasks[0]["worktree"]
    marks = [await seq(daemon) for daemon in both]
    await both[0].call("task.discard", id=1)
    await both[1].call("daemon.gc", age=0.0)
    names = [await kept_as(daemon, mark) for daemon, mark in zip(both, marks, strict=True)]
    plain, other = sorted(names)
    assert plain == "refs/byre/kept/1"
    assert re.fullmatch("refs/byre/kept/1@[0-9a-f]{8}", other)
    for daemon, task, name in zip(both, tasks, names, strict=True):
        assert not Path(task["worktree"]).exists()
        assert git("show", f"{name}:whose.txt", cwd=repo) == task["worktree"]
        shown = (await daemon.call("task.diff", id=1))["diff"]
        assert f"+{task['worktree']}" in shown or daemon is both[0]
        back = await daemon.call("task.undelete", id=1)
        assert back["branch"] == task["branch"]
        assert (Path(back["worktree"]) / "loose.txt").read_text() == f"{task['worktree']}\n"
    forked = await both[1].call("task.fork", id=1, turn=1, prompt="Say hello")
    forked = await both[1].wait(forked["id"], "succeeded", "failed")
    assert (Path(forked["worktree"]) / "loose.txt").read_text() == f"{tasks[1]['worktree']}\n"

    # What one forgets is its own.
    own = names[0].rpartition("/")[2]
    before = refs_of(repo)
    await kept.forget(await inspect(repo), own)
    gone = before.keys() - refs_of(repo).keys()
    assert gone
    assert all(f"/{own}/" in f"{name}/" for name in gone)
    assert (await both[1].call("task.diff", id=1, turn=2))["diff"]
    clean(repo)


@pytest.mark.parametrize("transport", ["stdio", "unix"])
@pytest.mark.promise("daemons_share_a_repository")
async def test_a_daemon_that_is_killed_and_starts_again_leaves_the_other_alone(
    both: tuple[Daemon, Daemon], repo: Path, transport: str
) -> None:
    killed, other = both
    for daemon in both:
        await worked(daemon, repo)
        await ready(daemon)
    running = [await daemon.submit(repo, "A long one") for daemon in both]
    gated = await other.submit(repo, "A gated one")
    running = [
        await daemon.wait(task["id"], "running") for daemon, task in zip(both, running, strict=True)
    ]
    await other.wait(gated["id"], "running")
    commands = [
        await command_runs(daemon, task) for daemon, task in zip(both, running, strict=True)
    ]
    theirs = await at_rest(other, repo)
    pools = trees_of(other)
    refs = {name: sha for name, sha in refs_of(repo).items() if "@" in name}

    killed.kill()
    await killed.start()
    if transport == "unix":
        await killed.event("task.adopted", task_id=running[0]["id"])
        assert Path(f"/proc/{commands[0]}").exists()
    else:
        await killed.event("task.repaired", task_id=running[0]["id"])
        done = await killed.wait(running[0]["id"], "succeeded", "failed")
        assert done["state"] == "succeeded", done
    await ready(killed)

    assert Path(f"/proc/{commands[1]}").exists()
    assert trees_of(other) == pools
    assert worktrees_of(other, repo) == theirs
    now = refs_of(repo)
    assert {name: now.get(name) for name in refs} == refs
    kinds = [event["kind"] for event in await other.events(running[1]["id"])]
    assert "task.repaired" not in kinds
    assert "task.mended" not in kinds or running[1]["branch"].endswith("-2")
    repaired = [
        event
        for event in await _repairs(killed)
        if any(str(other.state) in each for each in event["data"]["repairs"])
    ]
    assert not repaired

    killed.model.gate("middle").open()
    done = await other.wait(gated["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    assert Path(f"/proc/{commands[1]}").exists()
    for daemon, task in zip(both, running, strict=True):
        if (await daemon.call("task.get", id=task["id"]))["state"] == "running":
            await daemon.call("task.cancel", id=task["id"])
            await daemon.wait(task["id"], "cancelled")
    for daemon in both:
        assert daemon.stop() == 0
    clean(repo)


async def _repairs(daemon: Daemon) -> list[dict[str, Any]]:
    newest = await seq(daemon)
    found: list[dict[str, Any]] = []
    async with daemon.client() as client:
        await client.call("events.follow", after=0)
        while not found or found[-1]["seq"] < newest:
            queue = client.notifications
            message = queue.pop(0) if queue else await client.receive()
            found.append(message["params"])
    return [event for event in found if event["kind"] == "repository.repaired"]
