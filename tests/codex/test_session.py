"""Threads and turns on the real server, on both transports."""

import asyncio
import struct
import zlib
from pathlib import Path

import pytest

from byred.codex import NoActiveTurn, NoRollout, ToolOutput, Version, image
from byred.codex.binary import FORK_BEFORE
from byred.codex.protocol import types
from byred.testing.script import Step
from tests.codex.conftest import user_texts


def png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        whole = kind + data
        return struct.pack(">I", len(data)) + whole + struct.pack(">I", zlib.crc32(whole))

    pixels = b"".join(b"\0" + b"\xff\0\0" * 8 for _ in range(8))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(pixels))
        + chunk(b"IEND", b"")
    )


async def test_a_turn_streams_typed_events_and_ends_with_its_text_and_tokens(connect, home, script):
    await script(Step(stream=("Hello ", "you ", "there")))
    async with connect() as client:
        assert client.server.codex_home == str(home.root)
        thread = await client.start_thread(home.options())
        assert (thread.status, thread.model) == ("idle", "scripted")
        turn = await thread.start_turn("hi")
        deltas = []
        methods = []
        async for event in turn:
            methods.append(event.method)
            assert event.thread_id == thread.id
            assert event.turn_id == turn.id
            assert event.known
            match event.params:
                case types.AgentMessageDeltaNotification(delta=delta):
                    deltas.append(delta)
        result = await turn.result()
        assert "".join(deltas) == result.final_text == "Hello you there"
        assert methods[0] == "turn/started"
        assert methods[-1] == "turn/completed"
        assert result.status == "completed"
        assert result.error is None
        assert [item.type for item in result.items] == ["userMessage", "agentMessage"]
        assert result.usage is not None
        assert result.usage.total.total_tokens == 120
        assert thread.active_turn is None


async def test_token_totals_are_the_threads_and_absolute(connect, home, script):
    await script(Step(say="one"), Step(say="two"))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        for expected in (120, 240):
            result = await (await thread.start_turn("go")).result()
            assert result.usage is not None
            assert result.usage.total.total_tokens == expected
            assert result.usage.last.total_tokens == 120


async def test_images_go_before_the_text_as_data_urls(connect, home, script):
    model = await script(Step(say="seen"))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        await (await thread.start_turn(["what is this?", image(png())])).result()
        (sent,) = model.requests
        parts = [
            part for item in sent.input if item.get("role") == "user" for part in item["content"]
        ]
        kinds = [
            part["type"]
            for part in parts
            if part["type"] == "input_image" or part.get("text") == "what is this?"
        ]
        assert kinds == ["input_image", "input_text"]


async def test_a_reminder_reaches_the_model_beside_the_input(connect, home, script):
    model = await script(Step(say="ok"))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        await (await thread.start_turn("hi", reminder="Commit your work.")).result()
        said = str(model.requests[0].input)
        assert "<byre>Commit your work.</byre>" in said
        assert user_texts(model.requests[0]) == ["hi"]


async def test_an_output_schema_and_an_effort_are_passed_on(connect, home, script):
    model = await script(Step(say='{"ok":true}'))
    schema = {
        "type": "object",
        "properties": {"ok": {"type": "boolean"}},
        "required": ["ok"],
        "additionalProperties": False,
    }
    async with connect() as client:
        thread = await client.start_thread(home.options())
        turn = await thread.start_turn("hi", output_schema=schema, effort="high")
        assert (await turn.result()).final_text == '{"ok":true}'
    assert model.requests


async def test_a_model_given_with_a_turn_stays_for_the_later_ones(connect, home, script):
    await script(Step(say="a"), Step(say="b"))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        await (await thread.start_turn("hi", model="other")).result()
        await (await thread.start_turn("again")).result()
        assert thread.model == "other"
        told = (await client.read_thread(thread.id)).thread.model
        assert told == "other" or (told is None and client.version < Version(0, 154, 0))


async def test_steered_text_reaches_the_model_in_the_running_turn(connect, home, script):
    model = await script(Step(say="one", delay="gate"), Step(say="two"))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        turn = await thread.start_turn("hi")
        await model.gate("gate").reached(20)
        assert await turn.steer("and this") is turn
        model.gate("gate").open()
        await turn.result()
        await (await thread.start_turn("last")).result()
        assert user_texts(model.requests[-1]) == ["hi", "and this", "last"]


