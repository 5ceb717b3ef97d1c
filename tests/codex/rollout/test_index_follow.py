"""Turns found in the middle of a file, and lines found as they come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byred.codex.rollout import history, reader
from byred.codex.rollout.errors import RolloutError
from byred.codex.rollout.follow import Follower, Tale
from byred.codex.rollout.index import TurnIndex, indexed, turn
from byred.codex.rollout.line import Dialect, Line
from byred.codex.rollout.story import TurnStatus


def texts(turns):
    return [step.text for turn in turns for step in turn.steps]


def test_the_index_has_the_turns_of_the_history(tour):
    for path in tour.paths:
        index = indexed(path)
        starts = [
            x for x in reader.whole(path) if x.type == "event_msg" and x.tag == "task_started"
        ]
        assert index.offsets == tuple(line.offset for line in starts)
        assert index.turn_ids == tuple(line.payload["turn_id"] for line in starts)
        assert index.seen == path.stat().st_size


def test_a_turn_read_by_itself_is_the_turn_of_the_whole(tour):
    path = tour.of("legacy")
    index = indexed(path)
    whole = history.of_thread(path).turns
    for number in range(1, len(whole) + 1):
        alone = turn(path, index, number)
        assert (alone.number, alone.id) == (number, whole[number - 1].id)
        assert alone.steps == whole[number - 1].steps
        assert alone.tokens == whole[number - 1].tokens


def test_a_turn_that_is_not_there_is_refused(rollout):
    rollout.turn("t1", "one", "1")
    index = indexed(rollout.path)
    for number in (0, 2, -1):
        with pytest.raises(RolloutError, match=f"cannot show turn {number}: .* has 1 turns"):
            turn(rollout.path, index, number)


def test_an_index_goes_on_where_it_ended(rollout):
    rollout.turn("t1", "one", "1")
    first = indexed(rollout.path)
    assert indexed(rollout.path, first) is first
    rollout.turn("t2", "two", "2")
    rollout.raw(
        b'{"timestamp":"t","type":"event_msg","payload":{"type":"task_started","turn_id":"x"'
    )
    second = indexed(rollout.path, first)
    assert second.turn_ids == ("t1", "t2")
    rollout.raw(b"}}\n")
    assert indexed(rollout.path, second).turn_ids == ("t1", "t2", "x")
    assert indexed(rollout.path).turn_ids == ("t1", "t2", "x")


def test_words_about_turns_and_broken_lines_are_no_turns(rollout):
    rollout.turn("t1", 'say "type":"task_started" twice', "1")
    rollout.raw(b'{"type":"event_msg","payload":{"type":"task_started"\n')
    assert indexed(rollout.path).turn_ids == ("t1",)


def test_both_dialects_are_indexed(rollout):
    rollout.turn("t1", "one", "1")
    before = indexed(rollout.path)
    lines = [line.respelled(Dialect.TURN).write() for line in reader.whole(rollout.path)]
    rollout.path.write_bytes(b"".join(lines))
    assert indexed(rollout.path).turn_ids == before.turn_ids


def test_a_file_that_became_shorter_is_indexed_anew(rollout, tmp_path):
    rollout.turn("t1", "one", "1")
    stale = TurnIndex((5,), ("old",), 10**9)
    assert indexed(rollout.path, stale).turn_ids == ("t1",)
    with pytest.raises(RolloutError, match="compressed"):
        indexed(tmp_path / "a.jsonl.zst")


@given(st.lists(st.integers(1, 200), max_size=30))
def test_followed_in_pieces_of_any_size_every_line_comes_once(tmp_path_factory, sizes):
    path = tmp_path_factory.mktemp("follow") / "rollout.jsonl"
    whole = b"".join(b'{"type":"a","payload":{"n":%d}}\n' % number for number in range(40))
    follower = Follower(path)
    assert follower.new() == []
    seen: list[Line] = []
    at = 0
    with path.open("ab", buffering=0) as out:
        for size in [*sizes, len(whole)]:
            out.write(whole[at : at + size])
            at += size
            seen += follower.new()
    assert follower.new() == []
    assert b"".join(line.write() for line in seen) == whole


def test_following_can_begin_at_the_end(rollout):
    rollout.turn("t1", "one", "1")
    follower = Follower(rollout.path, rollout.path.stat().st_size)
    rollout.event("context_compacted")
    assert [line.tag for line in follower.new()] == ["context_compacted"]


@pytest.mark.parametrize("every", [1, 3, 7])
def test_a_tale_tells_every_step_once_however_often_it_is_looked_at(tour, tmp_path, every):
    source = tour.of("legacy fork")
    path = tmp_path / source.name
    lines = source.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0])
    tale = Tale(path)
    told = tale.new()
    for at in range(1, len(lines), every):
        with path.open("ab") as out:
            out.writelines(lines[at : at + every])
        told += tale.new()
    assert tale.new() == []
    whole = history.of_thread(path).turns

    def core(turns):
        return [
            (turn.id, step.kind, step.text, step.output, step.status)
            for turn in turns
            for step in turn.steps
        ]

    assert core(told) == core(whole)
    last = {turn.id: (turn.status, turn.tokens) for turn in told}
    assert last == {turn.id: (turn.status, turn.tokens) for turn in whole}


def test_a_tale_begins_with_the_turn_that_is_the_last_one(rollout):
    rollout.turn("t1", "one", "1")
    rollout.turn("t2", "two", "2", end=False)
    tale = Tale(rollout.path)
    assert texts(tale.new()) == ["two", "2"]
    rollout.item("function_call", name="exec_command", call_id="c", arguments='{"cmd":"ls"}')
    rollout.event("agent_message", message="meanwhile")
    assert tale.new() == []
    rollout.item("function_call_output", call_id="c", output="Output:\nx")
    (turn,) = tale.new()
    assert [(step.text, step.output) for step in turn.steps] == [("ls", "x"), ("meanwhile", "")]
    assert tale.new() == []
    rollout.event("task_complete", turn_id="t2")
    (turn,) = tale.new()
    assert (turn.id, turn.status, turn.steps) == ("t2", TurnStatus.COMPLETED, ())
    assert tale.new() == []


def test_a_tale_can_begin_before_its_rollout(tmp_path, new_rollout):
    name = "rollout-2026-01-01T00-00-00-01a00000-0000-7000-8000-000000000001.jsonl"
    tale = Tale(tmp_path / name)
    assert tale.new() == []
    new_rollout(name).turn("t1", "one", "1")
    assert texts(tale.new()) == ["one", "1"]


def test_a_tale_goes_on_behind_what_was_told_otherwise(rollout):
    rollout.turn("t1", "one", "1")
    tale = Tale(rollout.path)
    rollout.turn("t2", "two", "2", end=False)
    told = [tale.tell(turn) for turn in history.turns(rollout.path)]
    assert texts(told) == ["one", "1", "two", "2"]
    assert tale.new() == []
    rollout.event("agent_message", message="more")
    assert texts(tale.new()) == ["more"]


def test_a_tale_of_a_whole_file_begins_with_its_first_turn(rollout):
    rollout.turn("t1", "one", "1")
    rollout.turn("t2", "two", "2")
    assert texts(Tale(rollout.path, start=0).new()) == ["one", "1", "two", "2"]
