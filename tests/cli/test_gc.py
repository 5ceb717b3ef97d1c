"""`byre gc` and `byre ls --wide`: what goes, what stays, and what it takes."""

import pytest

from byred.cli import words


def looked_at(number, *, goes, size=209_000_000, error=None):
    return {
        "id": number,
        "title": f"Title {number}",
        "state": "succeeded",
        "path": f"/w/{number}",
        "size": size,
        "ended_at": "2026-01-02T03:00:00Z",
        "goes": goes,
        "why": "2 younger ones are there" if goes else "it is within the limits",
        "error": error,
    }


def test_what_would_go_is_said_with_its_reason(byre, daemon):
    daemon.replies["daemon.gc"] = {
        "dry_run": True,
        "freed": 209_000_000,
        "tasks": [looked_at(3, goes=False, size=1_400), looked_at(1, goes=True)],
    }
    lines = byre("gc", "--dry-run").stdout.splitlines()
    assert lines[0].split() == ["ID", "STATE", "ENDED", "SIZE", "WHAT", "WHY"]
    assert lines[1].endswith("1.4 KB  stays     it is within the limits")
    assert lines[2].endswith("209 MB  would go  2 younger ones are there")
    assert lines[3:] == ["would free 209 MB of 1 worktree"]


def test_what_went_names_the_way_back_and_what_did_not_says_why(byre, daemon):
    stays = looked_at(2, goes=True, error="cannot keep it")
    daemon.replies["daemon.gc"] = {
        "dry_run": False,
        "freed": 209_000_000,
        "tasks": [stays, looked_at(1, goes=True)],
    }
    lines = byre("gc", "--keep", "2").stdout.splitlines()
    assert lines[1].endswith("failed  cannot keep it")
    assert lines[3] == "freed 209 MB of 1 worktree"
    assert lines[4].endswith("byre undelete ID brings one back")


@pytest.mark.parametrize(
    "args", [("--older-than", "soon"), ("--older-than", "3"), ("--within", "2GiB")]
)
def test_bounds_that_are_none_are_wrong_usage(byre, daemon, args):
    ended = byre("gc", *args)
    assert ended.returncode == 2
    assert f"{args[0]} {args[1]} is not understood; give " in ended.stderr
    assert daemon.calls == []


def test_the_wide_list_has_branch_turns_and_sizes(byre, daemon, task):
    daemon.replies["task.list"] = {
        "tasks": [
            task(7, turns=3, disk={"worktree": 2_000_000, "home": 1_400_000}),
            task(6, "succeeded", disk=None, removed_at="2026-01-02T03:00:00Z"),
        ],
        "next": None,
    }
    head, first, second = byre("ls", "--wide").stdout.splitlines()
    assert head.split()[-4:] == ["DISK", "TURNS", "BRANCH", "TITLE"]
    assert "3.4 MB  3      byre/7-title" in first
    assert "byre/6-title (kept)  Title 6" in second


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0 B"),
        (7, "7 B"),
        (999, "999 B"),
        (1000, "1.0 KB"),
        (12_345, "12 KB"),
        (2_500_000_000, "2.5 GB"),
        (7_200_000_000_000, "7.2 TB"),
    ],
)
def test_sizes_have_the_unit_that_suits_them(number, shown):
    assert words.size(number) == shown
