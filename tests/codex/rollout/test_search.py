"""Words found in rollouts."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byred.codex.rollout.errors import RolloutError
from byred.codex.rollout.search import Unread, search


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A file to write each example of hypothesis into."""
    return tmp_path_factory.mktemp("search") / "rollout.jsonl"


def test_what_was_said_is_found_once_with_its_turn(rollout):
    rollout.turn("t1", "Where is the Needle?", "here")
    rollout.turn("t2", "Something else", "a needle again")
    found = list(search([rollout.path], "needle"))
    assert [(hit.turn_id, hit.what, hit.excerpt) for hit in found] == [
        ("t1", "user message", "Where is the Needle?"),
        ("t2", "agent message", "a needle again"),
    ]
    assert all(hit.path == str(rollout.path) for hit in found)


def test_case_counts_when_it_is_asked_to(rollout):
    rollout.turn("t1", "Where is the Needle?")
    assert not list(search([rollout.path], "needle", exact_case=True))
    assert len(list(search([rollout.path], "Needle", exact_case=True))) == 1


def test_what_was_found_is_named_by_what_it_is(rollout):
    rollout.event("item_completed", item={"type": "CommandExecution", "command": ["needle"]})
    rollout.event("item_completed", item={"type": "AgentMessage", "text": "a needle"})
    rollout.item("function_call_output", output="needle!")
    found = [hit.what for hit in search([rollout.path], "needle")]
    assert found == ["command execution", "agent message", "function call output"]


@pytest.mark.parametrize("words", ['say "hi"', "back\\slash", "two\nlines", "grüß", "GRÜSS", "a.b"])
def test_words_with_anything_in_them_are_found_as_they_are(rollout, words):
    rollout.turn("t1", f"please {words} now")
    rollout.turn("t2", "please something else, axb now")
    assert [hit.turn_id for hit in search([rollout.path], words)] == ["t1"]


def test_case_is_folded_beyond_ascii(rollout):
    rollout.turn("t1", "ÄPFEL")
    assert [hit.turn_id for hit in search([rollout.path], "äpfel")] == ["t1"]


@given(st.text(min_size=1).filter(str.strip))
def test_any_text_that_was_asked_is_found(file, text):
    message = {"type": "user_message", "message": f"before {text} behind"}
    doc = {"timestamp": "t", "type": "event_msg", "payload": message}
    file.write_bytes(msgspec.json.encode(doc) + b"\n")
    assert list(search([file], text, exact_case=True))


def test_outputs_and_arguments_are_searched_and_prompts_are_not(tour):
    found = list(search(tour.paths, "cannot access"))
    assert found
    assert {hit.turn_id for hit in found} <= {hit.turn_id for hit in found if hit.turn_id}
    assert not list(search(tour.paths, "You are a scripted agent."))
    assert list(search(tour.paths, "ls /nonexistent"))


def test_a_long_text_is_shown_around_what_was_found(rollout):
    rollout.turn("t1", "x " * 500 + "needle" + " y" * 500)
    (hit,) = search([rollout.path], "needle")
    assert hit.excerpt.startswith("…")
    assert hit.excerpt.endswith("…")
    assert "needle" in hit.excerpt
    assert len(hit.excerpt) < 200


def test_broken_lines_are_passed_over_and_a_rollout_that_is_gone_is_named(rollout, tmp_path):
    rollout.raw(b"needle but no record\n")
    rollout.turn("t1", "needle")
    gone = tmp_path / "rollout-gone.jsonl"
    unread, hit = search([gone, rollout.path], "needle")
    assert isinstance(unread, Unread)
    assert unread.path == str(gone)
    assert "no such rollout" in unread.reason
    assert hit.turn_id == "t1"


def test_nothing_cannot_be_searched_for(rollout):
    with pytest.raises(RolloutError, match="cannot search for nothing"):
        next(search([rollout.path], "  "))
