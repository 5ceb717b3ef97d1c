"""The history of a task against the scripted model's own log: whole, once, in order."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from byred.testing.model import ScriptedModel
from byred.testing.play import Action
from byred.testing.records import Outcome, Sent
from byred.testing.script import Ask, Script, Step, Usage
from tests.e2e.conftest import BOUND, COMMIT, SCRIPTS, Daemon, command_runs

Byre = Callable[..., subprocess.CompletedProcess[str]]

SLEEP = "echo $$ > command.pid; exec sleep 600"
LIMIT = 50_000
SAGA = Script(
    name="saga",
    match="(?i)saga",
    compact="So far: half of a saga.",
    steps=(
        Step(reasoning="I look first.", stream="First I look.", shell="echo one; echo two >&2"),
        Step(ask=Ask(text="Which colour?", options=("red", "blue"))),
        Step(say="Now a long one.", shell=SLEEP, usage=Usage(input=700, cached_input=300)),
        Step(shell="rm command.pid; echo again; exit 3"),
        Step(shell=SLEEP, usage=Usage(input=900)),
        Step(shell="rm command.pid; echo {answer} > colour.txt && " + COMMIT),
        # More than the limit, so that the next turn begins with a compaction.
        Step(say="Half of it is done.", usage=Usage(LIMIT * 2, output=500, reasoning=90)),
        Step(reasoning="Half is left.", shell="echo more > more.txt && " + COMMIT),
        Step(say="All is done.", usage=Usage(input=900, output=9)),
    ),
)
TELLING = Script(
    name="telling",
    match="(?i)tell me",
    steps=(Step(shell="echo ghp_" + "a1" * 18), Step(say="Told.")),
)


@pytest.fixture
def scripts() -> tuple[Script, ...]:
    return (SAGA, TELLING, *SCRIPTS)


def steps(told: dict[str, Any], *kinds: str) -> list[dict[str, Any]]:
    return [step for turn in told["turns"] for step in turn["steps"] if step["kind"] in kinds]


def replies(requests: Iterable[Sent], thread: str) -> list[dict[str, Any]]:
    """What the model gave to the end, in order."""
    return [
        item
        for sent in requests
        if sent.thread == thread and sent.outcome is Outcome.SENT
        for item in sent.reply
    ]


def asked(requests: Iterable[Sent], thread: str) -> list[str]:
    """The newest word of a person that each turn's requests had, in order."""
    by_turn: dict[str | None, str] = {}
    for sent in requests:
        if sent.thread == thread and sent.action is not Action.COMPACT:
            said = [
                part["text"]
                for item in sent.input
                if item["type"] == "message" and item["role"] == "user"
                for part in item["content"]
                # What codex and byred put before the model stands in tags.
                if not part["text"].startswith("<")
            ]
            by_turn.setdefault(sent.turn, said[-1])
    return list(by_turn.values())


def lines(output: str) -> list[str]:
    """The lines of steps in what `byre` printed: headings and sums are of one telling alone."""
    return [line for line in output.splitlines() if line[:1].isdigit() or line.startswith("   ")]


async def saga(daemon: Daemon, repo: Any, model: ScriptedModel) -> dict[str, Any]:
    """Run a task whose server is killed, whose daemon is killed, and that is told more."""
    task = await daemon.submit(repo, "Tell a saga")
    question = await daemon.question(task["id"])
    await daemon.call("question.answer", id=question["id"], text="blue")
    await command_runs(daemon, task)
    running = await daemon.call("task.get", id=task["id"])
    os.kill(running["pid"], signal.SIGKILL)
    await model.wait_for(lambda sent: sent.script == "saga" and sent.step == 4)
    await command_runs(daemon, task)
    daemon.kill()
    await daemon.start()
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert (done["state"], done["attempt"]) == ("succeeded", 2), done
    return done


