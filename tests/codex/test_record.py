"""Typed views over JSON that lose nothing and break late."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byred.codex import MalformedError
from byred.codex.events import Event
from byred.codex.protocol import types
from byred.codex.record import ListOf, MapOf, Record, field

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


class Leaf(Record):
    __slots__ = ()
    name: str = field("name", str)
    size: int | None = field("sizeBytes", int, default=None)


class Tree(Record):
    __slots__ = ()
    leaf: Leaf = field("leaf", "Leaf")
    leaves: list[Leaf] = field("leaves", ListOf("Leaf"), default=[])
    named: dict[str, Leaf] | None = field("named", MapOf("Leaf"), default=None)
    ratio: float = field("ratio", float, default=1.5)
    anything: object = field("anything", default=None)


def test_fields_are_read_by_name_and_nested_as_types():
    tree = Tree.wrap(
        {
            "leaf": {"name": "a", "sizeBytes": 3},
            "leaves": [{"name": "b"}, {"name": "c"}],
            "named": {"x": {"name": "d"}},
            "ratio": 2,
            "anything": [1, {"a": None}],
        }
    )
    assert (tree.leaf.name, tree.leaf.size) == ("a", 3)
    assert [leaf.name for leaf in tree.leaves] == ["b", "c"]
    assert tree.leaves[0].size is None
    assert tree.named is not None
    assert tree.named["x"].name == "d"
    assert tree.ratio == 2
    assert tree.anything == [1, {"a": None}]


def test_what_is_left_out_has_its_default():
    tree = Tree.wrap({"leaf": {"name": "a"}})
    assert (tree.leaves, tree.named, tree.ratio, tree.anything) == ([], None, 1.5, None)
    assert Tree.wrap({"leaf": {"name": "a"}, "ratio": None}).ratio is None
    tree.leaves.append(tree.leaf)
    assert tree.leaves == []


@pytest.mark.parametrize(
    ("data", "read", "problem"),
    [
        ({}, lambda tree: tree.leaf, "Tree.leaf: it is missing"),
        ({"leaf": 1}, lambda tree: tree.leaf, "Tree.leaf: the schema says no int"),
        ({"leaf": {"name": 1}}, lambda tree: tree.leaf.name, "Leaf.name: the schema says no int"),
        ({"leaf": {"name": True}}, lambda tree: tree.leaf.name, "no bool"),
        (
            {"leaf": {"name": "a", "sizeBytes": True}},
            lambda tree: tree.leaf.size,
            "Leaf.sizeBytes: the schema says no bool",
        ),
        ({"leaves": {}}, lambda tree: tree.leaves, "Tree.leaves: the schema says no dict"),
        ({"leaves": [1]}, lambda tree: tree.leaves, "Tree.leaves: the schema says no int"),
        ({"named": []}, lambda tree: tree.named, "Tree.named: the schema says no list"),
        ({"ratio": "1"}, lambda tree: tree.ratio, "Tree.ratio: the schema says no str"),
    ],
)
def test_a_wrong_field_is_told_when_it_is_read_and_only_then(data, read, problem):
    tree = Tree.wrap(data | {"anything": "fine"})
    assert tree.anything == "fine"
    with pytest.raises(MalformedError, match=problem):
        read(tree)


def test_records_are_made_with_keywords_and_read_only():
    leaf = Leaf(name="a", size=None)
    assert leaf.wire == {"name": "a"}
    tree = Tree(leaf=leaf, leaves=[leaf], named={"x": leaf}, anything=(leaf,))
    assert tree.wire == {
        "leaf": {"name": "a"},
        "leaves": [{"name": "a"}],
        "named": {"x": {"name": "a"}},
        "anything": [{"name": "a"}],
    }
    with pytest.raises(AttributeError, match="records are read-only; use evolve"):
        leaf.name = "b"
    with pytest.raises(TypeError, match="has no field 'nam'"):
        Leaf(nam="a")
    with pytest.raises(TypeError, match="needs the field 'name'"):
        Leaf(size=1)
    assert repr(leaf) == "Leaf(name='a')"
    assert leaf == Leaf(name="a")
    assert leaf != Leaf(name="b")
    assert leaf != {"name": "a"}


def test_a_change_keeps_what_is_not_understood():
    leaf = Leaf.wrap({"name": "a", "sizeBytes": 1, "new": {"x": 1}})
    assert leaf.unknown == {"new": {"x": 1}}
    changed = leaf.evolve(name="b", size=None)
    assert changed.wire == {"name": "b", "new": {"x": 1}}
    assert leaf.name == "a"
    with pytest.raises(TypeError, match="has no field 'new'"):
        leaf.evolve(new=1)


@given(st.sampled_from(sorted(types.NOTIFICATIONS)), st.dictionaries(st.text(), JSON, max_size=6))
def test_any_message_survives_a_round_trip_through_its_type_unchanged(method, params):
    line = msgspec.json.encode({"method": method, "params": params})
    event = msgspec.json.decode(line, type=Event)
    assert type(event.params) is types.NOTIFICATIONS[method]
    assert {"method": method, "params": event.params.wire} == msgspec.json.decode(line)


@given(JSON)
def test_new_variants_fields_and_enum_values_survive(value):
    data = {"type": "somethingNew", "id": "1", "status": "neverSeen", "novel": value}
    item = types.ThreadItem.wrap(data)
    assert (item.type, item.status) == ("somethingNew", "neverSeen")
    assert item.unknown == {"novel": value}
    assert (
        types.ItemCompletedNotification(
            item=item, thread_id="t", turn_id="u", completed_at_ms=1
        ).wire["item"]
        == data
    )


def test_every_type_can_be_made_of_nothing_and_says_what_is_missing():
    for name in dir(types):
        kind = getattr(types, name)
        if isinstance(kind, type) and issubclass(kind, Record) and kind is not Record:
            record = kind.wrap({})
            for item in kind._fields.values():
                if item.required:
                    with pytest.raises(MalformedError, match="it is missing"):
                        getattr(record, item.name)
                else:
                    getattr(record, item.name)
