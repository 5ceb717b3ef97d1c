"""A command that prints nothing for too long: its turn is broken off, and its thread goes on."""

from pathlib import Path

from byred.testing.model import ScriptedModel
from tests.e2e.conftest import Daemon, command_runs


async def test_a_silent_command_is_broken_off_by_its_own_limit_and_tried_again(
    down: Daemon, repo: Path, model: ScriptedModel
) -> None:
    down.settings["codex"] |= {"stall_timeout": "4s", "tool_stall_timeout": "6s"}
    await down.start()
    task = await down.submit(repo, "Take long")
    pid = await command_runs(down, await down.wait(task["id"], "running"))
    suspect = await down.event("task.suspect", task_id=task["id"])
    assert suspect["data"]["why"] == (
        "nothing was heard of the turn for 6 s, in which a command or another tool ran"
    )
    assert suspect["data"]["found"] is None
    retried = await down.event("task.backing_off", task_id=task["id"])
    assert "stall" in retried["data"]["reason"]
    done = await down.wait(task["id"], "succeeded", "failed", "held")
    assert (done["state"], done["attempt"]) == ("succeeded", 2)
    assert len(done["result"]["commits"]) == 1
    assert not Path(f"/proc/{pid}").exists()
    newest = [sent for sent in model.requests if sent.script == "long"][-1]
    assert len([item for item in newest.input if "Take long" in str(item.get("content"))]) == 1
