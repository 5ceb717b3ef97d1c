"""What threads did, told from what was recorded, against the other side of the same story."""

from __future__ import annotations

import msgspec
import pytest

from byred.codex.rollout import chain, history
from byred.codex.rollout.errors import RolloutError
from byred.codex.rollout.story import Kind, Tokens, TurnStatus

FORK = "01b00000-0000-7000-8000-000000000002"


def texts(told, kind):
    return [step.text for turn in told.turns for step in turn.steps if step.kind is kind]


def the_story(turns):
    """What a story says, without the ids, times and places that differ from one run to the next."""
    return [
        (turn.status, [(step.kind, step.text) for step in turn.steps if step.kind in _SAME])
        for turn in turns
    ]


_SAME = (Kind.ASKED, Kind.SAID, Kind.THOUGHT, Kind.RAN, Kind.CHANGED, Kind.QUESTION, Kind.SEARCHED)


def test_everything_asked_is_told_once_and_in_order(tour):
    told = history.of_task(tour.paths)
    asked = [text for _, text in tour.asked if text]
    # Sub-agents are asked by their parents; the review is asked for by a call of its own.
    mine = [text for text in texts(told, Kind.ASKED) if text != "Look" or asked.count("Look") > 1]
    expected = [text for text in asked if text != "Look" or asked.count("Look") > 1]
    assert mine == expected
    assert texts(told, Kind.ASKED).count("Look") == asked.count("Look") + 1


def test_everything_the_model_said_is_told_once_and_in_order(tour):
    told = history.of_task(tour.paths)
    said = [item["content"][0]["text"] for item in tour.given if item["type"] == "message"]
    # What the sub-agents said is in their own rollouts; the review's verdict comes as a review.
    aside = {"Sub done."} | {text for text in said if text.startswith("{")}
    assert [text for text in texts(told, Kind.SAID) if text != "fine"] == [
        text for text in said if text not in aside
    ]
    subs = [history.of_thread(path) for path in map(type(tour.paths[0]), told.sub_agents)]
    assert "Sub done." in [text for sub in subs for text in texts(sub, Kind.SAID)]


def test_every_call_of_the_model_is_one_step_with_what_came_back(tour):
    told = history.of_task(tour.paths)
    calls = [item["call_id"] for item in tour.given if "call_id" in item]
    steps = [step for turn in told.turns for step in turn.steps if step.call_id]
    told_calls = [step.call_id for step in steps if step.call_id in calls]
    assert told_calls == calls
    by_id = {step.call_id: step for step in steps}
    assert by_id["c1"].output == "out\nerr\n" or by_id["c1"].output == "err\nout\n"
    assert (by_id["c1"].status, by_id["c1"].exit_code) == ("completed", 0)
    assert (by_id["c2"].status, by_id["c2"].exit_code) == ("failed", 2)
    assert by_id["c3"].status == "interrupted"
    assert by_id["k1"].status == by_id["k2"].status == "lost"
    assert (by_id["q1"].kind, by_id["q1"].text) == (Kind.QUESTION, "Which colour?")
    assert by_id["q1"].output == "Blue, said the person."
    assert (by_id["u1"].kind, by_id["u1"].output) == (Kind.QUESTION, "Blue")
    assert [change.kind for change in by_id["p1"].changes] == ["add"]
    assert "+uno" in by_id["p2"].changes[0].diff
    assert [change.kind for change in by_id["p4"].changes] == ["delete"]
    assert by_id["p3"].status == "failed"
    assert by_id["d1"].status == by_id["d2"].status == "declined"
    assert by_id["m09"].output.endswith(("hi", '"hi"}]'))
    assert by_id["m19"].status == "failed"
    assert by_id["c8"].status == by_id["c9"].status == "failed"


def test_the_tokens_of_each_thread_agree_with_codex_to_the_token(tour):
    for name in tour.threads:
        told = history.of_thread(tour.of(name), tour.paths)
        assert told.tokens == told.counted != Tokens()
        assert sum((turn.tokens for turn in told.turns), Tokens()) == told.counted


def test_a_reverted_turn_cost_what_it_cost(tour):
    told = history.of_task(tour.paths)
    (undone,) = [turn for turn in told.turns if turn.undone]
    assert [step.text for step in undone.steps][:2] == ["Take back", "To be rolled back."]
    assert undone.tokens.total > 0


