"""The disk fills under a daemon at work: agents go on, nothing is lost, new work is refused."""

import os
from pathlib import Path
from typing import Any

import pytest

from byred.testing.model import ScriptedModel
from byred.testing.script import Script, Step
from tests.e2e.conftest import COMMIT, SCRIPTS, Daemon

# Where nobody else sees it; the folder of the tasks stays on the large disk if a second one is
# named.
MOUNT = """
mount -t tmpfs -o size=32m tmpfs "$0" || exit 1
if [ -n "$1" ]; then mkdir "$0/tasks" && mount --bind "$1" "$0/tasks" || exit 1; fi
shift; exec "$@"
"""

ENDING = Script(
    name="ending",
    match="(?i)ending",
    steps=(
        Step(shell="echo one > one.txt && " + COMMIT),
        Step(say="Done.", delay="end"),
    ),
)


@pytest.fixture
def scripts() -> tuple[Script, ...]:
    return (ENDING, *SCRIPTS)


def on_a_small_disk(daemon: Daemon, tasks: Path | None) -> None:
    """Let the daemon keep its state on a disk of its own; `tasks` for what agents have of it."""
    daemon.state.mkdir()
    if tasks is not None:
        tasks.mkdir()
    private = ("--mount",) if os.geteuid() == 0 else ("--map-root-user", "--mount")
    other = "" if tasks is None else str(tasks)
    daemon.prefix = ("unshare", *private, "--", "sh", "-c", MOUNT, str(daemon.state), other)
    daemon.settings["workspace"] = {"min_free": "", "root": str(daemon.folder / "worktrees")}
    daemon.settings["scheduler"]["retry"]["attempts"] = 50


def filler(daemon: Daemon) -> Path:
    assert daemon.process is not None
    return Path(f"/proc/{daemon.process.pid}/root{daemon.state}/filler")


def fill(path: Path) -> None:
    """Take all the room that is left."""
    with path.open("ab", buffering=0) as file:
        for size in (65_536, 4_096, 1):
            while True:
                try:
                    file.write(b"\0" * size)
                except OSError:
                    break


async def refused(daemon: Daemon, repo: Path) -> dict[str, Any]:
    """Submit until there is no room for it; give the error."""
    async with daemon.client() as client:
        for _ in range(500):
            reply = await client.ask("task.submit", repo=str(repo), prompt="Say hello " * 90_000)
            if "error" in reply:
                return reply["error"]
    raise AssertionError("500 tasks were taken by a full disk")


@pytest.mark.promise("full_disk_loses_nothing")
async def test_a_verdict_that_finds_no_room_is_stored_when_there_is_some(
    down: Daemon, repo: Path, model: ScriptedModel, tmp_path: Path
) -> None:
    on_a_small_disk(down, tmp_path / "tasks")
    down.settings["scheduler"]["max_running"] = 2
    await down.start()
    ending = await down.submit(repo, "A task that is ending")
    asking = await down.submit(repo, "Ask me something")
    question = await down.question(asking["id"])
    await model.gate("end").reached(60)
    fill(filler(down))
    error = await refused(down, repo)
    assert error["data"]["kind"] == "limit"
    assert "the disk is full" in error["message"]
    model.gate("end").open()

    async def waits() -> bool:
        return "store.waits" in down.log.read_text()

    await down.until(waits)
    assert down.process is not None
    assert down.process.poll() is None
    assert (await down.call("task.get", id=ending["id"]))["state"] in ("running", "verifying")
    filler(down).unlink()
    done = await down.wait(ending["id"], "succeeded")
    await down.call("question.answer", id=question["id"], text="red")
    answered = await down.wait(asking["id"], "succeeded")
    for task in (done, answered):
        assert task["attempt"] == 1
        assert len(task["result"]["commits"]) == 1
    for task in (await down.call("task.list", limit=500))["tasks"]:
        if task["state"] == "queued":
            await down.call("task.cancel", id=task["id"])


@pytest.mark.promise("full_disk_loses_nothing")
async def test_agents_without_room_for_their_own_records_are_not_lost_either(
    down: Daemon, repo: Path, model: ScriptedModel
) -> None:
    on_a_small_disk(down, None)
    await down.start()
    asking = await down.submit(repo, "Ask me something")
    question = await down.question(asking["id"])
    ending = await down.submit(repo, "A task that is ending")
    await model.gate("end").reached(60)
    fill(filler(down))
    model.gate("end").open()
    error = await refused(down, repo)
    assert "the disk is full" in error["message"]
    filler(down).unlink()
    await down.wait(ending["id"], "succeeded")
    await down.call("question.answer", id=question["id"], text="red")
    assert (await down.wait(asking["id"], "succeeded"))["result"]["commits"]
    assert down.process is not None
    assert down.process.poll() is None
