"""Histories as plain text, for a terminal and for pipes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from byred.codex.rollout.render import words
from byred.codex.rollout.story import History, Kind, Step, Turn

LONG = 2000
"""Characters of an output after which a terminal is shown its two ends only."""


def history(told: History) -> Iterator[str]:
    """Yield the text of a history, a piece a turn."""
    yield "".join(f"{label}: {value}\n" for label, value in words.summary(told)) + "\n"
    yield from turns(told.turns)


def turns(told: Iterable[Turn]) -> Iterator[str]:
    """Yield the text of each turn."""
    for turn in told:
        head = words.turn_title(turn)
        lines = [head, "=" * len(head)]
        if turn.error:
            lines.append(f"! {turn.error}")
        for step in turn.steps:
            if step.kind is not Kind.CONTEXT:
                lines += step_lines(step)
        yield "\n".join(lines) + "\n\n"


def step_lines(step: Step) -> list[str]:
    """Return the lines of one step, what came back indented under what was done."""
    lines = ["", words.step_title(step)]
    mark = "$ " if step.kind is Kind.RAN else ""
    text = "" if step.kind is Kind.CHANGED and step.changes else step.text
    lines += [f"  {mark}{line}" for line in _shortened(text).splitlines()]
    for change in step.changes:
        moved = f" -> {change.moved_to}" if change.moved_to else ""
        lines.append(f"  {change.kind} {change.path}{moved}")
        lines += [f"    {line}" for line in _shortened(change.diff).splitlines()]
    lines += [f"  {image[:80]}" for image in step.images]
    if not step.changes:
        lines += [f"    {line}" for line in _shortened(step.output).splitlines()]
    return lines


def _shortened(text: str) -> str:
    if len(text) <= LONG:
        return text
    half = LONG // 2
    return f"{text[:half]}\n[{len(text) - LONG:,} characters more]\n{text[-half:]}"
