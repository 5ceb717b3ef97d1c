"""Whatever is killed, whenever: no task, question or answer is lost or doubled."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from byred.testing.model import ScriptedModel
from tests.e2e.conftest import Daemon, command_runs, git


@pytest.mark.promise("no_task_lost")
@pytest.mark.promise("no_task_twice")
@pytest.mark.promise("no_question_lost")
@pytest.mark.promise("answer_delivered_once")
@pytest.mark.promise("no_process_left")
async def test_a_killed_daemon_loses_no_task_and_no_answer(
    down: Daemon, repo: Path, model: ScriptedModel
) -> None:
    down.settings["scheduler"]["max_running"] = 2
    await down.start()
    long = await down.submit(repo, "A long command")
    asks = await down.submit(repo, "Ask for the colour")
    queued = await down.submit(repo, "Say hello")
    pid = await command_runs(down, long)
    question = await down.question(asks["id"])
    assert (await down.call("task.get", id=queued["id"]))["state"] == "queued"

    down.kill()
    await down.start()

    assert not Path(f"/proc/{pid}").exists()
    listed = (await down.call("question.list"))["questions"]
    assert [(each["id"], each["state"]) for each in listed] == [(question["id"], "open")]
    waiting = await down.call("task.get", id=asks["id"])
    assert (waiting["state"], waiting["parked"]) == ("waiting", True)
    await down.call("question.answer", id=question["id"], text="blue")
    for task in (long, asks, queued):
        done = await down.wait(task["id"], "succeeded", "failed")
        assert done["state"] == "succeeded", done
        assert done["attempt"] == 1
    assert len((await down.call("question.list"))["questions"]) == 1
    newest = [sent for sent in model.requests if sent.script == "question"][-1]
    given = [
        item
        for item in newest.input
        if "output" in str(item.get("type")) and "blue" in str(item.get("output"))
    ]
    assert len(given) == 1
    assert git("show", f"{asks['branch']}:colour.txt", cwd=repo).endswith("blue")
    assert git("log", "--format=%s", f"main..{long['branch']}", cwd=repo) == "The work of a task"
    assert down.leftovers() == []


@pytest.mark.promise("other_tasks_unharmed")
async def test_a_killed_server_costs_its_own_task_one_attempt(
    daemon: Daemon, repo: Path, model: ScriptedModel
) -> None:
    victim = await daemon.submit(repo, "A gated task")
    other = await daemon.submit(repo, "Another gated task")
    for task in (victim, other):
        await daemon.event("task.running", task_id=task["id"])
    await model.gate("middle").reached(30)
    running = await daemon.call("task.get", id=victim["id"])
    witness = await daemon.call("task.get", id=other["id"])
    os.kill(running["pid"], signal.SIGKILL)
    await daemon.event("task.backing_off", task_id=victim["id"])
    model.gate("middle").open()
    done = await daemon.wait(victim["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    assert done["attempt"] == 2
    assert done["thread_id"] == running["thread_id"]
    explained = await daemon.call("task.explain", id=victim["id"])
    assert "SIGKILL" in str(explained["facts"])
    unharmed = await daemon.wait(other["id"], "succeeded", "failed")
    assert unharmed["state"] == "succeeded"
    assert unharmed["attempt"] == 1
    assert unharmed["thread_id"] == witness["thread_id"]
    assert len(unharmed["result"]["commits"]) == 1
    assert len(done["result"]["commits"]) == 1


async def test_a_question_outlives_its_server(
    daemon: Daemon, repo: Path, model: ScriptedModel
) -> None:
    task = await daemon.submit(repo, "Ask for the colour")
    question = await daemon.question(task["id"])
    running = await daemon.call("task.get", id=task["id"])
    os.kill(running["pid"], signal.SIGKILL)
    await daemon.until(lambda: is_parked(daemon, task["id"]))
    await daemon.call("question.answer", id=question["id"], text="red")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    assert done["attempt"] == 1
    newest = [sent for sent in model.requests if sent.script == "question"][-1]
    outputs = [item for item in newest.input if "red" in str(item.get("output"))]
    assert len(outputs) == 1


async def asked_and_cut(daemon: Daemon, repo: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give a task that asked, server dead, record cut in its first line; what it asked."""
    task = await daemon.submit(repo, "Ask for the colour")
    question = await daemon.question(task["id"])
    running = await daemon.call("task.get", id=task["id"])
    os.kill(running["pid"], signal.SIGKILL)
    await daemon.until(lambda: is_parked(daemon, task["id"]))
    (record,) = Path(running["home"]).glob("sessions/**/rollout-*.jsonl")
    os.truncate(record, 200)
    return running, question


