"""Tools that an agent may call: declared as codex takes them, checked, run, answered."""

import asyncio
import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest

from byred.codex import (
    CallError,
    Image,
    Namespace,
    ServerRequest,
    Tool,
    Toolbox,
    ToolCall,
    ToolError,
    ToolResult,
    answer_with,
)
from byred.codex.approvals import auto
from byred.codex.bridge import mcp_namespace
from byred.codex.functions import namespace, tool
from byred.codex.protocol.types import DynamicToolCallParams
from byred.testing.script import Call, Step

SERVER = Path(__file__).with_name("mcp_server.py")


def asked(name: str, arguments, space: str | None = "byre") -> ServerRequest:
    params = DynamicToolCallParams(
        thread_id="t", turn_id="u", call_id="c/1", namespace=space, tool=name, arguments=arguments
    )
    return ServerRequest(0, "item/tool/call", params)


def texts(response) -> list[str]:
    return [item.text for item in response.content_items if item.type == "inputText"]


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Place(msgspec.Struct):
    path: str
    line: int = 1


async def paint(
    what: str,
    colour: Colour,
    times: Annotated[int, msgspec.Meta(ge=1, le=9)] = 1,
    where: Place | None = None,
    mode: Literal["fast", "slow"] = "fast",
) -> dict:
    """Paint something.

    It dries by itself.

    Args:
        what: The thing to paint,
            whatever it is.
        colour (Colour): How it shall look.
    """
    return {"what": what, "colour": colour, "times": times, "where": where, "mode": mode}


def test_a_signature_is_a_schema_and_a_docstring_a_description():
    made = tool(paint)
    assert made.name == "paint"
    assert made.description == "Paint something.\n\nIt dries by itself."
    schema = made.schema
    assert schema["type"] == "object"
    assert schema["required"] == ["what", "colour"]
    assert schema["additionalProperties"] is False
    assert "$ref" not in json.dumps(schema)
    properties = schema["properties"]
    assert properties["what"] == {
        "type": "string",
        "description": "The thing to paint, whatever it is.",
    }
    assert properties["colour"]["enum"] == ["blue", "red"]
    assert properties["colour"]["description"] == "How it shall look."
    assert (properties["times"]["minimum"], properties["times"]["maximum"]) == (1, 9)
    assert properties["mode"]["enum"] == ["fast", "slow"]


async def test_arguments_arrive_as_the_types_of_the_signature():
    box = Toolbox([namespace("byre", "d", [paint])])
    response = await box.answer(
        asked("paint", {"what": "wall", "colour": "red", "where": {"path": "a"}})
    )
    assert response.success
    assert json.loads(texts(response)[0]) == {
        "what": "wall",
        "colour": "red",
        "times": 1,
        "where": {"path": "a", "line": 1},
        "mode": "fast",
    }


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "'what' is a required property"),
        ({"what": 1, "colour": "red"}, "what: 1 is not of type 'string'"),
        ({"what": "x", "colour": "green"}, "colour: 'green' is not one of"),
        ({"what": "x", "colour": "red", "times": 12}, "times: 12 is greater than the maximum of 9"),
        ({"what": "x", "colour": "red", "extra": 1}, "'extra' was unexpected"),
        ("what", "must be a JSON object, not a string"),
        ([], "[] is not of type 'object'"),
    ],
)
async def test_wrong_arguments_are_answered_so_that_the_model_can_mend_them(arguments, problem):
    called = []

    async def paint(what: str, colour: Colour, times: Annotated[int, msgspec.Meta(le=9)] = 1):
        called.append(what)

    box = Toolbox([namespace("byre", "d", [paint])])
    response = await box.answer(asked("paint", arguments))
    assert not response.success
    (text,) = texts(response)
    assert problem in text
    assert text.startswith("byre.paint was not called:")
    assert '"required"' in text
    assert "Call it again" in text
    assert called == []


async def test_an_unknown_tool_is_answered_at_once_with_those_that_exist():
    box = Toolbox([namespace("byre", "d", [paint])])
    response = await box.answer(asked("sculpt", {}))
    assert not response.success
    assert texts(response) == ["There is no tool byre.sculpt. The tools are: byre.paint."]
    response = await box.answer(asked("paint", {}, None))
    assert texts(response) == ["There is no tool paint. The tools are: byre.paint."]