def test_the_statuses_are_those_of_the_tour(tour):
    told = history.of_thread(tour.of("main"), tour.paths)
    by_asked = {
        step.text: turn.status
        for turn in told.turns
        for step in turn.steps
        if step.kind is Kind.ASKED
    }
    assert by_asked["Say hello"] is TurnStatus.COMPLETED
    assert by_asked["Sleep"] is TurnStatus.INTERRUPTED
    assert by_asked["Fail"] is by_asked["Hit a limit"] is TurnStatus.FAILED
    assert by_asked["Work until killed 1"] is by_asked["Work until killed 2"] is TurnStatus.LOST
    assert by_asked["Go on"] is TurnStatus.COMPLETED
    failed = next(turn for turn in told.turns if turn.status is TurnStatus.FAILED)
    assert failed.error


def test_every_version_tells_the_same_story(tours):
    stories = {}
    for version, tour in tours.items():
        told = history.of_task(tour.paths)
        stories[version] = the_story(told.turns)
    first = stories.pop("0.136.0")
    for version, story in stories.items():
        assert story == first, version


def test_a_fork_has_its_parents_turns_and_marks_them_as_inherited(tour):
    parent = history.of_thread(tour.of("main"), tour.paths)
    fork = history.of_thread(tour.of("fork"), tour.paths)
    assert not any(turn.inherited for turn in parent.turns)
    assert [turn.inherited for turn in fork.turns] == [True] * (len(fork.turns) - 1) + [False]
    shared = [turn.id for turn in fork.turns if turn.inherited]
    assert shared == [turn.id for turn in parent.turns][: len(shared)]
    assert texts(fork, Kind.ASKED)[-1] == "Go on in the fork"
    assert texts(parent, Kind.ASKED)[-1] == "Go on in the parent"


def test_a_task_tells_a_shared_prefix_once(tour):
    told = history.of_task(tour.paths)
    ids = [turn.id for turn in told.turns]
    assert len(ids) == len(set(ids))
    assert [turn.number for turn in told.turns] == list(range(1, len(ids) + 1))
    assert set(told.thread_ids) == set(tour.threads.values())
    assert told.versions == (tour.version,)
    assert not told.missing
    assert not told.breaks


def test_what_the_model_last_saw_is_in_the_history_in_order(tour):
    """The input of the last request, minus what codex put in by itself, is what was told."""
    told = history.of_thread(tour.of("legacy fork"), tour.paths)
    seen = []
    for item in tour.last_request:
        if item["type"] == "message" and item["role"] in ("user", "assistant"):
            seen += [part["text"] for part in item["content"] if "text" in part]
        elif "call_id" in item and "output" not in item:
            seen.append(item["call_id"])
    flat = [
        value
        for turn in told.turns
        for step in turn.steps
        for value in ([step.call_id] if step.call_id else [step.text])
    ]
    assert seen == flat[: len(seen)]


def test_turns_are_told_one_by_one_as_they_are_told_together(tour):
    for name in tour.threads:
        path = tour.of(name)
        together = history.of_thread(path, tour.paths).turns
        one_by_one = list(history.turns(path, tour.paths))
        assert the_story(one_by_one) == the_story(together)
        assert [turn.id for turn in one_by_one] == [turn.id for turn in together]
        assert [turn.tokens for turn in one_by_one] == [turn.tokens for turn in together]


@pytest.mark.parametrize("count", [0, 1, 3, 7, 1000])
def test_the_last_turns_are_those_of_the_whole(tour, count):
    for name in tour.threads:
        path = tour.of(name)
        whole = history.of_thread(path, tour.paths).turns
        end = history.last(path, count, tour.paths)
        wanted = whole[-count:] if count else ()
        assert [turn.id for turn in end.turns] == [turn.id for turn in wanted]
        assert [turn.steps for turn in end.turns] == [turn.steps for turn in wanted]
        assert [turn.tokens for turn in end.turns] == [turn.tokens for turn in wanted]
        assert [turn.number for turn in end.turns] == list(range(-len(wanted), 0))


def test_a_history_can_be_sent_as_json_and_read_again(tour):
    told = history.of_task(tour.paths)
    raw = msgspec.json.encode(told)
    assert msgspec.json.decode(raw, type=type(told)) == told


def test_a_rollback_takes_back_turns_that_a_person_began(rollout):
    rollout.turn("t1", "one", "1")
    rollout.turn("t2", "two", "2")
    rollout.event("task_started", turn_id="t3")
    rollout.event("context_compacted")
    rollout.event("task_complete", turn_id="t3")
    rollout.turn("t4", "four", "4")
    rollout.event("thread_rolled_back", num_turns=2)
    rollout.turn("t5", "five", "5")
    told = history.of_thread(rollout.path)
    assert {turn.id: turn.undone for turn in told.turns} == {
        "t1": False,
        "t2": True,
        "t3": False,
        "t4": True,
        "t5": False,
    }
    rollout.event("thread_rolled_back", num_turns=99)
    assert all(turn.undone for turn in history.of_thread(rollout.path).turns if turn.id != "t3")


