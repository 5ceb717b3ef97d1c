"""What people want of tasks: cancel, hold, interrupt, tell, retry, depend, in every state."""

import asyncio
from pathlib import Path

import pytest

from byred.testing.model import ScriptedModel
from byred.testing.script import Error, Script, Step
from tests.e2e.conftest import COMMIT, SCRIPTS, Daemon, command_runs, git

BROKEN = Script(
    name="broken",
    match="(?i)broken model",
    steps=(
        Step(error=Error(status=500, message="the model broke"), times=99),
        Step(say="Never said."),
    ),
)
MENDED = Script(
    name="mended",
    match="(?i)model that is mended",
    steps=(
        Step(error=Error(status=500, message="the model broke"), times=2),
        Step(shell="echo mended > mended.txt && " + COMMIT),
        Step(say="Mended."),
    ),
)


@pytest.fixture
def scripts() -> tuple[Script, ...]:
    return (BROKEN, MENDED, *SCRIPTS)


@pytest.mark.promise("wish_survives")
async def test_cancel_ends_the_server_and_all_that_it_started(daemon: Daemon, repo: Path) -> None:
    task = await daemon.submit(repo, "A long command")
    pid = await command_runs(daemon, task)
    cancelled = await daemon.call("task.cancel", id=task["id"])
    assert cancelled["state"] == "cancelled"
    assert cancelled["pid"] is None
    assert cancelled["ports"] == {}
    assert not Path(f"/proc/{pid}").exists()
    assert daemon.leftovers() == []
    assert Path(task["worktree"], "started.txt").read_text() == "started\n"
    again = await daemon.call("task.retry", id=task["id"])
    assert again["state"] in ("queued", "preparing")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done


async def test_a_task_that_does_not_run_is_cancelled_at_once(daemon: Daemon, repo: Path) -> None:
    daemon.settings["scheduler"]["max_running"] = 1
    await daemon.call("daemon.drain")
    task = await daemon.submit(repo, "Say hello")
    cancelled = await daemon.call("task.cancel", id=task["id"])
    assert cancelled["state"] == "cancelled"
    refused = await _ask(daemon, "task.cancel", id=task["id"])
    assert refused["error"]["data"]["kind"] == "wrong_state"
    assert "cannot be cancelled" in refused["error"]["message"]


async def _ask(daemon: Daemon, method: str, **params: object) -> dict:
    async with daemon.client() as client:
        return await client.ask(method, **params)


async def test_cancelling_a_waiting_task_withdraws_its_question(daemon: Daemon, repo: Path) -> None:
    task = await daemon.submit(repo, "Ask for the colour")
    question = await daemon.question(task["id"])
    cancelled = await daemon.call("task.cancel", id=task["id"])
    assert cancelled["state"] == "cancelled"
    assert cancelled["questions"] == []
    listed = await daemon.call("question.list", task_id=task["id"])
    assert [(each["id"], each["state"]) for each in listed["questions"]] == [
        (question["id"], "withdrawn")
    ]
    late = await _ask(daemon, "question.answer", id=question["id"], text="red")
    assert late["error"]["data"]["kind"] == "conflict"


async def test_an_interrupted_task_goes_on_with_what_it_is_told(
    daemon: Daemon, repo: Path, model: ScriptedModel
) -> None:
    task = await daemon.submit(repo, "A long command")
    pid = await command_runs(daemon, task)
    held = await daemon.call("task.interrupt", id=task["id"])
    assert held["state"] == "held"
    assert "interrupted" in held["reason"]
    assert not Path(f"/proc/{pid}").exists()
    await daemon.call("task.tell", id=task["id"], text="Be quicker now.")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    assert done["thread_id"] == (await daemon.call("task.get", id=task["id"]))["thread_id"]
    newest = [sent for sent in model.requests if sent.script == "long"][-1]
    said = [item for item in newest.input if "Be quicker now." in str(item.get("content"))]
    assert len(said) == 1


async def test_a_text_told_to_a_running_task_joins_its_turn(
    daemon: Daemon, repo: Path, model: ScriptedModel
) -> None:
    task = await daemon.submit(repo, "A gated job")
    await model.gate("middle").reached(30)
    running = await daemon.call("task.tell", id=task["id"], text="One more thing.")
    assert running["state"] == "running"
    await daemon.event("task.told", task_id=task["id"])
    model.gate("middle").open()
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    newest = [sent for sent in model.requests if sent.script == "gated"][-1]
    said = [item for item in newest.input if "One more thing." in str(item.get("content"))]
    assert len(said) == 1


async def test_a_follow_up_goes_on_with_thread_and_worktree(
    daemon: Daemon, repo: Path, model: ScriptedModel
) -> None:
    task = await daemon.submit(repo, "Say hello")
    first = await daemon.wait(task["id"], "succeeded")
    told = await daemon.call("task.tell", id=task["id"], text="And now goodbye.")
    assert told["state"] in ("queued", "preparing")
    second = await daemon.wait(task["id"], "succeeded", "failed")
    assert second["state"] == "succeeded"
    assert second["thread_id"] == first["thread_id"]
    assert second["worktree"] == first["worktree"]
    newest = model.requests[-1]
    said = [item for item in newest.input if "And now goodbye." in str(item.get("content"))]
    assert len(said) == 1


