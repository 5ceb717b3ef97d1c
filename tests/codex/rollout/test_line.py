"""One line: read and written again, changed where it is meant to be and nowhere else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byred.codex.rollout.errors import RolloutError
from byred.codex.rollout.jsontext import decode
from byred.codex.rollout.line import Dialect, make, parse, spelled
from byred.codex.rollout.ops import OPS, submission, submit
from byred.codex.rollout.types import EVENTS, ITEMS, Unknown, event, item
from byred.codex.rollout.types.envelope import ENVELOPE
from byred.codex.rollout.types.turns import TaskCompleteEvent, TaskStartedEvent

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
json_objects = st.dictionaries(st.text(), json_values, max_size=5)
kinds = st.sampled_from([*ENVELOPE, "event_msg", "response_item", "brand_new"]) | st.text()
tags = st.sampled_from([*EVENTS, *ITEMS, "turn_started", "brand_new"]) | json_values
spellings = st.sampled_from([{"ensure_ascii": True}, {"ensure_ascii": False}, {"indent": None}])


@given(json_objects, kinds, tags, json_objects | json_values, spellings)
def test_any_object_in_any_place_is_written_as_it_was_read(extra, kind, tag, payload, spelling):
    if isinstance(payload, dict):
        payload = {**payload, "type": tag}
    raw = json.dumps({**extra, "type": kind, "payload": payload}, **spelling).encode()
    line = parse(raw)
    assert line.write() == raw + b"\n"
    # Whatever stands there, nothing that looks at it fails.
    assert line.record.doc == (payload if isinstance(payload, dict) else {})
    assert (line.type, line.tag, line.timestamp, line.ordinal) is not None
    respelled = line.respelled(Dialect.TURN)
    assert respelled.respelled(Dialect.TASK).tag == line.tag


@given(json_objects, st.sampled_from(["task_started", "task_complete"]))
def test_the_other_dialect_differs_in_the_tag_alone(payload, tag):
    raw = json.dumps({"type": "event_msg", "payload": {**payload, "type": tag}}).encode()
    line = parse(raw)
    other = line.respelled(Dialect.TURN)
    assert other.payload == {**line.payload, "type": spelled(tag, Dialect.TURN)}
    assert other.respelled(Dialect.TASK).raw == raw


def test_both_spellings_are_one_type():
    assert type(event({"type": "turn_started"})) is TaskStartedEvent
    assert type(event({"type": "task_started"})) is TaskStartedEvent
    assert type(event({"type": "turn_complete"})) is TaskCompleteEvent
    assert type(item({"type": "compaction_summary"})) is type(item({"type": "compaction"}))


def test_an_unknown_kind_keeps_all_that_it_has():
    raw = b'{"timestamp":"t","type":"event_msg","payload":{"type":"brand_new","x":[1,null]},"y":2}'
    line = parse(raw)
    assert type(line.record) is Unknown
    assert line.record.doc == {"type": "brand_new", "x": [1, None]}
    assert line.record.unknown == {"x": [1, None]}
    assert line.write() == raw + b"\n"


def test_absent_and_null_stay_apart():
    for raw in (b'{"type":"event_msg","payload":{"type":"error","codex_error_info":null}}',):
        line = parse(raw)
        assert "codex_error_info" in line.payload
        assert line.write() == raw + b"\n"


def test_one_value_can_be_changed_with_every_other_byte_as_it_was():
    raw = (
        b'{"timestamp":"t", "type":"event_msg","payload":{"type":"error","message":"\\u0041 \\/"}}'
    )
    changed = parse(raw).with_value(("timestamp",), "u")
    assert changed.raw == raw.replace(b'"t"', b'"u"')


def test_a_line_that_is_no_object_is_refused():
    for raw in (b"[]", b"1", b"", b"nonsense"):
        with pytest.raises(RolloutError, match="cannot read"):
            parse(raw)


def test_a_new_line_is_written_as_codex_writes_it():
    record = TaskStartedEvent.of(turn_id="t1", started_at=1, model_context_window=None)
    line = make("2026-01-01T00:00:00.000Z", "event_msg", record, ordinal=3)
    assert line.raw == (
        b'{"timestamp":"2026-01-01T00:00:00.000Z","ordinal":3,"type":"event_msg",'
        b'"payload":{"type":"task_started","turn_id":"t1","started_at":1,'
        b'"model_context_window":null}}'
    )
    assert parse(line.raw).record == record


@given(st.text(), st.sampled_from(sorted(OPS)), json_objects)
def test_any_submission_round_trips(submission_id, tag, fields):
    operation = OPS[tag]({**fields, "type": tag})
    raw = submit(submission_id, operation)
    read = submission(raw)
    assert read.write() == raw
    assert read.id == submission_id
    assert read.operation == operation
    assert decode(raw)["op"] == operation.doc
