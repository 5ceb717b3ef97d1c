"""Single kinds of lines, and what they add to a turn."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byred.codex.rollout import reading
from byred.codex.rollout.line import parse
from byred.codex.rollout.story import Kind, TurnStatus
from byred.codex.rollout.telling import Teller
from byred.codex.rollout.types import EVENTS, ITEMS
from byred.codex.rollout.types.turn_items import TURN_ITEMS

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2)
    ),
    max_leaves=5,
)


def line(kind, payload):
    return parse(json.dumps({"timestamp": "t", "type": kind, "payload": payload}).encode())


def told(*payloads, end=True):
    """Tell one turn of these (kind, payload) pairs."""
    teller = Teller()
    teller.feed(line("event_msg", {"type": "task_started", "turn_id": "t1"}))
    for kind, payload in payloads:
        assert teller.feed(line(kind, payload)) is None
    if end:
        teller.feed(line("event_msg", {"type": "task_complete", "turn_id": "t1"}))
    turn = teller.finish()
    assert turn is not None
    return turn


def steps(*payloads):
    return told(*payloads).steps


def event(tag, **payload):
    return "event_msg", {"type": tag, **payload}


def item(tag, **payload):
    return "response_item", {"type": tag, **payload}


def completed(tag, **payload):
    return event("item_completed", item={"type": tag, **payload})


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["event_msg", "response_item", "compacted", "turn_context", "x"]),
            st.sampled_from([*EVENTS, *ITEMS]) | st.text(max_size=3),
            st.dictionaries(
                st.sampled_from(
                    [
                        "item",
                        "message",
                        "content",
                        "call_id",
                        "output",
                        "arguments",
                        "command",
                        "changes",
                        "result",
                        "info",
                        "text",
                        "summary",
                        "role",
                        "duration",
                        "action",
                        "turn_id",
                        "error",
                        "reason",
                        "num_turns",
                        "plan",
                        "images",
                        "name",
                    ]
                ),
                json_values,
            ),
        ),
        max_size=12,
    ),
    st.sampled_from(sorted(TURN_ITEMS)),
)
def test_whatever_stands_in_the_fields_a_story_comes_out(lines, tag):
    teller = Teller(own_id="01a")
    turns = []
    for kind, name, payload in lines:
        doc = {**payload, "type": name}
        if isinstance(doc.get("item"), dict):
            doc["item"] = {**doc["item"], "type": tag}
        turn = teller.feed(line(kind, doc))
        turns += [turn] if turn else []
    last = teller.finish()
    turns += [last] if last else []
    assert [turn.number for turn in turns] == list(range(1, len(turns) + 1))


def test_a_message_is_told_once_whichever_of_its_lines_comes_first():
    said = item("message", role="assistant", content=[{"type": "output_text", "text": "hi"}])
    for pair in (
        [event("agent_message", message="hi", phase="final_answer"), said],
        [said, event("agent_message", message="hi")],
        [completed("AgentMessage", content=[{"type": "Text", "text": "hi"}]), said],
        [said],
        [event("agent_message", message="hi")],
    ):
        assert [(step.kind, step.text) for step in steps(*pair)] == [(Kind.SAID, "hi")]


def test_the_same_words_twice_are_told_twice():
    said = item("message", role="assistant", content=[{"type": "output_text", "text": "ok"}])
    pair = [event("agent_message", message="ok"), said]
    assert [step.text for step in steps(*pair, *pair)] == ["ok", "ok"]


def test_thoughts_are_told_once_and_what_is_recorded_of_them():
    whole = item(
        "reasoning",
        summary=[{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
        content=[{"type": "reasoning_text", "text": "c"}],
    )
    by_event = [event("agent_reasoning", text="a"), event("agent_reasoning", text="b"), whole]
    assert [step.text for step in steps(*by_event)] == ["a", "b", "c"]
    assert [step.text for step in steps(whole)] == ["a\n\nb\n\nc"]
    assert steps(item("reasoning", summary=[], content=None)) == ()


def test_a_message_that_no_event_calls_asked_is_context():
    given_ = item("message", role="user", content=[{"type": "input_text", "text": "<env/>"}])
    assert [step.kind for step in steps(given_)] == [Kind.CONTEXT]
    developer = item("message", role="developer", content=[{"type": "input_text", "text": "do"}])
    assert [step.kind for step in steps(developer)] == [Kind.CONTEXT]


def test_items_between_two_turns_belong_to_the_one_that_sees_them():
    teller = Teller()
    teller.feed(line("event_msg", {"type": "task_started", "turn_id": "t1"}))
    teller.feed(line("event_msg", {"type": "task_complete", "turn_id": "t1"}))
    part = {"type": "input_text", "text": "injected"}
    teller.feed(line("response_item", {"type": "message", "role": "user", "content": [part]}))
    first = teller.feed(line("event_msg", {"type": "task_started", "turn_id": "t2"}))
    second = teller.finish()
    assert first.steps == ()
    assert [step.text for step in second.steps] == ["injected"]


def test_items_without_any_turn_are_told_all_the_same():
    teller = Teller()
    part = {"type": "output_text", "text": "hello"}
    teller.feed(line("response_item", {"type": "message", "role": "assistant", "content": [part]}))
    turn = teller.finish()
    assert [step.text for step in turn.steps] == ["hello"]
    assert teller.finish() is None


def test_commands_of_every_version_are_commands():
    for name, arguments, text in (
        ("exec_command", {"cmd": "ls -l"}, "ls -l"),
        ("shell", {"command": ["bash", "-lc", "ls | wc"]}, "ls | wc"),
        ("shell", {"command": ["ls", "a b"]}, "ls 'a b'"),
        ("shell_command", {"command": "ls"}, "ls"),
    ):
        call = item("function_call", name=name, call_id="c", arguments=json.dumps(arguments))
        (step,) = steps(call, item("function_call_output", call_id="c", output="Output:\nx"))
        assert (step.kind, step.text, step.output) == (Kind.RAN, text, "x")


def test_outputs_lose_codexs_header_and_keep_what_it_says():
    told_ = reading.ran(
        "Chunk ID: a\nWall time: 1.5 seconds\nProcess exited with code 3\nOutput:\nx\n"
    )
    assert told_ == reading.Told("x\n", 3, 1500, headed=True)
    old = reading.ran('{"output":"x","metadata":{"exit_code":0,"duration_seconds":0.2}}')
    assert old == reading.Told("x", 0, 200, headed=True)
    assert reading.ran("Wall time: 1 seconds\nProcess running with session ID 7\nOutput:\n").running
    assert reading.ran("no header: Output:\n") == reading.Told("no header: Output:\n")


def test_an_event_about_a_command_tells_more_than_its_output():
    (step,) = steps(
        item("function_call", name="exec_command", call_id="c", arguments='{"cmd":"x"}'),
        event(
            "exec_command_end",
            call_id="c",
            command=["/bin/bash", "-lc", "x"],
            cwd="file:///a%20b",
            exit_code=4,
            status="failed",
            aggregated_output="all of it",
            duration={"secs": 2, "nanos": 5_000_000},
        ),
        item("function_call_output", call_id="c", output="Wall time: 2 seconds\nOutput:\ncut"),
    )
    assert (step.cwd, step.exit_code, step.status) == ("/a b", 4, "failed")
    assert (step.output, step.duration_ms) == ("all of it", 2005)


def test_a_command_of_the_persons_own_is_told_once():
    text = (
        "<user_shell_command>\n<command>\necho hi\n</command>\n<result>\nExit code: 1\n"
        "Duration: 0.1 seconds\nOutput:\nhi\n\n</result>\n</user_shell_command>"
    )
    record = item("message", role="user", content=[{"type": "input_text", "text": text}])
    ended = completed(
        "CommandExecution",
        id="x",
        command=["/bin/bash", "-lc", "echo hi"],
        source="user_shell",
        status="failed",
        exit_code=1,
        aggregated_output="hi\n",
    )
    for pair in ([record], [ended, record]):
        (step,) = steps(*pair)
        assert (step.kind, step.name, step.text) == (Kind.RAN, "user", "echo hi")
        assert (step.output, step.exit_code, step.status) == ("hi\n", 1, "failed")


def test_tools_of_every_kind_say_how_they_ended():
    for ended, status in (
        (event("mcp_tool_call_end", call_id="c", result={"Ok": {"isError": False}}), "completed"),
        (event("mcp_tool_call_end", call_id="c", result={"Ok": {"isError": True}}), "failed"),
        (event("mcp_tool_call_end", call_id="c", result={"Err": "gone"}), "failed"),
        (event("dynamic_tool_call_response", call_id="c", success=False), "failed"),
        (completed("McpToolCall", id="c", status="completed"), "completed"),
    ):
        (step,) = steps(item("function_call", name="t", call_id="c", arguments="{}"), ended)
        assert step.status == status
    (alone,) = steps(
        completed("McpToolCall", id="c", server="s", tool="t", arguments={"a": 1}, status="failed")
    )
    assert (alone.name, alone.text) == ("s/t", '{"a":1}')


def test_a_search_is_told_once():
    action = {"type": "search", "query": "q"}
    for pair in (
        [
            event("web_search_end", call_id="w", query="q", action=action),
            item("web_search_call", action=action),
        ],
        [item("web_search_call", action=action), completed("WebSearch", id="w", query="q")],
    ):
        assert [(s.kind, s.text) for s in steps(*pair)] == [(Kind.SEARCHED, "q")]


def test_errors_warnings_plans_and_reviews_are_told():
    found = steps(
        event("error", message="broken"),
        event("stream_error", message="again"),
        event("warning", message="careful"),
        completed("Plan", id="p", text="the plan"),
        event("plan_update", plan=[{"step": "a", "status": "pending"}]),
        event("entered_review_mode", target={"type": "custom"}, user_facing_hint="look"),
        event("exited_review_mode", review_output=None),
        event("guardian_assessment", status="denied"),
        event("brand_new_event", message="hello"),
        item("brand_new_item"),
    )
    assert [(step.kind, step.text) for step in found] == [
        (Kind.WENT_WRONG, "broken"),
        (Kind.WENT_WRONG, "again"),
        (Kind.WENT_WRONG, "careful"),
        (Kind.PLANNED, "the plan"),
        (Kind.PLANNED, "[ ] a"),
        (Kind.REVIEWED, "look"),
        (Kind.REVIEWED, ""),
        (Kind.NOTED, "denied"),
        (Kind.NOTED, "hello"),
        (Kind.NOTED, ""),
    ]


def test_an_answer_without_a_question_is_told_as_one():
    (step,) = steps(item("function_call_output", name="ask_human", namespace="byre", output="red"))
    assert (step.kind, step.name, step.output) == (Kind.ANSWERED, "byre/ask_human", "red")


@pytest.mark.parametrize(
    ("payload", "status", "error"),
    [
        ({"type": "task_complete", "error": {"message": "no"}}, TurnStatus.FAILED, "no"),
        ({"type": "task_complete"}, TurnStatus.COMPLETED, ""),
        ({"type": "turn_aborted", "reason": "interrupted"}, TurnStatus.INTERRUPTED, ""),
        ({"type": "turn_aborted", "reason": "replaced"}, TurnStatus.INTERRUPTED, "replaced"),
    ],
)
def test_a_turn_ends_as_its_last_event_says(payload, status, error):
    turn = told(("event_msg", payload), end=False)
    assert (turn.status, turn.error) == (status, error)


def test_a_turn_that_the_record_ends_in_is_open():
    assert told(end=False).status is TurnStatus.OPEN


def test_a_question_that_got_no_answer_and_no_error_failed():
    turn = told(event("user_message", message="hello"))
    assert turn.status is TurnStatus.FAILED
    assert "no answer" in turn.error
