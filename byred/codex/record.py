"""Typed, read-only views over the protocol's JSON objects.

Owns what every generated type in `protocol/types.py` is made of: a `Record` keeps the decoded JSON
object as it came and hands out its fields by name, checked when they are read. So a type costs
nothing until it is used, a field that a newer server added or changed elsewhere in the message
breaks nobody, and what is not understood survives a round-trip unchanged. Knows no type and no
method by name.
"""

import sys
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self, dataclass_transform

from byred.codex.errors import MalformedError

_MISSING: Final = object()
_UNSET: Final = object()
_new: Final = object.__new__


class ListOf:
    """The shape of a JSON array whose members all have one shape."""

    __slots__ = ("member",)

    def __init__(self, member: object) -> None:
        self.member = member


class MapOf:
    """The shape of a JSON object used as a map from strings to values of one shape."""

    __slots__ = ("member",)

    def __init__(self, member: object) -> None:
        self.member = member


class _Field:
    """The descriptor behind one field of a record: its name on the wire and its shape."""

    __slots__ = ("default", "name", "required", "shape", "wire")

    def __init__(self, wire: str, shape: object, default: object) -> None:
        self.wire = wire
        self.shape = shape
        self.required = default is _UNSET
        self.default = None if default is _UNSET else default
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, record: "Record | None", owner: type) -> Any:
        if record is None:
            return self
        value = record._data.get(self.wire, _MISSING)  # noqa: SLF001 - the descriptor is the record's own part
        shape = self.shape
        if shape is str and type(value) is str:
            return value
        if value is None or value is _MISSING:
            if value is _MISSING and self.required:
                raise MalformedError(f"cannot read {owner.__name__}.{self.wire}: it is missing")
            default = self.default if value is _MISSING else None
            return list(default) if type(default) is list else default
        return value if shape is None else _view(value, shape, owner, self.wire)

    def __set__(self, record: "Record", value: object) -> None:
        raise AttributeError(
            f"cannot set {type(record).__name__}.{self.name}: records are read-only; use evolve()"
        )


def _view(value: Any, shape: object, owner: type, wire: str) -> Any:
    viewed = _viewed(value, shape, owner, wire)
    if viewed is _MISSING:
        kind = type(value).__name__
        raise MalformedError(f"cannot read {owner.__name__}.{wire}: the schema says no {kind}")
    return viewed


def _viewed(value: Any, shape: object, owner: type, wire: str) -> Any:
    viewed: Any = _MISSING
    if shape is None:
        viewed = value
    elif isinstance(shape, str):
        if type(value) is dict:
            kind: type[Record] = getattr(sys.modules[owner.__module__], shape)
            viewed = kind.wrap(value)
    elif isinstance(shape, ListOf):
        if type(value) is list:
            viewed = [_view(each, shape.member, owner, wire) for each in value]
    elif isinstance(shape, MapOf):
        if type(value) is dict:
            viewed = {name: _view(each, shape.member, owner, wire) for name, each in value.items()}
    elif type(value) is shape or (shape is float and type(value) is int):
        viewed = value
    return viewed


def field(wire: str, shape: object = None, *, default: Any = _UNSET) -> Any:
    """Declare a record's field: its name on the wire, its shape, and its default when optional.

    A shape is `str`, `int`, `bool` or `float`, the name of a record type of the same module, a
    `ListOf` or `MapOf` of shapes, or None for any JSON value.
    """
    return _Field(wire, shape, default)


def unwrap(value: Any) -> Any:
    """Return the plain JSON value behind `value`, records at any depth included."""
    if isinstance(value, Record):
        return value.wire
    if isinstance(value, (list, tuple)):
        return [unwrap(each) for each in value]
    if isinstance(value, Mapping):
        return {name: unwrap(each) for name, each in value.items()}
    return value


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class Record:
    """A JSON object of the protocol with named, typed fields.

    Made from the wire by `wrap`, or with keywords: optional fields that are None are left out.
    Reading a required field that is missing, or one of another JSON type than the schema says,
    raises `MalformedError`; the other fields stay readable.
    """

    __slots__ = ("_data",)
    _fields: ClassVar[dict[str, _Field]] = {}
    _data: dict[str, Any]

    def __init_subclass__(cls) -> None:
        own = {name: item for name, item in vars(cls).items() if isinstance(item, _Field)}
        cls._fields = {**cls._fields, **own}

    def __init__(self, **values: Any) -> None:
        fields = self._fields
        data: dict[str, Any] = {}
        for name, value in values.items():
            if name not in fields:
                raise TypeError(f"{type(self).__name__} has no field {name!r}")
            if value is not None or fields[name].required:
                data[fields[name].wire] = unwrap(value)
        for name, item in fields.items():
            if item.required and item.wire not in data:
                raise TypeError(f"{type(self).__name__} needs the field {name!r}")
        self._data = data

    @classmethod
    def wrap(cls, data: dict[str, Any]) -> Self:
        """View a decoded JSON object as this type; it is kept, not copied, so leave it alone."""
        record: Self = _new(cls)
        record._data = data
        return record

    @property
    def wire(self) -> dict[str, Any]:
        """The JSON object as it came or as it will be sent; not to be changed."""
        return self._data

    @property
    def unknown(self) -> dict[str, Any]:
        """The fields that this type does not name, as a newer server may send them."""
        known = {item.wire for item in self._fields.values()}
        return {name: value for name, value in self._data.items() if name not in known}

    def evolve(self, **changes: Any) -> Self:
        """Return a copy with the named fields changed (None removes an optional one)."""
        data = dict(self._data)
        for name, value in changes.items():
            item = self._fields.get(name)
            if item is None:
                raise TypeError(f"{type(self).__name__} has no field {name!r}")
            if value is None and not item.required:
                data.pop(item.wire, None)
            else:
                data[item.wire] = unwrap(value)
        return self.wrap(data)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._data == other._data

    __hash__ = None  # type: ignore[assignment]  # a record holds a dict, as unhashable as that is

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self._data.items())
        return f"{type(self).__name__}({shown[:200]}{'…' if len(shown) > 200 else ''})"  # noqa: PLR2004 - a log line's worth
