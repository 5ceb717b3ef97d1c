"""What a thread's record says of the texts in it, and what it says when a kill cut it."""

import json
from pathlib import Path
from typing import Any

import pytest

from byred.agents.talk.reconcile import ThreadRecord, read_thread


def line(kind: str, **payload: Any) -> str:
    return json.dumps({"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload})


def said(text: str) -> str:
    content = [{"type": "input_text", "text": text}]
    return line("response_item", type="message", role="user", content=content)


def named(text: str, client_id: str) -> str:
    content = [{"type": "text", "text": text}]
    item = {"type": "UserMessage", "id": "1", "client_id": client_id, "content": content}
    return line("event_msg", type="item_completed", turn_id="t", item=item)


def named_before_0_154(text: str, client_id: str) -> str:
    return line("event_msg", type="user_message", message=text, client_id=client_id)


def record(tmp_path: Path, *lines: str) -> ThreadRecord:
    path = tmp_path / "rollout.jsonl"
    path.write_text("".join(f"{each}\n" for each in lines))
    return read_thread(path)


@pytest.mark.parametrize("name", [named, named_before_0_154])
def test_a_text_is_named_by_the_line_after_it(tmp_path, name):
    found = record(tmp_path, said("Mend it."), name("Mend it.", "byre-input-1"))
    assert found.client_ids == {"byre-input-1"}
    assert found.unnamed == ()


def test_a_text_whose_name_was_cut_off_is_in_the_thread(tmp_path):
    found = record(tmp_path, said("Where it works."), said("Mend it."))
    assert found.client_ids == frozenset()
    assert found.unnamed[-1] == "Mend it."


def test_the_same_text_again_does_not_name_the_one_that_was_cut_off(tmp_path):
    lines = (said("On."), said("On."), named("On.", "byre-input-2"))
    found = record(tmp_path, *lines)
    assert found.client_ids == {"byre-input-2"}
    assert found.unnamed == ("On.",)
