"""Python modules from a protocol's model: the same model gives the same bytes."""

import re
import textwrap

from byred.codex.generate.schema import ClassModel, EnumModel, FieldModel, Protocol
from byred.codex.generate.surface import CLIENT_RESULTS, SERVER_REQUEST_RESULTS

_HEADER = '''"""{doc}

Written by `make protocol` from codex {version}; do not edit.
"""
# ruff: noqa: {rules} - the schema's own words and names, as they come
# fmt: off
'''
_WIDTH = 96


def _header(doc: str, version: str, rules: str) -> str:
    return _HEADER.format(doc=doc, version=version, rules=rules)


def render_methods(protocol: Protocol, version: str) -> str:
    """Return `protocol/methods.py`: the name of every method of this version."""
    lines = [_header("The names of all methods of the app-server.", version, "E501, S105")]
    lines += ["from typing import Final", "", f'SCHEMA_VERSION: Final = "{version}"', ""]
    for name, doc, methods in (
        ("ClientMethod", "What a client may call.", protocol.client_methods),
        ("NotificationMethod", "What the server tells.", protocol.notifications),
        ("ServerRequestMethod", "What the server asks.", protocol.server_requests),
    ):
        lines += ["", f"class {name}:", f'    """{doc}"""', ""]
        lines += [f'    {constant(method)}: Final = "{method}"' for method in methods]
        lines.append("")
    return "\n".join(lines)


def render_types(protocol: Protocol, version: str) -> str:
    """Return `protocol/types.py`: the types of the surface and the maps from methods to them."""
    lines = [_header("The types of the app-server's messages.", version, "D205, D415, E501, S105")]
    lines += [
        "from __future__ import annotations",
        "",
        "from typing import Any, Final",
        "",
        "from byred.codex.record import ListOf, MapOf, Record, field",
        "",
    ]
    for enum in sorted(protocol.enums.values(), key=lambda each: each.name):
        lines += _enum(enum)
    for model in sorted(protocol.classes.values(), key=lambda each: each.name):
        lines += _class(model)
    used = {method: protocol.client_methods.get(method) for method in CLIENT_RESULTS}
    known = protocol.classes
    for name, doc, types in (
        ("CLIENT_PARAMS", "The params of each client method of the surface.", used),
        ("CLIENT_RESULTS", "The result of each client method of the surface.", CLIENT_RESULTS),
        ("NOTIFICATIONS", "The params of each notification.", protocol.notifications),
        ("SERVER_REQUESTS", "The params of each server request.", protocol.server_requests),
        ("SERVER_RESULTS", "The answer to each server request.", SERVER_REQUEST_RESULTS),
    ):
        lines += ["", f"{name}: Final[dict[str, type[Record]]] = {{"]
        lines += [
            f'    "{method}": {type_name},'
            for method, type_name in sorted(types.items())
            if type_name in known
        ]
        lines += ["}", f'"""{doc}"""']
    return "\n".join(lines) + "\n"


def constant(text: str) -> str:
    """Return a wire value as the name of a constant."""
    spaced = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", text)
    name = re.sub(r"\W+", "_", spaced).strip("_").upper()
    return name if name[:1].isalpha() else f"V_{name}"


def _doc(text: str, name: str, indent: str = "    ") -> list[str]:
    words = " ".join((text or f"`{name}` of the protocol.").split())
    words = words.replace("\\", "\\\\").replace('"""', "'''")
    wrapped = textwrap.wrap(words, _WIDTH, break_long_words=False, break_on_hyphens=False)
    lines = [f'{indent}"""{wrapped[0]}', *(f"{indent}{line}" for line in wrapped[1:])]
    if len(lines) == 1 and not words.endswith('"'):
        return [f'{lines[0]}"""']
    return [*lines, f'{indent}"""']


def _enum(enum: EnumModel) -> list[str]:
    lines = ["", f"class {enum.name}:", *_doc(enum.doc, enum.name), ""]
    names: dict[str, str] = {}
    for value in enum.values:
        name = constant(value)
        names[name if name not in names else f"{name}_{len(names)}"] = value
    lines += [f'    {name}: Final = "{value}"' for name, value in names.items()]
    return [*lines, ""]


def _class(model: ClassModel) -> list[str]:
    lines = ["", f"class {model.name}(Record):", *_doc(model.doc, model.name), ""]
    lines.append("    __slots__ = ()")
    lines += [f"    {_field(item)}" for item in model.fields]
    return [*lines, ""]


def _field(item: FieldModel) -> str:
    shape = item.shape
    arguments = [f'"{item.wire}"']
    if shape.expression != "None":
        arguments.append(shape.expression)
    annotation = shape.annotation
    if not item.required:
        simple = isinstance(item.default, (bool, int, float, str)) or item.default == []
        if simple and not shape.nullable and shape.annotation != "Any":
            arguments.append(f"default={_literal(item.default)}")
        else:
            arguments.append("default=None")
            if annotation != "Any":
                annotation += " | None"
    return f"{item.name}: {annotation} = field({', '.join(arguments)})"


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
