"""The script goes on at the right step whatever is killed, resumed, compacted or forked."""

import signal

from byred.testing.conversation import Kind
from byred.testing.model import ScriptedModel
from byred.testing.play import Action
from byred.testing.records import Outcome
from byred.testing.script import Script, Step, parse


async def resumed(bench, model, old, thread):
    """A new server on the same home, with the thread of the killed one."""
    await old.stop(signal.SIGKILL)
    codex = await bench.codex(model)
    await codex.call("thread/resume", {"threadId": thread, "excludeTurns": True})
    return codex


def answer_as_output(text):
    return {
        "toolOutput": {
            "name": "ask_human",
            "namespace": "byre",
            "output": text,
            "retain": True,
        }
    }


async def test_a_request_whose_reply_was_lost_in_a_kill_gets_the_same_step_again(bench, steps):
    script = steps('{say = "a"}', '{say = "b", delay = "hold"}', '{say = "c"}')
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        thread = await codex.thread()
        await codex.turn(thread, "hi")
        await codex.begin(thread, "more")
        await model.gate("hold").reached(30)
        codex = await resumed(bench, model, codex, thread)
        lost = await model.wait_for(lambda sent: sent.number == 2 and sent.ended is not None)
        assert lost.outcome is Outcome.ABANDONED
        model.gate("hold").open()
        await codex.turn(thread, "go on, please")
        await codex.turn(thread, "and on")
        assert codex.texts() == ["b", "c"]
        assert [sent.step for sent in model.requests] == [0, 1, 1, 2]


async def test_a_command_that_a_kill_interrupted_is_not_run_again(bench, steps):
    script = steps('{shell = "echo started >> log; sleep 60"}', '{say = "<{last_output}>"}')
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        thread = await codex.thread()
        await codex.begin(thread, "hi")
        begun = await codex.wait("item/started", lambda p: p["item"]["type"] == "commandExecution")
        assert begun
        codex = await resumed(bench, model, codex, thread)
        await codex.turn(thread, "go on")
        assert codex.texts() == ["<aborted>"]
        assert [sent.step for sent in model.requests] == [0, 1]


async def test_an_answer_that_comes_after_a_kill_reaches_the_script_as_tool_output(bench, steps):
    script = steps(
        '{ask = "Colour?"}', '{shell = "printf %s {answer} > c.txt"}', '{say = "{answer}!"}'
    )
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        thread = await codex.thread()
        await codex.begin(thread, "hi")
        await codex.wait("item/tool/call")
        codex = await resumed(bench, model, codex, thread)
        turn = await codex.turn(thread, **answer_as_output("blue"))
        assert turn["status"] == "completed"
        assert (codex.cwd / "c.txt").read_text() == "blue"
        assert codex.texts() == ["blue!"]
        assert [sent.step for sent in model.requests] == [0, 1, 2]
        # What the model was told since the question: its fate, and the answer, once.
        new = [item for item in model.requests[1].new if item["type"] == "function_call_output"]
        assert [item["output"] for item in new] == ["aborted", "blue"]


async def test_an_answer_that_comes_after_a_kill_reaches_the_script_as_text(bench, steps):
    script = steps('{ask = "Colour?"}', '{say = "{answer}!"}', '{say = "still {answer}"}')
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        thread = await codex.thread()
        await codex.begin(thread, "hi")
        await codex.wait("item/tool/call")
        codex = await resumed(bench, model, codex, thread)
        await codex.turn(thread, "blue")
        await codex.turn(thread, "thank you")
        assert codex.texts() == ["blue!", "still blue"]


async def test_the_script_goes_on_with_another_model_that_knows_nothing_of_the_first(bench, steps):
    script = steps('{say = "a"}', '{shell = "true"}', '{ask = "b"}', '{say = "c {answer}"}')
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        thread = await codex.thread()
        await codex.turn(thread, "hi")
        await codex.begin(thread, "more")
        await codex.wait("item/tool/call")
        await codex.stop(signal.SIGKILL)
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        await codex.call("thread/resume", {"threadId": thread, "excludeTurns": True})
        await codex.turn(thread, **answer_as_output("x"))
        assert codex.texts() == ["c x"]
        assert [sent.step for sent in model.requests] == [3]
        # To this model the whole conversation is new.
        assert model.requests[0].new == model.requests[0].input


async def test_a_model_that_is_gone_for_a_while_is_found_again_on_its_port(bench, steps):
    script = steps('{say = "a"}', '{say = "b"}')
    async with ScriptedModel(script) as model:
        port = int(model.base_url.rpartition(":")[2].removesuffix("/v1"))
        codex = await bench.codex(model)
        thread = await codex.thread()
        await codex.turn(thread, "hi")
    # Codex 0.163 waits, whatever its retries, when nobody listens.
    turn = await codex.begin(thread, "anyone?")
    assert (await codex.wait("error"))["params"]["willRetry"] is True
    async with ScriptedModel(script, port=port):
        assert (await codex.ended(turn))["status"] == "completed"
        assert codex.texts() == ["a", "b"]


