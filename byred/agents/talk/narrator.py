"""From codex's events to lines that a person reads: one pure function."""

from typing import Any

import msgspec

from byred.codex.events import Event

# What a command printed is in the rollout whole; the log keeps what fits a screen or two.
OUTPUT_KEPT = 4000

# The parts of something that comes whole as well, when it is complete.
PIECES = (
    "item/agentMessage/delta",
    "item/commandExecution/outputDelta",
    "item/fileChange/outputDelta",
    "item/plan/delta",
    "item/reasoning/summaryPartAdded",
    "item/reasoning/summaryTextDelta",
    "item/reasoning/textDelta",
)


class Said(msgspec.Struct, frozen=True):
    """A line of a task's log before it has a number."""

    kind: str
    text: str
    data: dict[str, Any]


def describe(event: Event) -> Said | None:  # noqa: PLR0911 - one case, one line
    """Give the line for an event, or None when it says nothing to a person."""
    data = event.data
    match event.method:
        case "turn/started":
            return Said("turn", "started", {"turn_id": event.turn_id})
        case "turn/completed":
            turn = data.get("turn", {})
            text = str(turn.get("status"))
            error = turn.get("error")
            if isinstance(error, dict):
                text = f"{text}: {error.get('message')}"
            return Said("turn", text, {"turn_id": event.turn_id})
        case "error":
            error = data.get("error", {})
            return Said("error", str(error.get("message")), {"will_retry": data.get("willRetry")})
        case "warning" | "configWarning" | "deprecationNotice":
            return Said("notice", str(data.get("message") or data.get("summary")), {})
        case "item/started":
            return _started(data.get("item", {}))
        case "item/completed":
            return _completed(data.get("item", {}))
        case _:
            return None


def _started(item: dict[str, Any]) -> Said | None:
    if item.get("type") == "commandExecution":
        return Said("command", str(item.get("command")), {"item_id": item.get("id")})
    return None


def _completed(item: dict[str, Any]) -> Said | None:
    match item.get("type"):
        case "agentMessage":
            return Said("message", str(item.get("text")), {})
        case "reasoning":
            summary = item.get("summary")
            text = "\n".join(map(str, summary)) if isinstance(summary, list) else ""
            return Said("reasoning", text, {}) if text else None
        case "commandExecution":
            output = str(item.get("aggregatedOutput") or "")
            cut = len(output) > OUTPUT_KEPT
            return Said(
                "output",
                output[-OUTPUT_KEPT:],
                {"item_id": item.get("id"), "exit_code": item.get("exitCode"), "cut": cut},
            )
        case "fileChange":
            changes = item.get("changes")
            paths = [
                str(change.get("path")) for change in changes or () if isinstance(change, dict)
            ]
            return Said("file", ", ".join(paths), {"status": item.get("status")})
        case "contextCompaction":
            return Said("notice", "the conversation was compacted", {})
        case _:
            return None
