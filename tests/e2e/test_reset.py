"""A usage limit and its reset, by a clock that the test moves, with the real codex."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from byred import daemon as program
from byred.humans.notify import Notifier
from byred.settings import load
from byred.store.database import open_database
from byred.testing.model import ScriptedModel
from byred.testing.script import Error, Script, Step
from tests.e2e.conftest import COMMIT, SCRIPTS, Daemon

RESET = 1800
LIMIT = Error(status=429, code="usage_limit_reached", message="limit", resets_in=RESET)
LIMITED = Script(
    name="limited",
    match="(?i)limited",
    steps=(
        Step(error=LIMIT, times=1, delay="limit"),
        Step(shell="echo done > $BYRE_TASK_ID.txt && " + COMMIT),
        Step(say="Done."),
    ),
)


@pytest.fixture
def scripts() -> tuple[Script, ...]:
    return (LIMITED, *SCRIPTS)


class Clock:
    """The wall clock, and how far the test is ahead of it."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def notices(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    sent: list[str] = []
    monkeypatch.setattr(Notifier, "send", lambda _self, title, _body: sent.append(title))
    return sent


@pytest.fixture
async def inside(down: Daemon, clock: Clock, notices: list[str]) -> AsyncIterator[Daemon]:
    """The daemon in this process: all of it but for its clock and its voice."""
    assert notices == []
    down.settings["scheduler"]["max_running"] = 4
    down.write_config()
    settings = load(down.config)
    current = program.Reloadable(down.config, settings, await program.find_codex(settings))
    stop = asyncio.Event()
    settings.daemon.state_dir.mkdir()
    async with open_database(settings.daemon.state_dir / "byred.sqlite3", clock=clock) as database:
        running = asyncio.create_task(program._run(current, database, {}, stop, {}))

        async def answers() -> bool:
            assert not running.done()
            return down.socket.exists()

        await down.until(answers)
        try:
            yield down
        finally:
            stop.set()
            await running


@pytest.mark.promise("account_limit_holds_all")
async def test_all_go_on_by_themselves_after_the_reset_and_people_hear_of_it_once(
    inside: Daemon, repo: Path, model: ScriptedModel, clock: Clock, notices: list[str]
) -> None:
    at_work = await inside.submit(repo, "A gated task")
    await model.gate("middle").reached(60)
    limited = [await inside.submit(repo, f"A limited task {number}") for number in range(3)]
    for task in limited:
        await inside.wait(task["id"], "running")
    model.gate("limit").open()
    for task in limited:
        await inside.wait(task["id"], "held")
    later = [await inside.submit(repo, f"Say hello {number}") for number in range(6)]

    # What is at work goes on.
    model.gate("middle").open()
    assert (await inside.wait(at_work["id"], "succeeded"))["attempt"] == 1

    # Before the reset nothing starts, whatever makes the daemon look.
    clock.ahead = timedelta(seconds=RESET - 300)
    await inside.call("daemon.reload")
    assert (await inside.call("daemon.status"))["paused"] is not None
    assert {(await inside.call("task.get", id=task["id"]))["state"] for task in later} == {"queued"}
    asked = len(model.requests)

    # After it one goes first, and the others follow.
    clock.ahead = timedelta(seconds=RESET + 120)
    await inside.call("daemon.reload")
    for task in (*limited, *later):
        done = await inside.wait(task["id"], "succeeded", "failed")
        assert done["state"] == "succeeded", done
        assert done["attempt"] == 1
    assert (await inside.call("daemon.status"))["paused"] is None
    assert len(model.requests) > asked
    assert [title for title in notices if "account" in title] == [
        "byred: the account cannot work now, its tasks wait"
    ]
    started = [
        event["task_id"]
        for event in await all_events(inside)
        if event["kind"] == "task.preparing" and event["seq"] > 0
    ]
    # Each limited task began twice, each other one once, and none of these before the probe.
    assert sorted(started) == sorted(
        [at_work["id"]] + [t["id"] for t in (*limited, *limited, *later)]
    )
    assert started[4] in {task["id"] for task in limited}


async def all_events(daemon: Daemon) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for task in (await daemon.call("task.list", limit=100))["tasks"]:
        found += await daemon.events(task["id"])
    return sorted(found, key=lambda event: int(str(event["seq"])))