async def test_steering_a_turn_that_has_ended_starts_the_next_one(connect, home, script):
    model = await script(Step(say="one"), Step(say="two"))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        turn = await thread.start_turn("hi")
        await turn.result()
        later = await turn.steer("and this")
        assert later.id != turn.id
        assert (await later.result()).final_text == "two"
        assert user_texts(model.requests[-1]) == ["hi", "and this"]


@pytest.mark.parametrize("after", [0.0, 0.05, 0.15, 0.25])
async def test_text_steered_around_the_end_of_a_turn_lands_exactly_once(
    connect, home, script, after
):
    model = await script(*(Step(say=str(n)) for n in range(6)))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        turn = await thread.start_turn("hi")
        await asyncio.sleep(after)  # not synchronisation: the race itself
        where = await turn.steer("steered")
        await where.result()
        await (await thread.start_turn("last")).result()
        assert user_texts(model.requests[-1]) == ["hi", "steered", "last"]


async def test_an_interrupt_right_after_the_start_ends_the_turn(connect, home, script):
    model = await script(*(Step(say=str(n), delay="gate") for n in range(6)))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        for _ in range(3):
            turn = await thread.start_turn("go")
            result = await turn.interrupt()
            assert result.status == "interrupted"
            assert thread.active_turn is None
        model.gate("gate").open()
        result = await (await thread.start_turn("again")).result()
        assert result.status == "completed"


async def test_an_interrupt_ends_the_command_that_runs(connect, home, script):
    await script(Step(shell="echo $$ > pid; exec sleep 600"))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        turn = await thread.start_turn("go")
        async for event in turn:
            if event.method == "item/started" and event.data["item"]["type"] == "commandExecution":
                break
        async with asyncio.timeout(20):
            while not (home.work / "pid").exists() or not (home.work / "pid").read_text():
                await asyncio.sleep(0.02)
        command = int((home.work / "pid").read_text())
        assert (await turn.interrupt()).status == "interrupted"
        async with asyncio.timeout(10):
            while Path(f"/proc/{command}").exists():
                await asyncio.sleep(0.02)


async def test_an_interrupt_of_a_turn_that_has_ended_says_how_it_ended(connect, home, script):
    await script(Step(say="done"))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        turn = await thread.start_turn("go")
        await turn.result()
        assert (await turn.interrupt()).status == "completed"


async def test_a_turn_started_while_one_runs_is_the_same_turn(connect, home, script):
    model = await script(Step(say="one", delay="gate"), Step(say="two"))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        turn = await thread.start_turn("hi")
        await model.gate("gate").reached(20)
        assert await thread.start_turn("more") is turn
        model.gate("gate").open()
        assert (await turn.result()).status == "completed"


async def test_a_compaction_is_a_turn_and_the_thread_goes_on(connect, home, script):
    await script(Step(say="one"), Step(say="two"))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        await (await thread.start_turn("hi")).result()
        result = await (await thread.compact()).result()
        assert result.status == "completed"
        assert [item.type for item in result.items] == ["contextCompaction"]
        assert (await (await thread.start_turn("on")).result()).status == "completed"


async def test_a_thread_without_a_turn_cannot_be_resumed(connect, home, script):
    await script()
    async with connect() as client:
        thread = await client.start_thread(home.options())
        with pytest.raises(NoRollout, match="no rollout found"):
            await client.resume_thread(thread.id)


async def test_a_resumed_thread_remembers_and_comes_without_its_turns(connect, home, script):
    model = await script(Step(say="one"), Step(say="two"))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        await (await thread.start_turn("hi")).result()
    async with connect() as client:
        again = await client.resume_thread(thread.id, home.options())
        assert again.id == thread.id
        assert again.info is not None
        assert again.info.turns == []
        assert again.active_turn is None
        assert (await (await again.start_turn("more")).result()).final_text == "two"
        assert user_texts(model.requests[-1]) == ["hi", "more"]


@pytest.mark.parametrize(
    ("place", "kept"),
    [("whole", ["a", "b", "c"]), ("last", ["a", "b"]), ("before", ["a"])],
)
async def test_a_fork_keeps_the_turns_that_it_should(connect, home, script, place, kept):
    model = await script(*(Step(say=str(n)) for n in range(6)))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        turns = []
        for text in ("a", "b", "c"):
            turn = await thread.start_turn(text)
            await turn.result()
            turns.append(turn.id)
        where = {"whole": {}, "last": {"last_turn": turns[1]}, "before": {"before_turn": turns[1]}}
        fork = await client.fork_thread(thread.id, home.options(), **where[place])
        assert fork.id != thread.id
        await (await fork.start_turn("new")).result()
        assert user_texts(model.requests[-1]) == [*kept, "new"]


