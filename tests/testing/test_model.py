"""The model's own promises: records, waiting, gates, limits. The client here is plain HTTP."""

import asyncio
import itertools
import json
import urllib.error
import urllib.request

import msgspec
import pytest

from byred.testing.model import KEPT_REQUESTS, ScriptedModel
from byred.testing.play import Action
from byred.testing.records import Memory, Outcome
from byred.testing.script import Script, ScriptError, Step

BOUND = 30.0


def post(url, body, headers=None):
    """POST in a thread; the status and the text, whatever the status."""

    def send():
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(url, data, headers or {}, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=BOUND) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    return asyncio.to_thread(send)


def user(text):
    content = [{"type": "input_text", "text": text}]
    return {"type": "message", "role": "user", "content": content}


def body(*items, thread="t", **more):
    return {"model": "scripted", "stream": True, "prompt_cache_key": thread, "input": items, **more}


def ask(model, *items, **more):
    return post(model.base_url + "/responses", body(*items, **more))


async def test_a_request_is_remembered_with_what_is_new_in_it(steps):
    ticks = itertools.count(100)
    script = steps('{say = "a"}', '{shell = "x"}')
    async with ScriptedModel(script, clock=lambda: next(ticks), nonce=lambda: "ab") as model:
        tools = [
            {"type": "function", "name": "exec_command"},
            {"type": "namespace", "name": "byre", "tools": [{"type": "function", "name": "ask"}]},
            {"type": "web_search"},
        ]
        await ask(model, user("hi"), tools=tools)
        first = model.requests[0]
        assert first.reply[0]["id"] == "msg_s.0.0.ab"
        await ask(model, user("hi"), first.reply[0], user("more"), user("more"))
        second = model.requests[1]
        await ask(model, user("other"), thread="t2")
        third = model.requests[2]
    assert (first.number, first.at, first.ended) == (1, 100, 101)
    assert (first.thread, first.turn, first.script, first.step) == ("t", None, "s", 0)
    assert first.new == first.input == (user("hi"),)
    assert first.tools == ("exec_command", "byre.ask")
    assert second.new == (first.reply[0], user("more"), user("more"))
    assert second.input == (user("hi"), first.reply[0], user("more"), user("more"))
    assert second.step == 1
    assert third.new == (user("other"),)
    assert [s.outcome for s in (first, second, third)] == [Outcome.SENT] * 3


async def test_the_record_file_has_each_request_before_its_reply_and_each_end(steps, tmp_path):
    record = tmp_path / "record.jsonl"
    script = steps('{say = "a", delay = "hold"}', "{error = {status = 500}}")
    async with ScriptedModel(script, record=record) as model:
        waiting = asyncio.create_task(ask(model, user("hi")))
        await model.gate("hold").reached(BOUND)
        (held,) = [json.loads(line) for line in record.read_text().splitlines()]
        assert held["event"] == "request"
        assert held["number"] == 1
        model.gate("hold").open()
        await waiting
        await ask(model, user("hi"), model.requests[0].reply[0])
    with_reply = [json.loads(line) for line in record.read_text().splitlines()]
    assert [(line["event"], line["number"]) for line in with_reply] == [
        ("request", 1),
        ("reply", 1),
        ("request", 2),
        ("reply", 2),
    ]
    request, reply, second, failed = with_reply
    assert request["thread"] == "t"
    assert request["new"] == [user("hi")]
    assert request["items"] == 1
    assert request["reply"][0]["content"][0]["text"] == "a"
    assert (request["script"], request["step"], request["action"]) == ("s", 0, "play")
    assert reply["outcome"] == "sent"
    assert reply["at"] >= request["at"]
    assert (second["step"], second["action"], second["items"]) == (1, "error", 2)
    assert failed["outcome"] == "error"


