"""Correlation, time limits, late answers, server requests: on a fake server, both transports."""

import asyncio
import json

import pytest

from byred.codex import (
    CallError,
    CallTimeout,
    MalformedError,
    MessageTooLarge,
    RequestFailed,
    ServerOverloaded,
    TransportClosed,
)
from byred.codex.connection import open_connection
from byred.testing.fake_server import fake_server


async def settle(client, method: str = "thread/read"):
    """Come to a point at which everything that the server sent so far was taken."""
    return await client.call(method, timeout=10)


async def test_answers_find_their_calls_in_any_order(fake):
    async with fake() as (server, client), asyncio.TaskGroup() as group:
        calls = [group.create_task(client.call(f"m/{n}")) for n in range(20)]
        asked = [await server.expect(f"m/{n}") for n in range(20)]
        for request in reversed(asked):
            await server.reply(request, request["method"])
        assert [await call for call in calls] == [f"m/{n}" for n in range(20)]


async def test_an_error_answer_raises_with_code_message_and_data(fake):
    async with fake() as (server, client), asyncio.TaskGroup() as group:
        call = group.create_task(collect(client.call("x/y")))
        await server.fail(await server.expect("x/y"), -32602, "no such thing", {"why": 1})
        error = await call
        assert isinstance(error, CallError)
        assert (error.method, error.code, error.message) == ("x/y", -32602, "no such thing")
        assert error.data == {"why": 1}
        assert not error.retryable


async def collect(awaitable):
    (outcome,) = await asyncio.gather(awaitable, return_exceptions=True)
    return outcome


async def test_a_late_answer_to_a_call_that_timed_out_is_absorbed(fake):
    bad = []
    async with fake(on_bad_line=lambda _line, why: bad.append(why)) as (server, client):
        with pytest.raises(CallTimeout, match=r"cannot slow: no answer within 0.05 s"):
            await client.call("slow", timeout=0.05)
        slow = await server.expect("slow")
        assert client._connection.tombstones == 1
        await server.reply(slow, 1)
        await answered(server, client)
        assert client.counters.late_answers == 1
        assert client._connection.tombstones == 0
        assert bad == []


async def answered(server, client):
    """Have one more call answered: the reader has then taken all that came before."""
    async with asyncio.TaskGroup() as group:
        call = group.create_task(client.call("ping"))
        await server.reply(await server.expect("ping"), {})
        await call


async def test_a_late_answer_to_a_cancelled_call_is_absorbed(fake):
    async with fake() as (server, client):
        task = asyncio.create_task(client.call("slow"))
        slow = await server.expect("slow")
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()
        await server.reply(slow, 1)
        await answered(server, client)
        assert client.counters.late_answers == 1
        assert client._connection.open_calls == 0


async def test_unknown_and_duplicate_answers_are_counted_and_reported(fake):
    bad = []
    async with fake(on_bad_line=lambda _line, why: bad.append(why)) as (server, client):
        async with asyncio.TaskGroup() as group:
            call = group.create_task(client.call("one"))
            request = await server.expect("one")
            await server.reply(request, 1)
            await server.reply(request, 2)
            assert await call == 1
        await server.send({"id": 4711, "result": {}})
        await server.send({"id": "text", "result": {}})
        await answered(server, client)
        assert client.counters.duplicate_answers == 1
        assert client.counters.unknown_answers == 2
        assert bad == [
            "a second answer to request 2",
            "an answer to request 4711, which was never made",
            "an answer to request 'text', which was never made",
        ]


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[1,2]",
        b'"text"',
        b"{}",
        b'{"jsonrpc":"2.0"}',
        b'{"id":null,"result":1}',
        b'{"method":7}',
        b'{"method":"m","params":[1]}',
        b'{"id":1.5,"method":"m"}',
        b'{"method":"m","params":{"a":"\xff"}}',
        b'{"id":1',
        b'{"method":"m","params":{"a":%b}}' % (b"[" * 5000 + b"]" * 5000),
        b'{"id":2,"odd":%b}' % (b'{"a":' * 100_000),
    ],
)
async def test_a_line_that_is_no_message_is_reported_and_passed_over(fake, transport_kind, line):
    if transport_kind == "unix" and b"\xff" in line:
        pytest.skip("a WebSocket text message is valid UTF-8, or the connection ends")
    bad = []
    async with fake(on_bad_line=lambda raw, _why: bad.append(raw)) as (server, client):
        await server.raw(line + b"\n")
        await answered(server, client)
        assert bad == [line]
        assert client.counters.bad_lines == 1


