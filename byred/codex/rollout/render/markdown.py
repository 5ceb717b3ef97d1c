"""Histories as Markdown: complete, and readable as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from byred.codex.rollout.render import words
from byred.codex.rollout.story import History, Kind, Step, Turn

_TICKS = re.compile(r"`{3,}")
_PROSE = (Kind.ASKED, Kind.SAID, Kind.THOUGHT, Kind.QUESTION, Kind.ANSWERED, Kind.REVIEWED)


def document(
    told: History,
    clean: Callable[[str], str] = str,
    title: str = "History",
    one_by_one: Iterable[Turn] | None = None,
) -> Iterator[str]:
    """Yield a Markdown document of a history, a piece a turn; `clean` redacts every text.

    `one_by_one` are the turns where the history itself has none, because it is too large.
    """
    rows = "".join(f"- **{label}**: {clean(value)}\n" for label, value in words.summary(told))
    yield f"# {clean(title)}\n\n{rows}\n"
    yield from turns(told.turns if one_by_one is None else one_by_one, clean)


def turns(told: Iterable[Turn], clean: Callable[[str], str] = str) -> Iterator[str]:
    """Yield the Markdown of each turn."""
    for turn in told:
        parts = [f"## {words.turn_title(turn)}\n"]
        when = " to ".join(filter(None, (turn.started_at, turn.ended_at)))
        about = ", ".join(filter(None, (when, turn.model, turn.id)))
        if about:
            parts.append(f"*{about}*\n")
        if turn.error:
            parts.append(f"**{clean(turn.error)}**\n")
        parts += [_step(step, clean) for step in turn.steps]
        yield "\n".join(parts) + "\n"


def _step(step: Step, clean: Callable[[str], str]) -> str:
    parts = [f"### {words.step_title(step)}\n"]
    if step.text and not (step.kind is Kind.CHANGED and step.changes):
        text = clean(step.text)
        prose = step.kind in _PROSE
        parts.append(_quoted(text) if prose else _fenced(text, _language(step.kind)))
    for change in step.changes:
        moved = f" → `{change.moved_to}`" if change.moved_to else ""
        parts.append(f"{change.kind} `{change.path}`{moved}\n")
        if change.diff:
            language = "diff" if change.kind == "update" else ""
            parts.append(_fenced(clean(change.diff), language))
    parts += [_image(image) for image in step.images]
    if step.output and not step.changes:
        output = clean(step.output)
        parts.append(_quoted(output) if step.kind in _PROSE else _fenced(output))
    return "\n".join(parts)


def _language(kind: Kind) -> str:
    return {Kind.RAN: "sh", Kind.CHANGED: "diff", Kind.CALLED: "json"}.get(kind, "")


def _quoted(text: str) -> str:
    return "".join(f"> {line}\n" if line else ">\n" for line in text.splitlines())


def _fenced(text: str, language: str = "") -> str:
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}\n"


def _image(where: str) -> str:
    if where.startswith("data:"):
        return f"(picture, {where.split(';', 1)[0][5:]}, {len(where):,} characters)\n"
    return f"(picture: `{where}`)\n"
