"""Errors, limits and broken streams, as the real codex meets them."""

import pytest

from byred.testing.model import ScriptedModel
from byred.testing.play import Action
from byred.testing.records import Outcome

# The step, what the client is told, and how many requests codex makes of it (one retry each).
ERRORS = [
    (
        '{error = {status = 429, code = "usage_limit_reached", resets_in = 3600}, times = 9}',
        "usageLimitExceeded",
        1,
    ),
    (
        '{error = {status = 429, code = "rate_limit_exceeded"}, times = 9}',
        {"responseTooManyFailedAttempts": {"httpStatusCode": 429}},
        1,
    ),
    (
        '{error = {status = 429}, headers = {retry-after = "1"}, times = 9}',
        {"responseTooManyFailedAttempts": {"httpStatusCode": 429}},
        2,
    ),
    (
        "{error = {status = 401}, times = 9}",
        {"httpConnectionFailed": {"httpStatusCode": 401}},
        2,
    ),
    (
        '{error = {status = 503, code = "server_is_overloaded"}, times = 9}',
        "serverOverloaded",
        2,
    ),
    (
        '{error = {status = 503, body = "<h1>Sorry</h1>"}, times = 9}',
        {"httpConnectionFailed": {"httpStatusCode": 503}},
        4,
    ),
    ("{error = {status = 503}, times = 9}", {"httpConnectionFailed": {"httpStatusCode": 503}}, 4),
    ("{error = {status = 500}, times = 9}", "internalServerError", 4),
    ('{error = {code = "context_length_exceeded"}, times = 9}', "contextWindowExceeded", 1),
    ('{error = {code = "insufficient_quota"}, times = 9}', "usageLimitExceeded", 1),
]


@pytest.mark.parametrize(("step", "info", "requests"), ERRORS)
async def test_an_error_reaches_the_client_as_what_it_is(bench, steps, step, info, requests):
    async with ScriptedModel(steps(step)) as model:
        codex = await bench.codex(model)
        turn = await codex.turn(await codex.thread(), "hi")
        assert turn["status"] == "failed"
        assert turn["error"]["codexErrorInfo"] == info
        seen = [(sent.action, sent.step, sent.outcome) for sent in model.requests]
        assert seen == [(Action.ERROR, 0, Outcome.ERROR)] * requests


async def test_a_usage_limit_says_when_it_resets(bench, steps):
    step = '{error = {status = 429, code = "usage_limit_reached", resets_in = 90000}}'
    async with ScriptedModel(steps(step)) as model:
        codex = await bench.codex(model)
        turn = await codex.turn(await codex.thread(), "hi")
        assert "try again at" in turn["error"]["message"]


async def test_an_error_meets_as_many_requests_as_it_says_then_the_step_is_played(bench, steps):
    script = steps('{error = {status = 500}, times = 3, say = "at last"}', '{say = "next"}')
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        thread = await codex.thread()
        assert (await codex.turn(thread, "hi"))["status"] == "completed"
        assert codex.texts() == ["at last"]
        assert [sent.step for sent in model.requests] == [0, 0, 0, 0]
        await codex.turn(thread, "more")
        assert codex.texts() == ["at last", "next"]


async def test_an_error_with_nothing_to_play_gives_way_to_the_next_step(bench, steps):
    script = steps(
        '{say = "a"}', "{error = {status = 429}}", "{error = {status = 503}}", '{say = "b"}'
    )
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        thread = await codex.thread()
        await codex.turn(thread, "hi")
        # One request and codex's one retry of it meet the two errors.
        assert (await codex.turn(thread, "more"))["status"] == "failed"
        assert (await codex.turn(thread, "again"))["status"] == "completed"
        assert codex.texts() == ["a", "b"]
        assert [sent.step for sent in model.requests] == [0, 1, 2, 3]


async def test_each_thread_meets_an_error_of_its_own(bench, steps):
    script = steps('{error = {status = 429, code = "usage_limit_reached"}, say = "a"}')
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        for _ in range(2):
            thread = await codex.thread()
            assert (await codex.turn(thread, "hi"))["status"] == "failed"
            assert (await codex.turn(thread, "hi"))["status"] == "completed"
        assert codex.texts() == ["a", "a"]


@pytest.mark.parametrize("cut", [1, 2, 3, 4])
async def test_a_stream_that_is_cut_is_played_whole_when_codex_comes_back(bench, steps, cut):
    script = steps(f'{{cut = {cut}, stream = ["one ", "two"]}}', '{say = "next"}')
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        thread = await codex.thread()
        turn = await codex.turn(thread, "hi")
        assert turn["status"] == "completed"
        retried = await codex.wait("error")
        assert retried["params"]["willRetry"] is True
        assert list(retried["params"]["error"]["codexErrorInfo"]) == ["responseStreamDisconnected"]
        assert codex.texts() == ["one two"]
        assert [sent.outcome for sent in model.requests] == [Outcome.CUT, Outcome.SENT]


async def test_a_cut_behind_a_finished_item_does_not_play_that_item_twice(bench, steps):
    script = steps('{cut = 2, say = "first", shell = "echo second >> log"}', '{say = "end"}')
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        await codex.turn(await codex.thread(), "hi")
        assert codex.texts() == ["first", "end"]
        assert (codex.cwd / "log").read_text() == "second\n"
        types = [[item["type"] for item in sent.reply] for sent in model.requests]
        assert types == [["message", "function_call"], ["function_call"], ["message"]]


async def test_a_call_that_came_before_the_cut_is_run_once(bench, steps):
    script = steps('{cut = 2, shell = "echo once >> log"}', '{say = "end"}')
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        await codex.turn(await codex.thread(), "hi")
        assert (codex.cwd / "log").read_text() == "once\n"
        assert [sent.step for sent in model.requests] == [0, 1]


async def test_a_stream_that_is_always_cut_fails_the_turn(bench, steps):
    async with ScriptedModel(steps("{cut = 1, times = 9}")) as model:
        codex = await bench.codex(model)
        turn = await codex.turn(await codex.thread(), "hi")
        assert turn["status"] == "failed"
        assert turn["error"]["codexErrorInfo"] == "other"
        assert turn["error"]["message"].startswith("stream disconnected before completion")
        assert len(model.requests) == 2