async def test_an_answer_with_neither_result_nor_error_is_the_calls_own_trouble(fake):
    async with fake() as (server, client), asyncio.TaskGroup() as group:
        call = group.create_task(collect(client.call("odd")))
        await server.send({"id": (await server.expect("odd"))["id"]})
        assert isinstance(await call, MalformedError)
        nothing = group.create_task(client.call("null"))
        await server.reply(await server.expect("null"), None)
        assert await nothing is None


async def test_an_overloaded_server_is_asked_again(fake):
    async with fake() as (server, client), asyncio.TaskGroup() as group:
        call = group.create_task(client.call("busy"))
        for _ in range(2):
            await server.fail(
                await server.expect("busy"), -32001, "Server overloaded; retry later."
            )
        await server.reply(await server.expect("busy"), "at last")
        assert await call == "at last"
        assert client.counters.overload_retries == 2


async def test_a_server_that_stays_overloaded_ends_the_call(fake):
    async with fake() as (server, client), asyncio.TaskGroup() as group:
        call = group.create_task(collect(client.call("busy")))
        for _ in range(6):
            await server.fail(
                await server.expect("busy"), -32001, "Server overloaded; retry later."
            )
        error = await call
        assert isinstance(error, ServerOverloaded)
        assert error.retryable
        assert error.whose == "machine"


async def test_the_end_of_the_connection_fails_every_waiter_with_the_cause(fake, transport_kind):
    if transport_kind == "unix":
        pytest.skip("the stream's early end; the socket's is below")
    async with fake() as (server, client):
        calls = [asyncio.create_task(collect(client.call(f"m/{n}"))) for n in range(5)]
        for n in range(5):
            await server.expect(f"m/{n}")
        await server.raw(b'{"id":1,"resu')
        server.hang_up()
        cause = await asyncio.wait_for(client.wait_closed(), 5)
        assert "closed its stdout in the middle of a message" in str(cause)
        for error in await asyncio.gather(*calls):
            assert isinstance(error, TransportClosed)
            assert error.__cause__ is cause
        with pytest.raises(TransportClosed, match="closed its stdout"):
            await client.call("more")


async def test_closing_the_client_fails_calls_that_wait(fake):
    async with fake() as (server, client):
        call = asyncio.create_task(collect(client.call("never")))
        await server.expect("never")
    assert isinstance(await call, TransportClosed)


async def test_a_message_over_the_limit_fails_only_its_own_call(fake):
    async with fake(limit=100_000) as (server, client):
        async with asyncio.TaskGroup() as group:
            call = group.create_task(collect(client.call("big")))
            await server.reply(await server.expect("big"), "x" * 150_000)
            error = await call
            assert isinstance(error, MessageTooLarge)
            assert error.size > 150_000
            assert error.limit == 100_000
        await answered(server, client)
        with pytest.raises(MessageTooLarge, match="cannot send a message of"):
            await client.call("send", {"text": "x" * 200_000})
        await answered(server, client)
        assert client.counters.oversized == 1
        assert client._connection.open_calls == 0


async def test_an_oversized_question_is_answered_with_an_error(fake):
    async with fake(limit=100_000) as (server, client):
        await server.ask(3, "item/tool/call", arguments="x" * 150_000)
        answer = await server.expect_answer(3)
        assert "the limit is 100,000" in answer["error"]["message"]
        await answered(server, client)


@pytest.mark.parametrize(
    "start",
    [
        b'{"id":"\xff","method":"m","params":"',
        b'{"method":"\xff","id":"a","params":"',
        b'{"id":' + b"9" * 5000 + b',"method":"m","params":"',
    ],
)
async def test_an_oversized_line_that_is_no_text_is_passed_over(fake, transport_kind, start):
    if transport_kind == "unix" and b"\xff" in start:
        pytest.skip("a WebSocket text message is valid UTF-8, or the connection ends")
    bad = []
    async with fake(limit=100_000, on_bad_line=lambda _l, why: bad.append(why)) as (server, client):
        await server.raw(start + b"x" * 150_000 + b'"}\n')
        await answered(server, client)
        assert client.counters.oversized == len(bad) == 1


