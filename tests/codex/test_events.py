"""Where events go, in which order, and what becomes of a reader that is slow."""

import asyncio
import contextlib
import json
import math
import time

import pytest

from byred.codex import ConsumerTooSlow, MalformedError, TransportClosed
from byred.codex.events import Event, EventStream
from byred.codex.protocol import types


def delta(number: int, thread: str = "t", turn: str = "u") -> dict:
    return {"threadId": thread, "turnId": turn, "itemId": "i", "delta": str(number)}


async def begin(server, thread: str, turn: str) -> None:
    await server.notify("turn/started", threadId=thread, turn={"id": turn, "status": "inProgress"})


async def finish(server, thread: str, turn: str, status: str = "completed", **more) -> None:
    await server.notify(
        "turn/completed", threadId=thread, turn={"id": turn, "status": status, "items": []} | more
    )


async def answered(server, client) -> None:
    async with asyncio.TaskGroup() as group:
        call = group.create_task(client.call("ping"))
        await server.reply(await server.expect("ping"), {})
        await call


async def test_events_keep_their_order_whoever_reads(fake):
    async with fake() as (server, client):
        everything, of_thread = client.events(), client._thread("t").events()
        await begin(server, "t", "u")
        for number in range(500):
            await server.notify("item/agentMessage/delta", **delta(number))
        await finish(server, "t", "u")
        turn = client._thread("t").turn("u")
        read = [event.data["delta"] async for event in turn if "delta" in event.data]
        assert read == [str(number) for number in range(500)]
        for stream in (everything, of_thread):
            first = await anext(stream)
            assert first.method == "turn/started"
            assert (await anext(stream)).data["delta"] == "0"


async def test_turns_of_several_threads_on_one_pipe_do_not_mix(fake):
    async with fake() as (server, client):
        for thread, turn in (("a", "1"), ("b", "2")):
            await begin(server, thread, turn)
        for number in range(10):
            await server.notify("item/agentMessage/delta", **delta(number, "a", "1"))
            await server.notify("item/agentMessage/delta", **delta(-number, "b", "2"))
        await finish(server, "a", "1")
        await finish(server, "b", "2")
        for thread, turn, sign in (("a", "1", 1), ("b", "2", -1)):
            events = [event async for event in client._thread(thread).turn(turn)]
            got = [event.data["delta"] for event in events if "delta" in event.data]
            assert got == [str(sign * number) for number in range(10)]


async def test_a_slow_reader_loses_its_events_and_nobody_elses(fake):
    async with fake() as (server, client):
        thread = client._thread("t")
        turn = thread.turn("u")
        turn._stream._max_bytes = 20_000
        other = client.events()
        await begin(server, "t", "u")
        for number in range(200):
            await server.notify("item/agentMessage/delta", **delta(number))
        item = {"type": "agentMessage", "id": "i", "text": "whole"}
        await server.notify("item/completed", threadId="t", turnId="u", item=item)
        await finish(server, "t", "u")
        with pytest.raises(ConsumerTooSlow, match=r"cannot keep .* unread events"):
            async for _event in turn:
                pass
        assert (await turn.result()).final_text == "whole"
        await answered(server, client)
        seen = [(await anext(other)).method for _ in range(203)]
        assert seen.count("item/agentMessage/delta") == 200


async def test_a_stream_counts_what_is_unread_not_what_has_passed():
    stream = EventStream(max_bytes=5000)
    for number in range(100):
        stream.put(Event(method="m", data={"n": number}), 500)
        assert (await anext(stream)).data == {"n": number}
    stream.end()
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_what_a_stream_is_without_is_noticed_and_not_given():
    stream = EventStream(without=["small"])
    assert stream.heard == -math.inf
    before = time.monotonic()
    stream.put(Event(method="small", data={}), 1)
    assert before <= stream.heard <= time.monotonic()
    stream.put(Event(method="large", data={}), 1)
    assert (await anext(stream)).method == "large"


async def test_a_stream_has_one_reader_at_a_time():
    stream = EventStream()
    reading = asyncio.create_task(anext(stream))
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="twice at once"):
        await anext(stream)
    reading.cancel()
    await asyncio.wait({reading})
    stream.put(Event(method="m", data={}), 1)
    assert (await anext(stream)).method == "m"


