"""What a thread really holds, read from codex's own record of it (the rollout).

After a crash the store knows what was meant to reach the agent and the rollout what did: which
inputs (by their client id), which tool outputs (by call id, or as an output that byred authored),
and how the last turn ended. Only the `response_item` of an output counts: an item that was
announced as completed but not yet recorded as one reads `aborted` to the model after a resume.
Seen alike on codex 0.144.4, 0.154.0 and 0.163.0.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec


class ThreadRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a rollout holds.

    `client_ids` are those of the texts in it, `unnamed` the texts that have none: codex writes the
    id in a line of its own, after the text, and may have been killed between the two.
    `outputs` maps a call to what the model was given for it; `authored_outputs` came without one.
    `open_turn` is a turn that began and has no end; `finished` maps a turn that completed well
    to its last message.
    """

    client_ids: frozenset[str]
    unnamed: tuple[str, ...]
    outputs: dict[str, str]
    authored_outputs: frozenset[str]
    finished: dict[str, str]
    last_turn: str | None
    open_turn: str | None


def read_thread(path: Path) -> ThreadRecord:
    """Read a rollout; torn or broken lines are passed over. Blocks.

    Raises:
        OSError: the file cannot be read.
    """
    reader = _Reader()
    for kind, payload in _records(path):
        reader.take(kind, payload)
    return reader.record()


class _Reader:
    def __init__(self) -> None:
        self._client_ids: set[str] = set()
        self._unnamed: list[str] = []
        self._outputs: dict[str, str] = {}
        self._authored: set[str] = set()
        self._finished: dict[str, str] = {}
        self._last: str | None = None
        self._open: str | None = None

    def record(self) -> ThreadRecord:
        return ThreadRecord(
            client_ids=frozenset(self._client_ids),
            unnamed=tuple(self._unnamed),
            outputs=self._outputs,
            authored_outputs=frozenset(self._authored),
            finished=self._finished,
            last_turn=self._last,
            open_turn=self._open,
        )

    def take(self, kind: str, payload: dict[str, Any]) -> None:
        match kind, payload.get("type"):
            case "response_item", "function_call_output":
                self._take_output(payload)
            case "response_item", "message" if payload.get("role") == "user":
                self._unnamed.append(_text(payload))
            case "event_msg", "user_message":
                self._name(payload, str(payload.get("message")))
            case "event_msg", "item_completed" if isinstance(payload.get("item"), dict):
                self._name(payload["item"], _text(payload["item"]))
            case "event_msg", "task_started" | "turn_started":
                attribution = payload.get("turn_attribution") or {}
                turn = payload.get("turn_id") or attribution.get("turn_id")
                self._last = self._open = turn
            case "event_msg", "task_complete" | "turn_complete":
                turn = payload.get("turn_id") or self._open
                said = payload.get("last_agent_message")
                # A turn that failed is complete, too: with an error, before 0.154 without a word.
                if turn is not None and isinstance(said, str) and not payload.get("error"):
                    self._finished[turn] = said
                self._open = None
            case "event_msg", "turn_aborted":
                self._open = None
            case _:
                pass

    def _take_output(self, payload: dict[str, Any]) -> None:
        output = payload.get("output")
        text = output if isinstance(output, str) else msgspec.json.encode(output).decode()
        if payload.get("call_id"):
            self._outputs[payload["call_id"]] = text
        else:
            self._authored.add(text)

    def _name(self, payload: dict[str, Any], text: str) -> None:
        if isinstance(payload.get("client_id"), str):
            self._client_ids.add(payload["client_id"])
            if text in self._unnamed:
                self._unnamed.remove(text)


def _text(payload: dict[str, Any]) -> str:
    parts = payload.get("content")
    if not isinstance(parts, list):
        return ""
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with path.open("rb") as file:
        for raw in file:
            try:
                line = msgspec.json.decode(raw)
            except msgspec.DecodeError:
                continue
            if isinstance(line, dict) and isinstance(line.get("payload"), dict):
                yield str(line.get("type")), line["payload"]
