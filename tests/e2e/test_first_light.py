"""One task, and eight at once, from the socket to a commit."""

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from byred.testing.model import ScriptedModel
from tests.e2e.conftest import SECRETS, Daemon, git

Byre = Callable[..., subprocess.CompletedProcess[str]]


async def test_a_task_becomes_a_commit_under_its_own_identity(daemon: Daemon, repo: Path) -> None:
    task = await daemon.submit(repo, "Say hello")
    assert task["state"] in ("queued", "preparing")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    assert done["result"]["summary"] == "Done."
    assert len(done["result"]["commits"]) == 1
    assert not done["result"]["dirty"]
    assert done["ports"] == {}
    assert done["pid"] is None
    who = git("log", "-1", "--format=%an <%ae> %cn <%ce>", done["branch"], cwd=repo)
    identity = f"{done['identity']['name']} <{done['identity']['email']}>"
    assert who == f"{identity} {identity}"
    assert done["tokens"]["total"] > 0


@pytest.mark.promise("identity_on_every_commit")
@pytest.mark.promise("main_checkout_untouched")
@pytest.mark.promise("secrets_stay_out")
@pytest.mark.promise("no_port_doubled")
async def test_eight_tasks_at_once_share_nothing(daemon: Daemon, repo: Path) -> None:
    before = (
        git("status", "--porcelain", "--branch", cwd=repo),
        git("rev-parse", "HEAD", cwd=repo),
    )
    submitted = await asyncio.gather(
        *(daemon.submit(repo, f"Show your environment, number {n}") for n in range(8))
    )
    leased = [await daemon.event("task.placed", task_id=task["id"]) for task in submitted]
    assert len({event["data"]["worktree"] for event in leased}) == 8
    done = [await daemon.wait(task["id"], "succeeded", "failed") for task in submitted]
    assert [task["state"] for task in done] == ["succeeded"] * 8
    for field in ("worktree", "home", "branch"):
        assert len({task[field] for task in done}) == 8
    assert len({task["identity"]["email"] for task in done}) == 8
    ports = []
    for task in done:
        text = git("show", f"{task['branch']}:environment.txt", cwd=repo)
        variables = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
        ports.append(variables["PORT"])
        assert variables["PORT_WEB"] == variables["PORT"]
        assert variables["BYRE_PORTS"] == f"web={variables['PORT']}"
        assert variables["CODEX_HOME"] == task["home"]
        for name, value in SECRETS.items():
            assert name not in text
            assert value not in text
        who = git("log", "-1", "--format=%an|%ae|%cn|%ce", task["branch"], cwd=repo)
        name, email = task["identity"]["name"], task["identity"]["email"]
        assert who == f"{name}|{email}|{name}|{email}"
    assert len(set(ports)) == 8
    after = (git("status", "--porcelain", "--branch", cwd=repo), git("rev-parse", "HEAD", cwd=repo))
    assert before == after
    assert "prunable" not in git("worktree", "list", "--porcelain", cwd=repo)


async def test_a_question_is_answered_from_the_command(
    daemon: Daemon, repo: Path, byre: Byre, model: ScriptedModel
) -> None:
    task = await daemon.submit(repo, "Ask for the colour")
    other = await daemon.submit(repo, "Say hello")
    question = await daemon.question(task["id"])
    assert question["text"] == "Which colour?"
    assert question["options"] == ["red", "blue"]
    # A task that waits holds up nobody.
    assert (await daemon.wait(other["id"], "succeeded", "failed"))["state"] == "succeeded"
    answered = await asyncio.to_thread(byre, "answer", str(question["id"]), "blue")
    assert answered.returncode == 0, answered.stderr
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["result"]["summary"] == "Done: blue"
    second = await asyncio.to_thread(byre, "answer", str(question["id"]), "red")
    assert second.returncode == 4
    assert "already answered by" in second.stderr
    assert git("show", f"{done['branch']}:colour.txt", cwd=repo) == "blue"
    listed = await daemon.call("question.list", task_id=task["id"])
    assert listed["questions"][0]["delivered_at"] is not None
    assert len(answers_in(model, "blue")) == 1


def answers_in(model: ScriptedModel, text: str) -> list[dict[str, object]]:
    """Give the tool outputs with this text in the newest request of the conversation."""
    newest = [sent for sent in model.requests if sent.script == "question"][-1]
    return [
        item
        for item in newest.input
        if item.get("type") == "function_call_output" and text in str(item.get("output"))
    ]


async def test_nothing_of_a_task_that_ended_runs_or_is_leased(daemon: Daemon, repo: Path) -> None:
    first = await daemon.submit(repo, "Say hello")
    await daemon.wait(first["id"], "succeeded")
    assert daemon.leftovers() == []
    second = await daemon.submit(repo, "Show your environment")
    done = await daemon.wait(second["id"], "succeeded")
    shown = git("show", f"{done['branch']}:environment.txt", cwd=repo)
    # The first free port again: the first task gave it back.
    assert "PORT=20000" in shown.splitlines()
