"""The text of a message is kept to the byte."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byred.cli import wire

SPACE = st.text(alphabet=" \t\r\n", max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=6), VALUES, max_size=4), st.booleans(), st.data())
def test_every_member_keeps_its_value_and_its_text(value, ascii_only, data):
    parts = []
    texts = {}
    for name, member in value.items():
        texts[name] = json.dumps(member, ensure_ascii=ascii_only)
        gaps = [data.draw(SPACE) for _ in range(4)]
        written = json.dumps(name, ensure_ascii=ascii_only)
        parts.append(f"{gaps[0]}{written}{gaps[1]}:{gaps[2]}{texts[name]}{gaps[3]}")
    line = data.draw(SPACE) + "{" + ",".join(parts) + "}" + data.draw(SPACE)
    found = wire.members(line)
    assert {name: member.value for name, member in found.items()} == value
    assert {name: member.text for name, member in found.items()} == texts


@given(st.text(max_size=40))
def test_a_line_is_taken_or_refused_as_json_does(line):
    try:
        expected = json.loads(line)
    except ValueError:
        expected = None
    if isinstance(expected, dict):
        assert {name: part.value for name, part in wire.members(line).items()} == expected
    else:
        with pytest.raises(ValueError, match=r".+"):
            wire.members(line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        "{}x",
        '{"a"}',
        '{"a":1',
        '{"a":1,}',
        '{"a" 1}',
        "{1:2}",
        '{"a":1}{}',
        '{"a":' + "[" * 100_000,
    ],
)
def test_what_is_not_one_object_is_refused(line):
    with pytest.raises(ValueError, match=r".+"):
        wire.members(line)


def test_the_spelling_of_numbers_and_escapes_survives():
    text = r'{"big":1E400,"same":"\u00fc\/","n":1.0e+2, "again":1,"again":2}'
    result = wire.members('{"id":1,"result":' + text + "}")["result"]
    assert result.text == text
    assert math.isinf(result.value["big"])


def test_a_request_is_one_line_of_utf_8():
    line = wire.request(4, "task.tell", {"id": 1, "text": "zwei\nZeilen: ü"})
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line) == {
        "jsonrpc": "2.0",
        "id": 4,
        "method": "task.tell",
        "params": {"id": 1, "text": "zwei\nZeilen: ü"},
    }


def test_a_request_of_bytes_that_are_no_text_is_refused():
    with pytest.raises(ValueError, match="surrogates"):
        wire.request(1, "task.tell", {"text": "\udcff"})
