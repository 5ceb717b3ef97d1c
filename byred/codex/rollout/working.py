"""A turn while it is being told: steps that later lines still complete.

It owns the pairing: codex records most things twice, once as the item that went to or came from
the model and once as an event about it, in either order, and calls apart from their outputs. A
`WorkingTurn` makes one step of each. Which line means what is `telling`'s business.
"""

from __future__ import annotations

from typing import Any

from byred.codex.rollout import reading
from byred.codex.rollout.story import Kind, Step, Tokens, Turn, TurnStatus

Fields = dict[str, Any]
UNANSWERED = "the model gave no answer and codex recorded no error"
_REFUSALS = ("unsupported call", "failed to ", "apply_patch verification failed")
"""How codex begins what it tells the model of a call that it could not carry out."""
_ENDS = {
    TurnStatus.INTERRUPTED: "interrupted",
    TurnStatus.LOST: "lost",
    TurnStatus.OPEN: "open",
}


class WorkingTurn:
    """The steps of one turn so far, each as the fields of the `Step` it will be."""

    __slots__ = (
        "_given",
        "_heard",
        "_told",
        "calls",
        "duration_ms",
        "ended",
        "ended_at",
        "error",
        "id",
        "inherited",
        "lost_calls",
        "model",
        "number",
        "rolled_back",
        "started_at",
        "status",
        "steps",
        "thread_id",
        "tokens",
        "undone",
    )

    def __init__(
        self, number: int, turn_id: str, started_at: str, lost_calls: dict[str, str]
    ) -> None:
        self.number, self.id, self.started_at = number, turn_id, started_at
        self.lost_calls = lost_calls
        """Calls of earlier turns that had no end yet: id → what was called."""
        self.rolled_back = 0
        self.status = TurnStatus.OPEN
        self.ended = False
        self.ended_at = self.model = self.error = self.thread_id = ""
        self.duration_ms: int | None = None
        self.tokens = Tokens()
        self.inherited = self.undone = False
        self.steps: list[Fields] = []
        self.calls: dict[str, Fields] = {}
        self._given: list[tuple[Fields, list[str]]] = []
        self._heard: dict[tuple[Kind, str], int] = {}
        self._told: dict[tuple[Kind, str], int] = {}

    def add(self, kind: Kind, at: str, **fields: Any) -> Fields:
        """Append a step and return it for later completion."""
        step: Fields = {"kind": kind, "at": at, **fields}
        self.steps.append(step)
        return step

    def call(self, call_id: str, kind: Kind, at: str, **fields: Any) -> Fields:
        """Return the step of a call, made now if no line has spoken of it yet."""
        step = self.calls.get(call_id)
        if step is None or not call_id:
            step = self.add(kind, at, call_id=call_id)
            self.calls[call_id] = step
        for name, value in fields.items():
            if value or value == 0:  # an exit code of 0 says something, an empty text nothing
                step[name] = value
        return step

    def given(self, at: str, texts: list[str], images: tuple[str, ...]) -> None:
        """Take a message that went to the model; it is context until an event calls it asked."""
        step = self.add(Kind.CONTEXT, at, text="\n".join(texts), images=images)
        self._given.append((step, texts))

    def asked(self, at: str, text: str, images: tuple[str, ...]) -> None:
        """Take an event about a message of the person."""
        for index, (step, texts) in enumerate(self._given):
            if step["text"] == text or text in texts or (not text and not step["text"].strip()):
                step.update(kind=Kind.ASKED, text=text, images=images)
                del self._given[index]
                return
        last = self.steps[-1] if self.steps else {}
        if last.get("kind") is not Kind.ASKED or last.get("text") != text:
            self.add(Kind.ASKED, at, text=text, images=images)

    def heard(self, kind: Kind, at: str, text: str, **fields: Any) -> None:
        """Take an event about something that the model said or thought."""
        if text and not _counted_off(self._told, kind, text):
            self._heard[kind, text] = self._heard.get((kind, text), 0) + 1
            self.add(kind, at, text=text, **fields)

    def told(self, kind: Kind, at: str, texts: list[str], **fields: Any) -> None:
        """Take the item itself; what its events have told already is only completed."""
        fresh: list[str] = []
        for text in texts:
            if _counted_off(self._heard, kind, text):
                same = (step for step in reversed(self.steps) if step["kind"] is kind)
                step = next(step for step in same if step["text"] == text)
                step.update({name: value for name, value in fields.items() if value})
            elif text:
                fresh.append(text)
        if fresh:
            self.add(kind, at, text="\n\n".join(fresh), **fields)
            for text in fresh:
                self._told[kind, text] = self._told.get((kind, text), 0) + 1

    def finished(self) -> Turn:
        """Return the turn as told."""
        status, error = self.status, self.error
        kinds = {step["kind"] for step in self.steps}
        unanswered = Kind.ASKED in kinds and kinds <= {Kind.ASKED, Kind.CONTEXT}
        if unanswered and self.ended and status is TurnStatus.COMPLETED:
            status, error = TurnStatus.FAILED, UNANSWERED
        steps = tuple(_step(fields, status) for fields in self.steps)
        return Turn(
            number=self.number,
            id=self.id,
            status=status,
            started_at=self.started_at,
            ended_at=self.ended_at,
            duration_ms=self.duration_ms,
            model=self.model,
            error=error,
            tokens=self.tokens,
            thread_id=self.thread_id,
            inherited=self.inherited,
            undone=self.undone,
            steps=steps,
        )


def _counted_off(counts: dict[tuple[Kind, str], int], kind: Kind, text: str) -> bool:
    """Whether this text was counted before; it is not counted any more afterwards."""
    left = counts.get((kind, text), 0)
    if left:
        counts[kind, text] = left - 1
    return left > 0


def _step(fields: Fields, status: TurnStatus) -> Step:
    kind: Kind = fields["kind"]
    if "call_id" in fields:
        told = reading.ran(fields["output"]) if "output" in fields else None
        if "status" not in fields:
            fields["status"] = _outcome(kind, told, status)
        if told is not None:
            fields["output"] = told.output
            if kind is Kind.RAN or kind is Kind.CHANGED:
                fields.setdefault("exit_code", told.exit_code)
                fields.setdefault("duration_ms", told.duration_ms)
    if "aggregated" in fields:
        fields["output"] = fields.pop("aggregated") or fields.get("output", "")
    if kind is Kind.QUESTION and "output" in fields:
        fields["output"] = reading.answer(fields["output"])
    return Step(**fields)


def _outcome(kind: Kind, told: reading.Told | None, status: TurnStatus) -> str:
    """Say how a call ended where no event says it."""
    if told is None:
        return _ENDS.get(status, "open")
    begin = told.output[:200]
    if "rejected by user" in begin:
        return "declined"
    if begin.startswith("aborted") or "\naborted by user" in begin:
        return "interrupted"
    if told.running:
        return "running"
    if told.exit_code is not None:
        return "completed" if told.exit_code == 0 else "failed"
    refused = kind is Kind.RAN and not told.headed
    return "failed" if refused or begin.startswith(_REFUSALS) else "completed"
