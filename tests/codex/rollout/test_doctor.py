"""Broken rollouts: found, described, saved."""

from __future__ import annotations

import pytest

from byred.codex.rollout import chain, doctor
from byred.codex.rollout.__main__ import main
from byred.codex.rollout.errors import RolloutError


def test_what_codex_left_is_healthy(tour):
    for path in tour.paths:
        finding = doctor.examine(path)
        assert finding.healthy
        assert not finding.unknown
        assert finding.version == tour.version
        assert finding.size == path.stat().st_size


def test_a_broken_rollout_says_what_is_wrong_and_what_is_left(rollout):
    rollout.turn("t1", "one", "1")
    rollout.event("brand_new")
    rollout.line("brand_new_line", {})
    rollout.event("task_started", turn_id="t2")
    rollout.raw(b'{"timestamp":"t","type":"event_msg","payl')
    finding = doctor.examine(rollout.path)
    assert not finding.healthy
    assert (finding.turns, finding.lines) == (2, 10)
    assert finding.lost == 41
    assert finding.unknown == ("brand_new_line", "event_msg brand_new")
    assert (finding.problems, finding.open_turn) == ((), "t2")


def test_a_turn_that_runs_is_no_damage(rollout):
    rollout.turn("t1", "one", "1", end=False)
    finding = doctor.examine(rollout.path)
    assert (finding.healthy, finding.open_turn) == (True, "t1")
    rollout.event("turn_aborted", turn_id="t1", reason="interrupted")
    assert doctor.examine(rollout.path).open_turn == ""


def test_a_file_without_its_first_line_and_one_without_any_say_so(tmp_path):
    path = tmp_path / "rollout-x.jsonl"
    path.write_bytes(b'{"timestamp":"t","type":"event_msg","payload":{"type":"warning"}}\n')
    assert doctor.examine(path).problems == ("its first line, which names the thread, is missing",)
    path.write_bytes(b"\0\0\0\0")
    assert doctor.examine(path).problems == ("it has no whole line",)


def test_jumps_in_the_numbering_are_counted(rollout):
    for ordinal in (1, 2, 5, 6, 9):
        rollout.line("event_msg", {"type": "warning", "message": "x"}, ordinal=ordinal)
    assert doctor.examine(rollout.path).problems == ("its lines' numbering jumps 2 times",)


def test_a_home_is_examined_with_what_its_rollouts_refer_to(tmp_path, new_rollout):
    folder = tmp_path / "sessions" / "2026" / "01" / "02"
    folder.mkdir(parents=True)
    thread = "01b00000-0000-7000-8000-000000000002"
    name = f"sessions/2026/01/02/rollout-2026-01-02T00-00-00-{thread}.jsonl"
    new_rollout(name, thread, history_base={"thread_id": "gone"}).turn("t1", "one", "1")
    (finding,) = doctor.examine_home(tmp_path)
    assert finding.problems == ("it continues rollout gone, which is not there",)
    assert chain.find(tmp_path) == [tmp_path / name]


def test_salvage_keeps_every_whole_line_as_it_was(rollout, tmp_path):
    rollout.turn("t1", "one", "1")
    whole = rollout.path.read_bytes()
    rollout.raw(b"garbage\n\0\0\0")
    target = tmp_path / "saved.jsonl"
    finding = doctor.salvage(rollout.path, target)
    assert target.read_bytes() == whole
    assert finding.lost == len(b"garbage\n\0\0\0")
    assert doctor.examine(target).healthy
    with pytest.raises(RolloutError, match="it exists; name a new file"):
        doctor.salvage(rollout.path, target)
    assert rollout.path.read_bytes() == whole + b"garbage\n\0\0\0"


def test_the_command_says_what_is_broken_and_saves_what_is_whole(rollout, tmp_path, capsys):
    rollout.turn("t1", "one", "1", end=False)
    rollout.event("brand_new")
    assert main(["examine", str(rollout.path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"whole  {rollout.path}: 1 turns, 7 whole lines",
        "  not known here: event_msg brand_new",
        "  turn t1 has not ended: it runs, or its process ended",
    ]
    rollout.raw(b"garbage\n")
    assert main(["examine", str(rollout.path)]) == 1
    assert "  7 bytes at " in capsys.readouterr().out
    target = tmp_path / "saved.jsonl"
    assert main(["salvage", str(rollout.path), str(target)]) == 0
    assert capsys.readouterr().out == f"{target}: 7 lines saved, 7 bytes left out\n"
    assert main(["examine", str(target)]) == 0
    assert main(["salvage", str(rollout.path), str(target)]) == 1
    assert "it exists; name a new file" in capsys.readouterr().err
    assert main(["examine", str(tmp_path / "sessions")]) == 1
    assert "no such rollout" in capsys.readouterr().err


def test_the_command_looks_at_all_rollouts_of_a_home(tour, tmp_path, capsys):
    (tmp_path / "sessions").mkdir()
    for path in tour.paths:
        (tmp_path / "sessions" / path.name).symlink_to(path)
    assert main(["examine", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("whole  ") == len(tour.paths)
