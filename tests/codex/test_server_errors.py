"""Every error of the app-server that was seen, as the client tells it."""

import asyncio

import pytest

from byred.codex import (
    ActiveWriter,
    CallError,
    CallTimeout,
    Client,
    ClientInfo,
    InputTooLarge,
    LoginRequired,
    NoActiveTurn,
    NoRollout,
    ThreadOptions,
    ToolOutput,
)
from byred.codex.connection import open_connection
from byred.codex.options import MAX_INPUT_CHARS
from byred.testing.fake_server import fake_server
from byred.testing.script import Step

INFO = ClientInfo("byred-tests", "0")
UNKNOWN = "01a22e3c-e2ab-7610-8d5f-4c9bd3927593"
TOOL = {
    "type": "namespace",
    "name": "byre",
    "description": "d",
    "tools": [
        {"type": "function", "name": "t", "description": "d", "inputSchema": {"type": "object"}}
    ],
}


async def nobody(request):
    raise NotImplementedError


async def test_dynamic_tools_need_the_experimental_api(home, script):
    await script()
    async with (
        home.stdio() as transport,
        open_connection(
            transport, on_notification=lambda *_: None, on_request=nobody, request_timeout=30
        ) as connection,
    ):
        info = {"clientInfo": {"name": "x", "version": "0"}, "capabilities": {}}
        await connection.call("initialize", info)
        await connection.notify("initialized")
        with pytest.raises(CallError, match="requires experimentalApi capability") as caught:
            await connection.call("thread/start", {"dynamicTools": [TOOL]})
        assert caught.value.code == -32600


@pytest.mark.parametrize(
    ("method", "params", "kind", "code", "text"),
    [
        ("no/such", {}, CallError, -32600, "Invalid request: unknown variant `no/such`"),
        ("thread/read", {}, CallError, -32600, "Invalid request: missing field `threadId`"),
        ("thread/resume", {"threadId": UNKNOWN}, NoRollout, -32600, "no rollout found for thread"),
        ("turn/start", {"threadId": UNKNOWN, "input": []}, NoRollout, -32600, "thread not found"),
        ("account/rateLimits/read", {}, LoginRequired, -32600, "authentication required"),
        (
            "thread/start",
            {"dynamicTools": [TOOL | {"name": "mcp__x"}]},
            CallError,
            -32600,
            "dynamic tool namespace is reserved: mcp__x",
        ),
    ],
)
async def test_a_refused_call_raises_the_error_that_says_why(
    connect, script, method, params, kind, code, text
):
    await script()
    async with connect() as client:
        with pytest.raises(kind, match=text) as caught:
            await client.call(method, params)
        assert type(caught.value) is kind
        assert caught.value.code == code
        assert caught.value.method == method
        assert not caught.value.retryable
        assert caught.value.whose == ("account" if kind is LoginRequired else "task")


async def test_steering_or_interrupting_nothing_is_refused(connect, home, script):
    await script(Step(say="one"))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        turn = await thread.start_turn("hi")
        await turn.result()
        for method, extra in (
            ("turn/steer", {"expectedTurnId": turn.id, "input": [{"type": "text", "text": "x"}]}),
            ("turn/interrupt", {"turnId": turn.id}),
        ):
            with pytest.raises(NoActiveTurn, match="no active turn to"):
                await client.call(method, {"threadId": thread.id} | extra)


async def test_a_thread_that_another_server_has_is_not_resumed_but_can_be_forked(
    connect, home, script
):
    await script(Step(say="one"), Step(say="two"))
    async with connect() as first:
        thread = await first.start_thread(home.options())
        await (await thread.start_turn("hi")).result()
        async with connect() as second:
            with pytest.raises(ActiveWriter, match="already has an active writer") as caught:
                await second.resume_thread(thread.id)
            assert caught.value.retryable
            assert caught.value.whose == "machine"
            fork = await second.fork_thread(thread.id, home.options())
            assert (await (await fork.start_turn("x")).result()).status == "completed"


async def test_too_much_text_is_refused_before_it_is_sent_with_both_figures(connect, home, script):
    model = await script(Step(say="one"))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        with pytest.raises(InputTooLarge, match=r"1,048,577.*1,048,576") as caught:
            await thread.start_turn(["x" * MAX_INPUT_CHARS, "y"])
        assert (caught.value.actual, caught.value.limit) == (1_048_577, 1_048_576)
        assert model.requests == ()
        # The server says the same of the same text, and takes what is just within the limit.
        text = {"type": "text", "text": "x" * (MAX_INPUT_CHARS + 1)}
        with pytest.raises(CallError) as refused:
            await client.call("turn/start", {"threadId": thread.id, "input": [text]})
        assert refused.value.code == -32602
        assert refused.value.data == {
            "input_error_code": "input_too_large",
            "max_chars": MAX_INPUT_CHARS,
            "actual_chars": MAX_INPUT_CHARS + 1,
        }
        result = await (await thread.start_turn("x" * MAX_INPUT_CHARS)).result()
        assert result.status in ("completed", "failed")


