"""The values of a told history: what happened in a thread, turn by turn and step by step.

Only values and sums; who makes them from lines is `telling`, who prints them is `render`.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """What a step is."""

    ASKED = "asked"
    """A message of the person, or of whoever drives the thread."""
    SAID = "said"
    """A message of the agent."""
    THOUGHT = "thought"
    """A summary of the model's reasoning, or the reasoning itself where it is recorded."""
    RAN = "ran"
    """A command, with its output."""
    CHANGED = "changed"
    """A patch, with what it did to which files."""
    CALLED = "called"
    """Another tool, with its arguments and its output."""
    QUESTION = "question"
    """A question to a person, with the answer."""
    ANSWERED = "answered"
    """An answer that was given without an open question: the call was lost before."""
    SEARCHED = "searched"
    """A search on the web."""
    PLANNED = "planned"
    """A plan, or an update of one."""
    PICTURED = "pictured"
    """A picture that was made or looked at."""
    REVIEWED = "reviewed"
    """A review: what was asked for, or what came of it."""
    COMPACTED = "compacted"
    """The conversation so far was replaced by a summary."""
    ROLLED_BACK = "rolled_back"
    """Turns were taken back."""
    WENT_WRONG = "went_wrong"
    """An error or a warning."""
    NOTED = "noted"
    """Anything else that codex recorded."""
    CONTEXT = "context"
    """Text that codex or a client put before the model on its own account."""


class TurnStatus(StrEnum):
    """How a turn ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    LOST = "lost"
    """Its process ended in the middle of it."""
    OPEN = "open"
    """The record ends inside it: it runs, or its process is gone."""


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a patch did to one file: `kind` is add, delete or update."""

    path: str
    kind: str
    diff: str = ""
    moved_to: str | None = None


class Tokens(msgspec.Struct, frozen=True):
    """Tokens as codex counts them: `total` is input and output, the others are parts of these."""

    input: int = 0
    cached_input: int = 0
    output: int = 0
    reasoning: int = 0
    total: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        """Return the sum, part by part."""
        return Tokens(
            self.input + other.input,
            self.cached_input + other.cached_input,
            self.output + other.output,
            self.reasoning + other.reasoning,
            self.total + other.total,
        )


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that happened, with what is recorded of it.

    `text` is what was asked, said, run, searched for or called with; `output` what came back.
    `at` is when the line was written (RFC 3339), `status` completed, failed, declined,
    interrupted, lost or open.
    """

    kind: Kind
    at: str
    text: str = ""
    name: str = ""
    call_id: str = ""
    output: str = ""
    status: str = ""
    exit_code: int | None = None
    duration_ms: int | None = None
    cwd: str = ""
    phase: str = ""
    changes: tuple[Change, ...] = ()
    images: tuple[str, ...] = ()


class Turn(msgspec.Struct, frozen=True, omit_defaults=True):
    """One turn. `number` counts from 1, or from -1 backwards where only the end was read."""

    number: int
    id: str
    status: TurnStatus
    started_at: str = ""
    ended_at: str = ""
    duration_ms: int | None = None
    model: str = ""
    error: str = ""
    tokens: Tokens = Tokens()
    thread_id: str = ""
    inherited: bool = False
    """It was made by the thread that this one was forked from."""
    undone: bool = False
    """It was taken back: the model no longer knows of it."""
    steps: tuple[Step, ...] = ()


class Break(msgspec.Struct, frozen=True):
    """A place where the record is broken: file, offset, bytes lost and why."""

    path: str
    offset: int
    length: int
    reason: str


class History(msgspec.Struct, frozen=True, omit_defaults=True):
    """A thread, or all threads of a task, from the first turn to the last."""

    thread_ids: tuple[str, ...] = ()
    rollouts: tuple[str, ...] = ()
    cwd: str = ""
    versions: tuple[str, ...] = ()
    """The versions of codex that wrote it, in the order of their coming."""
    tokens: Tokens = Tokens()
    """What all its turns cost, taken back or not."""
    counted: Tokens = Tokens()
    """What codex itself last counted for the thread that was told last."""
    turns: tuple[Turn, ...] = ()
    turn_count: int = 0
    """How many turns there are; `turns` may hold some of them, or none."""
    started_at: str = ""
    """When the first of them began."""
    ended_at: str = ""
    """When the last of them ended, or began if it did not end."""
    breaks: tuple[Break, ...] = ()
    missing: tuple[str, ...] = ()
    """Rollouts that this history builds on and that are not there."""
    sub_agents: tuple[str, ...] = ()
    """Rollouts of the sub-agents and reviews that these threads started."""
