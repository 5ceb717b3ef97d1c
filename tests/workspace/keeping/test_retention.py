"""What goes is planned by figures, said beforehand, and carried out as planned."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byred.workspace.errors import Kind, WorkspaceError
from byred.workspace.keeping import retention
from byred.workspace.keeping.retention import Candidate, Limits

NOW = datetime(2026, 1, 10, tzinfo=UTC)


def ended(task_id: str, days: float, size: int = 100) -> Candidate:
    return Candidate(task_id, Path("/trees") / task_id, size, NOW - timedelta(days=days))


def alive(task_id: str, size: int = 100) -> Candidate:
    return Candidate(task_id, Path("/trees") / task_id, size, None)


def going(candidates, limits):
    return [d.candidate.task_id for d in retention.plan(candidates, limits, NOW) if d.goes]


def test_without_limits_everything_stays():
    assert going([ended("1", 1000), alive("2")], Limits()) == []


def test_the_old_go_by_age():
    assert going([ended("1", 3), ended("2", 1)], Limits(age=timedelta(days=2))) == ["1"]


def test_the_oldest_go_by_count():
    assert going([ended("1", 3), ended("2", 1), ended("3", 2)], Limits(count=1)) == ["3", "1"]


def test_the_oldest_go_by_size_and_those_alive_count():
    found = going([alive("1", 150), ended("2", 1, 100), ended("3", 2, 100)], Limits(size=300))
    assert found == ["3"]


def test_each_decision_says_why():
    decisions = retention.plan(
        [ended("1", 3), ended("2", 1), alive("3")], Limits(age=timedelta(days=2)), NOW
    )
    assert {d.candidate.task_id: d.why for d in decisions} == {
        "1": "it ended more than 2 days, 0:00:00 ago",
        "2": "it is within the limits",
        "3": "its task has not ended",
    }


candidates_of = st.lists(
    st.builds(
        lambda number, days, size: (number, days, size),
        st.integers(0, 50),
        st.one_of(st.none(), st.floats(0, 100)),
        st.integers(0, 1000),
    ),
    unique_by=lambda row: row[0],
    max_size=20,
)
maybe = st.one_of(st.none(), st.integers(0, 3000))


@given(candidates_of, maybe, st.one_of(st.none(), st.integers(0, 20)), maybe)
def test_every_plan_is_complete_and_keeps_its_limits(rows, days, count, size):
    candidates = [
        alive(str(number), s) if d is None else ended(str(number), d, s) for number, d, s in rows
    ]
    age = None if days is None else timedelta(days=days / 30)
    decisions = retention.plan(candidates, Limits(age, count, size), NOW)
    assert sorted(d.candidate.task_id for d in decisions) == sorted(c.task_id for c in candidates)
    stay = [d.candidate for d in decisions if not d.goes]
    assert {c.task_id for c in candidates if c.ended_at is None} <= {c.task_id for c in stay}
    over = [c for c in stay if c.ended_at is not None]
    if count is not None:
        assert len(over) <= count
    if age is not None:
        assert all(NOW - c.ended_at <= age for c in over)
    if size is not None and over:
        assert sum(c.size for c in stay) <= size


async def test_one_that_can_not_be_removed_keeps_no_other():
    decisions = retention.plan([ended("1", 3), ended("2", 2), ended("3", 1)], Limits(count=1), NOW)
    removed = []

    async def remove(candidate):
        if candidate.task_id == "2":
            raise WorkspaceError("cannot remove it")
        removed.append(candidate.task_id)

    outcomes = await retention.apply(decisions, remove)
    assert removed == ["1"]
    assert [(o.candidate.task_id, o.error) for o in outcomes] == [
        ("2", "cannot remove it"),
        ("1", None),
    ]


def test_disk_usage_counts_blocks_links_once_and_follows_nothing(tmp_path):
    tree = tmp_path / "tree"
    (tree / "deep").mkdir(parents=True)
    empty = retention.disk_usage(tree)
    (tree / "deep" / "file").write_bytes(b"x" * 100_000)
    with_file = retention.disk_usage(tree)
    assert 100_000 <= with_file - empty <= 110_000
    os.link(tree / "deep" / "file", tree / "again")
    (tree / "link").symlink_to(tmp_path)
    (tree / "sparse").touch()
    os.truncate(tree / "sparse", 1 << 30)
    assert retention.disk_usage(tree) - with_file < 10_000
    assert retention.disk_usage(tmp_path / "gone") == 0


def test_below_the_floor_nothing_starts(tmp_path):
    retention.check_floor(tmp_path / "not" / "yet", 1)
    with pytest.raises(WorkspaceError, match="run `byre gc`") as refused:
        retention.check_floor(tmp_path / "not" / "yet", 1 << 60)
    assert refused.value.kind is Kind.LIMIT