@pytest.mark.promise("answer_delivered_once")
async def test_an_answer_outlives_a_record_that_a_full_disk_cut_in_its_first_line(
    daemon: Daemon, repo: Path, model: ScriptedModel
) -> None:
    running, first = await asked_and_cut(daemon, repo)
    task_id = running["id"]
    refused = await daemon.call_refused("task.fork", id=task_id, turn=1, prompt="Say hello")
    assert "breaks off in its first line" in refused["message"]
    assert refused["data"]["kind"] == "not_found"
    await daemon.call("question.answer", id=first["id"], text="cobalt")
    lost = await daemon.event("task.thread_lost", task_id=task_id)
    assert lost["data"]["thread_id"] == running["thread_id"]
    # It begins anew, and so it asks again.
    second = await daemon.question(task_id)
    await daemon.call("question.answer", id=second["id"], text="red")
    done = await daemon.wait(task_id, "succeeded", "failed")
    assert done["state"] == "succeeded", done
    newest = [sent for sent in model.requests if sent.script == "question"][-1]
    assert newest.thread == done["thread_id"] != running["thread_id"]
    for answer in ("cobalt", "red"):
        holders = [item for item in newest.input if answer in str(item.get("output"))]
        assert len(holders) == 1, answer
    told = [e for e in await daemon.events(task_id) if e["kind"] == "question.delivered"]
    assert [e["question_id"] for e in told] == [first["id"], second["id"]]


@pytest.mark.promise("answer_delivered_once")
async def test_an_answer_that_went_to_a_new_thread_and_was_not_written_down_goes_again(
    daemon: Daemon, repo: Path, model: ScriptedModel
) -> None:
    running, first = await asked_and_cut(daemon, repo)
    task_id = running["id"]
    await daemon.call("question.answer", id=first["id"], text="cobalt")
    second = await daemon.question(task_id)
    again = await daemon.call("task.get", id=task_id)
    os.kill(again["pid"], signal.SIGKILL)
    await daemon.until(lambda: is_parked(daemon, task_id))
    # It was said, but the server died before it was in the record.
    _, newer = sorted(Path(running["home"]).glob("sessions/**/rollout-*.jsonl"))
    lines = newer.read_text().splitlines(keepends=True)
    newer.write_text("".join(line for line in lines if "cobalt" not in line))
    await daemon.call("question.answer", id=second["id"], text="red")
    done = await daemon.wait(task_id, "succeeded", "failed")
    assert done["state"] == "succeeded", done
    newest = [sent for sent in model.requests if sent.script == "question"][-1]
    for answer in ("cobalt", "red"):
        holders = [item for item in newest.input if answer in str(item.get("output"))]
        assert len(holders) == 1, answer


@pytest.mark.promise("no_task_twice")
async def test_a_text_whose_name_in_the_record_a_kill_cut_off_is_not_said_again(
    daemon: Daemon, repo: Path, model: ScriptedModel
) -> None:
    task = await daemon.submit(repo, "A gated job")
    await model.gate("middle").reached(30)
    running = await daemon.call("task.get", id=task["id"])
    daemon.kill()
    daemon.shoot_leftovers()
    (record,) = Path(running["home"]).rglob("rollout-*.jsonl")
    lines = record.read_text().splitlines(keepends=True)
    (name,) = [at for at, each in enumerate(lines) if "byre-input-" in each]
    assert '"type":"response_item"' in lines[name - 1]
    record.write_text("".join(lines[:name]))
    model.gate("middle").open()
    await daemon.start()
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    newest = [sent for sent in model.requests if sent.script == "gated"][-1]
    assert newest.thread == running["thread_id"]
    assert len([item for item in newest.input if "gated job" in str(item.get("content"))]) == 1


async def is_parked(daemon: Daemon, task_id: int) -> bool:
    return (await daemon.call("task.get", id=task_id))["parked"]


@pytest.mark.promise("stop_is_bounded")
async def test_a_stopped_daemon_goes_on_where_it_was(daemon: Daemon, repo: Path) -> None:
    long = await daemon.submit(repo, "A long command")
    await command_runs(daemon, long)
    assert daemon.stop() == 0
    assert daemon.leftovers() == []
    await daemon.start()
    done = await daemon.wait(long["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    assert done["attempt"] == 1


async def test_temporary_files_of_a_daemon_that_was_killed_go_with_the_next_start(
    daemon: Daemon, repo: Path
) -> None:
    left = daemon.state / "tmp" / "byre-merge-left" / "tree"
    left.mkdir(parents=True)
    daemon.kill()
    await daemon.start()
    assert list((daemon.state / "tmp").iterdir()) == []
    task = await daemon.submit(repo, "Do it.")
    await daemon.wait(task["id"], "succeeded")
    merged = await daemon.call("task.merge", id=task["id"])
    assert merged["merged"]["into"] == "main"
    assert list((daemon.state / "tmp").iterdir()) == []
