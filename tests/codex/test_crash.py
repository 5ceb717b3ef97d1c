"""Questions that outlive their client, their server, or their turn."""

import asyncio
import signal

import pytest

from byred.codex import (
    Client,
    ClientInfo,
    StdioTransport,
    ToolOutput,
    TransportClosed,
    VersionError,
    connect_unix,
)
from byred.testing.script import Part, Step

INFO = ClientInfo("byred-tests", "0")
ASK = {
    "type": "namespace",
    "name": "byre",
    "description": "People",
    "tools": [
        {
            "type": "function",
            "name": "ask_human",
            "description": "Ask",
            "inputSchema": {"type": "object"},
        }
    ],
}


def say(text: str) -> dict:
    return {"success": True, "contentItems": [{"type": "inputText", "text": text}]}


class Hanging:
    """A handler that notes what is asked and never answers."""

    def __init__(self, count: int = 1) -> None:
        self.asked = []
        self.count = count
        self.reached = asyncio.Event()

    async def __call__(self, request):
        self.asked.append(request)
        if len(self.asked) == self.count:
            self.reached.set()
        await asyncio.Event().wait()


async def test_a_question_passes_to_the_next_client_of_the_same_server(home, script):
    await script(Step(ask="colour?"), Step(say="blue it is"))
    first, seen, resumed = Hanging(), [], asyncio.Event()

    async def answer(request):
        seen.append(request)
        # Else the turn may be over before the client has looked for it.
        await resumed.wait()
        return say("blue")

    async with home.listening() as path:
        async with Client.open(await connect_unix(path), client_info=INFO, handler=first) as client:
            thread = await client.start_thread(home.options(dynamic_tools=[ASK]))
            turn = await thread.start_turn("hi")
            await asyncio.wait_for(first.reached.wait(), 20)
        with pytest.raises(TransportClosed):
            await turn.result()
        async with Client.open(
            await connect_unix(path), client_info=INFO, handler=answer
        ) as client:
            again = await client.resume_thread(thread.id)
            assert again.status == "active"
            running = again.active_turn
            assert running is not None
            assert running.id == turn.id
            resumed.set()
            result = await asyncio.wait_for(running.result(), 20)
            assert result.final_text == "blue it is"
            # What was before this client came is told from 0.154 on.
            kinds = [item.type for item in result.items if item.type != "userMessage"]
            assert kinds == ["dynamicToolCall", "agentMessage"]
        assert [(each.id, each.call_id) for each in seen] == [
            (each.id, each.call_id) for each in first.asked
        ]


async def test_a_question_asked_while_nobody_is_connected_waits_for_the_next_client(home, script):
    model = await script(Step(ask="colour?", delay="gate"), Step(say="done"))
    nobody, late = Hanging(), []

    async def answer(request):
        late.append(request.call_id)
        return say("blue")

    async with home.listening() as path:
        async with Client.open(
            await connect_unix(path), client_info=INFO, handler=nobody
        ) as client:
            thread = await client.start_thread(home.options(dynamic_tools=[ASK]))
            await thread.start_turn("hi")
            await model.gate("gate").reached(20)
        model.gate("gate").open()
        await model.wait_for(lambda sent: sent.step == 0 and sent.outcome == "sent")
        async with Client.open(
            await connect_unix(path), client_info=INFO, handler=answer
        ) as client:
            again = await client.resume_thread(thread.id)
            running = again.active_turn
            assert running is not None
            assert (await asyncio.wait_for(running.result(), 20)).final_text == "done"
        assert len(late) == 1
        assert nobody.asked == []


