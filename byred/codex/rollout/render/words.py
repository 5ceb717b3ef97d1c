"""The words that all renderers share: titles of turns and steps, durations, figures."""

from __future__ import annotations

from byred.codex.rollout.story import History, Kind, Step, Tokens, Turn, TurnStatus

TITLES = {
    Kind.ASKED: "Asked",
    Kind.SAID: "Said",
    Kind.THOUGHT: "Thought",
    Kind.RAN: "Ran",
    Kind.CHANGED: "Changed",
    Kind.CALLED: "Called",
    Kind.QUESTION: "Question",
    Kind.ANSWERED: "Answer, given later",
    Kind.SEARCHED: "Searched",
    Kind.PLANNED: "Plan",
    Kind.PICTURED: "Picture",
    Kind.REVIEWED: "Review",
    Kind.COMPACTED: "Compacted to a summary",
    Kind.ROLLED_BACK: "Taken back",
    Kind.WENT_WRONG: "Went wrong",
    Kind.NOTED: "Noted",
    Kind.CONTEXT: "Context, not written by the person",
}
_SECOND = 1000
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE


def span(milliseconds: int | None) -> str:
    """Return a duration: `90 ms`, `1.2 s`, `3 min 5 s`, `2 h 10 min`; empty when unknown."""
    if milliseconds is None:
        return ""
    if milliseconds < _SECOND:
        return f"{milliseconds} ms"
    if milliseconds < _MINUTE:
        return f"{milliseconds / _SECOND:.1f} s"
    if milliseconds < _HOUR:
        return f"{milliseconds // _MINUTE} min {milliseconds % _MINUTE // _SECOND} s"
    return f"{milliseconds // _HOUR} h {milliseconds % _HOUR // _MINUTE} min"


def cost(tokens: Tokens) -> str:
    """Return tokens in words; empty when there are none."""
    if not tokens.total:
        return ""
    return (
        f"{tokens.total:,} tokens ({tokens.input:,} in, {tokens.cached_input:,} of them cached; "
        f"{tokens.output:,} out, {tokens.reasoning:,} of them reasoning)"
    )


def turn_title(turn: Turn) -> str:
    """Return the heading of a turn."""
    marks = [
        str(turn.status) if turn.status is not TurnStatus.LOST else "its process ended",
        span(turn.duration_ms),
        f"{turn.tokens.total:,} tokens" if turn.tokens.total else "",
        "taken back" if turn.undone else "",
        "inherited" if turn.inherited else "",
    ]
    name = f"Turn {turn.number}" if turn.number else "Turn"
    return f"{name}: {', '.join(filter(None, marks))}"


def step_title(step: Step) -> str:
    """Return the heading of a step: what it was, of which tool, and how it ended."""
    ended = "" if step.status in ("", "completed") else step.status
    code = f"exit {step.exit_code}" if step.exit_code else ""
    name = step.name if step.kind not in (Kind.CHANGED, Kind.QUESTION, Kind.PLANNED) else ""
    about = ", ".join(filter(None, [name, ended, code, span(step.duration_ms), step.phase]))
    return f"{TITLES[step.kind]} ({about})" if about else TITLES[step.kind]


def summary(history: History) -> list[tuple[str, str]]:
    """Return what stands at the top: label and value, those that are known."""
    rows = [
        ("Threads", ", ".join(history.thread_ids)),
        ("Directory", history.cwd),
        ("Codex", ", ".join(history.versions)),
        ("From", history.started_at),
        ("To", history.ended_at),
        ("Turns", str(history.turn_count)),
        ("Cost", cost(history.tokens)),
        ("Missing rollouts", ", ".join(history.missing)),
        ("Sub-agents", str(len(history.sub_agents)) if history.sub_agents else ""),
    ]
    lost = sum(gap.length for gap in history.breaks)
    if history.breaks:
        rows.append(("Broken", f"{len(history.breaks)} places, {lost:,} bytes cannot be read"))
    return [(label, value) for label, value in rows if value]
