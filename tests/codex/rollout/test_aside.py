"""The reading process: one request, an answer line by line, an end."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import msgspec
import pytest

from byred.codex.rollout import history
from byred.codex.rollout.requests import Request, Search, Tell, Write
from byred.codex.rollout.selection import Selection

BOUND = 60.0
THREAD = "01a00000-0000-7000-8000-000000000001"


class Asked:
    """A reading process that was asked for something."""

    def __init__(self, request: Request | bytes) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "byred.codex.rollout.aside"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdin is not None
        raw = request if isinstance(request, bytes) else msgspec.json.encode(request)
        self.process.stdin.write(raw + b"\n")
        self.process.stdin.flush()

    def line(self) -> dict:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def rest(self) -> list[dict]:
        assert self.process.stdout is not None
        return [json.loads(line) for line in self.process.stdout]

    def no_more(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()


@pytest.fixture
def ask() -> Iterator:
    asked: list[Asked] = []

    def ask(request) -> Asked:
        asked.append(Asked(request))
        return asked[-1]

    yield ask
    for each in asked:
        each.process.kill()
        with each.process:
            errors = each.process.stderr.read()
        assert b"Traceback" not in errors, errors


@pytest.fixture
def home(tmp_path, new_rollout):
    (tmp_path / "sessions").mkdir()
    rollout = new_rollout(f"sessions/rollout-2026-01-01T00-00-00-{THREAD}.jsonl")
    rollout.turn("t1", "one", "1")
    return rollout


def test_a_history_comes_turn_by_turn_and_ends_with_its_sums(ask, tour, tmp_path):
    (tmp_path / "sessions").mkdir()
    for path in tour.paths:
        (tmp_path / "sessions" / path.name).symlink_to(path)
    asked = ask(Tell(str(tmp_path)))
    *turns, end = asked.rest()
    whole = history.of_task(tour.paths)
    assert [line["turn"] for line in turns] == json.loads(msgspec.json.encode(whole.turns))
    assert end["end"]["tokens"] == msgspec.to_builtins(whole.tokens)
    assert asked.process.wait(BOUND) == 0


def test_what_cannot_be_is_one_sentence_and_a_status(ask, home, tmp_path):
    asked = ask(Tell(str(tmp_path), Selection(turn=9)))
    assert asked.rest() == [
        {"error": "cannot show turn 9: the history has 1 turns", "missing": True}
    ]
    assert asked.process.wait(BOUND) == 1
    (line,) = ask(Search({"7": str(tmp_path)}, " ")).rest()
    assert line["error"].startswith("cannot search for nothing")
    (line,) = ask(b'{"type":"tell"}').rest()
    assert "home" in line["error"]


def test_a_follower_tells_what_comes_until_nobody_wants_more(ask, home, tmp_path):
    home.turn("t2", "two", "2", end=False)
    asked = ask(Tell(str(tmp_path), follow=True))
    told = [asked.line()["turn"], asked.line()["turn"]]
    assert [(turn["number"], turn["status"]) for turn in told] == [(1, "completed"), (2, "open")]
    home.event("agent_message", message="more")
    turn = asked.line()["turn"]
    assert (turn["number"], [step["text"] for step in turn["steps"]]) == (2, ["more"])
    home.tokens(70, 70)
    home.event("task_complete", turn_id="t2")
    assert asked.line()["turn"]["status"] == "completed"
    home.turn("t3", "three", "3")
    turn = asked.line()["turn"]
    assert (turn["number"], [step["text"] for step in turn["steps"]]) == (3, ["three", "3"])
    home.event("task_started", turn_id="t4")
    asked.no_more()
    *last, end = asked.rest()
    assert [line["turn"]["number"] for line in last] == [4]
    assert (end["end"]["turn_count"], end["end"]["tokens"]["total"]) == (4, 70)
    assert asked.process.wait(BOUND) == 0


def test_a_follower_waits_for_the_first_record_and_goes_on_in_the_next(ask, tmp_path, new_rollout):
    asked = ask(Tell(str(tmp_path), follow=True))
    (tmp_path / "sessions").mkdir()
    first = new_rollout(f"sessions/rollout-2026-01-01T00-00-00-{THREAD}.jsonl")
    first.turn("t1", "one", "1")
    assert asked.line()["turn"]["id"] == "t1"
    thread = "01b00000-0000-7000-8000-000000000002"
    time = {"timestamp": "2026-01-02T00:00:00.000Z"}
    second = new_rollout(f"sessions/rollout-2026-01-02T00-00-00-{thread}.jsonl", thread, **time)
    second.turn("t2", "two", "2")
    second.turn("t3", "three", "3")
    assert [asked.line()["turn"]["number"] for _ in range(2)] == [2, 3]
    asked.no_more()
    assert [list(line) for line in asked.rest()] == [["end"]]


def test_what_came_behind_the_last_turns_has_no_number(ask, home, tmp_path):
    asked = ask(Tell(str(tmp_path), Selection(last=1), follow=True))
    assert asked.line()["turn"]["number"] == -1
    home.turn("t2", "two", "2")
    assert asked.line()["turn"]["number"] == 0


def test_a_replay_gives_step_after_step(ask, home, tmp_path):
    lines = ask(Tell(str(tmp_path), speed=1000.0)).rest()
    assert [line["turn"]["steps"][0]["text"] for line in lines[:-1]] == ["one", "1"]
    assert lines[-1]["end"]["turn_count"] == 1


@pytest.mark.parametrize(("form", "sign"), [("md", "# Task"), ("html", "<!DOC"), ("jsonl", '{"n')])
def test_a_document_is_whole_and_without_secrets(ask, home, tmp_path, form, sign):
    home.turn("t2", "the word is swordfish", "x" * 600_000)
    request = Write(str(tmp_path), form, "Task <7>", known=("swordfish",))
    *texts, end = ask(request).rest()
    text = "".join(line["text"] for line in texts)
    assert text.startswith(sign)
    assert "swordfish" not in text
    assert "the word is [redacted]" in text
    assert text.count("x" * 600_000) == 1
    assert end == {"end": {}}


def test_places_of_several_homes_are_found_in_their_order_and_counted(ask, home, tmp_path):
    (tmp_path / "sessions" / "rollout-2026-01-01T00-00-00-x.jsonl.zst").write_bytes(b"")
    homes = {"8": str(tmp_path / "none"), "7": str(tmp_path)}
    lines = ask(Search(homes, "one", most=1)).rest()
    assert [list(line) for line in lines] == [["hit"], ["end"]]
    assert (lines[0]["hit"]["home"], lines[0]["hit"]["turn_id"]) == ("7", "t1")
    assert lines[1] == {"end": {"more": False}}
    home.turn("t2", "one more", "2")
    assert ask(Search(homes, "one", most=1)).rest()[-1] == {"end": {"more": True}}
    assert ask(Search(homes, "ONE", exact_case=True)).rest() == [{"end": {"more": False}}]


def test_half_a_character_is_told_as_far_as_text_can_hold_it(ask, home, tmp_path):
    home.raw(
        b'{"timestamp":"2026-01-01T00:09:00.000Z","type":"event_msg",'
        b'"payload":{"type":"agent_message","message":"half \\ud83d here"}}\n'
    )
    lines = ask(Tell(str(tmp_path))).rest()
    assert "half ? here" in json.dumps(lines)
    assert ask(Write(str(tmp_path), "md", "T")).rest()[-1] == {"end": {}}


def test_nobody_listening_ends_it(ask, home, tmp_path):
    home.turn("t2", "two", "x" * 1_000_000)
    asked = ask(Tell(str(tmp_path), follow=True))
    asked.line()
    asked.process.stdout.close()
    asked.no_more()
    assert asked.process.wait(BOUND) == 1
    endless = ask(Tell(str(tmp_path), speed=0.0001))
    endless.line()
    endless.no_more()
    assert endless.process.wait(BOUND) == 1
