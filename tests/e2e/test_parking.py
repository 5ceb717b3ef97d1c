"""A task that only waits for a person costs a row, and stands in nobody's way."""

import sys
from pathlib import Path

import pytest

from byred.testing.script import Script
from tests.bench import parked
from tests.e2e.conftest import SCRIPTS, Daemon


@pytest.fixture
def scripts() -> tuple[Script, ...]:
    return (parked.SCRIPT, *SCRIPTS)


async def test_a_waiting_task_makes_room_for_one_that_queues(down: Daemon, repo: Path) -> None:
    """Long before `human.park_after`, which is of no concern to those that queue."""
    down.settings["scheduler"]["max_running"] = 1
    await down.start()
    asks = await down.submit(repo, "Ask for the colour")
    question = await down.question(asks["id"])
    works = await down.submit(repo, "Say hello")
    done = await down.wait(works["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    waiting = await down.call("task.get", id=asks["id"])
    assert (waiting["state"], waiting["parked"]) == ("waiting", True)
    await down.call("question.answer", id=question["id"], text="blue")
    done = await down.wait(asks["id"], "succeeded", "failed")
    assert "blue" in done["result"]["summary"]
    assert (await down.call("question.list"))["questions"][0]["delivered_at"] is not None


@pytest.mark.promise("limits_hold")
@pytest.mark.promise("no_question_lost")
async def test_many_waiting_tasks_cost_rows_and_all_end_well(down: Daemon, repo: Path) -> None:
    """The short form of a benchmark, `python -m tests.bench.parked`."""
    down.python = [sys.executable]
    found = await parked.measure(down, repo, tasks=4, running=2, watched=0)
    assert found.wrong == []
    assert found.servers <= 2
    assert found.processes == 1
    assert found.pss < parked.MOST_PSS
