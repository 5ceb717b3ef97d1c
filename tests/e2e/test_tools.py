"""The byre tools as an agent meets them: wrong calls, deadlines, withdrawn questions, notices."""

import asyncio
from pathlib import Path

import pytest

from byred.testing.model import ScriptedModel
from byred.testing.script import Ask, Call, Script, Step
from tests.e2e.conftest import SCRIPTS, Daemon


def asking(name: str, ask: Ask) -> Script:
    return Script(name=name, match=name, steps=(Step(ask=ask), Step(say="Heard: {answer}")))


def calling(name: str, tool: str, arguments: dict[str, object]) -> Script:
    call = Call(namespace="byre", name=tool, arguments=arguments)
    return Script(name=name, match=name, steps=(Step(call=call), Step(say="Heard: {answer}")))


@pytest.fixture
def scripts() -> tuple[Script, ...]:
    return (
        asking("expiring", Ask(text="Blue?", default="red", deadline="1s")),
        asking("lasting", Ask(text="Blue?", deadline="2h")),
        calling("misspelt", "ask_human", {"txt": "Blue?"}),
        calling("untimely", "ask_human", {"text": "Blue?", "deadline": "yesterday"}),
        calling("unknown", "ask_everybody", {"text": "Blue?"}),
        calling("noticing", "notify_human", {"text": "The build is red."}),
        calling("advancing", "report_progress", {"text": "Half of it."}),
        *SCRIPTS,
    )


async def heard(daemon: Daemon, repo: Path, prompt: str) -> str:
    task = await daemon.submit(repo, prompt)
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    return done["result"]["summary"]


async def test_calls_that_are_wrong_are_answered_so_that_they_can_be_mended(
    daemon: Daemon, repo: Path
) -> None:
    misspelt, untimely, unknown = await asyncio.gather(
        heard(daemon, repo, "misspelt"),
        heard(daemon, repo, "untimely"),
        heard(daemon, repo, "unknown"),
    )
    assert "txt" in misspelt
    assert "text" in misspelt
    assert "yesterday" in untimely
    assert "30m" in untimely
    # Codex itself knows which tools there are and does not pass this one on.
    assert "ask_everybody" in unknown
    assert (await daemon.call("question.list"))["questions"] == []


async def test_a_question_that_expires_goes_on_with_its_default(daemon: Daemon, repo: Path) -> None:
    assert "default: red" in await heard(daemon, repo, "expiring")
    question = (await daemon.call("question.list"))["questions"][0]
    assert question["state"] == "expired"
    assert question["deadline"] is not None
    assert question["delivered_at"] is not None


async def test_a_question_may_be_withdrawn(daemon: Daemon, repo: Path) -> None:
    task = await daemon.submit(repo, "lasting")
    question = await daemon.question(task["id"])
    await daemon.call("question.withdraw", id=question["id"])
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert "withdrawn" in done["result"]["summary"]


async def test_what_an_agent_tells_is_in_the_events_and_its_log(daemon: Daemon, repo: Path) -> None:
    assert "told" in await heard(daemon, repo, "noticing")
    assert "Noted" in await heard(daemon, repo, "advancing")
    notice = await daemon.event("task.notice")
    assert notice["data"]["text"] == "The build is red."
    progress = await daemon.event("task.progress")
    assert progress["data"]["text"] == "Half of it."
    log = await daemon.call("task.log", id=progress["task_id"])
    assert ("progress", "Half of it.") in [(line["kind"], line["text"]) for line in log["lines"]]


async def test_a_parked_task_gives_its_server_back_and_returns_with_the_answer(
    down: Daemon, repo: Path, model: ScriptedModel
) -> None:
    down.settings["human"] = {"park_after": "200ms"}
    await down.start()
    task = await down.submit(repo, "Ask for the colour")
    question = await down.question(task["id"])

    async def parked() -> bool:
        return (await down.call("task.get", id=task["id"]))["parked"]

    await down.until(parked)
    assert down.leftovers() == []
    shown = await down.call("task.get", id=task["id"])
    assert (shown["state"], shown["pid"]) == ("waiting", None)
    await down.call("question.answer", id=question["id"], text="blue")
    done = await down.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    assert done["attempt"] == 1
    assert done["ports"] == {}
    newest = [sent for sent in model.requests if sent.script == "question"][-1]
    assert sum("blue" in str(item.get("output")) for item in newest.input) == 1