async def test_a_reply_that_is_abandoned_at_the_end_is_on_record(steps, tmp_path):
    record = tmp_path / "record.jsonl"
    async with ScriptedModel(steps('{say = "a", delay = "g"}'), record=record) as model:
        waiting = [asyncio.create_task(ask(model, user("hi"), thread=str(n))) for n in range(3)]
        await model.wait_for(lambda sent: sent.number == 3)
    await asyncio.gather(*waiting, return_exceptions=True)
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert [line["event"] for line in lines] == ["request"] * 3 + ["reply"] * 3
    assert {line["number"] for line in lines[3:]} == {1, 2, 3}
    assert {line["outcome"] for line in lines[3:]} == {"abandoned"}


async def test_a_record_file_is_appended_to(steps, tmp_path):
    record = tmp_path / "record.jsonl"
    for _ in range(2):
        async with ScriptedModel(steps('{say = "a"}'), record=record) as model:
            await ask(model, user("hi"))
    assert len(record.read_text().splitlines()) == 4


async def test_waiting_finds_past_requests_and_those_to_come(steps):
    async with ScriptedModel(steps('{say = "a"}')) as model:
        await ask(model, user("hi"))
        assert (await model.wait_for(lambda _: True)).number == 1
        later = asyncio.create_task(model.wait_for(lambda sent: sent.thread == "t2"))
        await ask(model, user("hi"))
        assert not later.done()
        await ask(model, user("hi"), thread="t2")
        assert (await later).number == 3


async def test_waiting_in_vain_says_what_was_seen(steps):
    async with ScriptedModel(steps('{say = "a"}')) as model:
        with pytest.raises(TimeoutError, match=r"no such request in 0.05 s; seen: none"):
            await model.wait_for(lambda _: False, 0.05)
        await ask(model, user("hi"))
        with pytest.raises(TimeoutError, match=r"seen: s\.0 sent"):
            await model.wait_for(lambda _: False, 0.05)
        with pytest.raises(TimeoutError, match=r"no reply came to the gate x in 0\.05 s"):
            await model.gate("x").reached(0.05)


async def test_a_gate_that_was_opened_before_holds_nothing(steps):
    async with ScriptedModel(steps('{say = "a", delay = "g"}')) as model:
        model.gate("g").open()
        status, text = await ask(model, user("hi"))
        assert status == 200
        assert "response.completed" in text


async def test_a_gate_can_be_opened_over_http(steps):
    async with ScriptedModel(steps('{say = "a", delay = "g"}')) as model:
        waiting = asyncio.create_task(ask(model, user("hi")))
        await model.gate("g").reached(BOUND)
        status, _ = await post(model.base_url.removesuffix("/v1") + "/gates/g/open", b"")
        assert status == 200
        assert (await waiting)[0] == 200


async def test_leaving_the_block_abandons_what_a_gate_holds(steps):
    async with ScriptedModel(steps('{say = "a", delay = "g"}')) as model:
        waiting = asyncio.create_task(ask(model, user("hi")))
        await model.gate("g").reached(BOUND)
    assert model.requests[0].outcome is Outcome.ABANDONED
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever urllib makes of a lost reply
        await waiting


async def test_memory_is_bounded(steps):
    async with ScriptedModel(steps('{say = "a"}')) as model:
        reader, writer = await asyncio.open_connection(*model._server.address)
        for number in range(KEPT_REQUESTS + 5):
            text = json.dumps(body(user("hi"), thread=f"t{number}")).encode()
            writer.write(b"POST /v1/responses HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(text))
            writer.write(text)
            await asyncio.wait_for(reader.readuntil(b"\r\n0\r\n\r\n"), BOUND)
        writer.close()
        await model.wait_for(lambda s: s.number == KEPT_REQUESTS + 5 and s.ended is not None)
        assert len(model.requests) == KEPT_REQUESTS
        assert model.requests[0].number == 6
        assert len(model._threads) == 1000


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"{", "expected a request of the Responses API"),
        (b"[]", "expected a request of the Responses API"),
        (b'{"stream": true}', "missing required field `input`"),
        (b'{"input": [], "stream": false}', "expected `stream` to be true"),
        (b'{"input": [1], "stream": true}', "Expected `object`, got `int`"),
    ],
)
async def test_a_request_that_is_none_is_refused_and_not_remembered(steps, data, text):
    async with ScriptedModel(steps('{say = "a"}')) as model:
        status, said = await post(model.base_url + "/responses", data)
        assert status == 400
        assert text in said
        assert model.requests == ()


