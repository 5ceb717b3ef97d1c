"""Rows to values and back: JSON columns and times, in one place for all tables."""

import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

T = TypeVar("T", bound=msgspec.Struct)

# No id is greater: where a listing starts that starts at the newest.
LAST = 2**63 - 1


def stamp(moment: datetime) -> str:
    """Write a moment as it is stored: UTC, of fixed width."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def columns(value: msgspec.Struct, json_columns: Iterable[str]) -> dict[str, Any]:
    """Give a value's fields as parameters of a statement."""
    as_json = frozenset(json_columns)
    return {
        name: _column(getattr(value, name), as_json=name in as_json)
        for name in value.__struct_fields__
    }


def from_row(row: sqlite3.Row, kind: type[T], json_columns: Iterable[str]) -> T:
    """Make a value from a row; columns that the value does not have are left out."""
    fields = {
        name: row[name]
        for name in row.keys()  # noqa: SIM118 - iterating a Row gives its values
        if name in kind.__struct_fields__
    }
    for name in json_columns:
        if fields[name] is not None:
            fields[name] = msgspec.json.decode(fields[name])
    return msgspec.convert(fields, kind, strict=False)


def _column(value: Any, *, as_json: bool) -> Any:
    if value is None:
        return None
    if as_json:
        return msgspec.json.encode(value).decode()
    if isinstance(value, datetime):
        return stamp(value)
    return value