async def test_a_fork_goes_on_where_it_left_and_so_does_its_parent(bench, steps):
    script = steps('{say = "a"}', '{say = "b"}', '{say = "c"}')
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        parent = await codex.thread()
        await codex.turn(parent, "hi")
        fork = (await codex.call("thread/fork", {"threadId": parent}))["thread"]["id"]
        await codex.turn(fork, "on")
        await codex.turn(fork, "on")
        await codex.turn(parent, "on")
        assert [(sent.thread == fork, sent.step) for sent in model.requests] == [
            (False, 0),
            (True, 1),
            (True, 2),
            (False, 1),
        ]


async def test_a_compaction_gets_the_summary_and_the_script_goes_on_behind_it(bench, steps):
    script = steps('{say = "a"}', '{shell = "true"}', '{say = "b"}', '{say = "c {title}"}')
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        thread = await codex.thread()
        await codex.turn(thread, "hi")
        await codex.turn(thread, "more")
        before = len(codex.seen)
        await codex.call("thread/compact/start", {"threadId": thread})
        await codex.wait("turn/completed", after=before)
        await codex.turn(thread, "last")
        await codex.turn(thread, "over")
        asked = [(sent.kind, sent.action, sent.step) for sent in model.requests[3:]]
        assert asked == [
            (Kind.COMPACTION, Action.COMPACT, None),
            (Kind.TURN, Action.PLAY, 3),
            (Kind.TURN, Action.CLOSE, None),
        ]
        assert codex.texts()[2] == "c hi"
        summary = model.requests[4].input[-2]["content"][0]["text"]
        assert summary.endswith("The script goes on where it was.\n[scripted s.3]")


async def test_usage_that_fills_the_context_makes_codex_compact_in_mid_turn(bench, steps):
    script = steps('{shell = "true", usage = {input = 260000, output = 10}}', '{say = "b"}')
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        await codex.turn(await codex.thread(), "hi")
        assert [sent.kind for sent in model.requests] == [Kind.TURN, Kind.COMPACTION, Kind.TURN]
        assert codex.texts() == ["b"]


async def test_the_script_is_chosen_by_the_first_user_text_and_not_by_what_codex_adds(bench):
    scripts = parse("""
[[scripts]]
name = "agents"
match = "AGENTS|cwd|nice"
steps = [{say = "wrong"}]
[[scripts]]
name = "second"
match = "^Second"
steps = [{say = "2"}, {say = "2 again"}]
[[scripts]]
name = "rest"
steps = [{say = "rest"}]
""")
    async with ScriptedModel(scripts) as model:
        codex = await bench.codex(model)
        (codex.cwd / ".git").mkdir()
        (codex.cwd / "AGENTS.md").write_text("be nice\n")
        second, other = await codex.thread(), await codex.thread()
        await codex.turn(second, "Second thing")
        await codex.turn(other, "First, then Second")
        await codex.turn(second, "First, be nice")
        assert codex.texts() == ["2", "rest", "2 again"]
        assert {sent.script for sent in model.requests} == {"second", "rest"}


async def test_a_prompt_that_no_script_matches_fails_the_turn_and_says_so(bench):
    async with ScriptedModel([Script("x", (Step(say="x"),), match="^x")]) as model:
        codex = await bench.codex(model)
        turn = await codex.turn(await codex.thread(), "something else")
        assert turn["status"] == "failed"
        assert "no script matches 'something else'" in turn["error"]["message"]


async def test_two_threads_of_one_server_are_at_their_own_steps(bench, steps):
    script = steps('{ask = "{title} 1"}', '{ask = "{title} 2"}', '{say = "{answer}"}')
    async with ScriptedModel(script) as model:
        codex = await bench.codex(model)
        threads = {name: await codex.thread() for name in ("one", "two")}
        turns = [await codex.begin(thread, name) for name, thread in threads.items()]
        for number in (1, 2):
            for name in ("two", "one"):
                text = f"{name} {number}"
                asked = await codex.wait(
                    "item/tool/call", lambda p, t=text: p["arguments"]["text"] == t
                )
                await codex.answer(asked, f"<{text}>")
        for turn in turns:
            await codex.ended(turn)
        assert sorted(codex.texts()) == ["<one 2>", "<two 2>"]
        for name, thread in threads.items():
            mine = [sent for sent in model.requests if sent.thread == thread]
            assert [sent.step for sent in mine] == [0, 1, 2], name
            assert all(sent.input == mine[-1].input[: len(sent.input)] for sent in mine)


async def test_twenty_servers_play_one_model_at_once(bench, steps):
    script = steps('{shell = "echo {title} > done.txt"}', '{say = "{title}"}')
    async with ScriptedModel(script) as model:
        codexes = [await bench.codex(model, f"home{n}") for n in range(20)]
        turns = [
            await codex.begin(await codex.thread(), f"t{n}") for n, codex in enumerate(codexes)
        ]
        for n, (codex, turn) in enumerate(zip(codexes, turns, strict=True)):
            assert (await codex.ended(turn))["status"] == "completed"
            assert codex.texts() == [f"t{n}"]
            assert (codex.cwd / "done.txt").read_text() == f"t{n}\n"
        assert len(model.requests) == 40
        assert len({sent.thread for sent in model.requests}) == 20
