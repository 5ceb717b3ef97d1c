"""What one client gets for what it sends."""

import asyncio
import json
import os
import pwd

import pytest


async def test_a_call_is_answered_with_its_result(client) -> None:
    reply = await client.ask('{"jsonrpc":"2.0","id":7,"method":"test.echo","params":{"text":"hi"}}')
    user = pwd.getpwuid(os.getuid()).pw_name
    assert reply == {"jsonrpc": "2.0", "id": 7, "result": {"text": "hi", "user": user}}


async def test_a_struct_is_a_result_and_one_line(client) -> None:
    reply = await client.call("test.pair")
    assert reply["result"] == {"left": "a\nb", "right": "\u2028"}


@pytest.mark.parametrize(
    "given",
    ['"a"', '""', "0", "-1", "1.50", "1e3", "null", "123456789012345678901234567890", '"\\u0000"'],
)
async def test_an_id_comes_back_as_it_was_spelt(client, given: str) -> None:
    text = f'{{"id": {given},"jsonrpc":"2.0","method":"test.pair"}}\n'
    await client.send(text.encode())
    line = await client.reader.readline()
    assert line.startswith(b'{"jsonrpc":"2.0","id":%b,"result":' % given.encode())


@pytest.mark.parametrize("given", ["true", "false", "[]", "{}", "[1]", '"' + "x" * 300 + '"'])
async def test_what_is_no_id_is_refused(client, given: str) -> None:
    reply = await client.ask(f'{{"jsonrpc":"2.0","id":{given},"method":"test.pair"}}')
    assert reply["id"] is None
    assert reply["error"]["code"] == -32600
    assert '"id"' in reply["error"]["message"]


async def test_a_notification_is_obeyed_and_not_answered(server, client) -> None:
    await client.send(b'{"jsonrpc":"2.0","method":"test.echo","params":{"text":"quiet"}}\n')
    await client.send(b'{"jsonrpc":"2.0","method":"test.nothing"}\n')
    await client.send(b'{"jsonrpc":"2.0","method":"test.echo","params":{"text":5}}\n')
    assert "result" in await client.call("test.pair")
    assert server.world.calls == ["quiet"]


@pytest.mark.parametrize(
    "text",
    ["{", "nonsense", '{"jsonrpc":"2.0",}', "[", "[1,]", '{"a":1} x', "\x00", '"\\ud800'],
)
async def test_what_is_not_json_is_a_parse_error(client, text: str) -> None:
    reply = await client.ask(text)
    assert reply["id"] is None
    assert reply["error"]["code"] == -32700
    assert "cannot read a line as JSON" in reply["error"]["message"]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("1", "object"),
        ('"x"', "object"),
        ("null", "object"),
        ("{}", '"jsonrpc"'),
        ('{"method":"test.pair","id":1}', '"jsonrpc"'),
        ('{"jsonrpc":2.0,"method":"test.pair","id":1}', '"jsonrpc"'),
        ('{"jsonrpc":"2.0","id":1}', '"method"'),
        ('{"jsonrpc":"2.0","method":1,"id":1}', '"method"'),
        ("[]", "empty batch"),
    ],
)
async def test_what_is_not_a_request_is_an_invalid_request(client, text: str, word: str) -> None:
    reply = await client.ask(text)
    assert reply["error"]["code"] == -32600
    assert word in reply["error"]["message"]
    assert reply["id"] == (1 if '"id":1' in text else None)


async def test_an_unknown_method_is_refused_with_a_hint(client) -> None:
    reply = await client.call("test.ecko")
    assert reply["error"]["code"] == -32601
    assert reply["error"]["message"] == "unknown method 'test.ecko'; did you mean test.echo?"
    reply = await client.call("z")
    assert reply["error"]["message"].startswith("unknown method 'z'; known: test.echo, ")


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({}, "params: object missing required field `text`"),
        ({"text": 5}, "params.text: expected `str`, got `int`"),
        ({"text": "a", "times": "b"}, "params.times: expected `int`, got `str`"),
        ({"text": "a", "times": True}, "params.times: expected `int`, got `bool`"),
        (
            {"text": "a", "tmes": 1},
            "params: object contains unknown field `tmes`; known: text, times",
        ),
    ],
)
async def test_a_wrong_param_is_named(client, params: dict[str, object], sentence: str) -> None:
    reply = await client.call("test.echo", **params)
    assert reply["error"] == {"code": -32602, "message": sentence}


@pytest.mark.parametrize("params", ["[]", '["a"]', "1", "null"])
async def test_params_are_an_object(client, params: str) -> None:
    reply = await client.ask(f'{{"jsonrpc":"2.0","id":1,"method":"test.echo","params":{params}}}')
    assert reply["error"]["code"] == -32602
    assert reply["error"]["message"].startswith("params: expected `object`, got ")


