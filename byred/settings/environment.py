"""The `BYRED_SECTION__KEY` variables as a source of settings.

A value is written as in the file, except that text needs no quotes. `BYRED_SCHEDULER__RETRY__CAP`
reaches a table in a table. Variables without `__` are not settings and are left alone.
"""

import os
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, Strict
from pydantic.fields import FieldInfo
from pydantic_settings import PydanticBaseSettingsSource

PREFIX = "BYRED_"


class BadVariableError(ValueError):
    """A variable cannot be read as a setting; the arguments are its name and the expectation."""


class Environment(PydanticBaseSettingsSource):
    """Gives pydantic-settings what the environment sets, as nested tables."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002 - the base class asks for it, __call__ does the work
        """Give nothing: tables are read as a whole."""
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        """Read the variables; raise BadVariableError."""
        return read(os.environ, self.settings_cls)


def variable(location: tuple[str, ...]) -> str:
    """Give the name of the variable that sets the key at a location."""
    return PREFIX + "__".join(location).upper()


def read(environ: Mapping[str, str], model: type[BaseModel]) -> dict[str, Any]:
    """Give the overrides in `environ` as nested tables shaped like `model`.

    Raises BadVariableError for a value that is not TOML where TOML is needed, and for two variables
    of which one sets a table and the other a key in it.
    """
    tables: dict[str, Any] = {}
    for name in sorted(environ):
        if not name.startswith(PREFIX) or "__" not in name:
            continue
        location = name.removeprefix(PREFIX).lower().split("__")
        table = tables
        for key in location[:-1]:
            table = table.setdefault(key, {})
            if not isinstance(table, dict):
                raise BadVariableError(name, "expected no other variable that sets the same table")
        if location[-1] in table:
            raise BadVariableError(name, "expected no other variable that sets the same table")
        table[location[-1]] = _value(name, environ[name], _form(model, location))
    return tables


class _Form(StrEnum):
    """How the value of a variable is written."""

    TEXT = "text"
    NUMBER = "a number, true or false"
    LIST = 'a list such as ["a", "b"]'
    TABLE = "a table such as { a = 1 }"
    FREE = "anything"


def _form(model: type[BaseModel], location: list[str]) -> _Form:
    kind: Any = model
    form = _Form.TABLE
    for key in location:
        if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
            # Below a table whose keys are codex's own; anywhere else the model refuses the key.
            return _Form.FREE
        field = next((f for n, f in kind.model_fields.items() if key in (n, f.alias)), None)
        if field is None:
            return _Form.TEXT
        kind = field.annotation
        form = _form_of(field)
    return form


def _form_of(field: FieldInfo) -> _Form:
    origin = getattr(field.annotation, "__origin__", field.annotation)
    if origin is tuple:
        return _Form.LIST
    if isinstance(origin, type) and issubclass(origin, dict | BaseModel):
        return _Form.TABLE
    # Numbers are strict; a duration is a number too, but written as text.
    return _Form.NUMBER if any(isinstance(m, Strict) for m in field.metadata) else _Form.TEXT


def _value(name: str, text: str, form: _Form) -> Any:
    if form is _Form.TEXT:
        return text
    try:
        return tomllib.loads(f"v = {text}")["v"]
    except (tomllib.TOMLDecodeError, RecursionError):
        if form is _Form.FREE:
            return text
        raise BadVariableError(name, f"expected {form}") from None