async def test_the_answer_to_a_question_lost_with_its_server_reaches_the_model(home, script):
    model = await script(Step(ask="colour?"), Step(say="blue it is"))
    handler = Hanging()
    pipe = asyncio.subprocess.PIPE
    process = await home.spawn(stdin=pipe, stdout=pipe)
    assert process.stdin
    assert process.stdout
    transport = StdioTransport(process.stdout, process.stdin)
    async with Client.open(transport, client_info=INFO, handler=handler) as client:
        thread = await client.start_thread(home.options(dynamic_tools=[ASK]))
        turn = await thread.start_turn("hi")
        await asyncio.wait_for(handler.reached.wait(), 20)
        process.send_signal(signal.SIGKILL)
        cause = await asyncio.wait_for(client.wait_closed(), 10)
        assert "closed its stdout" in str(cause)
        with pytest.raises(TransportClosed):
            await turn.result()
        with pytest.raises(TransportClosed):
            async for _event in turn:
                pass
    await process.wait()
    async with (
        home.stdio() as transport,
        Client.open(transport, client_info=INFO, handler=handler) as client,
    ):
        again = await client.resume_thread(thread.id)
        assert (again.status, again.active_turn) == ("idle", None)
        read = await client.read_thread(thread.id, turns=True)
        assert [each.status for each in read.thread.turns] == ["interrupted"]
        output = ToolOutput(name="ask_human", namespace="byre", output="blue")
        if not client.version.supports_tool_output:
            with pytest.raises(VersionError, match="never reaches the model; send it as text"):
                await again.start_turn(tool_output=output)
            pytest.skip("as text only")
        result = await (await again.start_turn(tool_output=output)).result()
        assert result.final_text == "blue it is"
        said = str(model.requests[-1].input)
        assert "aborted" in said
        assert "blue" in said


async def test_two_lost_questions_are_answered_in_order_once_each(home, script):
    model = await script(
        Step(parallel=(Part(ask="first?"), Part(ask="second?"))), Step(say="a"), Step(say="b")
    )
    handler = Hanging()
    pipe = asyncio.subprocess.PIPE
    process = await home.spawn(stdin=pipe, stdout=pipe)
    assert process.stdin
    assert process.stdout
    transport = StdioTransport(process.stdout, process.stdin)
    async with Client.open(transport, client_info=INFO, handler=handler) as client:
        thread = await client.start_thread(home.options(dynamic_tools=[ASK]))
        await thread.start_turn("hi")
        await asyncio.wait_for(handler.reached.wait(), 20)
        process.kill()
        await client.wait_closed()
    await process.wait()
    async with (
        home.stdio() as transport,
        Client.open(transport, client_info=INFO, handler=handler) as client,
    ):
        again = await client.resume_thread(thread.id)
        if not client.version.supports_tool_output:
            pytest.skip("as text only")
        turns = [
            await again.start_turn(
                tool_output=ToolOutput(name="ask_human", namespace="byre", output=text)
            )
            for text in ("answer-1", "answer-2")
        ]
        for turn in turns:
            await turn.result()
    said = str(model.requests[-1].input)
    assert (said.count("answer-1"), said.count("answer-2")) == (1, 1)
    assert said.index("answer-1") < said.index("answer-2")


async def test_an_answer_after_the_turn_was_interrupted_changes_nothing(home, script, open_stdio):
    await script(Step(ask="colour?"), Step(say="on"))
    reached, taken_back = asyncio.Event(), asyncio.Event()

    async def handler(request):
        reached.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            taken_back.set()
            raise

    withdrawn = []
    async with open_stdio(handler, on_withdrawn=withdrawn.append) as client:
        thread = await client.start_thread(home.options(dynamic_tools=[ASK]))
        turn = await thread.start_turn("hi")
        await asyncio.wait_for(reached.wait(), 20)
        assert (await turn.interrupt()).status == "interrupted"
        await asyncio.wait_for(taken_back.wait(), 5)
        await client.wait_handlers(5)
        assert [each.turn_id for each in withdrawn] == [turn.id]
        # An answer that is sent all the same is ignored by the server.
        late = b'{"id":0,"result":{"success":true,"contentItems":[]}}'
        await client._connection._transport.send(late)
        assert (await (await thread.start_turn("more")).result()).final_text == "on"


async def test_closing_stdin_ends_the_server_at_once(home, script):
    await script()
    pipe = asyncio.subprocess.PIPE
    process = await home.spawn(stdin=pipe, stdout=pipe)
    assert process.stdin
    assert process.stdout
    transport = StdioTransport(process.stdout, process.stdin)

    async def nobody(request):
        raise NotImplementedError

    async with Client.open(transport, client_info=INFO, handler=nobody):
        pass
    assert await asyncio.wait_for(process.wait(), 5) == 0


async def test_a_socket_takes_only_one_server_and_only_absolute_paths(home, script):
    await script()
    # One that is told to end before it has initialized dies at once and leaves its socket.
    async with (
        home.listening() as path,
        Client.open(await connect_unix(path), client_info=INFO, handler=Hanging()),
    ):
        null = asyncio.subprocess.DEVNULL
        second = await home.spawn("--listen", f"unix://{path}", stdin=null, stdout=null)
        assert await asyncio.wait_for(second.wait(), 20) != 0
        assert path.is_socket()
    assert not path.exists()
