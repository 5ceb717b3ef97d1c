"""A usage limit is the account's: nobody burns attempts on it, and all go on after the reset."""

from pathlib import Path

import pytest

from byred.testing.script import Error, Script, Step
from tests.e2e.conftest import COMMIT, SCRIPTS, Daemon

LIMITED = Script(
    name="limited",
    match="(?i)limited",
    steps=(
        Step(error=Error(status=429, code="usage_limit_reached", message="limit"), times=1),
        Step(shell="echo done > $BYRE_TASK_ID.txt && " + COMMIT),
        Step(say="Done."),
    ),
)


@pytest.fixture
def scripts() -> tuple[Script, ...]:
    return (LIMITED, *SCRIPTS)


@pytest.mark.promise("account_limit_holds_all")
async def test_a_usage_limit_holds_the_account_and_costs_no_attempt(
    down: Daemon, repo: Path
) -> None:
    down.settings["scheduler"]["max_running"] = 2
    await down.start()
    limited = [await down.submit(repo, f"A limited task {number}") for number in range(2)]
    held = [await down.wait(task["id"], "held") for task in limited]
    later = await down.submit(repo, "Say hello")
    assert later["state"] == "queued"
    for task in held:
        assert task["attempt"] == 1
        assert task["held_until"] is not None
        assert "limit" in task["reason"]
    explained = await down.call("task.explain", id=later["id"])
    assert "account" in explained["why"]
    assert (await down.call("daemon.status"))["paused"] is not None
    # One goes first; when the model answers it, the others follow by themselves.
    await down.call("task.release", id=limited[0]["id"])
    for task in (*limited, later):
        done = await down.wait(task["id"], "succeeded", "failed")
        assert done["state"] == "succeeded", done
        assert done["attempt"] == 1
    assert (await down.call("daemon.status"))["paused"] is None