@pytest.mark.promise("history_is_whole")
async def test_a_task_killed_twice_resumed_told_more_compacted_and_forked_is_told_whole(
    down: Daemon, repo: Any, model: ScriptedModel, byre: Byre
) -> None:
    daemon = down
    daemon.settings["codex"]["config"]["model_auto_compact_token_limit"] = LIMIT
    await daemon.start()
    await saga(daemon, repo, model)
    await daemon.call("task.tell", id=1, text="And the other half")
    task = await daemon.wait(1, "succeeded", "failed")
    assert task["state"] == "succeeded", task

    told = await daemon.call("task.history", id=1)
    thread = task["thread_id"]
    given = replies(model.requests, thread)
    assert (told["thread_ids"], told["more"], told["breaks"]) == ([thread], False, [])

    # Every call, message and thought of the model, once, in order.
    calls = [item["call_id"] for item in given if item["type"] == "function_call"]
    assert [step["call_id"] for step in steps(told, "ran", "question", "called")] == calls
    said = [item["content"][0]["text"] for item in given if item["type"] == "message"]
    assert [step["text"] for step in steps(told, "said")] == said
    thought = [item["summary"][0]["text"] for item in given if item["type"] == "reasoning"]
    assert [step["text"] for step in steps(told, "thought")] == thought
    assert [step["kind"] for step in steps(told, "compacted")] == ["compacted"]
    # Every word of a person, once, in order.
    words = [step["text"] for step in steps(told, "asked")]
    assert words == asked(model.requests, thread)
    assert (words[0], words[-1], len(words)) == ("Tell a saga", "And the other half", 4)
    # What came of it.
    first, second, third, fourth = told["turns"]
    assert first["status"] == "lost"
    assert second["status"] in ("lost", "interrupted")
    assert (third["status"], fourth["status"]) == ("completed", "completed")
    ran = {step["call_id"]: step for step in steps(told, "ran")}
    outcomes = [(ran[call]["status"], ran[call].get("exit_code")) for call in calls if call in ran]
    assert outcomes[0] == outcomes[4] == outcomes[5] == ("completed", 0)
    assert outcomes[1][0] == "lost"
    assert outcomes[2] == ("failed", 3)
    assert outcomes[3][0] in ("lost", "interrupted")
    assert sorted(ran[calls[0]]["output"].split()) == ["one", "two"]
    assert [step["output"] for step in steps(told, "question")] == ["blue"]

    # The figures: codex's own, byred's, and the sum of the turns.
    assert told["tokens"] == told["counted"] == task["tokens"]
    for name, count in told["tokens"].items():
        assert sum(turn["tokens"][name] for turn in told["turns"]) == count
    assert told["tokens"]["total"] > LIMIT * 2

    # The turns are those that byred counts.
    listed = (await daemon.call("task.turns", id=1))["turns"]
    assert [(turn["number"], turn["id"]) for turn in told["turns"]] == [
        (row["number"], row["turn_id"]) for row in listed
    ]
    last = await daemon.call("task.history", id=1, last=2)
    assert last["turns"] == told["turns"][2:]
    (one,) = (await daemon.call("task.history", id=1, turn=2))["turns"]
    assert one == second
    since = await daemon.call("task.history", id=1, since=fourth["started_at"])
    assert since["turns"] == [fourth]

    # A fork has it all, and marks what it inherited.
    fork = await daemon.call("task.fork", id=1, prompt="Another end of the saga")
    fork = await daemon.wait(fork["id"], "succeeded", "failed")
    forked = await daemon.call("task.history", id=fork["id"])
    *inherited, own = forked["turns"]
    assert [turn["id"] for turn in inherited] == [turn["id"] for turn in told["turns"]]
    assert all(turn["inherited"] for turn in inherited)
    assert (own["number"], own.get("inherited", False)) == (1, False)
    (word,) = [step["text"] for step in own["steps"] if step["kind"] == "asked"]
    assert word.endswith("Another end of the saga")
    assert forked["tokens"] == forked["counted"] == fork["tokens"]

    # Words are found, in the newest task first.
    found = await daemon.call("history.search", words="half IS left")
    assert {hit["task_id"] for hit in found["hits"]} == {1, fork["id"]}
    assert {hit["turn_id"] for hit in found["hits"]} == {fourth["id"]}

    # And it stays when the agent, its worktree and its branch are long gone.
    await daemon.call("task.discard", id=1)
    assert (await daemon.call("task.history", id=1))["turns"] == told["turns"]
    whole = await asyncio.to_thread(byre, "history", "1")
    assert whole.returncode == 0, whole.stderr
    assert "Half is left." in whole.stdout
    fast = await asyncio.to_thread(byre, "replay", "1", "--speed", "1000")
    assert lines(fast.stdout) == lines(whole.stdout)


async def test_who_follows_sees_every_step_once_through_a_restart(
    daemon: Daemon, repo: Any, model: ScriptedModel, byre: Byre
) -> None:
    gated = await daemon.submit(repo, "A gated task")
    assert gated["id"] == 1
    command = [sys.executable, "-m", "byred.cli.main", "--socket", str(daemon.socket)]
    with subprocess.Popen(
        [*command, "history", "1", "--follow"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as following:
        try:
            assert following.stdout is not None
            await model.gate("middle").reached(30)
            seen = ""
            while "one.txt" not in seen:
                seen += await asyncio.to_thread(following.stdout.readline)
            daemon.kill()
            await daemon.start()
            model.gate("middle").open()
            done = await daemon.wait(1, "succeeded", "failed")
            assert done["state"] == "succeeded", done
            more, errors = await asyncio.to_thread(following.communicate, timeout=BOUND)
        finally:
            following.kill()
    assert following.returncode == 0
    assert errors.splitlines()[-1] == "the daemon is back"
    whole = await asyncio.to_thread(byre, "history", "1")
    assert lines(seen + more) == lines(whole.stdout)
    assert (seen + more).splitlines()[-1] == whole.stdout.splitlines()[-1]
    assert "Done." in whole.stdout


@pytest.mark.promise("secrets_stay_out")
async def test_a_page_is_complete_without_byred_and_has_no_secrets(
    down: Daemon, repo: Any, byre: Byre
) -> None:
    await down.start(MY_PASSWORD="open-sesame")
    task = await down.submit(repo, "Tell me open-sesame & <all>")
    await down.wait(task["id"], "succeeded", "failed")
    for form in ("md", "html", "jsonl"):
        ended = await asyncio.to_thread(byre, "export", str(task["id"]), "--format", form)
        assert ended.returncode == 0, ended.stderr
        assert "open-sesame" not in ended.stdout
        assert "ghp_" not in ended.stdout
        assert "[redacted]" in ended.stdout
        assert "Told." in ended.stdout
        if form == "html":
            assert ended.stdout.startswith("<!DOCTYPE html>")
            assert ended.stdout.endswith("</body></html>\n")
            assert "<all>" not in ended.stdout
            assert "src=" not in ended.stdout
            assert "href=" not in ended.stdout
        if form == "jsonl":
            (turn,) = map(json.loads, ended.stdout.splitlines())
            assert turn["status"] == "completed"
    said = await down.call("task.history", id=task["id"])
    assert "open-sesame" in json.dumps(said), "the record itself stays as it is"
