"""Turns of a task's history as a person reads them: headings, steps, what came back.

What a turn and a step have is the daemon's contract (`docs/protocol.md`). Everything in them was
written by an agent or by what it ran, so nothing of it is printed as it is.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from byred.cli import words
from byred.cli.terminal import Terminal, clean, one_line

LONG = 2000  # characters of a text after which its two ends are shown
_KIND_WIDTH = 9
_INDENT = " " * (_KIND_WIDTH + 12)
_HIDDEN = "context"  # what codex put before the model on its own account
_NAMES = {"rolled_back": "undone", "went_wrong": "error", "pictured": "picture"}
_STYLES = {
    "asked": "bold",
    "thought": "dim",
    "ran": "cyan",
    "changed": "cyan",
    "called": "cyan",
    "question": "yellow",
    "answered": "green",
    "went_wrong": "red",
    "noted": "magenta",
    "compacted": "magenta",
    "rolled_back": "magenta",
}
_TURN_STYLES = {"completed": "green", "failed": "red", "interrupted": "yellow", "lost": "red"}
_ENDINGS = {"lost": "its process ended", "open": "not ended"}
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


class Story:
    """Prints turns as they come; a turn that comes again goes on where it was."""

    def __init__(self, out: Terminal) -> None:
        self._out = out
        self._now: str | None = None
        self._open = False
        self._told: dict[str, int] = {}  # turn → steps that were printed
        self._come: dict[str, int] = {}  # turn → steps that came since the telling began

    def again(self) -> None:
        """Expect everything from its beginning: what was printed is not printed twice."""
        self._come.clear()

    def show(self, turn: Mapping[str, Any]) -> None:
        """Print a turn, or what is new of it."""
        name = str(turn.get("id"))
        steps = turn.get("steps") or ()
        come = self._come.get(name, 0)
        told = self._told.get(name, 0)
        self._come[name] = come + len(steps)
        known = name in self._told
        self._told[name] = max(told, come + len(steps))
        fresh = steps[max(0, told - come) :]
        ended = turn.get("status") != "open"
        goes_on = name == self._now
        if known and not goes_on and not fresh:
            return  # the daemon was away, and tells again what it had told
        if not goes_on:
            if self._now is not None:
                self._out.say()
            self._out.say(_heading(self._out, turn))
        for step in fresh:
            if step.get("kind") != _HIDDEN:
                for line in _step(self._out, step):
                    self._out.say(line)
        if goes_on and self._open and ended:
            self._out.say(_heading(self._out, turn))
        if ended and turn.get("error") and (self._open or not goes_on):
            self._out.say(_label(self._out, None, "error", "red") + one_line(str(turn["error"])))
        self._now, self._open = name, not ended

    def end(self, about: Mapping[str, Any]) -> None:
        """Print what the turns sum up to, and what is wrong with the record."""
        count = int(about.get("turn_count") or 0)
        if self._now is not None:
            self._out.say()
        cost = words.cost(about.get("tokens") or {})
        self._out.say(words.count(count, "turn") + (f"; tokens: {cost}" if cost else ""), "bold")
        if breaks := about.get("breaks"):
            lost = sum(int(each.get("length") or 0) for each in breaks)
            self._out.say(
                f"the record is broken in {words.count(len(breaks), 'place')}, {lost:,} bytes of"
                " it cannot be read; see byre doctor --rollouts",
                "red",
            )
        if missing := about.get("missing"):
            self._out.say(f"it builds on records that are gone: {', '.join(missing)}", "red")
        if subs := about.get("sub_agents"):
            self._out.say(f"{words.count(len(subs), 'sub-agent')} took part, not told here", "dim")


def _heading(out: Terminal, turn: Mapping[str, Any]) -> str:
    status = str(turn.get("status"))
    number = turn.get("number")
    name = f"turn {number}" if number else "turn"
    total = int((turn.get("tokens") or {}).get("total") or 0)
    about = [
        out.paint(_ENDINGS.get(status, status), _TURN_STYLES.get(status, "")),
        words.lasted(turn.get("duration_ms")),
        f"{total:,} tokens" if total else "",
        "taken back" if turn.get("undone") else "",
        "inherited" if turn.get("inherited") else "",
        out.paint(words.date(turn.get("started_at")), "dim"),
    ]
    return f"{out.paint(name, 'bold')}  {', '.join(filter(None, about))}"


def _step(out: Terminal, step: Mapping[str, Any]) -> Iterator[str]:
    kind = str(step.get("kind"))
    style = _STYLES.get(kind, "")
    changes: Sequence[Mapping[str, Any]] = step.get("changes") or ()
    first, *more = _lines(str(step.get("text") or "")) if not changes else [_paths(changes)]
    told = out.paint(f"{first}{_ending(step)}", style)
    yield _label(out, step.get("at"), kind, style) + told
    for line in more:
        yield _INDENT + out.paint(line, style)
    for image in step.get("images") or ():
        yield _INDENT + one_line(str(image)[:80])
    for change in changes:
        for line in _lines(str(change.get("diff") or ""), empty=False):
            yield _INDENT + out.paint(line, _DIFF_STYLES.get(line[:1], ""))
    if not changes:
        answered = "green" if kind == "question" else "dim"
        for line in _lines(str(step.get("output") or ""), empty=False):
            yield _INDENT + out.paint(line, answered)


def _label(out: Terminal, at: str | None, kind: str, style: str) -> str:
    name = _NAMES.get(kind, kind).ljust(_KIND_WIDTH)
    return f"{out.paint(words.clock(at), 'dim')}  {out.paint(name, style)}  "


def _ending(step: Mapping[str, Any]) -> str:
    """What there is to say of how a step ended, and of which tool it was."""
    status = str(step.get("status") or "")
    code = step.get("exit_code")
    name = str(step.get("name") or "") if step.get("kind") in ("called", "noted", "ran") else ""
    told = [
        name,
        "" if status == "completed" else _ENDINGS.get(status, status),
        f"exit {code}" if code else "",
        words.lasted(step.get("duration_ms")),
    ]
    return f"  ({', '.join(one_line(each) for each in told if each)})" if any(told) else ""


def _paths(changes: Sequence[Mapping[str, Any]]) -> str:
    told = [
        f"{change.get('kind')} {change.get('path')}"
        + (f" -> {change['moved_to']}" if change.get("moved_to") else "")
        for change in changes
    ]
    return one_line(", ".join(told))


def _lines(text: str, *, empty: bool = True) -> list[str]:
    if len(text) > LONG:
        half = LONG // 2
        text = f"{text[:half]}\n[{len(text) - LONG:,} characters more]\n{text[-half:]}"
    return clean(text).splitlines() or ([""] if empty else [])