async def test_an_unknown_notification_is_an_event_of_its_turn_all_the_same(fake):
    async with fake() as (server, client):
        await begin(server, "t", "u")
        await server.notify("item/brandNew", threadId="t", turnId="u", value=[1])
        await finish(server, "t", "u")
        events = [event async for event in client._thread("t").turn("u")]
        assert [event.method for event in events] == [
            "turn/started",
            "item/brandNew",
            "turn/completed",
        ]
        assert not events[1].known
        assert events[1].params.wire["value"] == [1]
        assert client.counters.bad_lines == 0


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("turn/completed", {"threadId": "t", "turnId": "u"}),
        ("turn/completed", {"threadId": "t", "turn": {"id": "u"}}),
        ("thread/tokenUsage/updated", {"threadId": "t"}),
        ("thread/status/changed", {"threadId": "t", "status": "odd"}),
        ("item/agentMessage/delta", {"threadId": "t", "turnId": {"not": "hashable"}}),
    ],
)
async def test_an_event_of_an_odd_shape_is_reported_and_ends_nothing(fake, method, params):
    bad = []
    async with fake(on_bad_line=lambda _line, why: bad.append(why)) as (server, client):
        await server.notify(method, **params)
        await answered(server, client)
        assert client.counters.bad_lines == 1
        assert bad[0].startswith(f"cannot take {method}: ")


async def test_an_event_before_the_answer_that_announces_it_is_not_lost(fake):
    async with fake() as (server, client), asyncio.TaskGroup() as group:
        thread = client._thread("t")
        starting = group.create_task(thread.start_turn("hi"))
        request = await server.expect("turn/start")
        await begin(server, "t", "u")
        await server.notify("item/agentMessage/delta", **delta(1))
        await finish(server, "t", "u")
        await server.reply(request, {"turn": {"id": "u"}})
        turn = await starting
        assert (await anext(aiter(turn))).method == "turn/started"
        assert (await turn.result()).status == "completed"


async def test_a_turn_that_ends_while_it_is_asked_for_is_not_taken_for_running(fake):
    async with fake() as (server, client), asyncio.TaskGroup() as group:
        resuming = group.create_task(client.resume_thread("t"))
        about = {"id": "t", "status": {"type": "active", "activeFlags": []}, "turns": []}
        request = await server.expect("thread/resume")
        assert request["params"]["excludeTurns"] is True
        await server.reply(request, {"thread": about, "model": "m"})
        asked = await server.expect("thread/turns/list")
        # All in one write: the client has heard the end before it looks at the answer.
        running = {"id": "u", "status": "inProgress", "items": []}
        messages = (
            {"id": asked["id"], "result": {"data": [running]}},
            {
                "method": "turn/completed",
                "params": {"threadId": "t", "turn": running | {"status": "completed"}},
            },
            {
                "method": "thread/status/changed",
                "params": {"threadId": "t", "status": {"type": "idle"}},
            },
        )
        for message in messages:
            await server.send(message)
        thread = await resuming
        await answered(server, client)
        assert thread.status == "idle"
        assert thread.active_turn is None
        assert (await thread.turn("u").result()).status == "completed"


async def test_news_of_a_thread_are_not_undone_by_an_older_answer(fake):
    async with fake() as (server, client), asyncio.TaskGroup() as group:
        resuming = group.create_task(client.resume_thread("t"))
        request = await server.expect("thread/resume")
        about = {"id": "t", "status": {"type": "active", "activeFlags": []}, "turns": []}
        answer = {"id": request["id"], "result": {"thread": about, "model": "m"}}
        news = {
            "method": "thread/status/changed",
            "params": {"threadId": "t", "status": {"type": "idle"}},
        }
        lines = b"".join(json.dumps(each).encode() + b"\n" for each in (answer, news))
        if hasattr(server, "hang_up"):
            await server.raw(lines)
        else:
            for each in (answer, news):
                await server.send(each)
        group.create_task(answer_turns(server))
        thread = await resuming
        assert thread.status == "idle"


async def answer_turns(server) -> None:
    """Answer the question for the running turn, if it is asked at all."""
    with contextlib.suppress(TimeoutError):
        asked = await server.expect("thread/turns/list", timeout=1)
        await server.reply(asked, {"data": []})


async def test_a_turn_started_twice_is_one_turn(fake):
    async with fake() as (server, client):
        await begin(server, "t", "u")
        await begin(server, "t", "u")
        await finish(server, "t", "u")
        await finish(server, "t", "u")
        turn = client._thread("t").turn("u")
        assert (await turn.result()).status == "completed"


async def test_the_totals_of_a_thread_are_the_latest_and_limits_are_merged(fake):
    async with fake() as (server, client):
        for total in (10, 30):
            usage = {"total": {"totalTokens": total}, "last": {"totalTokens": 20}}
            await server.notify(
                "thread/tokenUsage/updated", threadId="t", turnId="u", tokenUsage=usage
            )
        await server.notify(
            "account/rateLimits/updated",
            rateLimits={"limitId": "codex", "primary": {"usedPercent": 10}, "planType": "plus"},
        )
        await server.notify(
            "account/rateLimits/updated",
            rateLimits={"limitId": "codex", "primary": {"usedPercent": 20}, "planType": None},
        )
        await answered(server, client)
        thread = client._thread("t")
        assert thread.usage is not None
        assert thread.usage.total.total_tokens == 30
        assert client.rate_limits is not None
        assert client.rate_limits.wire == {
            "limitId": "codex",
            "primary": {"usedPercent": 20},
            "planType": "plus",
        }


