"""An external MCP server as a namespace of dynamic tools.

Owns the server's process (over stdio, through the package `mcp`, an extra) and the translation of
its tools and results. The server runs beside the client, never inside the agent's reach: its
credentials stay in its own environment.
"""

import asyncio
import base64
import binascii
import importlib
from asyncio import FIRST_COMPLETED
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TextIO

import msgspec

from byred.codex.errors import ToolError
from byred.codex.tools import (
    MAX_NAMESPACE_DESCRIPTION,
    Image,
    Namespace,
    Tool,
    ToolCall,
    ToolResult,
)

_STOP_TIMEOUT = 10.0
"""Seconds for a server to end by itself; the library itself gives it a few before it kills."""
_MAX_PAGES = 100
"""Pages of tools that a server may have: one that repeats its cursor must not hold us."""


@asynccontextmanager
async def mcp_namespace(
    name: str,
    command: str,
    arguments: Sequence[str] = (),
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    description: str | None = None,
    stderr: TextIO | None = None,
    start_timeout: float = 30.0,
    call_timeout: float = 300.0,
) -> AsyncIterator[Namespace]:
    """Run an MCP server and give its tools as the namespace `name`; leaving ends the server.

    `env` is all that the server gets beside a minimal environment. Both time limits are in seconds;
    a call over its limit is a failed result. Raises `ToolError` when `mcp` is not installed, or the
    server does not start, or has tools that codex would refuse.
    """
    try:
        mcp: Any = importlib.import_module("mcp")
        models: Any = importlib.import_module("mcp.types")
        stdio: Any = importlib.import_module("mcp.client.stdio")
    except ImportError as error:
        raise ToolError(
            f"cannot run the MCP server {name}: the package mcp is missing; install byred[mcp]"
        ) from error
    parameters = mcp.StdioServerParameters(
        command=command,
        args=list(arguments),
        env=dict(env or {}),
        cwd=None if cwd is None else str(cwd),
    )
    options = {} if stderr is None else {"errlog": stderr}
    ready: asyncio.Future[Namespace] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()

    async def own() -> None:
        """Hold the library's task groups, which would wrap every error of the caller's block."""
        async with (
            stdio.stdio_client(parameters, **options) as (read, write),
            mcp.ClientSession(read, write) as session,
        ):
            hello = _plain(await session.initialize())
            declared = await _list_tools(session, models.PaginatedRequestParams)
            tools = tuple(_tool(session, each, call_timeout) for each in declared)
            about = description or hello.get("instructions") or f"Tools of the MCP server {name}"
            ready.set_result(Namespace(name, about[:MAX_NAMESPACE_DESCRIPTION], tools))
            await stop.wait()

    owner = asyncio.create_task(own(), name=f"mcp server {name}")
    try:
        first: set[asyncio.Future[Any]] = {owner, ready}
        await asyncio.wait(first, timeout=start_timeout, return_when=FIRST_COMPLETED)
        if not ready.done():
            raise ToolError(f"cannot start the MCP server {name}: {_reason(owner)}")
        yield ready.result()
    finally:
        stop.set()
        await asyncio.wait({owner}, timeout=_STOP_TIMEOUT if ready.done() else 0)
        owner.cancel()
        await asyncio.wait({owner})
        # A server that died has told so in the result of each call; there is nobody else to tell.
        _ = owner.cancelled() or owner.exception()


def _reason(owner: "asyncio.Task[None]") -> str:
    """Return why a server did not start: the innermost error of the library's groups."""
    if not owner.done():
        return "it did not answer in time"
    error = owner.exception()
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__


async def _list_tools(session: Any, paging: Any) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        params = None if cursor is None else paging(cursor=cursor)
        page = _plain(await session.list_tools(params=params))
        tools.extend(page.get("tools", ()))
        cursor = page.get("nextCursor")
        if not cursor:
            break
    return tools


def _tool(session: Any, declared: Mapping[str, Any], timeout: float) -> Tool:
    async def run(call: ToolCall) -> ToolResult:
        answer = _plain(await session.call_tool(declared["name"], call.arguments))
        content = tuple(_part(part) for part in answer.get("content", ()))
        if not content and answer.get("structuredContent") is not None:
            content = (msgspec.json.encode(answer["structuredContent"]).decode(),)
        return ToolResult(content, success=not answer.get("isError"))

    return Tool(
        name=declared["name"],
        description=declared.get("description") or declared.get("title") or declared["name"],
        schema=declared.get("inputSchema") or {"type": "object"},
        run=run,
        timeout=timeout,
    )


def _part(part: Mapping[str, Any]) -> str | Image:
    kind = part.get("type")
    if kind == "text":
        return str(part.get("text", ""))
    if kind == "image":
        try:
            data = base64.b64decode(part.get("data", ""), validate=True)
        except binascii.Error:
            return "[an image that could not be read]"
        return Image(data, part.get("mimeType") or "image/png")
    resource = part.get("resource")
    if kind == "resource" and isinstance(resource, Mapping) and "text" in resource:
        return f"{resource.get('uri', '')}\n{resource['text']}"
    return msgspec.json.encode(part).decode()


def _plain(model: Any) -> dict[str, Any]:
    """Return one of the library's models as the protocol spells it, whatever its version."""
    wire: dict[str, Any] = model.model_dump(by_alias=True, mode="json", exclude_none=True)
    return wire
