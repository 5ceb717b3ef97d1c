"""Every line that five real versions of codex wrote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from byred.codex.rollout import reader
from byred.codex.rollout.errors import RolloutError
from byred.codex.rollout.jsontext import canonical
from byred.codex.rollout.line import Dialect, Line
from byred.codex.rollout.types import Unknown, turn_item


def lines(path: Path) -> list[Line]:
    found = list(reader.read(path))
    assert all(isinstance(piece, Line) for piece in found)
    return found  # type: ignore[return-value]


def test_every_line_is_written_as_it_was_read(corpus):
    assert len(corpus) > 25
    for path in corpus:
        assert b"".join(line.write() for line in lines(path)) == path.read_bytes()


def test_what_codex_writes_is_its_own_canonical_form(corpus):
    for path in corpus:
        for line in lines(path):
            assert canonical(line.raw) == line.raw


def test_every_line_has_a_type_and_every_field_of_it_can_be_read(corpus):
    for path in corpus:
        for line in lines(path):
            record = line.record
            assert type(record) is not Unknown, (path.name, line.type, line.tag)
            for name in record.fields:
                getattr(record, name)


def test_every_item_that_an_event_carries_has_a_type_too(corpus):
    seen = set()
    for path in corpus:
        for line in lines(path):
            if line.tag == "item_completed":
                item = turn_item(line.payload["item"])
                assert type(item) is not Unknown
                seen.add(item.tag)
                for name in item.fields:
                    getattr(item, name)
    assert {"UserMessage", "AgentMessage", "CommandExecution", "FileChange"} <= seen


def test_a_record_made_again_from_its_own_object_is_the_same_bytes(corpus):
    for path in corpus:
        for line in lines(path):
            assert line.with_value(("payload",), line.record).raw == line.raw


def test_no_known_version_writes_a_member_that_its_type_does_not_name(tour, known):
    known_lines = set(known[tour.version]["lines"])
    for path in tour.paths:
        for line in lines(path):
            assert line.type in known_lines
            # A few members are written that codex keeps out of its own schema; they survive,
            # and this is the list of them.
            assert set(line.record.unknown) <= _OUTSIDE_THE_SCHEMA, (line.type, line.tag)


_OUTSIDE_THE_SCHEMA = {
    "current_date",
    "sandbox_policy",
    "timezone",
    "workspace_roots",
    "personality",
    "network",
    "file_system_sandbox_policy",
    "truncation_policy",
    "stdout",
    "stderr",
    "formatted_output",
}


def test_both_dialects_are_one_type_and_each_can_be_written(tour):
    for path in tour.paths:
        for line in lines(path):
            other = line.respelled(Dialect.TURN)
            assert type(other.record) is type(line.record)
            assert other.tag == line.tag
            assert other.respelled(Dialect.TASK).raw == line.raw
            if line.tag in ("task_started", "task_complete"):
                assert other.raw != line.raw
                assert b'"type":"turn_' in other.raw
            else:
                assert other is line


def test_reading_from_the_end_gives_the_same_lines_the_other_way_round(corpus):
    for path in corpus:
        assert list(reader.read_back(path))[::-1] == lines(path)


def test_a_missing_rollout_is_said_to_be_missing(tmp_path):
    with pytest.raises(RolloutError, match="no such rollout, plain or compressed"):
        next(reader.read(tmp_path / "rollout-x.jsonl"))


_NEUTRAL = ("/tmp/tour/", "/bin/", "/usr/")


def test_the_corpus_names_no_place_of_the_machine_that_made_it(corpus):
    texts = [path.read_text() for path in [*corpus, *corpus[0].parents[1].glob("*/tour.json")]]
    for text in texts:
        paths = re.findall(r"(?<![\w.\\<-])/(?:[\w.-]+/)+[\w.-]*", text)
        strange = {path for path in paths if not path.startswith(_NEUTRAL)}
        assert not strange