async def test_params_may_be_left_out(client) -> None:
    assert "result" in await client.ask('{"jsonrpc":"2.0","id":1,"method":"test.pair"}')


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("not_found", -32000),
        ("wrong_state", -32001),
        ("conflict", -32002),
        ("limit", -32003),
        ("invalid", -32004),
    ],
)
async def test_a_refusal_has_its_kind_and_its_sentence(client, kind: str, code: int) -> None:
    reply = await client.call("test.refuse", text=kind)
    assert reply["error"] == {
        "code": code,
        "message": f"cannot do this: {kind}; do that",
        "data": {"kind": kind},
    }


@pytest.mark.parametrize("method", ["test.break", "test.encode"])
async def test_a_fault_of_a_command_tells_nothing_of_it(client, method: str) -> None:
    error = (await client.call(method))["error"]
    assert error["code"] == -32603
    assert error["data"] == {"kind": "internal"}
    assert "secret" not in error["message"]
    assert "result" in await client.call("test.pair")


async def test_a_call_that_takes_too_long_is_answered_all_the_same(serving) -> None:
    async with serving(call=0.05) as server:
        client = await server.connect()
        error = (await client.call("test.wait"))["error"]
        assert error["data"] == {"kind": "limit"}
        assert "cannot answer within 0.05 s" in error["message"]


async def test_calls_of_one_client_do_not_wait_for_each_other(server, client) -> None:
    await client.send(b'{"jsonrpc":"2.0","id":"slow","method":"test.wait"}\n')
    assert "result" in await client.call("test.pair")
    server.world.gate.set()
    assert (await client.line())["id"] == "slow"


async def test_a_batch_is_answered_with_a_batch(client) -> None:
    reply = await client.ask(
        '[{"jsonrpc":"2.0","id":1,"method":"test.pair"},'
        '{"jsonrpc":"2.0","method":"test.echo","params":{"text":"quiet"}},'
        '{"jsonrpc":"2.0","id":2,"method":"nope"}, 1, {"id":true}]'
    )
    assert [(part["id"], part.get("error", {}).get("code")) for part in reply] == [
        (1, None),
        (2, -32601),
        (None, -32600),
        (None, -32600),
    ]


async def test_a_batch_of_notifications_is_not_answered(server, client) -> None:
    await client.send(b'[{"jsonrpc":"2.0","method":"test.echo","params":{"text":"quiet"}}]\n')
    assert "result" in await client.call("test.pair")
    assert server.world.calls == ["quiet"]


async def test_too_large_a_batch_is_refused_as_one(client) -> None:
    reply = await client.ask("[" + ",".join(["1"] * 1001) + "]")
    assert reply["error"]["message"].startswith("cannot take a batch of 1001 calls")
    reply = await client.ask("[" + "1," * 600_000 + "1]")
    assert reply["error"]["message"].startswith("cannot take a batch of 1200003 bytes")


async def test_empty_lines_and_carriage_returns_are_let_pass(client) -> None:
    await client.send(b"\n\r\n  \n")
    reply = await client.ask('{"jsonrpc":"2.0","id":1,"method":"test.pair"}\r')
    assert reply["id"] == 1


async def test_a_command_may_notify_its_client(client) -> None:
    await client.send(b'{"jsonrpc":"2.0","id":1,"method":"test.push","params":{"to":2}}\n')
    assert await client.line() == {
        "jsonrpc": "2.0",
        "method": "pushed",
        "params": {"number": 0, "fill": ""},
    }
    assert (await client.line())["params"]["number"] == 1
    assert (await client.line())["result"] == {}


async def test_a_client_that_shuts_its_side_still_gets_its_answers(server, client) -> None:
    await client.send(b'{"jsonrpc":"2.0","id":1,"method":"test.wait"}\n')
    client.writer.write_eof()
    await server.world.waiting.wait()
    server.world.gate.set()
    assert (await client.line())["id"] == 1
    await client.ended()


async def test_the_command_knows_when_its_client_is_gone(server, client) -> None:
    await client.send(b'{"jsonrpc":"2.0","id":1,"method":"test.wait"}\n')
    await server.world.waiting.wait()
    context = server.world.contexts[0]
    assert context.peer.uid == os.getuid()
    assert context.peer.pid == os.getpid()
    client.close()
    server.world.gate.set()
    async with asyncio.timeout(10):
        await context.closed.wait()


async def test_one_object_a_line_in_any_pieces(client) -> None:
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "test.echo", "params": {"text": "é"}})
    for byte in text.encode():
        await client.send(bytes([byte]))
        await asyncio.sleep(0)
    await client.send(b"\n")
    assert (await client.line())["result"]["text"] == "é"
