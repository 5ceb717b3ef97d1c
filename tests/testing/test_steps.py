"""Every kind of step, played to the real codex."""

import json
import time

import pytest

from byred.testing.model import ScriptedModel
from byred.testing.play import Action
from byred.testing.records import Outcome


def outputs(sent):
    """The outputs of calls that a request carries, in order."""
    return [item["output"] for item in sent.input if item["type"] == "function_call_output"]


async def test_a_message_is_what_the_agent_says(bench, steps):
    async with ScriptedModel(steps('{say = "Hello"}')) as model:
        codex = await bench.codex(model)
        turn = await codex.turn(await codex.thread(), "hi")
        assert turn["status"] == "completed"
        assert codex.texts() == ["Hello"]
        assert [sent.outcome for sent in model.requests] == [Outcome.SENT]


async def test_a_streamed_message_comes_in_its_chunks(bench, steps):
    script = steps('{stream = ["one ", "two ", "{first_text}"]}', '{stream = "by  words"}')
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        thread = await codex.thread()
        await codex.turn(thread, "three")
        await codex.turn(thread, "more")
        deltas = [
            m["params"]["delta"] for m in codex.seen if m["method"] == "item/agentMessage/delta"
        ]
        assert deltas == ["one ", "two ", "three", "by  ", "words"]
        assert codex.texts() == ["one two three", "by  words"]


async def test_the_chunks_of_a_stream_come_apart_by_its_pause(bench, steps):
    async with ScriptedModel(steps('{stream = ["a", "b", "c"], pause = 0.2}')) as model:
        codex = await bench.codex(model)
        await codex.turn(await codex.thread(), "hi")
        (sent,) = model.requests
        assert sent.ended - sent.at >= 0.6


async def test_reasoning_comes_before_the_message(bench, steps):
    async with ScriptedModel(steps('{reasoning = "Hm", say = "Yes"}')) as model:
        codex = await bench.codex(model)
        await codex.turn(await codex.thread(), "hi")
        items = [m["params"]["item"] for m in codex.seen if m["method"] == "item/completed"]
        assert [item["type"] for item in items] == ["userMessage", "reasoning", "agentMessage"]
        assert items[1]["summary"] == ["Hm"]


async def test_a_shell_command_runs_and_its_output_can_be_said(bench, steps):
    script = steps("""{shell = "echo $PORT; echo 'a  b'"}""", '{say = "It said <{last_output}>"}')
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        await codex.turn(await codex.thread(), "hi")
        assert codex.texts() == ["It said <4711\na  b>"]


async def test_a_placeholder_is_one_word_of_a_shell_command_whatever_it_holds(bench, steps):
    script = steps("""{shell = "printf '<%s>' {first_text} $HOME {unknown}"}""", '{say = "ok"}')
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        await codex.turn(await codex.thread(), "'; touch pwned; echo \"$(id)`")
        assert not (codex.cwd / "pwned").exists()
        said = outputs(model.requests[1])[0].partition("Output:\n")[2]
        assert said == f"<'; touch pwned; echo \"$(id)`><{codex.home}><{{unknown}}>"


async def test_a_command_that_runs_long_is_waited_for(bench, steps):
    script = steps('{shell = "sleep 11; echo finally"}', '{say = "{last_output}"}')
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        await codex.turn(await codex.thread(), "hi")
        assert codex.texts() == ["finally"]
        assert [(sent.action, sent.step) for sent in model.requests] == [
            (Action.PLAY, 0),
            (Action.POLL, 0),
            (Action.PLAY, 1),
        ]


