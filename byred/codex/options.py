"""What a caller says when it starts a thread or a turn, and how that looks on the wire.

Owns the settings of threads, the inputs of turns and codex's limits on them.
"""

import base64
import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from byred.codex.errors import InputTooLarge
from byred.codex.protocol.types import UserInput
from byred.codex.record import Record, unwrap

MAX_INPUT_CHARS: Final = 1_048_576
"""Characters of text that codex takes in one turn."""

Inputs = str | UserInput | Sequence[str | UserInput]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadOptions:
    """Settings of a thread, for start, resume and fork; None leaves codex's own.

    `sandbox` is read-only, workspace-write or danger-full-access; `approval_policy` untrusted,
    on-request or never; `dynamic_tools` counts at start only, since codex keeps them with the
    thread. `config` is merged over config.toml; `extra` goes on the wire as it is, for settings
    that have no name here.
    """

    cwd: str | Path | None = None
    model: str | None = None
    model_provider: str | None = None
    sandbox: str | None = None
    approval_policy: str | Mapping[str, Any] | None = None
    developer_instructions: str | None = None
    base_instructions: str | None = None
    dynamic_tools: Sequence[Record | Mapping[str, Any]] = ()
    config: Mapping[str, Any] | None = None
    runtime_workspace_roots: Sequence[str | Path] | None = None
    ephemeral: bool | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def wire(self, *, start: bool = False) -> dict[str, Any]:
        """Return the params; dynamic tools and `ephemeral` only for a start."""
        roots = self.runtime_workspace_roots
        params: dict[str, Any] = {
            "cwd": None if self.cwd is None else str(self.cwd),
            "model": self.model,
            "modelProvider": self.model_provider,
            "sandbox": self.sandbox,
            "approvalPolicy": self.approval_policy,
            "developerInstructions": self.developer_instructions,
            "baseInstructions": self.base_instructions,
            "config": self.config,
            "runtimeWorkspaceRoots": None if roots is None else [str(root) for root in roots],
        }
        if start:
            params["dynamicTools"] = unwrap(self.dynamic_tools) or None
            params["ephemeral"] = self.ephemeral
        return {name: value for name, value in params.items() if value is not None} | dict(
            self.extra
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """The output of a tool call whose call is gone, given to the model at the start of a turn."""

    name: str
    output: str
    namespace: str | None = None
    retain: bool = True

    def wire(self) -> dict[str, Any]:
        """Return the `toolOutput` of a turn."""
        return {
            "name": self.name,
            "namespace": self.namespace,
            "output": self.output,
            "retain": self.retain,
        }


def image(data: bytes, *, media_type: str | None = None, detail: str | None = None) -> UserInput:
    """Return an image as an input, as a data URL; the media type is read from it when None."""
    kind = media_type or _sniff(data)
    url = f"data:{kind};base64,{base64.b64encode(data).decode()}"
    return UserInput(type="image", url=url, detail=detail)


def image_file(path: str | Path, *, detail: str | None = None) -> UserInput:
    """Return the image in a file as an input. Reads the file: off the loop when it may be slow."""
    source = Path(path)
    return image(
        source.read_bytes(), media_type=mimetypes.guess_type(source.name)[0], detail=detail
    )


def _sniff(data: bytes) -> str:
    for start, kind in (
        (b"\x89PNG", "image/png"),
        (b"\xff\xd8", "image/jpeg"),
        (b"GIF8", "image/gif"),
    ):
        if data.startswith(start):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    raise ValueError("cannot tell what kind of image this is: pass media_type")


def inputs_wire(inputs: Inputs) -> list[dict[str, Any]]:
    """Return a turn's input: everything else before the text, the text within codex's limit.

    Raises `InputTooLarge` before anything is sent.
    """
    parts = [inputs] if isinstance(inputs, (str, UserInput)) else list(inputs)
    items = [
        {"type": "text", "text": part, "text_elements": []} if isinstance(part, str) else part.wire
        for part in parts
        if part != ""
    ]
    actual = sum(len(item.get("text") or "") for item in items)
    if actual > MAX_INPUT_CHARS:
        raise InputTooLarge(actual=actual, limit=MAX_INPUT_CHARS)
    return sorted(items, key=lambda item: bool(item["type"] == "text"))


def reminder_wire(reminder: str) -> dict[str, Any]:
    """Return the `additionalContext` that shows `reminder` to the model beside the input."""
    return {"byre": {"kind": "application", "value": reminder}}