async def test_a_tool_that_fails_or_hangs_is_a_result_not_a_crash():
    async def fails() -> str:
        raise LookupError("no such table")

    async def hangs() -> str:
        await asyncio.Event().wait()
        return ""

    box = Toolbox([Namespace("byre", "d", (tool(fails), tool(hangs, timeout=0.05)))])
    assert texts(await box.answer(asked("fails", {}))) == ["byre.fails failed: no such table"]
    assert texts(await box.answer(asked("hangs", {}))) == [
        "byre.hangs did not end within 0.05 seconds."
    ]


async def test_a_tool_can_have_the_call_and_need_not_be_async():
    def where(call: ToolCall, path: str) -> str:
        return f"{call.thread_id} {call.turn_id} {call.call_id} {path}"

    made = tool(where)
    assert list(made.schema["properties"]) == ["path"]
    box = Toolbox([Namespace("byre", "d", (made,))])
    assert texts(await box.answer(asked("where", {"path": "p"}))) == ["t u c/1 p"]


async def test_texts_and_images_come_in_order():
    async def look() -> ToolResult:
        return ToolResult(("before", Image(b"abc", "image/gif"), "after"), success=False)

    response = await Toolbox([namespace("byre", "d", [look])]).answer(asked("look", {}))
    assert response.wire == {
        "success": False,
        "contentItems": [
            {"type": "inputText", "text": "before"},
            {"type": "inputImage", "imageUrl": "data:image/gif;base64,YWJj"},
            {"type": "inputText", "text": "after"},
        ],
    }


async def test_a_very_long_result_is_cut_with_a_notice_and_kept_in_a_file(tmp_path):
    long = "0123456789" * 5000

    async def read() -> str:
        return long

    tools = [namespace("byre", "d", [read])]
    response = await Toolbox(tools, overflow=tmp_path / "over", max_chars=100).answer(
        asked("read", {})
    )
    (text,) = texts(response)
    assert text.startswith(
        long[:100] + "\n[cut: 49,900 of 50,000 characters; the whole text is in "
    )
    (file,) = (tmp_path / "over").iterdir()
    assert str(file) in text
    assert file.read_text() == long
    (short,) = texts(await Toolbox(tools, max_chars=100).answer(asked("read", {})))
    assert short == long[:100] + "\n[cut: 49,900 of 50,000 characters]"


def declared(name="t", description="d", schema=None):
    async def run(call):
        return ""

    return Tool(name=name, description=description, schema=schema or {"type": "object"}, run=run)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Namespace("has space", "d", (declared(),)), "letters, digits, _ and -"),
        (lambda: Namespace("", "d", (declared(),)), "letters, digits, _ and -"),
        (lambda: Namespace("n" * 65, "d", (declared(),)), "65 characters, codex takes 64"),
        (lambda: Namespace("mcp__x", "d", (declared(),)), "codex keeps mcp__"),
        (lambda: Namespace("x", "d" * 1025, (declared(),)), "1,025 characters, codex takes 1,024"),
        (lambda: Namespace("x", "d", (declared("a.b"),)), "letters, digits, _ and -"),
        (lambda: Namespace("x", "d", (declared("t" * 129),)), "129 characters, codex takes 128"),
        (lambda: Namespace("x", "d", (declared(), declared())), "there are two of it"),
        (lambda: Namespace("x", "d", ()), "it has no tools"),
        (lambda: Namespace("x", "d", (declared(schema={"type": "array"}),)), "of an object"),
        (
            lambda: Toolbox(
                [Namespace("x", "d", (declared(),)), Namespace("x", "", (declared(),))]
            ),
            "there are two of it",
        ),
    ],
)
def test_what_codex_would_refuse_is_refused_before(make, problem):
    with pytest.raises(ToolError, match=problem):
        make()


@pytest.mark.parametrize("name", ["n" * 64, "a-b_9", "Mcp"])
async def test_what_passes_the_checks_codex_takes(open_stdio, home, script, name):
    await script()
    space = Namespace(name, "d" * 1024, (declared("t" * 128), declared("u")))
    async with open_stdio() as client:
        assert await client.start_thread(home.options(dynamic_tools=[space.spec()]))


@pytest.mark.parametrize(
    "change",
    [
        {"name": "n" * 65},
        {"name": "has space"},
        {"description": "d" * 1025},
        {"name": "mcp__x"},
        {"tools": [declared("t" * 129).spec()]},
        {"tools": [declared("a.b").spec()]},
        {"tools": [declared().spec(), declared().spec()]},
    ],
)
async def test_what_the_checks_refuse_codex_refuses_too(open_stdio, home, script, change):
    await script()
    spec = Namespace("byre", "d", (declared(),)).spec().wire | change
    async with open_stdio() as client:
        with pytest.raises(CallError):
            await client.start_thread(home.options(dynamic_tools=[spec]))


