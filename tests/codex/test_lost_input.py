"""Answers to input that are lost while a turn runs: what the turn may have is not sent again."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from byred.codex import CallTimeout, InputUnsettled, ToolOutput, Version
from byred.codex.thread import Thread
from byred.testing.fake_server import FakeServer
from byred.testing.script import Step

OUTPUT = ToolOutput(name="ask_human", namespace="byre", output="To question 7: blue")
OLD = Version(0, 144, 4)


def turn_of(status: str, *clients: str) -> dict[str, Any]:
    items = [{"type": "userMessage", "id": each, "clientId": each} for each in clients]
    return {"id": "T", "status": status, "items": items}


async def told(server: FakeServer, *turns: dict[str, Any]) -> None:
    """Answer the next look at the thread."""
    await server.reply(await server.expect("thread/read"), {"thread": {"turns": list(turns)}})


def count(server: FakeServer, method: str) -> int:
    return [message.get("method") for message in server.received].count(method)


async def running(server: FakeServer, thread: Thread) -> None:
    """Let turn T run."""
    begun = asyncio.create_task(thread.start_turn("go"))
    await server.reply(await server.expect("turn/start"), {"turn": {"id": "T"}})
    turn = await begun
    await server.notify("turn/started", threadId=thread.id, turn=turn_of("inProgress"))
    async with asyncio.timeout(30):
        await turn._started.wait()


@pytest.fixture(params=["joined", "steered", "steered by an old one"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def sending(thread: Thread, way: str) -> tuple[Callable[[], Any], str]:
    """Give how text is sent into the running turn, and with which method."""
    match way:
        case "joined":
            return lambda: thread.start_turn("more", client_id="C"), "turn/start"
        case "steered":
            return lambda: thread.turn("T").steer("more", client_id="C"), "turn/steer"
        case _:
            thread._version = OLD
            return lambda: thread.start_turn("more", client_id="C"), "turn/steer"


async def test_what_a_running_turn_may_have_unseen_is_not_sent_again(fake, way):
    async with fake(request_timeout=0.3) as (server, client):
        thread = client._thread("t")
        await running(server, thread)
        send, method = sending(thread, way)
        sent = asyncio.create_task(send())
        asked = await server.expect(method)
        assert asked["params"]["clientUserMessageId"] == "C"
        await told(server, turn_of("inProgress"))
        with pytest.raises(InputUnsettled, match="turn T, which runs, may have it") as raised:
            await sent
        assert raised.value.turn is thread.turn("T")
        assert count(server, method) == (2 if method == "turn/start" else 1)


async def test_what_a_running_turn_shows_is_found(fake, way):
    async with fake(request_timeout=0.3) as (server, client):
        thread = client._thread("t")
        await running(server, thread)
        send, method = sending(thread, way)
        sent = asyncio.create_task(send())
        await server.expect(method)
        await told(server, turn_of("inProgress", "C"))
        assert await sent is thread.turn("T")


async def test_what_the_turn_ended_without_is_sent_again_as_the_same_message(fake, way):
    async with fake(request_timeout=0.3) as (server, client):
        thread = client._thread("t")
        await running(server, thread)
        send, method = sending(thread, way)
        sent = asyncio.create_task(send())
        await server.expect(method)
        look = await server.expect("thread/read")
        await server.notify("turn/completed", threadId="t", turn=turn_of("completed"))
        async with asyncio.timeout(30):
            await thread.turn("T").result()
        # It may have been taken between this look and the end.
        await server.reply(look, {"thread": {"turns": [turn_of("inProgress")]}})
        await told(server, turn_of("completed"))
        again = await server.expect("turn/start")
        assert again["params"]["clientUserMessageId"] == "C"
        await server.reply(again, {"turn": {"id": "U"}})
        assert (await sent).id == "U"


async def test_what_the_turn_took_at_its_end_is_found_there(fake, way):
    async with fake(request_timeout=0.3) as (server, client):
        thread = client._thread("t")
        await running(server, thread)
        send, method = sending(thread, way)
        sent = asyncio.create_task(send())
        await server.expect(method)
        look = await server.expect("thread/read")
        await server.notify("turn/completed", threadId="t", turn=turn_of("completed"))
        async with asyncio.timeout(30):
            await thread.turn("T").result()
        await server.reply(look, {"thread": {"turns": [turn_of("inProgress")]}})
        await told(server, turn_of("completed", "C"))
        assert await sent is thread.turn("T")


async def test_a_tool_output_that_a_running_turn_may_have_is_not_sent_again(fake):
    async with fake(request_timeout=0.3) as (server, client):
        thread = client._thread("t")
        await running(server, thread)
        sent = asyncio.create_task(thread.start_turn(tool_output=OUTPUT))
        await server.expect("turn/start")
        await told(server, turn_of("inProgress"))
        with pytest.raises(InputUnsettled):
            await sent
        assert count(server, "turn/start") == 2


async def test_without_a_look_at_the_thread_nothing_is_sent_again(fake):
    async with fake(request_timeout=0.3) as (server, client):
        thread = client._thread("t")
        sent = asyncio.create_task(thread.start_turn("first"))
        await server.expect("turn/start")
        # What codex says of a thread that has no record yet.
        look = await server.expect("thread/read")
        await server.fail(look, -32601, "list_turns is not supported yet")
        with pytest.raises(CallTimeout, match="cannot turn/start"):
            await sent
        assert count(server, "turn/start") == 1
        # With a turn that runs its end may tell.
        await running(server, thread)
        sent = asyncio.create_task(thread.start_turn("more"))
        look = await server.expect("thread/read")
        await server.fail(look, -32601, "list_turns is not supported yet")
        with pytest.raises(InputUnsettled):
            await sent
        assert count(server, "turn/start") == 3


# The real server


def losing(monkeypatch: pytest.MonkeyPatch, client: Any, *methods: str) -> None:
    """Lose the answers to these calls from now on."""
    call = client._connection.call

    async def lossy(method: str, params: Any = None, **more: Any) -> Any:
        answer = await call(method, params, **more)
        if method in methods:
            raise CallTimeout(f"cannot {method}: lost by the test")
        return answer

    monkeypatch.setattr(client._connection, "call", lossy)


@pytest.mark.parametrize("steered", [False, True])
async def test_text_that_waits_behind_a_command_is_in_the_thread_once_at_the_end(
    open_stdio, home, script, monkeypatch, steered
):
    go = home.root / "go"
    waits = f"touch {home.root}/runs; until [ -e {go} ]; do sleep 0.05; done"
    model = await script(Step(shell=waits), Step(say="one"), Step(say="two"), Step(say="three"))
    async with open_stdio() as client:
        thread = await client.start_thread(home.options())
        turn = await thread.start_turn("hi")
        async with asyncio.timeout(30):
            while not (home.root / "runs").exists():
                await asyncio.sleep(0.02)
        with monkeypatch.context() as lost:
            losing(lost, client, "turn/start", "turn/steer")
            send = turn.steer if steered else thread.start_turn
            with pytest.raises(InputUnsettled) as raised:
                await send("more", client_id="C")
        # Sent again now, the model would get it twice.
        assert await thread.find_input("C") is None
        go.touch()
        await raised.value.turn.result()
        assert await thread.find_input("C") is turn
        await (await thread.start_turn("last")).result()
        texts = [
            part["text"]
            for item in model.requests[-1].input
            if item.get("role") == "user"
            for part in item["content"]
        ]
        assert texts.count("more") == 1
