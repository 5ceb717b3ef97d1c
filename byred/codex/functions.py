"""Python functions as dynamic tools: the signature is the schema, the docstring the description.

Owns what a signature and a docstring mean to a model. What a tool is, is in `tools.py`.
"""

import asyncio
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, get_type_hints

import msgspec

from byred.codex.errors import ToolError
from byred.codex.tools import Namespace, Run, Tool, ToolCall, ToolResult

_CALL: Final = ToolCall
_ARGS: Final = re.compile(r"^(?:Args|Arguments|Parameters):\s*$", re.MULTILINE)
_ARG: Final = re.compile(r"^\s{2,}(\w+)(?: \([^)]*\))?:\s*(.+)$")


def tool(function: Callable[..., Any], *, timeout: float | None = 300.0) -> Tool:
    """Return a tool that calls `function` with the arguments of the model's call.

    Parameters need annotations that msgspec understands (scalars, Literal, enums, lists, maps,
    structs, dataclasses, None in a union, Annotated with `msgspec.Meta`); one with a default is
    optional; one annotated `ToolCall` gets the call itself and is not shown to the model. The
    docstring's first paragraphs describe the tool, its `Args:` section the parameters. A function
    that is not async runs in a thread. It returns text, a `ToolResult`, or anything that becomes
    JSON. Raises `ToolError` when the signature can't be a schema.
    """
    name = function.__name__
    description, documented = _read_doc(inspect.getdoc(function) or "")
    hints = get_type_hints(function, include_extras=True)
    fields: list[tuple[str, Any, Any]] = []
    call_parameter: str | None = None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ToolError(f"cannot make a tool of {name}: *{parameter.name} has no schema")
        if parameter.name not in hints:
            raise ToolError(f"cannot make a tool of {name}: {parameter.name} has no annotation")
        if hints[parameter.name] is _CALL:
            call_parameter = parameter.name
            continue
        default = parameter.default
        fields.append(
            (
                parameter.name,
                hints[parameter.name],
                msgspec.NODEFAULT if default is parameter.empty else default,
            )
        )
    try:
        arguments = msgspec.defstruct(
            name, fields, kw_only=True, forbid_unknown_fields=True, frozen=True
        )
        schema = _schema(arguments)
    except (TypeError, ValueError) as error:
        raise ToolError(f"cannot make a tool of {name}: {error}") from error
    for parameter_name, text in documented.items():
        if parameter_name in schema["properties"]:
            schema["properties"][parameter_name].setdefault("description", text)
    run = _runner(function, arguments, call_parameter)
    return Tool(name=name, description=description, schema=schema, run=run, timeout=timeout)


def namespace(
    name: str, description: str, functions: Sequence[Callable[..., Any] | Tool]
) -> Namespace:
    """Return a namespace of tools made of functions (or of tools that are ready)."""
    tools = (each if isinstance(each, Tool) else tool(each) for each in functions)
    return Namespace(name, description, tuple(tools))


def _runner(
    function: Callable[..., Any],
    arguments: type[msgspec.Struct],
    call_parameter: str | None,
) -> Run:
    async def run(call: ToolCall) -> ToolResult | str:
        given = msgspec.convert(call.arguments, arguments)
        keywords = {name: getattr(given, name) for name in arguments.__struct_fields__}
        if call_parameter is not None:
            keywords[call_parameter] = call
        if inspect.iscoroutinefunction(function):
            result = await function(**keywords)
        else:
            result = await asyncio.to_thread(function, **keywords)
        if isinstance(result, (str, ToolResult)):
            return result
        return msgspec.json.encode(result).decode()

    return run


def _read_doc(text: str) -> tuple[str, dict[str, str]]:
    found = _ARGS.search(text)
    if found is None:
        return text.strip(), {}
    described: dict[str, str] = {}
    last = ""
    for line in text[found.end() :].splitlines():
        entry = _ARG.match(line)
        if entry is not None:
            last = entry[1]
            described[last] = entry[2].strip()
        elif line.strip() and last and line.startswith("    "):
            described[last] += " " + line.strip()
        elif line.strip():
            break
    return text[: found.start()].strip(), described


def _schema(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    (top,), components = msgspec.json.schema_components([arguments])
    schema: dict[str, Any] = _inlined(top, components, ())
    schema.pop("title", None)
    schema.setdefault("properties", {})
    schema["additionalProperties"] = False
    return schema


def _inlined(schema: Any, components: dict[str, Any], open_names: tuple[str, ...]) -> Any:
    """Return the schema without references: not every model server follows them."""
    if isinstance(schema, list):
        return [_inlined(each, components, open_names) for each in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if isinstance(reference, str):
        name = reference.rsplit("/", 1)[-1]
        if name in open_names:
            raise TypeError(f"{name} contains itself")
        return _inlined(components[name], components, (*open_names, name))
    return {key: _inlined(value, components, open_names) for key, value in schema.items()}