def damage(home, path, change):
    """Change a thread's record as no server of this home has seen it."""
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    for database in home.root.glob("*.sqlite*"):
        database.unlink()


@pytest.mark.parametrize("place", [0, 1])
async def test_a_fork_ends_with_a_turn_whose_end_was_not_recorded(connect, home, script, place):
    model = await script(*(Step(say=str(n)) for n in range(6)))
    turns = []
    async with connect() as client:
        thread = await client.start_thread(home.options())
        for text in ("a", "b"):
            turns.append(await thread.start_turn(text))
            await turns[-1].result()
        path = Path((await client.read_thread(thread.id)).thread.path)
    ends = (b'"task_complete"', turns[place].id.encode())
    damage(home, path, lambda lines: [line for line in lines if not all(e in line for e in ends)])
    async with connect() as client:
        if client.version < FORK_BEFORE:
            pytest.skip("cannot fork before a turn")
        fork = await client.fork_thread(thread.id, home.options(), last_turn=turns[place].id)
        await (await fork.start_turn("new")).result()
        assert user_texts(model.requests[-1]) == [*"ab"[: place + 1], "new"]


@pytest.mark.parametrize("kept", [0, 100])
async def test_a_record_that_was_hardly_begun_is_no_record(connect, home, script, kept):
    await script(Step(say="one"))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        await (await thread.start_turn("a")).result()
        path = Path((await client.read_thread(thread.id)).thread.path)
    for more in (lambda _lines: [], lambda lines: [b"\n", *lines[1:]]):
        whole = path.read_bytes()
        damage(home, path, lambda lines, more=more: [lines[0][:kept], *more(lines)])
        async with connect() as client:
            with pytest.raises(NoRollout):
                await client.resume_thread(thread.id, home.options())
        path.write_bytes(whole)


async def test_a_tool_output_without_a_call_reaches_the_model(connect, home, script):
    model = await script(Step(say="one"), Step(say="two"))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        await (await thread.start_turn("hi")).result()
        if not client.version.supports_tool_output:
            pytest.skip("as text only")
        output = ToolOutput(name="ask_human", namespace="byre", output="use blue")
        await (await thread.start_turn(tool_output=output)).result()
        assert "use blue" in str(model.requests[-1].new)


async def test_a_tool_output_is_found_in_the_turn_that_has_it(connect, home, script):
    await script(Step(say="one"), Step(say="two"), Step(say="three"))
    async with connect() as client:
        if not client.version.supports_tool_output:
            pytest.skip("as text only")
        thread = await client.start_thread(home.options())
        outputs = [
            ToolOutput(name="ask_human", namespace="byre", output="use blue"),
            ToolOutput(name="ask", output="\u00fc" * 200_000),
        ]
        for output in outputs:
            turn = await thread.start_turn(tool_output=output)
            await turn.result()
            assert await thread._find_output(output, ()) is turn
            assert await thread._find_output(output, {turn.id}) is None
        other = ToolOutput(name="ask_human", output="use blue")
        assert await thread._find_output(other, ()) is None


async def test_threads_can_be_read_and_listed(connect, home, script):
    await script(Step(say="one"))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        await (await thread.start_turn("hi")).result()
        read = await client.read_thread(thread.id, turns=True)
        assert [turn.status for turn in read.thread.turns] == ["completed"]
        listed = await client.list_threads(limit=10)
        assert [each.id for each in listed.data] == [thread.id]
        assert await thread.get_goal() is None
        assert (await client.list_mcp_servers()).data == []
        assert (await client.list_models()).data


async def test_a_goal_can_be_set_read_and_cleared(connect, home, script):
    await script(Step(say="one"))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        await (await thread.start_turn("hi")).result()
        goal = await thread.set_goal("make it green", status="paused")
        assert goal.objective == "make it green"
        read = await thread.get_goal()
        assert read is not None
        assert read.objective == "make it green"
        await thread.clear_goal()
        assert await thread.get_goal() is None


async def test_a_turn_that_is_not_running_is_told_apart(connect, home, script):
    await script(Step(say="one"))
    async with connect() as client:
        thread = await client.start_thread(home.options())
        with pytest.raises(NoActiveTurn, match="no active turn"):
            await client.call("turn/interrupt", {"threadId": thread.id, "turnId": "x"})
