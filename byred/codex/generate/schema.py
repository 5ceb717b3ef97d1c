"""A codex binary's JSON schema, read into a small model of classes, fields and enumerations.

Owns asking the binary and understanding the shapes that its schema uses. How the model becomes
Python is in `render.py`.
"""

import json
import keyword
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from byred.codex.errors import BinaryError
from byred.codex.generate.surface import CLIENT_RESULTS, SERVER_REQUEST_RESULTS

Json = dict[str, Any]

BUNDLE = "codex_app_server_protocol.schemas.json"
_TIMEOUT = 60
_SCALARS = {"string": "str", "integer": "int", "boolean": "bool", "number": "float"}
_TAKEN = {"wire", "unknown", "evolve", "wrap"}


@dataclass(frozen=True)
class Shape:
    """How one value is annotated, and the shape expression that `record.field` takes."""

    annotation: str
    expression: str
    nullable: bool = False


ANY = Shape("Any", "None")


@dataclass(frozen=True)
class FieldModel:
    """One field of a record type."""

    name: str
    wire: str
    shape: Shape
    required: bool
    default: Any = None


@dataclass(frozen=True)
class ClassModel:
    """One record type: a JSON object, or a union of them with every alternative's fields."""

    name: str
    doc: str
    fields: tuple[FieldModel, ...]


@dataclass(frozen=True)
class EnumModel:
    """The values that an open enumeration or a union's discriminator is known to take."""

    name: str
    doc: str
    values: tuple[str, ...]


@dataclass
class Protocol:
    """All that the renderer needs, and the methods by side."""

    client_methods: dict[str, str | None] = field(default_factory=dict)
    notifications: dict[str, str | None] = field(default_factory=dict)
    server_requests: dict[str, str | None] = field(default_factory=dict)
    classes: dict[str, ClassModel] = field(default_factory=dict)
    enums: dict[str, EnumModel] = field(default_factory=dict)


def ask_schema(binary: Path) -> Json:
    """Have `binary` write its experimental schema and return the bundle."""
    with tempfile.TemporaryDirectory(prefix="codex-schema-") as folder:
        command = [
            str(binary),
            "app-server",
            "generate-json-schema",
            "--experimental",
            "--out",
            folder,
        ]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=_TIMEOUT)
            bundle: Json = json.loads((Path(folder) / BUNDLE).read_bytes())
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            raise BinaryError(f"cannot get the schema of {binary}: {error}") from error
    return bundle


def snake(name: str) -> str:
    """Return a camelCase wire name as a Python name that nothing else uses."""
    spaced = re.sub(r"(?<=[a-z0-9])([A-Z])|(?<=[A-Z])([A-Z])(?=[a-z])", r"_\1\2", name.lstrip("_"))
    plain = re.sub(r"\W+", "_", spaced).lower()
    return f"{plain}_" if keyword.iskeyword(plain) or plain in _TAKEN else plain


