"""A fork has the files and the thread that another task had after a turn, and its own ground."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from byred.testing.model import ScriptedModel
from byred.testing.script import Ask, Script, Step
from tests.e2e.conftest import COMMIT, SCRIPTS, Daemon, command_runs, git

Byre = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def scripts() -> tuple[Script, ...]:
    story = Script(
        name="story",
        match="(?i)story",
        steps=(
            Step(shell="echo one > one.txt && " + COMMIT + " && echo loose > loose.txt"),
            Step(say="The first word is alpha."),
            Step(shell='echo "$BYRE_TASK_ID $PORT" > two.txt && ' + COMMIT),
            Step(say="The second word is beta."),
            Step(shell="echo $$ > command.pid; exec sleep 600"),
            Step(ask=Ask(text="Which ending?")),
            Step(shell="echo {answer} > three.txt && " + COMMIT),
            Step(say="The third word is gamma."),
        ),
    )
    eve = Script(
        name="eve",
        match="(?i)somebody else",
        steps=(
            Step(shell="echo a > a.txt && " + COMMIT),
            Step(shell="echo b > b.txt && GIT_AUTHOR_NAME=Eve; export GIT_AUTHOR_NAME; " + COMMIT),
            Step(say="Both."),
            Step(shell="echo c > c.txt && " + COMMIT),
            Step(say="Mine."),
        ),
    )
    return (story, eve, *SCRIPTS)


async def told(daemon: Daemon, repo: Path, *more: str) -> dict[str, Any]:
    """Run a task through a turn, and one for each text more."""
    task = await daemon.submit(repo, "Tell a story")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    for text in more:
        await daemon.call("task.tell", id=task["id"], text=text)
        done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    return done


def loose(worktree: str) -> list[str]:
    return git("status", "--porcelain", cwd=Path(worktree)).splitlines()


@pytest.mark.promise("fork_has_files_and_thread")
async def test_a_fork_is_the_other_task_as_it_was_after_a_turn(
    daemon: Daemon, repo: Path, byre: Byre, model: ScriptedModel
) -> None:
    source = await told(daemon, repo, "On to the second word")
    tip = git("rev-parse", source["branch"], cwd=repo)
    forked = await asyncio.to_thread(
        byre, "--json", "fork", str(source["id"]), "--turn", "1", "On to another second word"
    )
    assert forked.returncode == 0, forked.stderr
    fork = json.loads(forked.stdout)
    assert fork["forked_from"] == {"task": source["id"], "turn": 1}
    assert fork["title"] == "On to another second word"
    done = await daemon.wait(fork["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    # The files: those of turn 1, what was loose included, with the fork's own work on top.
    files = git("ls-tree", "--name-only", done["branch"], cwd=repo).splitlines()
    assert files == ["README", "loose.txt", "one.txt", "two.txt"]
    assert git("show", f"{done['branch']}:two.txt", cwd=repo).split()[0] == str(fork["id"])
    who = git("log", "--format=%an", f"main..{done['branch']}", cwd=repo).splitlines()
    assert who == [done["identity"]["name"], source["identity"]["name"]]
    for field in ("worktree", "home", "branch", "thread_id"):
        assert done[field] != source[field]
    # The thread: the model knows what was said until the end of that turn, and nothing after it.
    sent = model.requests[-1]
    said = json.dumps(sent.input)
    assert "Tell a story" in said
    assert "The first word is alpha." in said
    assert "On to another second word" in said
    assert "On to the second word" not in said
    assert f"You are a fork: you know what task {source['id']} knew" in said
    assert "byre.ask_human" in sent.tools
    # Turn 1 of the fork is its own, against where it began.
    first = await daemon.call("task.diff", id=fork["id"], turn=1)
    assert first["diff"].count("diff --git") == 1
    whole = await daemon.call("task.diff", id=fork["id"])
    assert whole["diff"].count("diff --git") == 3
    # Nobody's commits look like somebody else's: the other task's are where the fork began.
    events = await daemon.events(task_id=fork["id"])
    assert "task.identity_differs" not in [event["kind"] for event in events]
    assert git("rev-parse", source["branch"], cwd=repo) == tip
    shown = await asyncio.to_thread(byre, "show", str(fork["id"]))
    assert f"forked from turn 1 of task {source['id']}" in shown.stdout
    assert git("fsck", "--no-dangling", cwd=repo) == ""


async def test_a_fork_without_a_prompt_waits_for_words(
    daemon: Daemon, repo: Path, byre: Byre
) -> None:
    source = await told(daemon, repo)
    forked = await asyncio.to_thread(byre, "fork", str(source["id"]))
    assert forked.returncode == 0, forked.stderr
    number = source["id"] + 1
    assert forked.stdout.startswith(f"task {number} held: Tell a story")
    fork = await daemon.call("task.get", id=number)
    assert fork["reason"] == f"says nothing yet; byre tell {number} TEXT"
    await daemon.call("task.tell", id=number, text="On with it")
    done = await daemon.wait(number, "succeeded", "failed")
    assert done["result"]["summary"] == "The second word is beta."
    # Both go on from the same place, each on its own.
    await daemon.call("task.tell", id=source["id"], text="You too")
    done = await daemon.wait(source["id"], "succeeded", "failed")
    assert done["result"]["summary"] == "The second word is beta."
    assert done["turns"] == 2


@pytest.mark.promise("fork_has_files_and_thread")
async def test_forks_of_forks_outlive_crashes_questions_and_the_end_of_their_source(
    daemon: Daemon, repo: Path, model: ScriptedModel
) -> None:
    source = await told(daemon, repo)
    second = await daemon.call("task.fork", id=source["id"], prompt="The second, please")
    second = await daemon.wait(second["id"], "succeeded", "failed")
    assert second["state"] == "succeeded", second
    # Its own worktree is gone by the time that the fork of the fork begins.
    await daemon.call("task.discard", id=second["id"])
    third = await daemon.call("task.fork", id=second["id"], turn=1, prompt="The third, please")
    third = await daemon.wait(third["id"], "running")
    await command_runs(daemon, third)
    daemon.kill()
    shutil.rmtree(source["home"])
    await daemon.start()
    question = await daemon.question(third["id"])
    assert question["text"] == "Which ending?"
    await daemon.call("question.answer", id=question["id"], text="a happy one")
    done = await daemon.wait(third["id"], "succeeded", "failed")
    assert done["result"]["summary"] == "The third word is gamma."
    assert git("show", f"{done['branch']}:three.txt", cwd=repo) == "a happy one"
    said = json.dumps(model.requests[-1].input)
    for words in ("Tell a story", "alpha", "The second, please", "beta", "The third, please"):
        assert words in said
    who = git("log", "--format=%an", f"main..{done['branch']}", cwd=repo).splitlines()
    assert who == [f"byre {number}" for number in (3, 2, 1)]


async def test_what_cannot_be_forked_is_refused_and_nothing_is_made(
    daemon: Daemon, repo: Path
) -> None:
    waiting = await daemon.submit(repo, "Ask me")
    await daemon.question(waiting["id"])
    early = await daemon.call_refused("task.fork", id=waiting["id"])
    assert "no turn of it has ended yet" in early["message"]
    source = await told(daemon, repo)
    late = await daemon.call_refused("task.fork", id=source["id"], turn=4)
    assert "there is no turn 4" in late["message"]
    empty = await daemon.call_refused("task.fork", id=source["id"], prompt=" ")
    assert empty["data"]["kind"] == "invalid"
    shutil.rmtree(Path(source["home"]) / "sessions")
    gone = await daemon.call_refused("task.fork", id=source["id"])
    assert gone["data"]["kind"] == "not_found"
    assert f"byre diff {source['id']} --turn 1" in gone["message"]
    assert len((await daemon.call("task.list"))["tasks"]) == 2


async def test_commits_of_somebody_else_are_told_of_once(daemon: Daemon, repo: Path) -> None:
    task = await daemon.submit(repo, "Commit as somebody else")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    event = await daemon.event("task.identity_differs", task_id=task["id"])
    tip = git("rev-parse", done["branch"], cwd=repo)
    email = done["identity"]["email"]
    assert event["data"] == {
        "turn": 1,
        "commits": [
            {
                "commit": tip,
                "author": f"Eve <{email}>",
                "committer": f"{done['identity']['name']} <{email}>",
            }
        ],
    }
    await daemon.call("task.tell", id=task["id"], text="Once more")
    await daemon.wait(task["id"], "succeeded", "failed")
    events = [event["kind"] for event in await daemon.events(task_id=task["id"])]
    assert events.count("task.identity_differs") == 1
    assert events.count("task.checkpoint") == 2