async def test_a_question_reaches_the_client_and_its_answer_the_script(bench, steps):
    script = steps(
        '{ask = {text = "For {title}?", options = ["a", "b"], context = "c", default = "a",'
        ' deadline = "5m"}}',
        '{shell = "printf %s {answer} > answer.txt"}',
        '{say = "You said {answer}"}',
    )
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        turn = await codex.begin(await codex.thread(), "lunch")
        asked = await codex.wait("item/tool/call")
        assert asked["params"]["namespace"] == "byre"
        assert asked["params"]["tool"] == "ask_human"
        assert asked["params"]["arguments"] == {
            "text": "For lunch?",
            "options": ["a", "b"],
            "context": "c",
            "default": "a",
            "deadline": "5m",
        }
        await codex.answer(asked, "neither 'a' nor b")
        await codex.ended(turn)
        assert (codex.cwd / "answer.txt").read_text() == "neither 'a' nor b"
        # Two steps later it is still the person's answer, not the command's output.
        assert codex.texts() == ["You said neither 'a' nor b"]


async def test_a_short_question_has_nothing_but_its_text(bench, steps):
    async with ScriptedModel(steps('{ask = "Well?"}')) as model:
        codex = await bench.codex(model)
        turn = await codex.begin(await codex.thread(), "hi")
        asked = await codex.wait("item/tool/call")
        assert asked["params"]["arguments"] == {"text": "Well?"}
        await codex.answer(asked, "yes")
        await codex.ended(turn)


@pytest.mark.parametrize("arguments", ['{"txt": 1}', "[]", '"just text"'])
async def test_arguments_that_violate_the_schema_arrive_as_they_are(bench, steps, arguments):
    call = f"{{call = {{namespace = 'byre', name = 'ask_human', arguments = '{arguments}'}}}}"
    async with ScriptedModel(steps(call)) as model:
        codex = await bench.codex(model)
        turn = await codex.begin(await codex.thread(), "hi")
        asked = await codex.wait("item/tool/call")
        assert asked["params"]["arguments"] == json.loads(arguments)
        await codex.answer(asked, "no")
        await codex.ended(turn)


async def test_arguments_that_are_not_json_are_refused_by_codex_and_the_script_goes_on(
    bench, steps
):
    call = "{call = {namespace = 'byre', name = 'ask_human', arguments = '{\"text'}}"
    async with ScriptedModel(steps(call, '{say = "{last_output}"}')) as model:
        codex = await bench.codex(model)
        turn = await codex.turn(await codex.thread(), "hi")
        assert turn["status"] == "completed"
        assert "failed to parse" in codex.texts()[0]


async def test_a_call_of_any_tool_has_its_placeholders_filled_in(bench, steps):
    call = """{call = {name = "exec_command", arguments = {cmd = "echo {title}; exit 3"}}}"""
    async with ScriptedModel(steps(call, '{say = "{last_output}"}')) as model:
        codex = await bench.codex(model)
        await codex.turn(await codex.thread(), "hi")
        assert codex.texts() == ["hi"]
        assert "exited with code 3" in outputs(model.requests[1])[0]


async def test_parallel_calls_come_in_one_reply_and_their_outputs_in_one_request(bench, steps):
    script = steps(
        '{parallel = [{shell = "echo b"}, {ask = "a"}, {ask = {text = "c"}}]}', '{say = "done"}'
    )
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        turn = await codex.begin(await codex.thread(), "hi")
        # Codex 0.163 hands a client the calls of one reply one after the other.
        for text in ("a", "c"):
            asked = await codex.wait(
                "item/tool/call", lambda p, t=text: p["arguments"] == {"text": t}
            )
            await codex.answer(asked, f"answer to {text}")
        await codex.ended(turn)
        assert len(model.requests) == 2
        shell, first, second = outputs(model.requests[1])
        assert shell.endswith("Output:\nb\n")
        assert (first, second) == ("answer to a", "answer to c")