def pascal(name: str) -> str:
    """Return a wire name as a part of a class name."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[\W_]+", name))


class Reader:
    """Reads the definitions that are reachable from the surface into a `Protocol`."""

    def __init__(self, bundle: Json) -> None:
        top = dict(bundle["definitions"])
        nested: Json = top.pop("v2", {})
        self.definitions: Json = {**top, **nested}
        self.protocol = Protocol()

    def read(self) -> Protocol:
        """Return the whole protocol: names of all methods, types of the surface."""
        protocol = self.protocol
        protocol.client_methods = self._methods("ClientRequest")
        protocol.notifications = self._methods("ServerNotification")
        protocol.server_requests = self._methods("ServerRequest")
        used = [protocol.client_methods.get(method) for method in CLIENT_RESULTS]
        params = [*used, *protocol.notifications.values(), *protocol.server_requests.values()]
        results = [*CLIENT_RESULTS.values(), *SERVER_REQUEST_RESULTS.values()]
        for name in [*params, *results]:
            if name is not None and name in self.definitions:
                self._named(name)
        return protocol

    def _methods(self, union: str) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for alternative in self.definitions[union]["oneOf"]:
            properties = alternative["properties"]
            reference = properties.get("params", {}).get("$ref")
            found[properties["method"]["enum"][0]] = reference and reference.rsplit("/", 1)[-1]
        return dict(sorted(found.items()))

    def _named(self, name: str) -> Shape:
        """Return the shape of a definition, reading it first when it is new."""
        if name in self.protocol.classes:
            return Shape(name, f'"{name}"')
        if name in self.protocol.enums:
            return Shape("str", "str")
        return self._shape(self.definitions[name], name)

    def _shape(self, schema: Any, name: str) -> Shape:  # noqa: PLR0911 - a case a line
        """Return the shape of any schema; `name` is what it is called if it needs a type."""
        if not isinstance(schema, dict):
            return ANY
        if "$ref" in schema:
            return self._named(schema["$ref"].rsplit("/", 1)[-1])
        if len(schema.get("allOf", ())) == 1:
            return self._shape(schema["allOf"][0], name)
        if "oneOf" in schema or "anyOf" in schema:
            return self._union(schema, name)
        kinds = schema.get("type")
        if isinstance(kinds, list):
            nullable = "null" in kinds
            rest = [kind for kind in kinds if kind != "null"]
            if len(rest) != 1:
                return Shape("Any", "None", nullable)
            inner = self._shape({**schema, "type": rest[0]}, name)
            return Shape(inner.annotation, inner.expression, nullable)
        return self._typed(schema, str(kinds), name)

    def _typed(self, schema: Json, kind: str, name: str) -> Shape:  # noqa: PLR0911 - a case a line
        if kind == "string" and "enum" in schema:
            self._enum(name, schema, schema["enum"])
            return Shape("str", "str")
        if kind in _SCALARS:
            return Shape(_SCALARS[kind], _SCALARS[kind])
        if kind == "array":
            member = self._shape(schema.get("items"), f"{name}Item")
            return Shape(f"list[{_optional(member)}]", f"ListOf({member.expression})")
        if kind == "object":
            if schema.get("properties"):
                return self._class(name, schema, [schema])
            extra = schema.get("additionalProperties")
            if isinstance(extra, dict):
                member = self._shape(extra, f"{name}Value")
                return Shape(f"dict[str, {_optional(member)}]", f"MapOf({member.expression})")
            if extra is True:
                return Shape("dict[str, Any]", "dict")
            return self._class(name, schema, [schema])
        return ANY

    def _union(self, schema: Json, name: str) -> Shape:
        members = schema.get("oneOf") or schema["anyOf"]
        rest = [member for member in members if member.get("type") != "null"]
        nullable = len(rest) < len(members)
        if len(rest) == 1:
            inner = self._shape(rest[0], name)
            return Shape(inner.annotation, inner.expression, nullable or inner.nullable)
        if all(member.get("type") == "string" for member in rest):
            values = [value for member in rest for value in member.get("enum", ())]
            self._enum(name, schema, values)
            return Shape("str", "str", nullable)
        if all(member.get("type") == "object" and "properties" in member for member in rest):
            return self._class(name, schema, [schema, *rest], nullable=nullable)
        if {str(member.get("type")) for member in rest} == {"string", "integer"}:
            return Shape("int | str", "None", nullable)
        return Shape("Any", "None", nullable)

    def _enum(self, name: str, schema: Json, values: list[str]) -> None:
        if len(values) > 1 and name not in self.protocol.enums:
            self.protocol.enums[name] = EnumModel(
                name, schema.get("description", ""), tuple(values)
            )

    def _class(
        self, name: str, schema: Json, parts: list[Json], *, nullable: bool = False
    ) -> Shape:
        shape = Shape(name, f'"{name}"', nullable)
        if name in self.protocol.classes:
            return shape
        doc = schema.get("description", "")
        self.protocol.classes[name] = ClassModel(name, doc, ())  # it may refer to itself
        owners: dict[str, list[Json]] = {}
        for part in parts:
            nested = [alternative for alternative in part.get("anyOf", ()) if part is not schema]
            for source in [part, *nested]:
                for wire in source.get("properties", {}):
                    owners.setdefault(wire, []).append(source)
        alternatives = parts[1:] if len(parts) > 1 else parts
        fields = [
            self._field(name, wire, sources, always=_always(wire, schema, alternatives))
            for wire, sources in owners.items()
        ]
        self.protocol.classes[name] = ClassModel(name, doc, tuple(fields))
        return shape

    def _field(self, owner: str, wire: str, sources: list[Json], *, always: bool) -> FieldModel:
        schemas = [source["properties"][wire] for source in sources]
        tags = [value for schema in schemas for value in _tag(schema)]
        type_name = f"{owner}{pascal(wire)}"
        if tags and len(tags) == len(schemas) and len(tags) > 1:
            self._enum(type_name, {}, sorted(set(tags), key=tags.index))
            shape = Shape("str", "str")
        else:
            shapes = {self._shape(schema, type_name) for schema in schemas}
            shape = shapes.pop() if len(shapes) == 1 else _merged(shapes)
        default = schemas[0].get("default") if isinstance(schemas[0], dict) else None
        return FieldModel(snake(wire), wire, shape, always and not shape.nullable, default)


def _tag(schema: Any) -> list[str]:
    values = schema.get("enum", []) if isinstance(schema, dict) else []
    return list(values) if len(values) == 1 else []


def _always(wire: str, schema: Json, alternatives: list[Json]) -> bool:
    return wire in schema.get("required", ()) or all(
        wire in each.get("required", ()) for each in alternatives
    )


def _merged(shapes: set[Shape]) -> Shape:
    kinds = {(shape.annotation, shape.expression) for shape in shapes}
    if len(kinds) == 1:
        annotation, expression = kinds.pop()
        return Shape(annotation, expression, nullable=True)
    return Shape("Any", "None", any(shape.nullable for shape in shapes))


def _optional(shape: Shape) -> str:
    return f"{shape.annotation} | None" if shape.nullable else shape.annotation
