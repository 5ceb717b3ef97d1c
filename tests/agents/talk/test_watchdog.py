"""A turn that falls silent is looked at before it is touched; one that has ended is finished."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from byred.agents.talk.conversation import Conversation, Stop
from byred.agents.talk.sparing import ServerLog
from byred.agents.talk.throttle import FIRST_GAP, LONGEST_GAP, Throttle
from byred.agents.talk.watchdog import Due, Limits, Watch
from byred.agents.tasklog import TaskLogs
from byred.codex.requests import ServerRequest
from byred.codex.session import Client, ClientInfo
from byred.codex.turn import Turn, TurnResult
from byred.core.retry import FailureClass
from byred.core.task import Task
from byred.humans.queue import QuestionQueue
from byred.store import events, tasks
from byred.store.database import Database, Transaction, open_database
from byred.testing.fake_server import FakeServer, fake_server
from tests.tasks import a_task

SHORT = 0.05
LONG = 3600.0


class Clock:
    """Seconds that only a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_silence_is_due_after_its_limit_and_any_frame_begins_it_anew(clock: Clock) -> None:
    watch = Watch(Limits(stall=10, tool_stall=60, turn=None, park=5), clock)
    assert watch.next() == (Due.STALL, 10)
    clock.now += 9
    watch.heard()
    assert watch.next() == (Due.STALL, 10)
    clock.now += 10
    assert watch.next() == (Due.STALL, 0)
    watch.heard(clock.now - 4)
    assert watch.next() == (Due.STALL, 6)
    watch.heard(clock.now - 8)
    assert watch.next() == (Due.STALL, 6)


def test_a_turn_that_waits_for_a_person_is_neither_silent_nor_at_work(clock: Clock) -> None:
    watch = Watch(Limits(stall=10, tool_stall=60, turn=20, park=500), clock)
    clock.now += 9
    watch.waiting(500)
    clock.now += 400
    watch.waiting(500)
    assert watch.next() == (Due.PARK, 100)
    watch.waiting(5)
    assert watch.next() == (Due.PARK, -395)
    watch.waiting(None)
    assert watch.next() == (Due.STALL, 10)
    clock.now += 9
    watch.heard()
    assert watch.next() == (Due.OVERTIME, 2)


def test_a_turn_that_talks_forever_is_over_its_limit(clock: Clock) -> None:
    watch = Watch(Limits(stall=10, tool_stall=60, turn=30, park=500), clock)
    for _ in range(6):
        clock.now += 5
        watch.heard()
    assert watch.next() == (Due.OVERTIME, 0)
    watch.begin()
    assert watch.next() == (Due.STALL, 10)


def test_silence_of_a_turn_whose_command_runs_is_due_later(clock: Clock) -> None:
    watch = Watch(Limits(stall=10, tool_stall=60, turn=None, park=5), clock)
    clock.now += 15
    assert watch.next() == (Due.STALL, -5)
    assert watch.next(at_work=True) == (Due.STALL, 45)
    watch.limits = Limits(stall=10, tool_stall=None, turn=30, park=5)
    assert watch.next(at_work=True) == (Due.OVERTIME, 15)
    watch.limits = Limits(stall=100, tool_stall=60, turn=None, park=5)
    assert watch.next(at_work=True) == watch.next() == (Due.STALL, 85)


async def test_nothing_waits_while_nobody_refused_anything(clock: Clock) -> None:
    throttle = Throttle(clock)
    for _ in range(100):
        await throttle.start()
    assert clock.now == 1000


async def test_the_gap_grows_with_refusals_one_for_those_sent_together(clock: Clock) -> None:
    throttle = Throttle(clock)
    for _ in range(20):
        throttle.refused()
    assert throttle.gap == FIRST_GAP
    gaps = []
    for _ in range(10):
        clock.now += throttle.gap
        throttle.refused()
        gaps.append(throttle.gap)
    assert gaps[:5] == [2, 4, 8, 16, 32]
    assert gaps[-1] == LONGEST_GAP
    for _ in range(6):
        throttle.worked()
    assert throttle.gap == 0


async def test_refused_starts_go_one_after_the_other_and_at_once_when_it_works_again() -> None:
    throttle = Throttle(asyncio.get_running_loop().time)
    throttle.refused()
    order: list[int] = []

    async def start(number: int) -> None:
        await throttle.start()
        order.append(number)

    starts = [asyncio.create_task(start(number)) for number in range(5)]
    await asyncio.sleep(0)
    assert order == []
    throttle.worked()
    async with asyncio.timeout(30):
        await asyncio.gather(*starts)
    assert order == [0, 1, 2, 3, 4]


async def test_one_that_no_longer_wants_its_place_does_not_keep_the_others_waiting() -> None:
    throttle = Throttle(asyncio.get_running_loop().time)
    throttle.refused()
    first = asyncio.create_task(throttle.start())
    second = asyncio.create_task(throttle.start())
    await asyncio.sleep(0)
    first.cancel()
    throttle.worked()
    async with asyncio.timeout(30):
        await second


# A conversation with a server that falls silent


