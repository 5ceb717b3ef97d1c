"""Records: names and types on top of an object that stays as it is."""

from __future__ import annotations

import pytest

from byred.codex.rollout.errors import RolloutError
from byred.codex.rollout.record import (
    Record,
    anything,
    flag,
    many,
    maybe_flag,
    maybe_many,
    maybe_number,
    maybe_table,
    maybe_text,
    maybe_whole,
    number,
    table,
    text,
    whole,
)


class Sample(Record):
    __slots__ = ()
    tag = "sample"
    name = text()
    count = whole("countOf")
    ratio = number()
    on = flag()
    rows = many()
    more = table()
    other = anything()
    maybe_name = maybe_text()
    maybe_count = maybe_whole()
    maybe_ratio = maybe_number()
    maybe_on = maybe_flag()
    maybe_rows = maybe_many()
    maybe_more = maybe_table()


FULL = {
    "type": "sample",
    "name": "n",
    "countOf": 3,
    "ratio": 2,
    "on": False,
    "rows": [1],
    "more": {"a": 1},
    "other": None,
}


def test_fields_read_the_object_under_their_own_or_their_wire_name():
    sample = Sample(FULL)
    assert (sample.name, sample.count, sample.ratio, sample.on) == ("n", 3, 2, False)
    assert (sample.rows, sample.more, sample.other) == ([1], {"a": 1}, None)


def test_optional_fields_are_none_when_absent_and_when_null():
    names = [name for name in Sample.fields if name.startswith("maybe_")]
    assert len(names) == 6
    for name in names:
        assert getattr(Sample({}), name) is None
        assert getattr(Sample({name: None}), name) is None


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("name", 1, "not a string"),
        ("count", True, "not an integer"),
        ("count", 1.5, "not an integer"),
        ("ratio", True, "not a number"),
        ("on", 1, "not a flag"),
        ("rows", {}, "not a list"),
        ("more", [], "not an object"),
        ("maybe_name", 1, "not a string"),
        ("maybe_count", "1", "not an integer"),
    ],
)
def test_a_field_of_another_type_says_which_one_it_is(name, value, what):
    sample = Sample({Sample.fields[name]: value})
    with pytest.raises(RolloutError, match=f"cannot read Sample.{name}: it is {what}"):
        getattr(sample, name)


def test_a_required_field_that_is_absent_says_so():
    with pytest.raises(RolloutError, match=r"cannot read Sample.name: it is absent"):
        _ = Sample({}).name


def test_one_bad_field_costs_no_other():
    sample = Sample({**FULL, "countOf": "three"})
    assert sample.name == "n"


def test_a_new_record_has_its_tag_first_and_its_fields_in_the_order_given():
    sample = Sample.of(count=1, name="n", maybe_name=None)
    assert list(sample.doc.items()) == [
        ("type", "sample"),
        ("countOf", 1),
        ("name", "n"),
        ("maybe_name", None),
    ]
    assert sample.write() == b'{"type":"sample","countOf":1,"name":"n","maybe_name":null}'


def test_a_name_that_the_type_does_not_have_is_refused():
    with pytest.raises(RolloutError, match="cannot make a Sample with 'nmae'"):
        Sample.of(nmae="n")


def test_a_changed_copy_keeps_what_nobody_has_a_name_for():
    before = Sample({"type": "sample", "brand_new": [1], "name": "n"})
    after = before.but(name="m")
    assert after.doc == {"type": "sample", "brand_new": [1], "name": "m"}
    assert before.name == "n"
    assert after.unknown == {"brand_new": [1]}


def test_records_inside_records_become_objects():
    inner = Sample.of(name="inner")
    assert Sample.of(other=[inner], more=inner).doc["other"] == [inner.doc]


def test_records_compare_by_type_and_object():
    assert Sample(FULL) == Sample(dict(FULL))
    assert Sample(FULL) != Sample({})
    assert Sample(FULL) != Record(FULL)
    assert repr(Sample({})) == "Sample({})"
    with pytest.raises(TypeError):
        hash(Sample({}))


def test_a_subclass_has_the_fields_of_its_base():
    class Wider(Sample):
        __slots__ = ()
        extra = text()

    assert set(Wider.fields) == {*Sample.fields, "extra"}
    assert "extra" not in Sample.fields
