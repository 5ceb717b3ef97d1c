"""JSON text without loss."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byred.codex.rollout import jsontext
from byred.codex.rollout.errors import RolloutError
from byred.codex.rollout.jsontext import Decimal64, canonical, decode, encode, replace

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
json_objects = st.dictionaries(st.text(), json_values, max_size=6)
spellings = st.sampled_from(
    [
        {"ensure_ascii": True},
        {"ensure_ascii": False},
        {"indent": 1},
        {"separators": (",", ":"), "ensure_ascii": False},
    ]
)


@given(json_values)
def test_a_value_that_is_written_and_read_is_the_same(value):
    assert decode(encode(value)) == value


@given(json_values, spellings, spellings)
def test_texts_that_say_the_same_have_one_canonical_form(value, one, other):
    first = json.dumps(value, **one).encode()
    second = json.dumps(value, **other).encode()
    assert canonical(first) == canonical(second)
    assert canonical(canonical(first)) == canonical(first)


@pytest.mark.parametrize(
    "text",
    [
        "1.10",
        "1e400",
        "-1E-400",
        "0.1000000000000000055511151231257827",
        "1796071745.3935173",
        "1e5",
    ],
)
def test_numbers_keep_their_digits(text):
    assert canonical(f'{{"n":{text}}}'.encode()) == f'{{"n":{text}}}'.encode()


def test_a_number_beyond_every_float_is_still_a_number():
    value = decode(b'{"n":1e400}')["n"]
    assert isinstance(value, Decimal64)
    assert math.isinf(value)
    assert value.text == "1e400"


def test_integers_of_any_size_are_exact():
    text = b'{"n":123456789012345678901234567890}'
    assert canonical(text) == text


def test_lone_surrogates_survive_as_the_escapes_that_they_were():
    assert canonical(b'{"a":"\\ud800"}') == b'{"a":"\\ud800"}'


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b'{"a":NaN}',
        b'{"a":1} x',
        b'{"a":01}',
        b'{"a":"\xff"}',
        b"[" * 5000 + b"]" * 5000,
    ],
)
def test_what_is_not_json_is_refused(text):
    with pytest.raises(RolloutError, match="cannot read JSON"):
        decode(text)


def test_what_json_does_not_have_is_not_written():
    with pytest.raises(RolloutError, match="cannot write JSON"):
        encode({"a": object()})


def test_what_is_not_a_number_is_written_as_null():
    assert encode({"a": float("nan")}) == b'{"a":null}'


@given(json_objects, st.text(), json_values, json_values, spellings)
def test_replacing_a_member_changes_it_and_nothing_else(before, name, old, new, spelling):
    doc = {**before, name: old}
    raw = json.dumps(doc, **spelling).encode()
    changed = replace(raw, (name,), encode(new))
    assert decode(changed) == {**doc, name: new}
    assert list(decode(changed)) == list(doc)
    # What stood before and behind the value is the same, byte for byte.
    assert replace(changed, (name,), _value_text(raw, name)) == raw


def _value_text(raw: bytes, name: str) -> bytes:
    """Find the text of a member's value the slow way: by what decodes to it."""
    start = len(raw) - len(raw.lstrip())
    return next(raw[b:e] for key, b, e in reversed(jsontext._members(raw, start)) if key == name)


def test_replacing_reaches_members_of_members():
    raw = b'{ "a" : {"b": [1, "}"], "c" : 2 } , "a\\u0062": 3}'
    assert replace(raw, ("a", "c"), b"7") == b'{ "a" : {"b": [1, "}"], "c" : 7 } , "a\\u0062": 3}'
    assert replace(raw, ("ab",), b"7") == b'{ "a" : {"b": [1, "}"], "c" : 2 } , "a\\u0062": 7}'


def test_of_duplicate_keys_the_last_is_meant():
    assert replace(b'{"a":1,"a":2}', ("a",), b"3") == b'{"a":1,"a":3}'


def test_a_member_that_is_not_there_cannot_be_replaced():
    for raw, path in ((b'{"a":1}', ("b",)), (b'{"a":1}', ("a", "b")), (b"[]", ("a",))):
        with pytest.raises(RolloutError, match="cannot replace"):
            replace(raw, path, b"1")