async def test_after_the_end_every_reader_gets_the_cause(fake):
    async with fake() as (server, client):
        await begin(server, "t", "u")
        await answered(server, client)
        turn, everything = client._thread("t").turn("u"), client.events()
        of_thread = client._thread("t").events()
    for stream in (turn, everything, of_thread):
        with pytest.raises(TransportClosed):
            async for _event in stream:
                pass
    for stream in (client.events(), client._thread("t").events(), client._thread("t").turn("v")):
        with pytest.raises(TransportClosed):
            async for _event in stream:
                pass
    with pytest.raises(TransportClosed, match="cannot follow turn u"):
        await turn.result()


async def test_opted_out_notifications_are_not_sent(home, script, open_stdio):
    await script()
    async with open_stdio(opt_out=["item/agentMessage/delta", "item/started"]) as client:
        thread = await client.start_thread(home.options())
        methods = {event.method async for event in await thread.start_turn("hi")}
        assert "item/completed" in methods
        assert not methods & {"item/agentMessage/delta", "item/started"}


async def test_a_reader_that_has_seen_enough_is_forgotten(fake):
    async with fake() as (server, client):
        for listen in (client.events, client._thread("t").events):
            for _ in range(5):
                listen().end()
            listen()
        assert len(client._streams) == 1
        assert len(client._thread("t").streams) == 1
        await answered(server, client)


async def test_many_turns_leave_little_behind(fake):
    async with fake() as (server, client):
        for number in range(60):
            await begin(server, "t", str(number))
            await finish(server, "t", str(number))
        await answered(server, client)
        assert len(client._turns) <= 17
        assert len(client._thread("t")._turns) <= 17


async def test_threads_that_nobody_asked_for_are_not_kept_without_end(fake):
    async with fake() as (server, client):
        async with asyncio.TaskGroup() as group:
            starting = group.create_task(client.start_thread())
            thread = {"id": "own", "status": {"type": "idle"}}
            await server.reply(await server.expect("thread/start"), {"thread": thread})
            own = await starting
        turn = own.turn("mine")
        first = client._thread("heard").turn("first")
        for number in range(1000):
            await begin(server, f"heard-{number}", f"turn-{number}")
        await finish(server, "own", "mine")
        assert (await turn.result()).status == "completed"
        with pytest.raises(TransportClosed, match="256 threads since, never asked for"):
            await first.result()
        assert len(client._threads) == 257
        assert len(client._turns) == 257
        assert client._threads["own"] is own


async def test_turns_that_never_end_are_not_kept_without_end(fake):
    async with fake() as (server, client):
        first = client._thread("t").turn("first")
        for number in range(200):
            await begin(server, "t", str(number))
        await answered(server, client)
        last = client._thread("t").turn("199")
        await finish(server, "t", "199")
        assert (await last.result()).status == "completed"
        with pytest.raises(TransportClosed, match="64 newer turns began before it ended"):
            await first.result()
        assert len(client._turns) == len(client._thread("t")._turns) == 64
        # One that has no end does not keep those that have.
        for number in range(200, 400):
            await begin(server, "t", str(number))
            await finish(server, "t", str(number))
        await answered(server, client)
        assert len(client._turns) <= 64


async def test_a_client_whose_turns_nobody_reads_keeps_none_of_their_events(fake):
    async with fake(unread_of_turns=0) as (server, client):
        turn = client._thread("t").turn("u")
        await begin(server, "t", "u")
        for number in range(10):
            await server.notify("item/agentMessage/delta", **delta(number))
        await finish(server, "t", "u")
        assert (await turn.result()).status == "completed"
        assert not turn._stream._unread
        with pytest.raises(ConsumerTooSlow):
            await anext(aiter(turn))


def test_an_event_knows_what_it_is_about():
    event = Event(method="turn/started", data={"threadId": "t", "turn": {"id": "u"}})
    assert (event.thread_id, event.turn_id) == ("t", "u")
    assert isinstance(event.params, types.TurnStartedNotification)
    odd = Event(method="x", data={"threadId": 1, "turnId": []})
    assert (odd.thread_id, odd.turn_id) == ("", "")
    with pytest.raises(MalformedError):
        _ = types.TurnStartedNotification.wrap({"turn": 1}).turn