class Told:
    """A conversation, the server at its other end, and what is stored."""

    def __init__(
        self, conversation: Conversation, server: FakeServer, turn: Turn, database: Database
    ) -> None:
        self.conversation = conversation
        self.server = server
        self.turn = turn
        self.database = database

    async def suspect(self) -> dict[str, Any]:
        found = await events.after(self.database, 0, limit=1000)
        (event,) = [each for each in found if each.kind == "task.suspect"]
        return event.data


def running(transaction: Transaction) -> Task:
    tasks.insert(
        transaction,
        a_task(),
    )
    return tasks.apply(transaction, 1, lambda task: task.claim(now=transaction.now))


async def refuse(request: ServerRequest) -> Any:
    raise AssertionError(request)


Talking = Callable[..., Any]


@pytest.fixture
def talking(tmp_path: Path) -> Talking:
    rollout = tmp_path / "rollout.jsonl"
    rollout.write_text("")

    @asynccontextmanager
    async def opened(
        *, stall: float = LONG, tool_stall: float | None = LONG, turn: float | None = None
    ) -> AsyncIterator[Told]:
        logs = TaskLogs(lambda _: tmp_path / "events.jsonl", clock=lambda: datetime.now(UTC))
        async with (
            open_database(tmp_path / "db") as database,
            logs.open(1) as log,
            fake_server() as (server, transport),
            Client.open(
                transport, client_info=ClientInfo("t", "1"), handler=refuse, request_timeout=5
            ) as client,
        ):
            task = await database.write(running)
            opening = asyncio.create_task(client.start_thread())
            asked = await server.expect("thread/start")
            thread = {"id": "th", "path": str(rollout), "status": {"type": "idle"}}
            await server.reply(asked, {"thread": thread, "model": "m"})
            events_ = client.events()
            conversation = Conversation(
                task,
                await opening,
                client=client,
                events=events_,
                database=database,
                log=ServerLog(log),
                asks=QuestionQueue(database, asked=lambda _: None),
                wake=asyncio.Event(),
                wanted_back=lambda: False,
                reminder="r",
                limits=Limits(stall=stall, tool_stall=tool_stall, turn=turn, park=LONG),
                throttle=Throttle(asyncio.get_running_loop().time),
                late_answers_as_output=True,
            )
            async with conversation.listening():
                starting = asyncio.create_task((await opening).start_turn("go"))
                asked = await server.expect("turn/start")
                await server.reply(asked, {"turn": {"id": "tu"}})
                await server.notify(
                    "turn/started", threadId="th", turn={"id": "tu", "status": "inProgress"}
                )
                started = await starting
                await conversation.turn_is_stored("tu")
                yield Told(conversation, server, started, database)

    return opened


async def test_a_turn_whose_end_was_lost_is_finished_by_what_codex_says(talking: Talking) -> None:
    async with talking(stall=SHORT) as told:
        following = asyncio.create_task(told.conversation.follow(told.turn))
        asked = await told.server.expect("thread/read")
        said = {"id": "i", "type": "agentMessage", "text": "All done."}
        turn = {"id": "tu", "status": "completed", "items": [said]}
        await told.server.reply(asked, {"thread": {"id": "th", "turns": [turn]}})
        result = await following
        assert isinstance(result, TurnResult)
        assert (result.status, result.final_text) == ("completed", "All done.")
        assert (await told.suspect())["found"] == "codex says so"
        methods = [message.get("method") for message in told.server.received]
        assert "turn/interrupt" not in methods
        assert methods.count("turn/start") == 1


async def test_a_turn_whose_end_only_the_record_has_is_finished_by_that(
    talking: Talking, tmp_path: Path
) -> None:
    record = [
        {"type": "event_msg", "payload": {"type": "task_started", "turn_id": "tu"}},
        {
            "type": "event_msg",
            "payload": {"type": "task_complete", "turn_id": "tu", "last_agent_message": "Written."},
        },
    ]
    (tmp_path / "rollout.jsonl").write_text("".join(json.dumps(line) + "\n" for line in record))
    async with talking(stall=SHORT) as told:
        following = asyncio.create_task(told.conversation.follow(told.turn))
        asked = await told.server.expect("thread/read")
        await told.server.fail(asked, -32603, "no")
        result = await following
        assert isinstance(result, TurnResult)
        assert result.final_text == "Written."
        assert (await told.suspect())["found"] == "its record says so"


async def test_a_turn_that_really_is_silent_is_read_then_interrupted_and_counts_as_a_stall(
    talking: Talking,
) -> None:
    async with talking(stall=SHORT) as told:
        following = asyncio.create_task(told.conversation.follow(told.turn))
        asked = await told.server.expect("thread/read")
        assert "turn/interrupt" not in [each.get("method") for each in told.server.received]
        turn = {"id": "tu", "status": "inProgress", "items": []}
        await told.server.reply(asked, {"thread": {"id": "th", "turns": [turn]}})
        asked = await told.server.expect("turn/interrupt")
        await told.server.reply(asked, {})
        ended = {"id": "tu", "status": "interrupted", "items": []}
        await told.server.notify("turn/completed", threadId="th", turn=ended)
        await told.server.reply(await told.server.expect("thread/backgroundTerminals/clean"), {})
        stop = await following
        assert stop == Stop("nothing was heard of the turn for 0.05 s", FailureClass.STALL)
        assert (await told.suspect())["found"] is None


