"""What is sent next, as a pure function: no server, any conversation."""

import itertools
import json

from hypothesis import given
from hypothesis import strategies as st

from byred.testing.conversation import Kind, output_text, read
from byred.testing.events import events
from byred.testing.play import Action, next_reply
from byred.testing.script import Ask, Call, Part, Script, Step

HEADERS = {"thread-id": "t1"}


def user(text):
    content = [{"type": "input_text", "text": text}]
    return {"type": "message", "role": "user", "content": content}


def output(call, text):
    return {"type": "function_call_output", "call_id": call["call_id"], "output": text}


def play(script, items, *, met=0, headers=HEADERS):
    numbers = itertools.count()
    conversation = read(headers, None, items)
    return next_reply(script, conversation, met=lambda _: met, nonce=lambda: f"{next(numbers):04x}")


def texts(items):
    return [item["content"][0]["text"] for item in items if item["type"] == "message"]


def test_the_thread_comes_from_the_header_else_from_the_cache_key():
    assert read(HEADERS, "key", []).thread == "t1"
    assert read({}, "key", []).thread == "key"
    assert read({}, None, []).thread == ""


def test_broken_metadata_says_nothing():
    for text in ("{", "[]", "1", '{"request_kind": 3, "turn_id": 4}'):
        found = read({"x-codex-turn-metadata": text}, None, [])
        assert (found.kind, found.turn) == (Kind.TURN, None)


def test_the_turn_and_the_kind_come_from_the_metadata():
    metadata = '{"request_kind": "compaction", "turn_id": "u1"}'
    found = read({"x-codex-turn-metadata": metadata}, None, [])
    assert (found.kind, found.turn) == (Kind.COMPACTION, "u1")


def test_a_compaction_without_metadata_is_known_by_its_prompt():
    prompt = "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a summary"
    items = [user("hi"), user(prompt)]
    assert read({}, None, items).kind is Kind.COMPACTION
    assert read({}, None, [*items, user("no")]).kind is Kind.TURN


def test_what_codex_says_in_a_persons_name_is_not_the_first_text():
    environment = "<environment_context>\n  <cwd>/x</cwd>\n</environment_context>"
    agents = "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nbe nice\n</INSTRUCTIONS>"
    both = user(agents)
    both["content"].append({"type": "input_text", "text": environment})
    found = read({}, None, [both, user(environment), user("<task>mine</task>"), user("later")])
    assert found.first_text == "<task>mine</task>"


def test_a_running_command_is_polled_until_it_ends():
    script = Script("s", (Step(parallel=(Part(shell="a"), Part(shell="b"))), Step(say="end")))
    items = [user("hi")]
    first, second = play(script, items).items
    running = "Chunk ID: 1\nProcess running with session ID 77\nOutput:\nso far\n"
    items += [first, second, output(first, running), output(second, "Chunk ID: 2\nOutput:\nok\n")]
    (poll,) = play(script, items).items
    assert poll["name"] == "write_stdin"
    assert json.loads(poll["arguments"])["session_id"] == 77
    items += [poll, output(poll, running)]
    again = play(script, items)
    assert again.action is Action.POLL
    (poll,) = again.items
    items += [poll, output(poll, "write_stdin failed: Unknown process id 77")]
    assert texts(play(script, items).items) == ["end"]


def test_a_command_that_only_prints_such_a_line_is_not_polled():
    script = Script("s", (Step(shell="a"), Step(say="end")))
    items = [user("hi")]
    (call,) = play(script, items).items
    text = "Chunk ID: 1\nProcess exited with code 0\nOutput:\nProcess running with session ID 7\n"
    items += [call, output(call, text)]
    assert texts(play(script, items).items) == ["end"]


def test_a_call_of_the_shell_tool_by_name_is_left_to_run():
    script = Script("s", (Step(call=Call("exec_command", None, {"cmd": "x"})), Step(say="end")))
    items = [user("hi")]
    (call,) = play(script, items).items
    items += [call, output(call, "Chunk\nProcess running with session ID 7\nOutput:\n")]
    assert texts(play(script, items).items) == ["end"]


def test_outputs_are_text_or_lists_of_parts():
    assert output_text("a") == "a"
    assert output_text([{"type": "input_text", "text": "a"}, {"type": "image"}, 1]) == "a"
    assert output_text(None) == ""
    assert output_text([{"type": "input_text", "text": "b"}, {"text": "c"}]) == "bc"


def test_a_raw_string_of_arguments_is_sent_as_it_is():
    script = Script("s", (Step(call=Call("x", None, '{answer} {"')),))
    (call,) = play(script, [user("hi")]).items
    assert call["arguments"] == '{answer} {"'
    assert "namespace" not in call


