"""A database that is put back, or begun anew: what the tasks after it left stays theirs."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from byred.testing.model import ScriptedModel
from tests.e2e.conftest import Daemon, git
from tests.e2e.test_errors import byred

PROMPT = "Say hello"


def refs_of(repo: Path) -> dict[str, str]:
    lines = git("for-each-ref", "--format=%(refname) %(objectname)", cwd=repo).splitlines()
    return dict(line.split() for line in lines)


def left_of(daemon: Daemon, repo: Path, tasks: list[dict[str, Any]]) -> dict[str, Any]:
    """Give all that some tasks left outside of the database."""
    texts = {}
    for task in tasks:
        for folder in (Path(task["home"]).parent, Path(task["worktree"])):
            for path in sorted(folder.rglob("*.jsonl")) + sorted(folder.rglob("*.txt")):
                texts[str(path)] = path.read_bytes()
    listed = git("worktree", "list", "--porcelain", cwd=repo)
    trees = {task["worktree"]: f"worktree {task['worktree']}\n" in listed for task in tasks}
    return {"refs": refs_of(repo), "texts": texts, "trees": trees}


async def by_hand(daemon: Daemon, *arguments: str) -> None:
    done = await asyncio.to_thread(byred, "--config", str(daemon.config), *arguments)
    assert done.returncode == 0, done.stderr


async def run(daemon: Daemon, repo: Path) -> dict[str, Any]:
    task = await daemon.submit(repo, PROMPT)
    return await daemon.wait(task["id"], "succeeded", "failed")


async def own(daemon: Daemon, task: dict[str, Any], repo: Path) -> None:
    """Look whether a task stands on nothing that another one left."""
    number = task["id"]
    assert task["state"] == "succeeded", task
    assert task["branch"] == f"byre/{number}-say-hello"
    history = await daemon.call("task.history", id=number)
    assert history["turn_count"] == 1
    assert history["thread_ids"] == [task["thread_id"]]
    log = (Path(task["home"]).parent / "events.jsonl").read_text()
    assert log.count("attempt 1: preparing") == 1
    assert len(task["result"]["commits"]) == 1
    assert git("rev-list", "--count", f"main..{task['branch']}", cwd=repo) == "1"


@pytest.mark.promise("numbers_are_used_once")
async def test_after_a_restore_a_new_task_has_a_number_of_its_own(
    daemon: Daemon, repo: Path
) -> None:
    first = await run(daemon, repo)
    await by_hand(daemon, "backup", str(daemon.folder / "copy.sqlite3"))
    lost = [await run(daemon, repo) for _ in range(2)]
    # Of one of them only refs and a branch are left.
    await daemon.call("daemon.gc", count=1)
    assert daemon.stop() == 0
    before = left_of(daemon, repo, [first, *lost])

    await by_hand(daemon, "set-aside")
    await by_hand(daemon, "restore", str(daemon.folder / "copy.sqlite3"))
    await daemon.start()
    assert "action=numbering.skipped" in daemon.log.read_text()
    new = await run(daemon, repo)
    assert new["id"] == lost[-1]["id"] + 1
    await own(daemon, new, repo)
    skipped = await daemon.event("task.numbers_skipped", task_id=new["id"])
    assert (skipped["data"]["first"], skipped["data"]["last"]) == (2, 3)
    following = await run(daemon, repo)
    assert following["id"] == new["id"] + 1

    # Without any database it is the same.
    assert daemon.stop() == 0
    await by_hand(daemon, "set-aside")
    await daemon.start()
    last = await run(daemon, repo)
    assert last["id"] == following["id"] + 1
    await own(daemon, last, repo)
    await daemon.call("daemon.gc", count=1)
    await daemon.call("task.discard", id=last["id"])
    assert daemon.stop() == 0

    after = left_of(daemon, repo, [first, *lost])
    assert after["texts"] == before["texts"]
    assert after["trees"] == before["trees"]
    assert {name: after["refs"].get(name) for name in before["refs"]} == before["refs"]
    git("fsck", "--no-dangling", "--no-progress", cwd=repo)
    assert "prunable" not in git("worktree", "list", "--porcelain", cwd=repo)


async def test_after_a_restore_a_new_word_is_not_taken_for_a_lost_one(
    daemon: Daemon, model: ScriptedModel, repo: Path
) -> None:
    """Words are numbered too, and the thread of a task outlives the database."""
    task = await run(daemon, repo)
    await by_hand(daemon, "backup", str(daemon.folder / "copy.sqlite3"))
    await daemon.call("task.tell", id=task["id"], text="A word that is lost")
    await daemon.event("task.succeeded", after=(await daemon.call("daemon.status"))["seq"])
    assert daemon.stop() == 0
    await by_hand(daemon, "set-aside")
    await by_hand(daemon, "restore", str(daemon.folder / "copy.sqlite3"))
    await daemon.start()
    seen = (await daemon.call("daemon.status"))["seq"]
    await daemon.call("task.tell", id=task["id"], text="A word that is new")
    await daemon.event("task.succeeded", after=seen)
    history = await daemon.call("task.history", id=task["id"])
    said = str(history)
    assert "A word that is lost" in said
    assert "A word that is new" in said
