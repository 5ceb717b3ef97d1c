"""A client of `codex app-server` that can be used alone: processes, threads, turns, questions.

    async with Client.open(transport, client_info=…, handler=…) as client:
        thread = await client.start_thread(ThreadOptions(cwd=…))
        turn = await thread.start_turn("Say hello")
        print((await turn.result()).final_text)

Nothing is imported before it is used. Knows nothing of byred's tasks.
"""
# ruff: noqa: F401 - what the type checker imports here is re-exported by __getattr__

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from byred.codex.binary import Binary, Version, check_version, find_binary, read_version
    from byred.codex.errors import (
        ActiveWriter,
        BinaryError,
        CallError,
        CallTimeout,
        CodexError,
        ConsumerTooSlow,
        FailureKind,
        InputTooLarge,
        InputUnsettled,
        LoginRequired,
        MalformedError,
        MessageTooLarge,
        NoActiveTurn,
        NoRollout,
        ProtocolError,
        RequestFailed,
        ServerOverloaded,
        ToolError,
        TransportClosed,
        TransportError,
        TurnFailed,
        VersionError,
    )
    from byred.codex.events import Event, EventStream
    from byred.codex.options import ThreadOptions, ToolOutput, image, image_file
    from byred.codex.record import Record
    from byred.codex.requests import Handler, Reply, ServerRequest, answer_with
    from byred.codex.session import Client, ClientInfo
    from byred.codex.spawn import serve
    from byred.codex.thread import Thread
    from byred.codex.tools import Image, Namespace, Tool, Toolbox, ToolCall, ToolResult
    from byred.codex.transcript import Transcript, open_transcript
    from byred.codex.transport import StdioTransport, Transport, UnixTransport, connect_unix
    from byred.codex.turn import Turn, TurnResult

_HOMES = {
    "binary": ("Binary", "Version", "check_version", "find_binary", "read_version"),
    "errors": (
        "ActiveWriter",
        "BinaryError",
        "CallError",
        "CallTimeout",
        "CodexError",
        "ConsumerTooSlow",
        "FailureKind",
        "InputTooLarge",
        "InputUnsettled",
        "LoginRequired",
        "MalformedError",
        "MessageTooLarge",
        "NoActiveTurn",
        "NoRollout",
        "ProtocolError",
        "RequestFailed",
        "ServerOverloaded",
        "ToolError",
        "TransportClosed",
        "TransportError",
        "TurnFailed",
        "VersionError",
    ),
    "events": ("Event", "EventStream"),
    "options": ("ThreadOptions", "ToolOutput", "image", "image_file"),
    "record": ("Record",),
    "requests": ("Handler", "Reply", "ServerRequest", "answer_with"),
    "session": ("Client", "ClientInfo"),
    "spawn": ("serve",),
    "thread": ("Thread",),
    "tools": ("Image", "Namespace", "Tool", "ToolCall", "ToolResult", "Toolbox"),
    "transcript": ("Transcript", "open_transcript"),
    "transport": ("StdioTransport", "Transport", "UnixTransport", "connect_unix"),
    "turn": ("Turn", "TurnResult"),
}
_WHERE = {name: module for module, names in _HOMES.items() for name in names}

__all__ = list(_WHERE)


def __getattr__(name: str) -> Any:
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