def test_names_for_files_and_titles_come_from_the_first_line():
    script = Script("s", (Step(say="{slug}|{title}|{thread}"),))
    long = "word " * 40
    for text, expected in [
        ("Fix: the `Bug`/../x\nsecond line", "fix-the-bug-x|Fix: the `Bug`/../x|t1"),
        ("日本語", "task|日本語|t1"),
        ("  \n ", "task||t1"),
        (long, f"{'-'.join(['word'] * 8)}|{long[:72]}|t1"),
    ]:
        assert texts(play(script, [user(text)]).items) == [expected]


def test_a_summary_of_a_compaction_of_a_compaction_still_knows_the_place():
    script = Script("s", tuple(Step(say=str(n)) for n in range(5)))
    head = "Another language model started to solve this problem and produced a summary.\n"
    items = [user("hi"), user(head + "x\n[scripted s.1]"), user(head + "y\n[scripted s.3]")]
    assert texts(play(script, items).items) == ["3"]
    items.append(user("[scripted s.0] is what a person may say"))
    assert texts(play(script, items).items) == ["3"]


def without_ids(items):
    """As codex 0.144 sends them back."""
    return [
        {
            key: value
            for key, value in item.items()
            if key != "id" or item["type"] == "function_call"
        }
        for item in items
    ]


def test_messages_that_come_back_without_ids_are_counted():
    steps = (
        Step(say="a"),
        Step(say="b", shell="x"),
        Step(reasoning="r", say="c"),
        Step(say="d", ask=Ask("q")),
    )
    script = Script("s", steps)
    items = [user("hi")]
    said = []
    for _ in range(6):
        reply = play(script, without_ids(items))
        said += texts(reply.items)
        items += [*reply.items, *(output(i, "ok") for i in reply.items if "call_id" in i)]
        items.append(user("on"))
    assert said[:4] == ["a", "b", "c", "d"]
    assert said[4] == said[5] == "The script s is at its end: nothing is left to do."


some_steps = st.lists(
    st.builds(
        lambda reasoning, say, calls: Step(
            reasoning="r" if reasoning else None,
            say="m" if say or not calls else None,
            parallel=tuple(Part(shell="x") if c else Part(ask="q") for c in calls),
        ),
        st.booleans(),
        st.booleans(),
        st.lists(st.booleans(), max_size=3),
    ),
    min_size=1,
    max_size=6,
)


def shape(step):
    kinds = ["reasoning"] * (step.reasoning is not None) + ["message"] * (step.say is not None)
    return kinds + ["function_call"] * len(step.parts)


@given(some_steps, st.lists(st.integers(0, 6), max_size=30), st.booleans())
def test_every_item_is_played_once_in_order_whatever_is_lost_on_the_way(steps, kept, new_turns):
    """Each reply reaches the conversation only up to an item: a kill or a cut takes the rest."""
    script = Script("s", tuple(steps))
    items = [user("hi")]
    got = []
    for keep in [*kept, *[9] * (len(steps) + 1)]:
        reply = play(script, items)
        if reply.action is Action.CLOSE:
            break
        stored = list(reply.items[:keep])
        got += stored
        items += stored
        items += [output(item, "aborted") for item in stored if item["type"] == "function_call"]
        if new_turns:
            items.append(user("continue"))
    assert [item["type"] for item in got] == [kind for step in steps for kind in shape(step)]
    ids = [item.get("call_id") or item["id"] for item in got]
    assert len(set(ids)) == len(ids)


odd_keys = st.sampled_from(["type", "role", "content", "id", "call_id", "output", "name"])
odd_values = st.sampled_from(
    [
        *["message", "user", "assistant", "reasoning", "function_call", "function_call_output"],
        *["ask_human", "call_s.0.0.ab", "call_s.99.99.ab", "msg_s.1.0.ab", "aborted"],
        None,
        3,
        ["x"],
        [{"text": "t"}],
        [{"text": 3}],
        "A\nProcess running with session ID 5\nOutput:\n",
    ]
)


@given(st.lists(st.dictionaries(odd_keys, odd_values), max_size=8))
def test_any_conversation_gets_a_reply(items):
    script = Script("s", (Step(shell="x"), Step(say="{answer} {last_output} {slug}"), Step(cut=2)))
    reply = play(script, items)
    encoded = b"".join(event.encode() for event in events(reply, "r"))
    assert encoded.startswith(b"event: response.created\n")


@given(st.text(), st.text())
def test_text_of_any_kind_is_one_line_on_the_wire(prompt, said):
    script = Script("s", (Step(stream=(said, "{first_text}")),))
    reply = play(script, [user(prompt)])
    for event in events(reply, "r"):
        kind, data, *rest = event.encode().decode().split("\n")
        assert rest == ["", ""]
        assert kind == f"event: {event.kind}"
        assert json.loads(data.removeprefix("data: "))["type"] == event.kind