async def test_a_tool_output_goes_without_input(connect, home, script):
    await script(Step(say="one"))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        output = {"name": "t", "output": "x", "retain": True}
        text = {"type": "text", "text": "x"}
        with pytest.raises(CallError) as caught:
            await client.call(
                "turn/start", {"threadId": thread.id, "input": [text], "toolOutput": output}
            )
        assert caught.value.code == -32600


async def test_lines_that_are_no_messages_are_ignored_by_the_server(connect, script):
    await script()
    async with connect() as client:
        for line in (b"not json", b"[1, 2]"):
            await client._connection._transport.send(line)
        assert (await client.list_threads()).data == []


async def test_a_lost_start_is_looked_for_before_it_is_repeated(fake):
    async with fake(request_timeout=0.3) as (server, client):
        thread = client._thread("t")
        async with asyncio.TaskGroup() as group:
            starting = group.create_task(thread.start_turn("hi"))
            first = await server.expect("turn/start")
            read = await server.expect("thread/read")
            item = {
                "type": "userMessage",
                "id": "i",
                "clientId": first["params"]["clientUserMessageId"],
                "content": [],
            }
            turn = {"id": "T", "status": "inProgress", "items": [item]}
            await server.reply(read, {"thread": {"turns": [turn]}})
            assert (await starting).id == "T"
        assert [m["method"] for m in server.received].count("turn/start") == 1


async def test_a_lost_start_that_did_not_take_is_repeated_as_the_same_message(fake):
    async with fake(request_timeout=0.3) as (server, client):
        thread = client._thread("t")
        async with asyncio.TaskGroup() as group:
            starting = group.create_task(thread.start_turn("hi"))
            first = await server.expect("turn/start")
            await server.reply(await server.expect("thread/read"), {"thread": {"turns": []}})
            second = await server.expect("turn/start")
            assert first["params"] == second["params"]
            await server.reply(second, {"turn": {"id": "T"}})
            assert (await starting).id == "T"


OUTPUT = ToolOutput(name="ask_human", namespace="byre", output="To question 7: blue")
HELD = {
    "type": "functionCallOutput",
    "id": "fco_1",
    "name": "ask_human",
    "namespace": "byre",
    "output": "To question 7: blue",
}


async def test_a_lost_tool_output_is_looked_for_before_it_is_repeated(fake):
    async with fake(request_timeout=0.3) as (server, client):
        thread = client._thread("t")
        async with asyncio.TaskGroup() as group:
            starting = group.create_task(thread.start_turn(tool_output=OUTPUT))
            sent = (await server.expect("turn/start"))["params"]["toolOutput"]
            assert {name: HELD[name] for name in ("name", "namespace", "output")}.items() <= (
                sent.items()
            )
            turns = [
                {"id": "S", "status": "completed", "items": [HELD | {"output": "another"}]},
                {"id": "T", "status": "inProgress", "items": [HELD]},
            ]
            read = await server.expect("thread/read")
            await server.reply(read, {"thread": {"turns": turns}})
            assert (await starting).id == "T"
        assert [m["method"] for m in server.received].count("turn/start") == 1


async def test_a_lost_tool_output_is_not_found_in_a_turn_that_was_over_before(fake):
    async with fake(request_timeout=0.3) as (server, client):
        thread = client._thread("t")
        before = {"id": "R", "status": "completed", "items": [HELD]}
        known = {"id": "S", "status": "completed", "items": []}
        thread.turn("S").take_ended(known)
        async with asyncio.TaskGroup() as group:
            starting = group.create_task(thread.start_turn(tool_output=OUTPUT))
            first = await server.expect("turn/start")
            read = await server.expect("thread/read")
            await server.reply(read, {"thread": {"turns": [before, known]}})
            second = await server.expect("turn/start")
            assert first["params"] == second["params"]
            await server.reply(second, {"turn": {"id": "T"}})
            assert (await starting).id == "T"


async def test_a_server_that_never_answers_the_handshake_ends_in_an_error(home, tmp_path):
    async with fake_server() as (server, transport):
        server.handshake = False
        with pytest.raises(CallTimeout, match="cannot initialize"):
            async with Client.open(
                transport, client_info=INFO, handler=nobody, request_timeout=0.1
            ):
                pass


async def test_a_relative_or_missing_directory_is_the_callers_to_check(connect, script):
    await script()
    async with connect() as client:
        for cwd in ("/no/such/directory", "relative/one"):
            assert (await client.start_thread(ThreadOptions(cwd=cwd))).id
