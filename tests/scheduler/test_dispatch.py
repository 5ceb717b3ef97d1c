"""Who is next, as a pure rule."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byred.core.task import Identity, Task, TaskState
from byred.scheduler.dispatch import Limits, choose
from byred.store.line import Place


def task(number: int, *, repo: str = "one", priority: int = 0, live: bool = False) -> Task:
    return Task(
        id=number,
        title="t",
        slug="t",
        prompt="p",
        repo=f"/{repo}",
        common_dir=f"/{repo}/.git",
        base="main",
        base_commit="0" * 40,
        branch=f"b{number}",
        worktree=f"/w/{number}",
        home=f"/h/{number}",
        identity=Identity(name="n", email="e"),
        owner="o",
        state=TaskState.RUNNING if live else TaskState.QUEUED,
        priority=priority,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def place(number: int, *, repo: str = "one", priority: int = 0, waiting: bool = False) -> Place:
    return Place(id=number, priority=priority, common_dir=f"/{repo}/.git", waiting=waiting)


def ids(places: Iterable[Place]) -> list[int]:
    return [each.id for each in places]


def test_the_head_of_the_line_starts() -> None:
    chosen = choose([place(2), place(4), place(1), place(3)], [], Limits(max_running=3))
    assert ids(chosen.start) == [2, 4, 1]
    assert ids(chosen.give_back) == []


def test_nothing_starts_when_all_places_are_taken() -> None:
    placed = [place(1), place(2)]
    for most in (2, 1):
        chosen = choose([place(3)], placed, Limits(max_running=most))
        assert (chosen.start, chosen.give_back) == ((), ())


def test_a_full_repository_lets_others_pass() -> None:
    line = [place(2), place(3, repo="two"), place(4, repo="two")]
    chosen = choose(line, [place(1)], Limits(max_running=9, max_per_repo=1))
    assert ids(chosen.start) == [3]


def test_who_waits_for_a_person_makes_room_for_each_that_queues() -> None:
    placed = [place(1), place(2, waiting=True), place(3, waiting=True)]
    chosen = choose([place(4)], placed, Limits(max_running=3))
    assert (ids(chosen.start), ids(chosen.give_back)) == ([], [2])
    chosen = choose([place(4), place(5), place(6)], placed, Limits(max_running=3))
    assert ids(chosen.give_back) == [2, 3]


def test_nobody_makes_room_while_there_is_some() -> None:
    placed = [place(1, waiting=True)]
    chosen = choose([place(2)], placed, Limits(max_running=2))
    assert (ids(chosen.start), ids(chosen.give_back)) == ([2], [])
    assert choose([], placed, Limits(max_running=1)).give_back == ()


def test_a_full_repository_is_relieved_by_one_of_its_own() -> None:
    placed = [place(1, repo="two", waiting=True), place(2, waiting=True)]
    chosen = choose([place(3), place(4)], placed, Limits(max_running=9, max_per_repo=1))
    assert (ids(chosen.start), ids(chosen.give_back)) == ([], [2])
    chosen = choose([place(3, repo="two")], placed[:1], Limits(max_running=1, max_per_repo=1))
    assert ids(chosen.give_back) == [1]


def test_the_line_is_read_no_further_than_needed() -> None:
    def line() -> Iterator[Place]:
        yield place(4)
        yield place(5)
        pytest.fail("it was read on")

    assert ids(choose(line(), [place(1)], Limits(max_running=2)).start) == [4]


places = st.builds(
    place,
    number=st.integers(1, 50),
    repo=st.sampled_from(["one", "two", "three"]),
    waiting=st.booleans(),
)


@given(
    line=st.lists(places, unique_by=lambda each: each.id),
    placed=st.lists(places, unique_by=lambda each: each.id),
    most=st.integers(1, 10),
    per_repo=st.integers(0, 4),
)
def test_no_limit_is_ever_passed_and_no_place_is_wasted(
    line: list[Place], placed: list[Place], most: int, per_repo: int
) -> None:
    chosen = choose(line, placed, Limits(max_running=most, max_per_repo=per_repo))
    assert len(chosen.start) <= max(0, most - len(placed))
    assert all(each.waiting and each in placed for each in chosen.give_back)
    assert len(chosen.give_back) <= len(line) - len(chosen.start)
    for repo in ("/one/.git", "/two/.git", "/three/.git"):
        started = sum(each.common_dir == repo for each in chosen.start)
        held = sum(each.common_dir == repo for each in placed)
        assert not per_repo or not started or started + held <= per_repo
        left = [each for each in line if each not in chosen.start and each.common_dir == repo]
        full = len(chosen.start) + len(placed) >= most
        assert not left or full or (per_repo and started + held >= per_repo)


@given(
    line=st.lists(places, unique_by=lambda each: each.id, max_size=8),
    placed=st.lists(places, unique_by=lambda each: each.id, max_size=8),
    most=st.integers(1, 8),
    per_repo=st.integers(0, 3),
)
def test_each_place_that_is_given_back_lets_one_more_start(
    line: list[Place], placed: list[Place], most: int, per_repo: int
) -> None:
    limits = Limits(max_running=most, max_per_repo=per_repo)
    line = [each for each in line if each.id not in ids(placed)]
    before = choose(line, placed, limits)
    of_repo = Counter(each.common_dir for each in placed)
    if len(placed) > most or (per_repo and max(of_repo.values(), default=0) > per_repo):
        return  # A limit was lowered: places are given back until it holds again.
    left = [each for each in placed if each not in before.give_back]
    after = choose(line, left, limits)
    assert len(after.start) >= len(before.start) + len(before.give_back)
