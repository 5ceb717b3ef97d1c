"""A task is done when the checks of its repository pass, and its agent hears why when not."""

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from byred.testing.model import ScriptedModel
from byred.testing.script import Script, Step
from tests.e2e.conftest import BOUND, COMMIT, SCRIPTS, Daemon, git

Byre = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def scripts() -> tuple[Script, ...]:
    counting: list[Step] = []
    for number in range(1, 5):
        counting.append(Step(shell=f"echo {number} > count && {COMMIT}"))
        counting.append(Step(say=f"The count is {number}."))
    return (Script(name="count", match="(?i)count", steps=tuple(counting)), *SCRIPTS)


@pytest.fixture
async def checked(daemon: Daemon, repo: Path) -> Callable[..., Any]:
    """Make the repository say how its tasks are verified, trusted as a person does it."""

    async def say(*commands: str, rounds: int | None = None, trusted: bool = True) -> Path:
        lines = [f"verify = {json.dumps(commands)}"]
        if rounds is not None:
            lines.append(f"verify_rounds = {rounds}")
        (repo / ".byre.toml").write_text("\n".join(lines) + "\n")
        git("add", "-A", cwd=repo)
        git("commit", "-q", "-m", "Say how it is verified", cwd=repo)
        if trusted:
            await daemon.call("repo.trust", repo=str(repo))
        return repo

    return say


def heard(model: ScriptedModel, text: str) -> int:
    """Count the texts in the newest conversation that say this."""
    return sum(
        text in str(part)
        for item in model.requests[-1].input
        if item.get("role") == "user"
        for part in item.get("content", [])
    )


async def test_a_check_that_fails_twice_is_two_turns_more(
    daemon: Daemon, checked: Callable[..., Any], model: ScriptedModel
) -> None:
    repo = await checked("true", 'echo "the count is $(cat count)"; test "$(cat count)" -ge 3')
    task = await daemon.submit(repo, "Count, please")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    assert done["turns"] == 3
    assert done["attempt"] == 1
    assert done["result"]["summary"] == "The count is 3."
    assert heard(model, "the count is 1") == 1
    assert heard(model, "the count is 2") == 1
    assert heard(model, "the count is 3") == 0
    events = await daemon.events(task["id"])
    failed = [event["data"] for event in events if event["kind"] == "task.verify_failed"]
    assert [(each["round"], each["rounds"], each["status"]) for each in failed] == [
        (1, 4, 1),
        (2, 4, 1),
    ]
    assert failed[1]["output"] == "the count is 2"
    states = [event["kind"] for event in events if event["kind"].split(".")[1] == "verifying"]
    assert len(states) == 3


async def test_a_check_that_never_passes_fails_the_task_and_keeps_its_work(
    daemon: Daemon, checked: Callable[..., Any], byre: Byre, tmp_path: Path
) -> None:
    mended = tmp_path / "mended"
    repo = await checked(f'echo "at $(cat count) it is broken"; test -e {mended}', rounds=1)
    task = await daemon.submit(repo, "Count, please")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "failed"
    assert (done["turns"], done["attempt"]) == (2, 1)
    assert done["error"]["kind"] == "verify"
    assert "its checks failed 2 times" in done["error"]["message"]
    assert "at 2 it is broken" in done["error"]["message"]
    assert done["reason"] == "its checks failed 2 times; its work is kept"
    assert git("show", f"{done['branch']}:count", cwd=repo) == "2"
    assert Path(done["worktree"], "count").read_text() == "2\n"
    shown = await asyncio.to_thread(byre, "show", str(task["id"]))
    assert "at 2 it is broken" in shown.stdout
    # What a person says or asks for gives it as many rounds again.
    await daemon.call("task.tell", id=task["id"], text="Once more")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert (done["state"], done["turns"]) == ("failed", 4)
    assert "at 4 it is broken" in done["error"]["message"]
    mended.touch()
    await daemon.call("task.retry", id=task["id"])
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert (done["state"], done["turns"]) == ("succeeded", 4)
    assert daemon.leftovers() == []


async def until_there(path: Path) -> None:
    async with asyncio.timeout(BOUND):
        while not path.exists():
            await asyncio.sleep(0.02)