async def test_usage_is_what_the_client_counts(bench, steps):
    script = steps(
        '{say = "a", usage = {input = 1000, cached_input = 400, output = 50, reasoning = 7}}',
        '{say = "b"}',
    )
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        thread = await codex.thread()
        await codex.turn(thread, "hi")
        before = len(codex.seen)
        first = [m for m in codex.seen if m["method"] == "thread/tokenUsage/updated"][-1]
        await codex.turn(thread, "more")
        second = await codex.wait("thread/tokenUsage/updated", after=before)
        total = first["params"]["tokenUsage"]["total"]
        assert total["inputTokens"] == 1000
        assert total["cachedInputTokens"] == 400
        assert total["outputTokens"] == 50
        assert total["reasoningOutputTokens"] == 7
        assert total["totalTokens"] == 1050
        assert second["params"]["tokenUsage"]["total"]["totalTokens"] == 1050 + 120


async def test_headers_go_with_the_reply(bench, steps):
    script = steps(
        '{say = "a", headers = {x-codex-primary-used-percent = "42",'
        ' x-codex-primary-window-minutes = "300"}}'
    )
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        await codex.turn(await codex.thread(), "hi")
        limits = await codex.wait(
            "account/rateLimits/updated", lambda p: p["rateLimits"]["primary"] is not None
        )
        assert limits["params"]["rateLimits"]["primary"]["usedPercent"] == 42


async def test_a_delay_in_seconds_holds_the_reply(bench, steps):
    async with ScriptedModel(steps('{say = "a", delay = 0.7}')) as model:
        codex = await bench.codex(model)
        before = time.monotonic()
        await codex.turn(await codex.thread(), "hi")
        assert time.monotonic() - before >= 0.7


async def test_a_gate_holds_the_reply_until_it_is_opened(bench, steps):
    async with ScriptedModel(steps('{say = "a", delay = "dawn"}', '{say = "b"}')) as model:
        codex = await bench.codex(model)
        thread = await codex.thread()
        turn = await codex.begin(thread, "hi")
        await model.gate("dawn").reached(30)
        assert codex.texts() == []
        assert model.requests[0].outcome is Outcome.OPEN
        model.gate("dawn").open()
        await codex.ended(turn)
        assert codex.texts() == ["a"]
        assert model.requests[0].outcome is Outcome.SENT


async def test_an_interrupted_turn_abandons_the_reply_that_a_gate_holds(bench, steps):
    async with ScriptedModel(steps('{say = "a", delay = "never"}')) as model:
        codex = await bench.codex(model)
        thread = await codex.thread()
        turn = await codex.begin(thread, "hi")
        await model.gate("never").reached(30)
        await codex.wait("turn/started")
        await codex.call("turn/interrupt", {"threadId": thread, "turnId": turn})
        assert (await codex.ended(turn))["status"] == "interrupted"
        await model.wait_for(lambda sent: sent.outcome is Outcome.ABANDONED)


async def test_when_the_steps_are_used_up_it_says_so_every_time(bench, steps):
    async with ScriptedModel(steps('{say = "only"}')) as model:
        codex = await bench.codex(model)
        thread = await codex.thread()
        for _ in range(3):
            assert (await codex.turn(thread, "go on"))["status"] == "completed"
        closing = "The script s is at its end: nothing is left to do."
        assert codex.texts() == ["only", closing, closing]
        assert [sent.step for sent in model.requests] == [0, None, None]


async def test_the_model_list_is_in_the_form_that_codex_reads(bench, steps, tmp_path):
    async with ScriptedModel(steps('{say = "a"}')) as model:
        plain = await bench.codex(model)
        await plain.turn(await plain.thread(), "hi")
        warned = [m["params"]["message"] for m in plain.seen if m["method"] == "warning"]
        assert any("metadata for `scripted` not found" in text for text in warned)

        catalogue = tmp_path / "models.json"
        catalogue.write_bytes(await bench.get(model.base_url + "/models"))
        informed = await bench.codex(model, "informed", model_catalog_json=str(catalogue))
        await informed.turn(await informed.thread(), "hi")
        assert informed.texts() == ["a"]
        assert [m for m in informed.seen if m["method"] == "warning"] == []