@pytest.mark.promise("retries_are_bounded")
async def test_a_model_that_stays_broken_fails_the_task_after_three_attempts(
    daemon: Daemon, repo: Path
) -> None:
    task = await daemon.submit(repo, "A broken model")
    done = await daemon.wait(task["id"], "failed", "succeeded")
    assert done["state"] == "failed"
    assert done["attempt"] == 3
    assert "attempt 3 of 3" in done["reason"]
    assert done["error"]["kind"] == "infrastructure"
    explained = await daemon.call("task.explain", id=task["id"])
    attempts = [fact for fact in explained["facts"] if fact["name"].startswith("attempt")]
    assert len(attempts) == 3
    assert daemon.leftovers() == []


async def test_a_model_that_is_mended_lets_the_task_succeed(daemon: Daemon, repo: Path) -> None:
    task = await daemon.submit(repo, "A model that is mended")
    done = await daemon.wait(task["id"], "failed", "succeeded")
    assert done["state"] == "succeeded", done
    assert len(done["result"]["commits"]) == 1


async def test_a_task_waits_for_those_it_depends_on(
    daemon: Daemon, repo: Path, model: ScriptedModel
) -> None:
    first = await daemon.submit(repo, "A gated job")
    second = await daemon.submit(repo, "Say hello", depends_on=[first["id"]])
    assert second["state"] == "blocked"
    await model.gate("middle").reached(30)
    assert (await daemon.call("task.get", id=second["id"]))["state"] == "blocked"
    model.gate("middle").open()
    await daemon.wait(first["id"], "succeeded")
    done = await daemon.wait(second["id"], "succeeded", "failed")
    assert done["started_at"] > (await daemon.call("task.get", id=first["id"]))["ended_at"]
    missing = await _ask(daemon, "task.submit", repo=str(repo), prompt="x", depends_on=[99])
    assert missing["error"]["data"]["kind"] == "not_found"


@pytest.mark.promise("limits_hold")
async def test_order_is_priority_then_age_and_limits_hold(down: Daemon, repo: Path) -> None:
    down.settings["scheduler"]["max_running"] = 1
    await down.start()
    async with down.client() as client:
        await client.call("events.follow", after=0)
        tasks = [
            await down.submit(repo, f"Say hello {priority}", priority=priority)
            for priority in (0, 1, 5, 1)
        ]
        for task in tasks:
            await down.wait(task["id"], "succeeded")
        events = []
        newest = (await down.call("daemon.status"))["seq"]
        while not events or events[-1]["seq"] < newest:
            queue = client.notifications
            events.append((queue.pop(0) if queue else await client.receive())["params"])
    assert [event["seq"] for event in events] == list(range(1, newest + 1))
    started = [event["task_id"] for event in events if event["kind"] == "task.preparing"]
    first, low, high, last = (task["id"] for task in tasks)
    assert started in ([first, high, low, last], [high, low, last, first])
    live = 0
    for event in events:
        live += (event["kind"] == "task.preparing") - (event["kind"] == "task.succeeded")
        assert live <= 1


async def test_a_held_task_stays_until_it_is_released(daemon: Daemon, repo: Path) -> None:
    task = await daemon.submit(repo, "A long command")
    await command_runs(daemon, task)
    held = await daemon.call("task.hold", id=task["id"])
    assert held["state"] == "held"
    assert daemon.leftovers() == []
    assert daemon.stop() == 0
    await daemon.start()
    assert (await daemon.call("task.get", id=task["id"]))["state"] == "held"
    await daemon.call("task.release", id=task["id"])
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done


@pytest.mark.promise("same_key_same_task")
async def test_the_same_key_is_the_same_task(daemon: Daemon, repo: Path) -> None:
    both = await asyncio.gather(
        daemon.submit(repo, "Say hello", key="one"), daemon.submit(repo, "Say hello", key="one")
    )
    assert both[0]["id"] == both[1]["id"]
    other = await _ask(daemon, "task.submit", repo=str(repo), prompt="Another", key="one")
    assert other["error"]["data"]["kind"] == "conflict"
    assert len((await daemon.call("task.list"))["tasks"]) == 1


async def test_a_log_is_followed_to_its_end(daemon: Daemon, repo: Path) -> None:
    task = await daemon.submit(repo, "Say hello")
    async with daemon.client() as client:
        reply = await client.call("task.log", id=task["id"], follow=True)
        lines = list(reply["lines"])
        while True:
            message = await client.receive()
            if message["method"] == "log.end":
                break
            lines.append(message["params"]["line"])
    assert message["params"] == {"id": task["id"], "state": "succeeded"}
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert {"state", "turn", "command", "output", "message"} <= {line["kind"] for line in lines}
    assert git("rev-list", "--count", f"main..{task['branch']}", cwd=repo) == "1"
