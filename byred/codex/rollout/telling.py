"""Telling a rollout: from lines to turns, one after the other.

A `Teller` is fed lines in order and gives each turn when the next begins, so a history of any
size is told in the memory of one turn. It knows what every kind of line means in every version;
how the pairs in them become one step is `working`'s business, and which files make a thread
`chain`'s.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from byred.codex.rollout import reading
from byred.codex.rollout.line import Line
from byred.codex.rollout.meaning import EVENTS, ITEMS, other_item
from byred.codex.rollout.story import Kind, Tokens, Turn, TurnStatus
from byred.codex.rollout.working import WorkingTurn

Doc = dict[str, Any]
_SILENT = frozenset(
    {
        "thread_settings_applied",
        "session_configured",
        "thread_queue_changed",
        "shutdown_complete",
        "item_started",
        "turn_diff",
        "raw_response_item",
        "raw_response_completed",
        "agent_message_content_delta",
        "agent_reasoning_section_break",
        "reasoning_content_delta",
        "reasoning_raw_content_delta",
        "plan_delta",
        "exec_command_begin",
        "exec_command_output_delta",
        "terminal_interaction",
        "mcp_tool_call_begin",
        "mcp_startup_update",
        "mcp_startup_complete",
        "web_search_begin",
        "image_generation_begin",
        "patch_apply_begin",
        "patch_apply_updated",
        "hook_started",
        "dynamic_tool_call_request",
        "collab_agent_spawn_begin",
        "collab_agent_interaction_begin",
        "collab_waiting_begin",
        "collab_close_begin",
        "collab_resume_begin",
        "turn_moderation_metadata",
        "safety_buffering",
        "realtime_conversation_realtime",
        "realtime_conversation_sdp",
        "realtime_conversation_list_voices_response",
    }
)
"""Events that another line repeats in full, or that tell a reader nothing."""
_ENDINGS = frozenset({"task_complete", "turn_aborted", "thread_rolled_back"})
_UNFINISHED = frozenset({"interrupted", "lost", "open", "running"})
_WORDS = ("message", "text", "summary", "delta", "reason", "objective", "to_model", "status")


class Teller:
    """Tells the turns of one thread from its lines, in order.

    `after` numbers the first turn, `own_id` is the thread's id where the caller knows it: turns
    whose ids are older than the thread's are inherited.
    """

    def __init__(self, *, after: int = 0, own_id: str = "") -> None:
        self.own_id = own_id
        self.undoing = False
        """Whether the lines fed now belong to turns that were taken back."""
        self.rolled_back = 0
        """How many turns before the current one the last lines took back; the caller resets it."""
        self.versions: list[str] = []
        """The versions of codex that wrote the lines so far, as often as they say it."""
        self._number = after
        self._total: Any = None
        self._turn: WorkingTurn | None = None
        self._before: list[Line] = []
        self._unfinished: dict[str, str] = {}

    @property
    def counted(self) -> Tokens:
        """What codex counted for the thread so far."""
        return reading.tokens(self._total)

    def feed(self, line: Line) -> Turn | None:
        """Take the next line; return the turn before, if this line begins another one."""
        kind = line.doc.get("type")
        if kind == "response_item":
            turn = self._turn
            if turn is None or turn.ended:
                self._before.append(line)
            else:
                _item(turn, line)
        elif kind == "event_msg":
            return self._event(line.tag, line)
        elif kind == "turn_context":
            if self._turn is not None:
                self._turn.model = reading.string(line.payload.get("model")) or self._turn.model
        elif kind == "compacted":
            text = reading.string(line.payload.get("message"))
            self._here(line).add(Kind.COMPACTED, line.timestamp, text=text)
        elif kind == "session_meta":
            self.versions.append(reading.string(line.payload.get("cli_version")))
        elif kind == "inter_agent_communication":
            author, text = (reading.string(line.payload.get(n)) for n in ("author", "content"))
            self._here(line).add(Kind.NOTED, line.timestamp, name=author, text=text)
        return None

    def finish(self) -> Turn | None:
        """Return the last turn; nothing may be fed after it."""
        if self._turn is None and self._before:
            self._implicit(self._before[0])
        if self._turn is not None:
            self._drain(self._turn)
        return self._close(TurnStatus.OPEN)

    def _event(self, tag: str, line: Line) -> Turn | None:
        turn = self._turn
        if tag == "task_started":
            return self._begin(line)
        if tag == "token_count":
            self._count(line.payload)
        elif tag in _SILENT:
            pass
        elif (turn is None or turn.ended) and _begins_review(tag, line.payload):
            self._before.append(line)  # it comes just before the turn that it belongs to
        elif turn is not None and not (turn.ended and tag == "user_message"):
            self._tell(turn, tag, line)
        elif tag not in _ENDINGS:
            done = self._implicit(line)
            self._tell(self._here(line), tag, line)
            return done
        return None

    def _begin(self, line: Line) -> Turn | None:
        done = self._close(TurnStatus.LOST)
        turn = self._new(reading.string(line.payload.get("turn_id")), line)
        if turn.id and self.own_id and turn.id < self.own_id:
            # Both are UUIDs of version 7, so their order is that of their times.
            turn.inherited = True
            turn.started_at = _moment(line.payload.get("started_at")) or line.timestamp
        return done

    def _implicit(self, line: Line) -> Turn | None:
        """Begin a turn that no event announces: the oldest versions recorded none."""
        done = self._close(TurnStatus.COMPLETED)
        self._new("", line).status = TurnStatus.COMPLETED
        return done

    def _new(self, turn_id: str, line: Line) -> WorkingTurn:
        self._number += 1
        turn = WorkingTurn(self._number, turn_id, line.timestamp, self._unfinished)
        turn.undone, turn.thread_id = self.undoing, self.own_id
        self._turn = turn
        self._drain(turn)
        return turn

    def _drain(self, turn: WorkingTurn) -> None:
        """Give what came between two turns to the one that sees it first."""
        for line in self._before:
            if line.type == "event_msg":
                self._tell(turn, line.tag, line)
            else:
                _item(turn, line)
        self._before.clear()

    def _close(self, otherwise: TurnStatus) -> Turn | None:
        turn, self._turn = self._turn, None
        if turn is None:
            return None
        if turn.status is TurnStatus.OPEN:
            turn.status = otherwise
        self.rolled_back += turn.rolled_back
        told = turn.finished()
        self._unfinished.update(
            (step.call_id, step.text) for step in told.steps if step.status in _UNFINISHED
        )
        return told

    def _here(self, line: Line) -> WorkingTurn:
        if self._turn is None:
            self._implicit(line)
        assert self._turn is not None  # noqa: S101 - `_implicit` makes one
        return self._turn

    def _tell(self, turn: WorkingTurn, tag: str, line: Line) -> None:
        handler = EVENTS.get(tag)
        if handler is not None:
            handler(turn, line.payload, line.timestamp)
            return
        words = next((line.payload[name] for name in _WORDS if line.payload.get(name)), "")
        turn.add(Kind.NOTED, line.timestamp, name=tag, text=reading.string(words))

    def _count(self, payload: Doc) -> None:
        info = reading.table(payload.get("info"))
        if not info:
            return
        total = info.get("total_token_usage")
        if total == self._total:
            return  # the same figures come again with each change of the rate limits
        self._total = total
        spent = reading.tokens(info.get("last_token_usage"))
        if self._turn is not None:
            self._turn.tokens += spent


def _item(turn: WorkingTurn, line: Line) -> None:
    item = line.payload
    tag = item.get("type")
    handler = ITEMS.get(tag) if tag.__class__ is str else None
    (handler or other_item)(turn, item, line.timestamp)


def _begins_review(tag: str, payload: Doc) -> bool:
    item = reading.table(payload.get("item"))
    return tag == "entered_review_mode" or item.get("type") == "EnteredReviewMode"


def _moment(seconds: Any) -> str:
    if not isinstance(seconds, int):
        return ""
    stamp = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return stamp.replace("+00:00", "Z")
