"""The model's servers ask for fewer at once: all tasks leave a distance until it works again."""

from pathlib import Path

import pytest

from byred.testing.model import ScriptedModel
from byred.testing.script import Error, Script, Step
from tests.e2e.conftest import COMMIT, SCRIPTS, Daemon

WAITS = "waits to start its turn: the model asked for fewer at once"

CROWDED = Script(
    name="crowded",
    match="(?i)crowded",
    steps=(
        # With the header codex itself tries once more, after as many seconds.
        Step(
            error=Error(status=429, message="slow down"),
            times=2,
            headers={"retry-after": "1"},
            shell="echo one > one.txt",
        ),
        Step(shell="echo two > two.txt && " + COMMIT, delay="crowded"),
        Step(say="Done."),
    ),
)


@pytest.fixture
def scripts() -> tuple[Script, ...]:
    return (CROWDED, *SCRIPTS)


async def waited(daemon: Daemon, task_id: int) -> bool:
    log = await daemon.call("task.log", id=task_id)
    return WAITS in [line["text"] for line in log["lines"]]


async def test_a_429_of_one_task_spaces_the_starts_of_all_until_turns_end_well(
    down: Daemon, repo: Path, model: ScriptedModel
) -> None:
    down.settings["scheduler"]["retry"]["attempts"] = 10
    await down.start()
    crowded = await down.submit(repo, "A crowded task")
    # Its second attempt is at work and has not ended: the distance stays.
    await model.gate("crowded").reached(60)
    assert await waited(down, crowded["id"])
    # One that nobody refused leaves the distance, too, and loses nothing by it.
    other = await down.submit(repo, "Say hello")
    done = await down.wait(other["id"], "succeeded", "failed", "held")
    assert (done["state"], done["attempt"]) == ("succeeded", 1)
    assert await waited(down, other["id"])
    model.gate("crowded").open()
    done = await down.wait(crowded["id"], "succeeded", "failed", "held")
    assert done["state"] == "succeeded", done
    assert done["attempt"] > 1
    assert len(done["result"]["commits"]) == 1
    # Its account is not paused for it: there was quota left.
    assert (await down.call("daemon.status"))["paused"] is None
    # Every turn that ends well halves the distance, until there is none.
    for _ in range(8):
        last = await down.submit(repo, "Say hello")
        assert (await down.wait(last["id"], "succeeded", "failed"))["state"] == "succeeded"
        if not await waited(down, last["id"]):
            return
    pytest.fail("the starts are still spaced")
