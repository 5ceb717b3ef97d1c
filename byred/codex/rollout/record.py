"""Typed views of JSON objects: names and types on top, the object itself untouched below.

A `Record` never drops what it does not know: `doc` is the object as it was read, unknown members
and their order included, and a field reads from it when asked. So a version of codex that changes
one field costs that one field, not the record. The classes of the protocol are in `types`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from byred.codex.rollout.errors import RolloutError
from byred.codex.rollout.jsontext import encode

T = TypeVar("T")
R = TypeVar("R", bound="Record")
_ABSENT: Any = object()
_NUMBER = (float, int)
_FLAGGED = (bool, object)
_NAMES: dict[type | tuple[type, ...], str] = {
    str: "a string",
    int: "an integer",
    _NUMBER: "a number",
    bool: "a flag",
    list: "a list",
    dict: "an object",
}


class Field(Generic[T]):
    """One member of a record, read and checked when asked for."""

    __slots__ = ("kind", "maybe", "name", "wire")

    def __init__(self, kind: type | tuple[type, ...], wire: str, *, maybe: bool) -> None:
        self.kind, self.wire, self.maybe = kind, wire, maybe
        self.name = wire

    def __set_name__(self, owner: type[Record], name: str) -> None:
        self.name = name
        self.wire = self.wire or name

    @overload
    def __get__(self, record: None, owner: type) -> Self: ...
    @overload
    def __get__(self, record: Record, owner: type) -> T: ...
    def __get__(self, record: Record | None, owner: type) -> Self | T:
        if record is None:
            return self
        value: Any = record.doc.get(self.wire, _ABSENT)
        if self.maybe and (value is None or value is _ABSENT):
            return None  # type: ignore[return-value] # T is optional in every field that is `maybe`
        # To Python a flag is an integer as well; to JSON it isn't.
        fits = isinstance(value, self.kind) and isinstance(value, bool) <= (self.kind in _FLAGGED)
        if fits:
            return value  # type: ignore[no-any-return] # checked just now
        what = "absent" if value is _ABSENT else f"not {_NAMES[self.kind]}"
        raise RolloutError(f"cannot read {type(record).__name__}.{self.name}: it is {what}")


def text(wire: str = "") -> Field[str]:
    """Return a field that is a string."""
    return Field(str, wire, maybe=False)


def maybe_text(wire: str = "") -> Field[str | None]:
    """Return a field that is a string, null or absent."""
    return Field(str, wire, maybe=True)


def whole(wire: str = "") -> Field[int]:
    """Return a field that is an integer."""
    return Field(int, wire, maybe=False)


def maybe_whole(wire: str = "") -> Field[int | None]:
    """Return a field that is an integer, null or absent."""
    return Field(int, wire, maybe=True)


def number(wire: str = "") -> Field[float]:
    """Return a field that is any number."""
    return Field(_NUMBER, wire, maybe=False)


def maybe_number(wire: str = "") -> Field[float | None]:
    """Return a field that is any number, null or absent."""
    return Field(_NUMBER, wire, maybe=True)


def flag(wire: str = "") -> Field[bool]:
    """Return a field that is true or false."""
    return Field(bool, wire, maybe=False)


def maybe_flag(wire: str = "") -> Field[bool | None]:
    """Return a field that is true, false, null or absent."""
    return Field(bool, wire, maybe=True)


def many(wire: str = "") -> Field[list[Any]]:
    """Return a field that is a list."""
    return Field(list, wire, maybe=False)


def maybe_many(wire: str = "") -> Field[list[Any] | None]:
    """Return a field that is a list, null or absent."""
    return Field(list, wire, maybe=True)


def table(wire: str = "") -> Field[dict[str, Any]]:
    """Return a field that is an object."""
    return Field(dict, wire, maybe=False)


def maybe_table(wire: str = "") -> Field[dict[str, Any] | None]:
    """Return a field that is an object, null or absent."""
    return Field(dict, wire, maybe=True)


def anything(wire: str = "") -> Field[Any]:
    """Return a field of any shape; absent reads as None."""
    return Field(object, wire, maybe=True)


class Record:
    """A JSON object seen through the names of one type of the protocol.

    `doc` is the object itself; treat it as frozen and take a changed copy with `but`.
    """

    __slots__ = ("doc",)
    tag: ClassVar[str] = ""
    """The value of `type` that marks this record, or empty where the envelope says it."""
    aliases: ClassVar[tuple[str, ...]] = ()
    """Other spellings of the tag that codex reads or has written."""
    fields: ClassVar[Mapping[str, str]] = {}
    """The names of this class and the members that they read."""

    def __init_subclass__(cls) -> None:
        own = {name: field.wire for name, field in vars(cls).items() if type(field) is Field}
        if own:
            cls.fields = {**cls.fields, **own}

    def __init__(self, doc: dict[str, Any]) -> None:
        self.doc = doc

    @classmethod
    def of(cls, **values: Any) -> Self:
        """Return a new record with these fields, in the order given; None writes null.

        Raises RolloutError for a name that the type does not have.
        """
        doc: dict[str, Any] = {"type": cls.tag} if cls.tag else {}
        return cls(doc).but(**values)

    def but(self, **values: Any) -> Self:
        """Return a copy with these fields set; what the copy does not name stays as it was."""
        unknown = sorted(set(values) - set(self.fields))
        if unknown:
            known = ", ".join(sorted(self.fields))
            raise RolloutError(
                f"cannot make a {type(self).__name__} with {unknown[0]!r}: it has {known}"
            )
        return type(self)({**self.doc, **{self.fields[k]: _plain(v) for k, v in values.items()}})

    @property
    def unknown(self) -> dict[str, Any]:
        """The members that this class has no name for, in their order."""
        known = {*self.fields.values(), "type"}
        return {name: value for name, value in self.doc.items() if name not in known}

    def write(self) -> bytes:
        """Return the record as compact JSON."""
        return encode(self.doc)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.doc == self.doc

    __hash__ = None  # type: ignore[assignment] # it compares by a dict, so it must not hash

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.doc!r})"


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.doc
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