async def test_what_is_said_of_a_line_is_short_however_long_the_line(fake):
    bad = []
    async with fake(on_bad_line=lambda _line, why: bad.append(why)) as (server, client):
        await server.send({"id": "x" * 1_000_000, "result": 1})
        await server.notify("turn/completed", threadId="t", turnId="u", turn={"id": "x" * 10_000})
        await answered(server, client)
        assert [len(why) <= 500 for why in bad] == [True, True]


async def test_who_asks_without_end_and_reads_nothing_is_not_kept_answers_without_end():
    async def handler(request):
        await asyncio.Event().wait()

    async with (
        fake_server() as (server, transport),
        open_connection(
            transport, on_notification=lambda *_: None, on_request=handler, request_timeout=120
        ) as connection,
    ):
        server.stall()
        most = 64 + 1024
        for first in range(0, 20_000, 1000):
            lines = (
                b'{"id":"%d%b","method":"m","params":{}}\n' % (number, b"x" * 100)
                for number in range(first, first + 1000)
            )
            await server.raw(b"".join(lines))
            assert len(asyncio.all_tasks()) < most + 1024 + 20
        assert connection.open_requests == most
        server.go_on()
        # It is heard as before once it reads.
        async with asyncio.TaskGroup() as group:
            call = group.create_task(connection.call("ping"))
            await server.reply(await server.expect("ping"), {})
            await call


async def test_an_answer_too_large_to_send_becomes_an_error_answer(fake):
    async def handler(request):
        return {"text": "x" * 200_000}

    async with fake(handler, limit=100_000) as (server, _client):
        await server.ask(0, "item/tool/call")
        assert "limit" in (await server.expect_answer(0))["error"]["message"]


async def test_both_sides_have_ids_of_their_own(fake):
    async def handler(request):
        return {"you": request.id}

    async with fake(handler) as (server, client), asyncio.TaskGroup() as group:
        call = group.create_task(client.call("mine"))
        mine = await server.expect("mine")
        for number in (mine["id"], 0, "text", -3):
            await server.ask(number, "item/tool/call")
            assert (await server.expect_answer(number))["result"] == {"you": number}
        await server.reply(mine, "still mine")
        assert await call == "still mine"


async def test_a_question_that_stays_open_blocks_nothing(fake):
    open_end = asyncio.Event()

    async def handler(request):
        if request.id == 0:
            await open_end.wait()
        return {"to": request.id}

    async with fake(handler) as (server, client):
        events = client.events()
        await server.ask(0, "item/tool/call")
        for number in range(1, 40):
            await server.notify("x/event", number=number)
            await server.ask(number, "item/tool/call")
            assert (await server.expect_answer(number))["result"] == {"to": number}
            await answered(server, client)
            assert (await anext(events)).data == {"number": number}
        assert client._connection.open_requests == 1
        open_end.set()
        assert (await server.expect_answer(0))["result"] == {"to": 0}


async def test_at_most_the_set_number_of_handlers_run_and_the_rest_wait_in_order(fake):
    running = []
    gates = {number: asyncio.Event() for number in range(6)}

    async def handler(request):
        running.append(request.id)
        await gates[request.id].wait()
        return {}

    async with fake(handler, max_handlers=2) as (server, client):
        for number in range(6):
            await server.ask(number, "item/tool/call")
        await answered(server, client)
        assert running == [0, 1]
        assert client._connection.open_requests == 6
        for number in range(6):
            gates[number].set()
            await server.expect_answer(number)
        assert running == [0, 1, 2, 3, 4, 5]
        await client.wait_handlers(5)


async def test_a_handler_that_fails_gives_an_error_answer_and_no_more(fake):
    bad = []

    async def handler(request):
        if request.id == 0:
            raise RequestFailed(-32601, "not here", {"a": 1})
        if request.id == 1:
            raise KeyError("oops")
        return {"value": object()}

    async with fake(handler, on_bad_line=lambda _line, why: bad.append(why)) as (server, client):
        for number in range(3):
            await server.ask(number, "item/tool/call")
        answers = [(await server.expect_answer(number))["error"] for number in range(3)]
        assert answers[0] == {"code": -32601, "message": "not here", "data": {"a": 1}}
        assert answers[1] == {"code": -32603, "message": "KeyError: 'oops'"}
        assert answers[2]["message"].startswith("cannot encode the result")
        await answered(server, client)
        assert client.counters.handler_errors == 2
        assert bad == ["the handler of item/tool/call failed: KeyError('oops')"]


