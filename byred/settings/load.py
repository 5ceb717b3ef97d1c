"""Reading the settings, and saying in one line what is wrong with them."""

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from byred.settings.environment import BadVariableError, variable
from byred.settings.model import Settings
from byred.settings.values import Anchored

# What pydantic would say in its own words, said in the words of the file.
EXPECTATIONS = {
    "bool_type": "expected true or false",
    "dict_type": "expected a table",
    "float_type": "expected a number",
    "int_type": "expected a whole number",
    "model_type": "expected a table",
    "string_type": "expected text in quotes",
    "tuple_type": "expected a list",
}

# Keys that are agreed but that nothing acts on yet; setting one must not pass for success.
NOT_YET = (
    "http.listen",
    "http.token_file",
)


class SettingsError(Exception):
    """The settings cannot be used: one line with the file or variable, the key, what to do."""

    def __init__(self, line: str) -> None:
        super().__init__("".join(c if c.isprintable() else ascii(c)[1:-1] for c in line))


def find_config(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Give the file that is read when none is named: the first that exists, or None.

    It is looked for in the folder that systemd names, in the user's, and in /etc/byred.
    """
    folders = [
        *environ.get("CONFIGURATION_DIRECTORY", "").split(":"),
        os.path.join(environ.get("XDG_CONFIG_HOME") or "~/.config", "byred"),  # noqa: PTH118 - still text
        "/etc/byred",
    ]
    files = (Path(folder).expanduser() / "byred.toml" for folder in folders if folder)
    return next((file for file in files if _is_there(file)), None)


def _is_there(file: Path) -> bool:
    try:
        return file.is_file()
    except PermissionError:
        return True  # reading it will say so


def load(path: Path | None) -> Settings:
    """Read a file (None for the defaults) and the environment; raise SettingsError.

    Relative paths in the file start at its folder, those in a variable at the working directory.
    """
    content = {} if path is None else _parse(path)
    where = "the defaults" if path is None else str(path)
    try:
        settings = Settings(**content)
    except BadVariableError as error:
        raise SettingsError(": ".join(error.args)) from None
    except ValidationError as error:
        raise SettingsError(_explain(where, content, error)) from None
    for key in NOT_YET:
        _refuse_unless_default(settings, key, where, content)
    return settings


def _refuse_unless_default(
    settings: Settings, key: str, where: str, content: dict[str, Any]
) -> None:
    section, name = key.split(".")
    table = getattr(settings, section)
    for attribute, field in type(table).model_fields.items():
        if name == (field.alias or attribute) and getattr(table, attribute) != field.default:
            source = _source(where, content, (section, name))
            raise SettingsError(f"{source}: expected the default: byred does not act on it yet")


def _parse(path: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise SettingsError(
            f"{path}: cannot read the settings: {error.strerror}; name a file that exists and that "
            "this user may read",
        ) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise SettingsError(f"{path}: expected UTF-8 text in line {line}") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: expected TOML, but found: {error}") from None
    except RecursionError:
        raise SettingsError(f"{path}: expected TOML with less deeply nested values") from None
    return _anchor(content, Settings, path.absolute().parent)


def _anchor(table: dict[str, Any], model: type[BaseModel], folder: Path) -> dict[str, Any]:
    """Give the table with its relative paths below `folder`."""
    anchored = dict(table)
    for name, field in model.model_fields.items():
        value, kind = table.get(name), field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel) and isinstance(value, dict):
            anchored[name] = _anchor(value, kind, folder)
        elif isinstance(value, str) and value and _is_path(field) and not value.startswith("~"):
            anchored[name] = str(folder / value)
    return anchored


def _is_path(field: FieldInfo) -> bool:
    return any(isinstance(mark, Anchored) for mark in field.metadata)


def _explain(where: str, content: dict[str, Any], error: ValidationError) -> str:
    errors = error.errors(include_url=False)
    location = tuple(str(part) for part in errors[0]["loc"])
    while location and location[-1].startswith("function-"):  # pydantic's own steps
        location = location[:-1]
    more = f" (and {len(errors) - 1} more like it)" if len(errors) > 1 else ""
    return f"{_source(where, content, location)}: {_expectation(errors[0], location)}{more}"


def _source(where: str, content: dict[str, Any], location: tuple[str, ...]) -> str:
    """Name where the value at a location came from: a variable, or else the file and the key."""
    for length in range(len(location), 0, -1):
        if (name := variable(location[:length])) in os.environ:
            return name
    if not _holds(content, location):
        inside = variable(location) + "__"
        if name := min((name for name in os.environ if name.startswith(inside)), default=""):
            return name
    return f"{where}: {'.'.join(location)}"


def _holds(content: Any, location: tuple[str, ...]) -> bool:
    for part in location:
        if not isinstance(content, dict) or part not in content:
            return False
        content = content[part]
    return True


def _expectation(error: ErrorDetails, location: tuple[str, ...]) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown(location)
    if kind == "value_error":
        return str(context["error"])
    if kind == "literal_error":
        return f"expected one of {context['expected']}".replace(" or ", ", ")
    if kind in ("greater_than_equal", "less_than_equal"):
        bound = "at least" if kind == "greater_than_equal" else "at most"
        return f"expected a number of {bound} {context.get('ge', context.get('le'))}"
    return EXPECTATIONS.get(kind) or f"expected another value: {error['msg']}"


def _unknown(location: tuple[str, ...]) -> str:
    model: type[BaseModel] = Settings
    for part in location[:-1]:
        kind = model.model_fields[part].annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            model = kind
    known = [field.alias or name for name, field in model.model_fields.items()]
    close = difflib.get_close_matches(location[-1], known, 1)
    hint = f"did you mean {close[0]}?" if close else f"expected one of {', '.join(known)}"
    return f"unknown key; {hint}"