def no_annotation(x):
    pass


def star(*things: int):
    pass


def strange(x: object):
    pass


@pytest.mark.parametrize("function", [no_annotation, star, lambda x: x])
def test_a_function_without_a_schema_is_no_tool(function):
    with pytest.raises(ToolError, match="cannot make a tool of"):
        tool(function)


async def test_the_real_codex_calls_a_function_and_shows_the_model_its_result(
    connect, home, script
):
    model = await script(
        Step(call=Call("paint", namespace="studio", arguments={"what": 5, "colour": "red"})),
        Step(call=Call("paint", namespace="studio", arguments={"what": "wall", "colour": "red"})),
        Step(say="painted"),
    )
    box = Toolbox([namespace("studio", "Painting", [paint])])
    async with connect(answer_with(auto, tools=box)) as client:
        thread = await client.start_thread(home.options(dynamic_tools=box.specs()))
        result = await (await thread.start_turn("hi")).result()
        assert result.final_text == "painted"
        calls = [item for item in result.items if item.type == "dynamicToolCall"]
        assert [item.success for item in calls] == [False, True]
    assert "studio.paint" in model.requests[0].tools
    assert "5 is not of type 'string'" in model.requests[1].new[-1]["output"]
    assert json.loads(model.requests[2].new[-1]["output"])["what"] == "wall"


async def test_an_mcp_server_is_a_namespace_whose_secrets_the_agent_never_sees(
    open_stdio, home, script, monkeypatch
):
    pytest.importorskip("mcp", reason="the extra byred[mcp] is not installed")
    monkeypatch.setenv("BYRED_TEST_LEAK", "leaked")
    model = await script(
        Step(call=Call("echo", namespace="files", arguments={"text": "hello"})),
        Step(call=Call("secret", namespace="files", arguments={"text": ""})),
        Step(shell="env"),
        Step(say="end"),
    )
    env = {"MCP_SECRET": "s3cret-of-the-server"}
    async with mcp_namespace("files", sys.executable, [str(SERVER)], env=env) as space:
        assert [each.name for each in space.tools] == ["echo", "draw", "fail", "secret", "die"]
        assert space.description == "Tools for a test."
        box = Toolbox([space])
        async with open_stdio(answer_with(auto, tools=box)) as client:
            thread = await client.start_thread(home.options(dynamic_tools=box.specs()))
            result = await (await thread.start_turn("hi")).result()
            assert result.final_text == "end"
        assert "hello" in str(model.requests[1].new)
        assert "['s3cret-of-the-server', None]" in str(model.requests[2].new)
        environment = str(model.requests[3].new)
        assert "CODEX_HOME" in environment
        assert "s3cret" not in environment


async def test_an_mcp_servers_results_failures_and_death_are_results(tmp_path):
    pytest.importorskip("mcp", reason="the extra byred[mcp] is not installed")
    with (tmp_path / "err").open("w") as log:
        async with mcp_namespace("m", sys.executable, [str(SERVER)], stderr=log) as space:
            box = Toolbox([space])
            drawn = await box.answer(asked("draw", {"text": ""}, "m"))
            assert drawn.content_items[0].image_url.startswith("data:image/png;base64,iVBOR")
            failed = await box.answer(asked("fail", {"text": ""}, "m"))
            assert (failed.success, texts(failed)) == (False, ["no luck"])
            wrong = await box.answer(asked("echo", {"text": 5}, "m"))
            assert "5 is not of type 'string'" in texts(wrong)[0]
            for name in ("die", "echo"):
                dead = await box.answer(asked(name, {"text": ""}, "m"))
                assert not dead.success
                assert "failed" in texts(dead)[0]


async def test_an_mcp_server_that_cannot_start_is_an_error_that_says_so():
    pytest.importorskip("mcp", reason="the extra byred[mcp] is not installed")
    with pytest.raises(ToolError, match="cannot start the MCP server gone"):
        async with mcp_namespace("gone", "/no/such/program"):
            pass
    with pytest.raises(ToolError, match="cannot start the MCP server mute"):
        async with mcp_namespace("mute", "/bin/sleep", ["60"], start_timeout=0.3):
            pass