async def test_other_paths_and_methods_are_refused(steps):
    async with ScriptedModel(steps('{say = "a"}')) as model:
        assert (await post(model.base_url + "/models", b""))[0] == 405
        assert (await post(model.base_url + "/chat/completions", b""))[0] == 404


async def test_the_config_points_codex_to_the_port_that_was_found(steps):
    async with ScriptedModel(steps('{say = "a"}')) as model:
        provider = model.codex_config()["model_providers"]["scripted"]
        assert provider["base_url"] == model.base_url
        assert model.base_url.startswith("http://127.0.0.1:")
        assert not model.base_url.endswith(":0/v1")


async def test_ipv6_loopback_has_its_brackets(steps):
    async with ScriptedModel(steps('{say = "a"}'), host="::1") as model:
        assert model.base_url.startswith("http://[::1]:")
        assert (await ask(model, user("hi")))[0] == 200


async def test_a_port_that_is_taken_is_an_oserror(steps):
    async with ScriptedModel(steps('{say = "a"}')) as model:
        _, port = model._server.address
        with pytest.raises(OSError, match="address already in use"):
            async with ScriptedModel(steps('{say = "a"}'), port=port):
                pass


def test_scripts_that_contradict_each_other_are_refused_at_once():
    with pytest.raises(ScriptError, match="at most one script without `match`"):
        ScriptedModel([Script("a", ()), Script("b", ())])
    with pytest.raises(ScriptError, match="at least one"):
        ScriptedModel([])


async def test_the_script_of_a_conversation_stays_the_same_when_its_match_is_edited(steps):
    async with ScriptedModel([Script("a", (Step(say="1"),), match="^old")]) as model:
        await ask(model, user("old"))
        said = model.requests[0].reply[0]
    scripts = [Script("a", (Step(say="1"), Step(say="2")), match="^new"), Script("b", ())]
    async with ScriptedModel(scripts) as model:
        await ask(model, user("old"), said)
        assert (model.requests[0].script, model.requests[0].step) == ("a", 1)


async def test_a_script_that_is_gone_is_chosen_anew(steps):
    async with ScriptedModel(steps('{say = "x"}', name="other")) as model:
        await ask(model, user("hi"), {"type": "message", "role": "assistant", "id": "msg_a.0.0.ab"})
        assert model.requests[0].action is Action.CLOSE


def test_equal_items_are_kept_once():
    memory = Memory()
    raw = [msgspec.Raw(b'{"a":1}'), msgspec.Raw(b'{"a":1}'), msgspec.Raw(b'{"b":2}')]
    every, new = memory.take(raw)
    assert every == new == ({"a": 1}, {"a": 1}, {"b": 2})
    again, fresh = memory.take([*raw, msgspec.Raw(b'{"a":1}')])
    assert fresh == ({"a": 1},)
    assert all(item is every[0] for item in (every[1], again[0], again[3]))
    assert memory.take(raw[2:])[1] == ()


async def test_a_defect_ends_the_model_and_is_raised_from_its_block(steps):
    def nonce():
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as raised:  # noqa: PT012 - the end of the block raises
        async with ScriptedModel(steps('{say = "a"}'), nonce=nonce) as model:
            lost = asyncio.create_task(ask(model, user("hi")))
            with pytest.raises(ExceptionGroup):
                await asyncio.wait_for(model.broken(), BOUND)
            await asyncio.gather(lost, return_exceptions=True)
    assert raised.group_contains(ZeroDivisionError)
