"""What a person sees and is asked when a task's work comes home, goes away or comes back."""

import base64

import pytest

MERGED = {"into": "main", "how": "merge", "before": "a" * 40, "after": "b" * 40, "merged_by": "ann"}


@pytest.fixture
def conflict(fault):
    found = fault(-32002, "cannot merge task 7 into main: both sides changed a.txt", "conflict")
    found.body["data"]["files"] = ["a.txt", "b\x1b[2J.txt"]
    return found


def test_a_merge_says_where_it_went_and_what_was_left(byre, daemon, task):
    daemon.replies["task.merge"] = task(
        7,
        "succeeded",
        merged=MERGED,
        result={"uncommitted": ["x.txt", "y.txt"], "uncommitted_count": 2},
    )
    assert byre("merge", "7").stdout == (
        "task 7 merged into main: aaaaaaaaaaaa..bbbbbbbbbbbb\n"
        "not committed, so not merged: 2 files (x.txt, y.txt)\n"
    )


def test_a_merge_that_had_nothing_to_do_says_so(byre, daemon, task):
    daemon.replies["task.merge"] = task(7, "succeeded", merged={**MERGED, "after": "a" * 40})
    assert byre("merge", "7", "--ff").stdout == "task 7: main has all of it already\n"


def test_conflicts_are_offered_to_the_agent_on_a_terminal(byre, daemon, task, conflict):
    daemon.replies["task.merge"] = lambda params: (
        task(7, "queued") if params.get("tell") else conflict
    )
    with byre.on_terminal("merge", "7", "--squash") as tty:
        seen = tty.expect("let the agent resolve it? [y/N] ")
        assert "a.txt" in seen
        assert "b\\x1b[2J.txt" in seen
        tty.type("y\n")
        tty.expect("its agent was told to resolve the conflicts")
        assert tty.end()[0] == 0
    asked = [{"id": 7, "how": "squash"}, {"id": 7, "how": "squash", "tell": True}]
    assert daemon.asked("task.merge") == asked


def test_conflicts_stay_with_a_person_who_says_no(byre, daemon, conflict):
    daemon.replies["task.merge"] = conflict
    with byre.on_terminal("merge", "7") as tty:
        tty.expect("[y/N] ")
        tty.type("\n")
        tty.expect("byre: cannot merge task 7 into main")
        assert tty.end()[0] == 4
    assert len(daemon.calls) == 1


def test_nobody_is_asked_without_a_terminal_or_for_a_program(byre, daemon, conflict):
    daemon.replies["task.merge"] = conflict
    ended = byre("merge", "7")
    assert (ended.returncode, ended.stdout) == (4, "")
    with byre.on_terminal("--json", "merge", "7") as tty:
        assert tty.end()[0] == 4
    assert len(daemon.calls) == 2


def test_what_was_taken_away_names_the_way_back(byre, daemon, task):
    daemon.replies["task.discard"] = task(7, "succeeded")
    assert byre("discard", "7").stdout.splitlines()[1] == (
        "all that it held is kept: byre undelete 7 brings it back"
    )
    daemon.replies["task.undelete"] = task(7, "succeeded")
    place = task()["worktree"]
    assert byre("undelete", "7").stdout == f"task 7 is back in {place}\n"
    daemon.replies["task.restore"] = task(7, "succeeded")
    assert byre("restore", "7", "--turn", "2").stdout == f"task 7 is as after turn 2, in {place}\n"


def test_a_restore_needs_a_turn(byre, daemon):
    ended = byre("restore", "7")
    assert ended.returncode == 2
    assert "--turn" in ended.stderr
    assert daemon.calls == []


