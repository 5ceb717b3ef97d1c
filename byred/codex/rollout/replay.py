"""Playing a history again: what happened when, at the speed that a person can follow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

import msgspec

from byred.codex.rollout.story import Kind, Step, Turn

LONGEST = 3.0
"""Seconds that a pause lasts at most: nobody reviews a build by waiting for it."""


class Beat(msgspec.Struct, frozen=True):
    """A step and the seconds to wait before it is shown; `first` begins its turn."""

    wait: float
    turn: Turn
    step: Step
    first: bool


def beats(turns: Iterable[Turn], speed: float = 1.0, longest: float = LONGEST) -> Iterator[Beat]:
    """Yield the steps of these turns with their pauses, `speed` times as fast as they were.

    Lines are written when a thing is done, so the pause before a step is the time that it took.
    Context is left out: the person never saw it.
    """
    before: datetime | None = None
    for turn in turns:
        first = True
        for step in turn.steps:
            if step.kind is Kind.CONTEXT:
                continue
            now = _moment(step.at)
            passed = (now - before).total_seconds() if now and before else 0.0
            wait = min(max(passed, 0.0) / speed, longest) if speed > 0 else 0.0
            yield Beat(wait, turn, step, first)
            first = False
            before = now or before


def _moment(stamp: str) -> datetime | None:
    try:
        return datetime.fromisoformat(stamp)
    except ValueError:
        return None
