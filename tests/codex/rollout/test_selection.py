"""Which turns of a task are told, one by one, and what they sum up to."""

from __future__ import annotations

import pytest

from byred.codex.rollout import history
from byred.codex.rollout.errors import NoTurnError
from byred.codex.rollout.pieces import pieces
from byred.codex.rollout.selection import Selected, Selection
from byred.codex.rollout.story import Change, Kind, Step, Tokens, Turn, TurnStatus

FORK = "01b00000-0000-7000-8000-000000000002"


def select(paths, **wanted):
    told = Selected(paths, Selection(**wanted))
    turns = list(told.turns())
    return turns, told.summary()


def test_without_a_wish_all_is_told_with_the_sums_of_the_whole(tour):
    whole = history.of_task(tour.paths)
    turns, about = select(tour.paths)
    assert tuple(turns) == whole.turns
    assert about.turns == ()
    assert (about.turn_count, about.tokens) == (len(whole.turns), whole.tokens)
    assert (about.thread_ids, about.versions) == (whole.thread_ids, whole.versions)
    assert (about.started_at, about.ended_at) == (whole.started_at, whole.ended_at)
    assert (about.counted, about.sub_agents) == (whole.counted, whole.sub_agents)


def test_one_turn_is_found_by_its_number_from_either_end_and_by_its_id(tour):
    whole = history.of_task(tour.paths).turns
    for wanted in (3, whole[2].id):
        turns, about = select(tour.paths, turn=wanted)
        assert turns == [whole[2]]
        assert (about.turn_count, about.tokens) == (1, whole[2].tokens)
    (newest,), _ = select(tour.paths, turn=-1)
    assert (newest.id, newest.number) == (whole[-1].id, -1)
    (before,), _ = select(tour.paths, turn=-5)
    assert before.id == whole[-5].id


@pytest.mark.parametrize("wanted", [0, 99, -99, "no-such-id"])
def test_a_turn_that_is_not_there_is_an_error_that_says_how_many_there_are(rollout, wanted):
    rollout.turn("t1", "one", "1")
    with pytest.raises(NoTurnError, match=f"cannot show turn {wanted}: the history has 1 turns"):
        select([rollout.path], turn=wanted)


@pytest.mark.parametrize("count", [0, 1, 4, 1000])
def test_the_last_turns_of_a_task_are_those_of_all_its_threads(tour, count):
    whole = history.of_task(tour.paths).turns
    turns, about = select(tour.paths, last=count)
    # Where taking back begins a new file, the end of the thread has no place for what was taken
    # back; the whole history has.
    paginated = tour.version > "0.150"
    kept = [turn for turn in whole if not (turn.undone and paginated)]
    wanted = kept[-count:] if count else []
    assert [turn.id for turn in turns] == [turn.id for turn in wanted]
    assert [turn.number for turn in turns] == list(range(-len(wanted), 0))
    assert about.tokens == sum((turn.tokens for turn in wanted), Tokens())


def test_since_a_time_is_what_had_not_ended_by_then(rollout):
    rollout.turn("t1", "one", "1")
    rollout.turn("t2", "two", "2")
    rollout.turn("t3", "three", "3", end=False)
    whole = history.of_thread(rollout.path).turns
    ended = whole[1].ended_at
    assert [turn.id for turn in select([rollout.path], since=ended)[0]] == ["t2", "t3"]
    # An open turn has not ended, whenever it began.
    assert [turn.id for turn in select([rollout.path], since="9999")[0]] == ["t3"]
    assert select([rollout.path], since="9999")[1].turn_count == 1


def test_who_counts_turns_himself_finds_his_own_numbers(rollout, new_rollout):
    fork = new_rollout(f"rollout-2026-01-02T00-00-00-{FORK}.jsonl", FORK)
    rollout.turn("01a00000-1000-7000-8000-000000000001", "one", "1")
    for number in range(1, 5):
        fork.turn(f"01b00000-1000-7000-8000-00000000000{number}", str(number))
    # The second is none of his, the last one began after he had counted.
    numbers = {f"01b00000-1000-7000-8000-00000000000{n}": m for n, m in ((1, 1), (3, 2))}
    counted = {"numbers": numbers, "own": (FORK,)}
    turns, _ = select([rollout.path, fork.path], **counted)
    assert [(turn.number, turn.inherited) for turn in turns] == [
        (0, True),
        (1, False),
        (0, False),
        (2, False),
        (3, False),
    ]
    turns, _ = select([rollout.path, fork.path], last=2, **counted)
    assert [turn.number for turn in turns] == [2, 3]


def test_nothing_recorded_is_nothing_told():
    assert select([]) == ([], history.History())
    assert select([], last=3)[0] == []
    with pytest.raises(NoTurnError):
        select([], turn=1)


def test_turns_that_a_later_line_takes_back_are_marked_in_a_stream(rollout):
    rollout.turn("t1", "one", "1")
    rollout.turn("t2", "two", "2")
    rollout.event("thread_rolled_back", num_turns=1)
    rollout.turn("t3", "three", "3")
    rollout.event("thread_rolled_back", num_turns=2)
    told = {turn.id: turn.undone for turn in history.turns(rollout.path)}
    assert told == {"t1": True, "t2": True, "t3": True}


def test_a_short_turn_is_one_piece_and_a_long_one_comes_in_several():
    steps = tuple(Step(Kind.RAN, "t", f"command {n}", output="x" * 40) for n in range(10))
    turn = Turn(1, "t1", TurnStatus.COMPLETED, steps=steps)
    assert list(pieces(turn)) == [turn]
    parts = list(pieces(turn, 120))
    assert len(parts) == 5
    assert tuple(step for part in parts for step in part.steps) == steps
    assert {(part.id, part.status) for part in parts} == {("t1", TurnStatus.COMPLETED)}
    assert list(pieces(Turn(2, "t2", TurnStatus.OPEN))) == [Turn(2, "t2", TurnStatus.OPEN)]


def test_a_step_longer_than_a_piece_is_shortened_in_the_middle_and_says_so():
    change = Change("path", "update", "d" * 5000)
    step = Step(Kind.CHANGED, "t", "t" * 5000, output="o" * 5000, changes=(change,), images=("i",))
    (part,) = pieces(Turn(1, "t1", TurnStatus.COMPLETED, steps=(step,)), 1000)
    (short,) = part.steps
    assert short.text == "t" * 100 + "\n[4,800 characters left out]\n" + "t" * 100
    assert "[4,800 characters left out]" in short.output
    assert "[4,800 characters left out]" in short.changes[0].diff
    assert (short.images, short.changes[0].path) == (("i",), "path")


def test_a_fork_whose_parent_is_not_here_tells_what_it_inherited(rollout, new_rollout):
    fork = new_rollout(f"rollout-2026-01-02T00-00-00-{FORK}.jsonl", FORK)
    for path in (rollout, fork):
        path.turn("01a00000-1000-7000-8000-000000000009", "one", "1")
    fork.turn("01b00000-1000-7000-8000-00000000000a", "two", "2")
    turns, _ = select([fork.path])
    assert [turn.inherited for turn in turns] == [True, False]
    turns, _ = select([rollout.path, fork.path])
    assert [(turn.inherited, turn.thread_id == FORK) for turn in turns] == [
        (False, False),
        (False, True),
    ]