def test_patches_are_written_into_the_folder_and_nowhere_else(byre, daemon, tmp_path):
    content = base64.b64encode(b"caf\xe9\r\n").decode()
    names = ["0001-a.patch", "../../0002-b.patch"]
    daemon.replies["task.patches"] = {
        "id": 7,
        "patches": [{"name": name, "content": content} for name in names],
    }
    folder = tmp_path / "some" / "patches"
    ended = byre("patches", "7", str(folder))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == f"{folder}/0001-a.patch\n{folder}/0002-b.patch\n"
    written = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.patch"))
    assert [str(path) for path in written] == [
        "some/patches/0001-a.patch",
        "some/patches/0002-b.patch",
    ]
    assert (folder / "0001-a.patch").read_bytes() == b"caf\xe9\r\n"


def test_a_series_overwrites_nothing(byre, daemon, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    for name in ("full", "full/mine"):
        ended = byre("patches", "7", str(tmp_path / name))
        assert ended.returncode == 2
        assert "is not an empty folder; name a new one" in ended.stderr
    assert daemon.calls == []


def test_a_series_of_nothing_says_so(byre, daemon, tmp_path):
    daemon.replies["task.patches"] = {"id": 7, "patches": []}
    assert byre("patches", "7", str(tmp_path / "x")).stdout == "task 7 has changed nothing\n"


def test_the_turns_are_read_on_until_there_is_no_more(byre, daemon):
    def page(params):
        number = params.get("after", 0) + 1
        turn = {
            "number": number,
            "status": "completed" if number < 3 else None,
            "started_at": "2026-01-02T03:00:00Z",
            "ended_at": "2026-01-02T03:01:30Z" if number < 3 else None,
            "checkpoint": "c" * 40 if number == 1 else None,
        }
        return {"id": 7, "turns": [turn], "next": number if number < 3 else None}

    daemon.replies["task.turns"] = page
    lines = [line.split() for line in byre("turns", "7").stdout.splitlines()]
    assert lines[1][:2] + lines[1][3:] == ["1", "completed", "1m", "cccccccccccc"]
    assert lines[2][:2] + lines[2][3:] == ["2", "completed", "1m"]
    assert lines[3][:3] == ["3", "not", "ended"]
    daemon.replies["task.turns"] = {"id": 7, "turns": [], "next": None}
    assert byre("turns", "7").stdout == "task 7 has had no turn yet\n"


def test_a_worktree_is_opened_where_it_is(byre, daemon, task, tmp_path):
    daemon.replies["task.get"] = task(7, worktree=str(tmp_path), ports={"web": 20001, "api-2": 7})
    assert byre("open", "7").stdout == f"{tmp_path}\n"
    script = tmp_path / "shell"
    script.write_text("#!/bin/sh\necho $PORT $PORT_WEB $PORT_API_2 $BYRE_TASK_ID\npwd\nexit 3\n")
    script.chmod(0o755)
    ended = byre("open", "7", "--shell", SHELL=str(script))
    assert (ended.returncode, ended.stdout) == (3, f"20001 20001 7 7\n{tmp_path}\n")
    assert byre("open", "7", "--editor", EDITOR="echo -n").stdout == str(tmp_path)


@pytest.mark.parametrize(
    ("args", "changes", "status", "sentence"),
    [
        (["--shell", "--editor"], {}, 2, "choose one of --shell and --editor"),
        (["--editor"], {}, 2, "set EDITOR"),
        (["--shell"], {"SHELL": "/nowhere/sh"}, 1, "/nowhere/sh does not start"),
    ],
)
def test_what_cannot_be_opened_is_said(
    byre, daemon, task, tmp_path, args, changes, status, sentence
):
    daemon.replies["task.get"] = task(7, worktree=str(tmp_path))
    ended = byre("open", "7", *args, **changes)
    assert ended.returncode == status
    assert sentence in ended.stderr


def test_a_worktree_that_is_not_there_is_said(byre, daemon, task):
    daemon.replies["task.get"] = task(7, worktree="/nowhere/7")
    ended = byre("open", "7")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "/nowhere/7 is not there" in ended.stderr
    daemon.replies["task.get"] = task(7, removed_at="2026-01-02T03:00:00Z")
    assert "byre undelete 7 brings it back" in byre("open", "7").stderr