def test_figures_that_come_again_are_not_counted_again(rollout):
    rollout.turn("t1", "one", "1", end=False)
    rollout.tokens(100, 100)
    rollout.tokens(100, 100)
    rollout.event("token_count", info=None)
    rollout.tokens(150, 50)
    rollout.event("task_complete", turn_id="t1")
    told = history.of_thread(rollout.path)
    assert told.tokens.total == told.counted.total == told.turns[0].tokens.total == 150


def test_records_from_before_turns_had_ids_are_told_by_their_messages(rollout):
    for text in ("one", "two"):
        part = {"type": "input_text", "text": text}
        rollout.item("message", role="user", content=[part])
        rollout.event("user_message", message=text)
        rollout.event("agent_message", message=f"{text}!")
        rollout.event("turn_aborted", reason="interrupted")
    told = history.of_thread(rollout.path)
    assert the_story(told.turns) == [
        (TurnStatus.INTERRUPTED, [(Kind.ASKED, "one"), (Kind.SAID, "one!")]),
        (TurnStatus.INTERRUPTED, [(Kind.ASKED, "two"), (Kind.SAID, "two!")]),
    ]


def test_an_empty_rollout_and_one_without_turns_have_an_empty_history(rollout, tmp_path):
    assert history.of_thread(rollout.path).turns == ()
    empty = tmp_path / "rollout-empty.jsonl"
    empty.touch()
    assert history.of_thread(empty).turns == ()
    assert history.last(empty, 3).turns == ()
    assert history.of_task([]).turns == ()


def test_a_history_says_where_its_record_is_broken(rollout):
    rollout.turn("t1", "one", "1")
    size = rollout.path.stat().st_size
    rollout.raw(b"garbage\n")
    rollout.turn("t2", "two", "2")
    told = history.of_thread(rollout.path)
    assert [turn.id for turn in told.turns] == ["t1", "t2"]
    (gap,) = told.breaks
    assert (gap.path, gap.offset, gap.length) == (str(rollout.path), size, 7)
    assert history.last(rollout.path, 2).breaks == told.breaks


def test_a_missing_rollout_is_an_error_and_a_missing_ancestor_is_told(
    rollout, new_rollout, tmp_path
):
    with pytest.raises(RolloutError, match="no such rollout"):
        history.of_thread(tmp_path / "rollout-none.jsonl")
    base = {"thread_id": "gone", "end_ordinal_exclusive": 7, "end_byte_offset": 100}
    fork = new_rollout(f"rollout-2026-01-02T00-00-00-{FORK}.jsonl", FORK, history_base=base)
    fork.turn("t9", "nine", "9")
    told = history.of_thread(fork.path, [rollout.path])
    assert told.missing == ("gone",)
    assert history.of_task([rollout.path, fork.path]).missing == ("gone",)
    assert history.last(fork.path, 5).turns[0].id == "t9"


def test_rollouts_that_refer_to_each_other_in_a_circle_are_refused(new_rollout, monkeypatch):
    monkeypatch.setattr(chain, "DEEPEST", 20)
    one = new_rollout(
        f"rollout-2026-01-02T00-00-00-{FORK}.jsonl", FORK, history_base={"thread_id": FORK}
    )
    with pytest.raises(RolloutError, match="refers to itself in a circle"):
        history.of_thread(one.path, [one.path])


def test_a_killed_command_that_ends_in_a_later_turn_is_noted_there(rollout):
    rollout.event("task_started", turn_id="t1")
    rollout.item("function_call", name="exec_command", call_id="c1", arguments='{"cmd":"sleep 9"}')
    rollout.event("turn_aborted", turn_id="t1", reason="interrupted")
    rollout.event("task_started", turn_id="t2")
    rollout.event(
        "exec_command_end", call_id="c1", command=["bash", "-lc", "sleep 9"], exit_code=-1
    )
    told = history.of_thread(rollout.path)
    assert [(s.kind, s.status) for s in told.turns[0].steps] == [(Kind.RAN, "interrupted")]
    assert [(s.kind, s.text) for s in told.turns[1].steps] == [
        (Kind.NOTED, "a command of an earlier turn ended: sleep 9")
    ]
