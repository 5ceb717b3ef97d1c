"""Dynamic tools: functions of this process that an agent may call.

Owns a tool's declaration (names, limits and schemas as codex wants them), the check of its
arguments, and the shape of its results. How functions become tools is in `functions.py`, how an MCP
server becomes a namespace in `mcp.py`; the call itself comes as a `ServerRequest`.
"""

import asyncio
import base64
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from byred.codex.errors import ToolError
from byred.codex.protocol import types
from byred.codex.requests import ServerRequest

MAX_TOOL_NAME: Final = 128
MAX_NAMESPACE_NAME: Final = 64
MAX_NAMESPACE_DESCRIPTION: Final = 1024
MAX_RESULT_CHARS: Final = 10_000
"""Characters of a result that go to the model whole; codex itself cuts at about 12,000."""

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]+")
_RESERVED: Final = "mcp__"
_SHOWN_PROBLEMS: Final = 5


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool: who asks, under which id, and the checked arguments."""

    thread_id: str
    turn_id: str
    call_id: str
    namespace: str | None
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Image:
    """An image in a result, as its bytes."""

    data: bytes
    media_type: str = "image/png"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool has to say: texts and images in order, and whether it succeeded."""

    content: tuple[str | Image, ...]
    success: bool = True


Run = Callable[[ToolCall], Awaitable[ToolResult | str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool: what the model reads of it, and the function that it runs.

    `schema` is a JSON schema of an object. `timeout` is in seconds; None is for a tool that may
    wait for a person.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    run: Run
    timeout: float | None = 300.0

    def spec(self) -> dict[str, Any]:
        """Return the declaration as `thread/start` takes it."""
        return {
            "type": "function",
            "name": self.name,
            "description": self.description,
            "inputSchema": dict(self.schema),
        }


@dataclass(frozen=True, slots=True)
class Namespace:
    """Tools under one name; the model calls `byre.ask_human` as `ask_human` of `byre`.

    Raises `ToolError` for what codex would refuse: names, lengths, duplicates, reserved prefixes.
    """

    name: str
    description: str
    tools: tuple[Tool, ...] = field(default=())

    def __post_init__(self) -> None:
        _check_name("namespace", self.name, MAX_NAMESPACE_NAME)
        if len(self.description) > MAX_NAMESPACE_DESCRIPTION:
            raise ToolError(
                f"cannot declare the namespace {self.name}: its description has"
                f" {len(self.description):,} characters, codex takes {MAX_NAMESPACE_DESCRIPTION:,}"
            )
        if not self.tools:
            raise ToolError(f"cannot declare the namespace {self.name}: it has no tools")
        seen: set[str] = set()
        for tool in self.tools:
            _check_name("tool", tool.name, MAX_TOOL_NAME)
            if tool.name in seen:
                raise ToolError(f"cannot declare {self.name}.{tool.name}: there are two of it")
            if tool.schema.get("type", "object") != "object":
                raise ToolError(
                    f"cannot declare {self.name}.{tool.name}: its schema must be of an object"
                )
            seen.add(tool.name)

    def spec(self) -> types.DynamicToolSpec:
        """Return the declaration as `thread/start` takes it."""
        return types.DynamicToolSpec.wrap(
            {
                "type": "namespace",
                "name": self.name,
                "description": self.description,
                "tools": [tool.spec() for tool in self.tools],
            }
        )


def _check_name(what: str, name: str, limit: int) -> None:
    if not _NAME.fullmatch(name):
        raise ToolError(
            f"cannot declare the {what} {name!r}: letters, digits, _ and - are all that codex takes"
        )
    if len(name) > limit:
        raise ToolError(
            f"cannot declare the {what} {name[:40]}…: {len(name)} characters, codex takes {limit}"
        )
    if name.startswith(_RESERVED) or name == _RESERVED.rstrip("_"):
        raise ToolError(f"cannot declare the {what} {name}: codex keeps {_RESERVED}… for itself")


class Toolbox:
    """The tools of a thread, and the answer to every call of one.

    A result over `max_chars` is cut, with a notice; the whole of it is kept in a file under
    `overflow` when that is given, and the notice names the file.
    """

    def __init__(
        self,
        namespaces: Sequence[Namespace],
        *,
        overflow: Path | None = None,
        max_chars: int = MAX_RESULT_CHARS,
    ) -> None:
        names = [namespace.name for namespace in namespaces]
        for name in names:
            if names.count(name) > 1:
                raise ToolError(f"cannot declare the namespace {name}: there are two of it")
        self._namespaces = tuple(namespaces)
        self._tools = {
            (namespace.name, tool.name): tool
            for namespace in namespaces
            for tool in namespace.tools
        }
        self._overflow = overflow
        self._max_chars = max_chars

    def specs(self) -> list[types.DynamicToolSpec]:
        """Return what `ThreadOptions.dynamic_tools` takes."""
        return [namespace.spec() for namespace in self._namespaces]

    async def answer(self, request: ServerRequest) -> types.DynamicToolCallResponse:
        """Run the tool that an `item/tool/call` asks for and return its result.

        Never raises for what an agent can do wrong: an unknown tool, wrong arguments or a tool
        that fails are results that tell the model what to mend.
        """
        params = types.DynamicToolCallParams.wrap(request.params.wire)
        name = f"{params.namespace}.{params.tool}" if params.namespace else params.tool
        tool = self._tools.get((params.namespace or "", params.tool))
        if tool is None:
            known = ", ".join(".".join(each) for each in self._tools) or "none"
            return failure(f"There is no tool {name}. The tools are: {known}.")
        problem = check_arguments(tool.schema, params.arguments)
        if problem is not None:
            return failure(f"{name} was not called: {problem}")
        call = ToolCall(
            params.thread_id,
            params.turn_id,
            params.call_id,
            params.namespace,
            params.tool,
            params.arguments,
        )
        try:
            async with asyncio.timeout(tool.timeout):
                result = await tool.run(call)
        except TimeoutError:
            return failure(f"{name} did not end within {tool.timeout:g} seconds.")
        except Exception as error:  # noqa: BLE001 - a tool is a guest: the model hears what failed
            return failure(f"{name} failed: {str(error) or type(error).__name__}")
        if isinstance(result, str):
            result = ToolResult((result,))
        return await self._response(result, call)

    async def _response(self, result: ToolResult, call: ToolCall) -> types.DynamicToolCallResponse:
        items: list[dict[str, Any]] = []
        left = self._max_chars
        for part in result.content:
            if isinstance(part, Image):
                data = base64.b64encode(part.data).decode()
                items.append(
                    {"type": "inputImage", "imageUrl": f"data:{part.media_type};base64,{data}"}
                )
                continue
            text = part
            if len(text) > left:
                text = await self._cut(text, max(left, 0), call)
            left -= len(part)
            items.append({"type": "inputText", "text": text})
        return types.DynamicToolCallResponse.wrap(
            {"contentItems": items, "success": result.success}
        )

    async def _cut(self, text: str, left: int, call: ToolCall) -> str:
        where = ""
        if self._overflow is not None:
            name = re.sub(r"[^a-zA-Z0-9_-]", "_", f"{call.tool}-{call.call_id}")[:120] + ".txt"
            path = self._overflow / name
            await asyncio.to_thread(_keep, path, text)
            where = f"; the whole text is in {path}"
        return f"{text[:left]}\n[cut: {len(text) - left:,} of {len(text):,} characters{where}]"


def _keep(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", errors="replace") as file:
        file.write(text)


def failure(text: str) -> types.DynamicToolCallResponse:
    """Return a result that tells the model that its call did not work, and why."""
    return types.DynamicToolCallResponse.wrap(
        {"contentItems": [{"type": "inputText", "text": text}], "success": False}
    )


def check_arguments(schema: Mapping[str, Any], arguments: Any) -> str | None:
    """Return what is wrong with the arguments, in words that let the model mend its call."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - 60 ms that only tool calls need

    if isinstance(arguments, str):
        return "the arguments must be a JSON object, not a string. " + _wanted(schema)
    problems = sorted(
        Draft202012Validator(schema).iter_errors(arguments), key=lambda each: list(each.path)
    )
    if not problems:
        return None
    lines = []
    for problem in problems[:_SHOWN_PROBLEMS]:
        place = ".".join(str(step) for step in problem.path)
        message = problem.message if len(problem.message) < 300 else problem.message[:300] + "…"  # noqa: PLR2004 - enough to find the place
        lines.append(f"{place}: {message}" if place else message)
    more = len(problems) - _SHOWN_PROBLEMS
    if more > 0:
        lines.append(f"and {more} more")
    return "; ".join(lines) + ". " + _wanted(schema)


def _wanted(schema: Mapping[str, Any]) -> str:
    text = msgspec.json.encode(schema).decode()
    if len(text) > 2000:  # noqa: PLR2004 - a longer schema would crowd out the problem
        names = ", ".join(schema.get("properties", {}))
        return f"The arguments are: {names}. Call it again with them mended."
    return f"The arguments must match {text}. Call it again with them mended."