async def test_a_question_that_comes_again_while_it_is_open_is_answered_once(fake):
    asked = []
    gate = asyncio.Event()

    async def handler(request):
        asked.append(request.id)
        await gate.wait()
        return {}

    async with fake(handler) as (server, client):
        await server.ask(7, "item/tool/call")
        await server.ask(7, "item/tool/call")
        await answered(server, client)
        gate.set()
        await server.expect_answer(7)
        await answered(server, client)
        assert asked == [7]
        assert [message for message in server.received if message.get("id") == 7] == [
            {"id": 7, "result": {}}
        ]
        assert client.counters.duplicate_requests == 1


async def test_a_question_that_the_server_takes_back_is_not_answered(fake):
    cancelled = asyncio.Event()
    begun = asyncio.Event()

    async def handler(request):
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with fake(handler) as (server, client):
        await server.ask(5, "item/tool/call", threadId="t")
        await asyncio.wait_for(begun.wait(), 5)
        await server.notify("serverRequest/resolved", threadId="t", requestId=5)
        await asyncio.wait_for(cancelled.wait(), 5)
        await answered(server, client)
        await client.wait_handlers(5)
        assert all(message.get("id") != 5 for message in server.received if "method" not in message)


async def test_a_question_taken_back_before_anybody_began_to_answer_it_is_gone(fake):
    begun = []

    async def handler(request):
        begun.append(request.id)
        await asyncio.Event().wait()

    async with fake(handler, max_handlers=1) as (server, client):
        for number in (1, 2):
            await server.ask(number, "item/tool/call", threadId="t")
        for number in (2, 1):
            await server.notify("serverRequest/resolved", threadId="t", requestId=number)
        await answered(server, client)
        await client.wait_handlers(5)
        assert client._connection.open_requests == 0
        assert 2 not in begun


async def test_the_end_cancels_handlers_and_answers_nobody(fake):
    state = []

    async def handler(request):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            state.append("cancelled")
            raise

    async with fake(handler) as (server, client):
        for number in range(3):
            await server.ask(number, "item/tool/call")
        await answered(server, client)
        assert state == []
    assert state == ["cancelled"] * 3


async def test_what_is_sent_is_one_line_of_utf8(fake):
    nasty = 'a\nb\r\u2028\u0000\U0001f600é\\"'
    async with fake() as (server, client), asyncio.TaskGroup() as group:
        call = group.create_task(client.call("say", {"text": nasty}))
        request = await server.expect("say")
        assert request["params"] == {"text": nasty}
        await server.reply(request, nasty)
        assert await call == nasty


async def test_text_that_is_no_unicode_is_refused_before_it_is_sent(fake):
    async with fake() as (server, client):
        with pytest.raises(ValueError, match="surrogate"):
            await client.call("say", {"text": "half \ud800"})
        await answered(server, client)
        assert client._connection.open_calls == 0


async def test_a_flood_does_not_starve_other_tasks():
    turns = 0

    async def count():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    got = 0
    done = asyncio.Event()

    def take(message, size):
        nonlocal got
        got += 1
        if got == 20_000:
            done.set()

    async def nobody(request):
        return {}

    async with (
        fake_server() as (server, transport),
        open_connection(transport, on_notification=take, on_request=nobody, request_timeout=5),
    ):
        line = json.dumps({"method": "x", "params": {"n": 1}}).encode() + b"\n"
        ticking = asyncio.create_task(count())
        await server.raw(line * 20_000)
        await asyncio.wait_for(done.wait(), 20)
        ticking.cancel()
    assert turns >= 20_000 // 128


async def test_a_server_that_takes_nothing_fails_the_call_in_time(fake, transport_kind):
    if transport_kind == "unix":
        pytest.skip("stalling is the stream's")
    async with fake() as (server, client):
        server.stall()
        with pytest.raises(CallTimeout):
            await client.call("big", {"text": "x" * 8_000_000}, timeout=0.2)
        server.go_on()
        await server.expect("big")
        await answered(server, client)