async def test_a_turn_that_ends_well_while_it_is_interrupted_has_ended_well(
    talking: Talking,
) -> None:
    async with talking(turn=SHORT) as told:
        following = asyncio.create_task(told.conversation.follow(told.turn))
        asked = await told.server.expect("turn/interrupt")
        ended = {"id": "tu", "status": "completed", "items": []}
        await told.server.notify("turn/completed", threadId="th", turn=ended)
        await told.server.reply(asked, {})
        await told.server.reply(await told.server.expect("thread/backgroundTerminals/clean"), {})
        result = await following
        assert isinstance(result, TurnResult)
        assert result.status == "completed"


async def test_a_turn_over_its_limit_is_broken_off_and_is_the_agents_failure(
    talking: Talking,
) -> None:
    async with talking(turn=SHORT) as told:
        following = asyncio.create_task(told.conversation.follow(told.turn))
        asked = await told.server.expect("turn/interrupt")
        await told.server.reply(asked, {})
        ended = {"id": "tu", "status": "interrupted", "items": []}
        await told.server.notify("turn/completed", threadId="th", turn=ended)
        await told.server.reply(await told.server.expect("thread/backgroundTerminals/clean"), {})
        stop = await following
        assert stop == Stop("the turn took longer than 0.05 s", FailureClass.AGENT)


async def test_frames_of_the_turn_are_life(talking: Talking) -> None:
    async with talking(stall=LONG) as told:
        following = asyncio.create_task(told.conversation.follow(told.turn))
        said = {"id": "i", "type": "agentMessage", "text": "All done."}
        await told.server.notify("item/completed", threadId="th", turnId="tu", item=said)
        ended = {"id": "tu", "status": "completed", "items": [said]}
        await told.server.notify("turn/completed", threadId="th", turn=ended)
        result = await following
        assert isinstance(result, TurnResult)
        assert "thread/read" not in [each.get("method") for each in told.server.received]


async def test_a_429_of_any_task_spaces_the_starts_of_all(talking: Talking) -> None:
    async with talking() as told:
        following = asyncio.create_task(told.conversation.follow(told.turn))
        error = {
            "message": "exceeded retry limit, last status: 429",
            "codexErrorInfo": {"responseTooManyFailedAttempts": {"httpStatusCode": 429}},
        }
        ended = {"id": "tu", "status": "failed", "items": [], "error": error}
        await told.server.notify("turn/completed", threadId="th", turn=ended)
        result = await following
        assert isinstance(result, TurnResult)
        assert result.status == "failed"
        assert told.conversation.throttle.gap == FIRST_GAP


async def test_a_command_that_prints_nothing_is_no_silence_until_it_has_ended(
    talking: Talking,
) -> None:
    async with talking(stall=SHORT) as told:
        command = {"id": "c", "type": "commandExecution", "status": "inProgress"}
        await told.server.notify("item/started", threadId="th", turnId="tu", item=command)
        async with asyncio.timeout(30):
            while not told.turn.at_work:
                await asyncio.sleep(0.001)
        following = asyncio.create_task(told.conversation.follow(told.turn))
        # Much longer than the silence of an agent that only thinks.
        await asyncio.wait({following}, timeout=20 * SHORT)
        assert "thread/read" not in [each.get("method") for each in told.server.received]
        command["status"] = "completed"
        await told.server.notify("item/completed", threadId="th", turnId="tu", item=command)
        asked = await told.server.expect("thread/read")
        ended = {"id": "tu", "status": "completed", "items": []}
        await told.server.reply(asked, {"thread": {"id": "th", "turns": [ended]}})
        assert isinstance(await following, TurnResult)
        assert (await told.suspect())["why"] == "nothing was heard of the turn for 0.05 s"


async def test_a_command_that_hangs_is_a_stall_in_the_end(talking: Talking) -> None:
    async with talking(stall=SHORT, tool_stall=2 * SHORT) as told:
        command = {"id": "c", "type": "commandExecution", "status": "inProgress"}
        await told.server.notify("item/started", threadId="th", turnId="tu", item=command)
        async with asyncio.timeout(30):
            while not told.turn.at_work:
                await asyncio.sleep(0.001)
        following = asyncio.create_task(told.conversation.follow(told.turn))
        asked = await told.server.expect("thread/read")
        turn = {"id": "tu", "status": "inProgress", "items": [command]}
        await told.server.reply(asked, {"thread": {"id": "th", "turns": [turn]}})
        asked = await told.server.expect("turn/interrupt")
        await told.server.reply(asked, {})
        ended = {"id": "tu", "status": "interrupted", "items": []}
        await told.server.notify("turn/completed", threadId="th", turn=ended)
        await told.server.reply(await told.server.expect("thread/backgroundTerminals/clean"), {})
        stop = await following
        assert stop == Stop(
            "nothing was heard of the turn for 0.1 s, in which a command or another tool ran",
            FailureClass.STALL,
        )