@pytest.mark.promise("wish_survives")
@pytest.mark.promise("no_process_left")
async def test_a_person_need_not_wait_for_a_check(
    daemon: Daemon, checked: Callable[..., Any]
) -> None:
    repo = await checked("touch checking; (setsid sleep 600 &); sleep 600")
    task = await daemon.submit(repo, "Count, please")
    verifying = await daemon.wait(task["id"], "verifying", "succeeded", "failed")
    await until_there(Path(verifying["worktree"]) / "checking")
    cancelled = await daemon.call("task.cancel", id=task["id"])
    assert cancelled["state"] == "cancelled"
    assert daemon.leftovers() == []


async def test_a_word_during_a_check_is_heard_before_it_ends(
    daemon: Daemon, checked: Callable[..., Any]
) -> None:
    repo = await checked('test "$(cat count)" -ge 2 || { touch checking; sleep 600; }')
    task = await daemon.submit(repo, "Count, please")
    verifying = await daemon.wait(task["id"], "verifying", "succeeded", "failed")
    await until_there(Path(verifying["worktree"]) / "checking")
    await daemon.call("task.tell", id=task["id"], text="Go on counting")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert (done["state"], done["turns"]) == ("succeeded", 2)
    assert "task.verify_failed" not in [event["kind"] for event in await daemon.events(task["id"])]


@pytest.mark.promise("no_task_lost")
async def test_a_check_that_a_crash_cut_off_is_made_again(
    daemon: Daemon, checked: Callable[..., Any]
) -> None:
    repo = await checked("test -e ../gone || { touch checking ../gone; sleep 600; }")
    task = await daemon.submit(repo, "Count, please")
    verifying = await daemon.wait(task["id"], "verifying", "succeeded", "failed")
    await until_there(Path(verifying["worktree"]) / "checking")
    daemon.kill()
    await daemon.start()
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert (done["state"], done["turns"]) == ("succeeded", 1)
    assert daemon.leftovers() == []


@pytest.mark.promise("only_the_trusted_run_commands")
async def test_nothing_of_a_repository_runs_before_somebody_trusts_it(
    daemon: Daemon, checked: Callable[..., Any], byre: Byre
) -> None:
    repo = await checked("touch ran; false", rounds=0, trusted=False)
    task = await daemon.submit(repo, "Count, please")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded"
    assert not (Path(done["worktree"]) / "ran").exists()
    event = await daemon.event("task.untrusted", task_id=task["id"])
    assert event["data"] == {"repo": str(repo), "asks": ["run `touch ran; false` to verify"]}
    logged = await asyncio.to_thread(byre, "logs", str(task["id"]))
    assert f"byre trust {repo} lets it" in logged.stdout
    trusted = await asyncio.to_thread(byre, "trust", cwd=repo)
    assert trusted.stdout == (
        f"{repo} is trusted; its tasks now\n  run `touch ran; false` to verify\n"
    )
    listed = await asyncio.to_thread(byre, "trust", "--list")
    assert listed.stdout.startswith(f"{repo}  by ")
    second = await daemon.submit(repo, "Count, please")
    done = await daemon.wait(second["id"], "succeeded", "failed")
    assert done["state"] == "failed"
    assert (Path(done["worktree"]) / "ran").exists()
    # Trust outlives the daemon, and ends when a person says so.
    daemon.stop()
    await daemon.start()
    assert (await daemon.call("repo.get", repo=str(repo)))["trusted"]
    ended = await asyncio.to_thread(byre, "untrust", str(repo))
    assert ended.stdout == f"{repo} is not trusted\n"
    third = await daemon.submit(repo, "Count, please")
    assert (await daemon.wait(third["id"], "succeeded", "failed"))["state"] == "succeeded"


async def test_an_agent_cannot_change_how_it_is_verified(
    daemon: Daemon, checked: Callable[..., Any]
) -> None:
    repo = await checked('test "$(cat count)" -ge 2')
    # Its own commit says otherwise, but its base does not.
    easier = f"printf 'verify = []' > .byre.toml && {COMMIT}"
    await daemon.call("daemon.status")
    task = await daemon.submit(repo, "Count, please")
    place = await daemon.event("task.placed", task_id=task["id"])
    assert place["data"]["worktree"]
    subprocess.run(easier, shell=True, cwd=place["data"]["worktree"], check=True)
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert (done["state"], done["turns"]) == ("succeeded", 2)
