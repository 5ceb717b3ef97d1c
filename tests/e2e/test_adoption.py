"""Agents on sockets outlive the daemon: a restart costs them nothing."""

import contextlib
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from byred.testing.model import ScriptedModel
from byred.testing.script import Script, Step
from tests.e2e.conftest import COMMIT, SCRIPTS, Daemon, command_runs

RELEASED = Script(
    name="released",
    match="(?i)until released",
    steps=(
        Step(shell="echo $$ > command.pid; until [ -e release ]; do sleep 0.05; done; echo over"),
        Step(shell="echo done > done.txt && " + COMMIT),
        Step(say="Done in one piece."),
    ),
)


@pytest.fixture
def scripts() -> tuple[Script, ...]:
    return (RELEASED, *SCRIPTS)


@pytest.fixture
def on_sockets(down: Daemon) -> Daemon:
    down.settings["codex"]["transport"] = "unix"
    return down


@pytest.mark.promise("agents_outlive_the_daemon")
@pytest.mark.parametrize("ending", ["kill", "stop"])
async def test_a_restart_of_the_daemon_costs_its_agents_nothing(
    on_sockets: Daemon, repo: Path, model: ScriptedModel, ending: str
) -> None:
    daemon = on_sockets
    await daemon.start()
    working = [await daemon.submit(repo, f"Work until released {n}") for n in range(2)]
    asks = await daemon.submit(repo, "Ask for the colour")
    answered = await daemon.submit(repo, "Ask for the colour again")
    commands = [await command_runs(daemon, task) for task in working]
    question = await daemon.question(asks["id"])
    other = await daemon.question(answered["id"])
    before = {
        task["id"]: await daemon.call("task.get", id=task["id"])
        for task in (*working, asks, answered)
    }
    if ending == "kill":
        daemon.kill()
    else:
        assert daemon.stop() == 0
    await daemon.start()
    for task_id in before:
        await daemon.event("task.adopted", task_id=task_id)
        now = await daemon.call("task.get", id=task_id)
        assert now["pid"] == before[task_id]["pid"]
        assert now["turn_id"] == before[task_id]["turn_id"]
        assert now["state"] == before[task_id]["state"]
    assert all(Path(f"/proc/{pid}").exists() for pid in commands)
    await daemon.call("question.answer", id=question["id"], text="blue")
    await daemon.call("question.answer", id=other["id"], text="red")
    for task in working:
        Path(task["worktree"], "release").touch()
    for task in (*working, asks, answered):
        done = await daemon.wait(task["id"], "succeeded", "failed")
        assert done["state"] == "succeeded", done
        assert done["attempt"] == 1
        assert len(done["result"]["commits"]) == 1
    turns = {sent.thread: set() for sent in model.requests}
    for sent in model.requests:
        turns[sent.thread].add(sent.turn)
    assert all(len(each) == 1 for each in turns.values()), turns
    listed = (await daemon.call("question.list"))["questions"]
    assert all(each["delivered_at"] is not None for each in listed)
    assert len(listed) == 2
    assert daemon.leftovers() == []


async def test_agents_that_were_done_meanwhile_are_found_so(
    on_sockets: Daemon, repo: Path, model: ScriptedModel
) -> None:
    daemon = on_sockets
    await daemon.start()
    task = await daemon.submit(repo, "Work until released")
    await command_runs(daemon, task)
    daemon.kill()
    Path(task["worktree"], "release").touch()
    last = await model.wait_for(lambda sent: sent.script == "released" and sent.step == 2)
    await model.wait_for(lambda sent: sent.number == last.number and sent.outcome == "sent")
    await daemon.start()
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    assert done["result"]["summary"] == "Done in one piece."
    assert len([sent for sent in model.requests if sent.script == "released"]) == 3


def record_of(task: dict[str, Any]) -> Path:
    (record,) = Path(task["home"]).rglob("rollout-*.jsonl")
    return record


@pytest.mark.promise("no_task_twice")
async def test_a_server_whose_record_lags_behind_is_told_nothing_again(
    on_sockets: Daemon, repo: Path, model: ScriptedModel
) -> None:
    """On a full disk codex goes on with what it could not write down."""
    daemon = on_sockets
    await daemon.start()
    task = await daemon.submit(repo, "Work until released")
    await command_runs(daemon, task)
    working = await daemon.call("task.get", id=task["id"])
    daemon.kill()
    record = record_of(working)
    lines = record.read_text().splitlines(keepends=True)
    (name,) = [at for at, each in enumerate(lines) if "byre-input-" in each]
    record.write_text("".join(lines[: name - 1]))
    Path(task["worktree"], "release").touch()
    last = await model.wait_for(lambda sent: sent.script == "released" and sent.step == 2)
    await model.wait_for(lambda sent: sent.number == last.number and sent.outcome == "sent")
    await daemon.start()
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert (done["state"], done["attempt"]) == ("succeeded", 1), done
    assert done["thread_id"] == working["thread_id"]
    for sent in model.requests:
        prompts = [item for item in sent.input if "until released" in str(item.get("content"))]
        assert len(prompts) == 1
    assert daemon.leftovers() == []


async def test_a_server_that_cannot_give_its_thread_back_is_ended_and_costs_no_attempt(
    on_sockets: Daemon, repo: Path, model: ScriptedModel
) -> None:
    daemon = on_sockets
    await daemon.start()
    task = await daemon.submit(repo, "Work until released")
    pid = await command_runs(daemon, task)
    working = await daemon.call("task.get", id=task["id"])
    daemon.kill()
    os.truncate(record_of(working), 200)
    await daemon.start()
    lost = await daemon.event("task.thread_lost", task_id=task["id"])
    assert lost["data"]["thread_id"] == working["thread_id"]
    # Nobody works in the worktree beside the new one.
    assert not Path(f"/proc/{pid}").exists()
    Path(task["worktree"], "release").touch()
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert (done["state"], done["attempt"]) == ("succeeded", 1), done
    assert done["thread_id"] != working["thread_id"]
    assert daemon.leftovers() == []


async def test_an_answer_given_to_a_dead_daemons_question_is_kept_apart(
    on_sockets: Daemon, repo: Path
) -> None:
    """The server dies, too, while no daemon is there: the question is still open afterwards."""
    daemon = on_sockets
    await daemon.start()
    task = await daemon.submit(repo, "Ask for the colour")
    question = await daemon.question(task["id"])
    daemon.kill()
    for pid in daemon.processes():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    await daemon.start()
    await daemon.call("question.answer", id=question["id"], text="blue")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    assert done["result"]["summary"].startswith("Done: ")


async def test_the_settings_can_end_agents_with_the_daemon(on_sockets: Daemon, repo: Path) -> None:
    daemon = on_sockets
    daemon.settings["daemon"]["end_agents"] = True
    await daemon.start()
    task = await daemon.submit(repo, "Work until released")
    await command_runs(daemon, task)
    assert daemon.stop() == 0
    assert daemon.leftovers() == []
    await daemon.start()
    Path(task["worktree"], "release").touch()
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
