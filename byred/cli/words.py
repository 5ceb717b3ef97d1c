"""The words of byred as people see them: states, their colours, times and ages."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from byred.cli.terminal import one_line

STATES = (
    "queued",
    "blocked",
    "held",
    "preparing",
    "running",
    "waiting",
    "verifying",
    "backing_off",
    "succeeded",
    "failed",
    "cancelled",
)
ENDED = frozenset({"succeeded", "failed", "cancelled"})
ACTIVE = tuple(state for state in STATES if state not in ENDED)
STYLES = {
    "queued": "cyan",
    "blocked": "magenta",
    "held": "magenta",
    "preparing": "blue",
    "running": "blue",
    "waiting": "yellow",
    "verifying": "blue",
    "backing_off": "magenta",
    "succeeded": "green",
    "failed": "red",
    "cancelled": "dim",
}
_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR


def ago(stamp: str | None, now: datetime | None = None) -> str:
    """How long ago an RFC 3339 moment was (`3m`, `2h`, `5d`), or nothing when it is unknown."""
    moment = instant(stamp)
    if moment is None:
        return ""
    return span(((now or datetime.now(UTC)) - moment).total_seconds())


def span(seconds: float) -> str:
    """A length of time with its largest unit only."""
    whole = max(0, int(seconds))
    if whole < _MINUTE:
        return f"{whole}s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    return f"{whole // _DAY}d"


def clock(stamp: str | None) -> str:
    """The time of day of an RFC 3339 moment, where the reader is."""
    moment = instant(stamp)
    return f"{moment.astimezone():%H:%M:%S}" if moment else "--:--:--"


def date(stamp: str | None) -> str:
    """Day and time of an RFC 3339 moment where the reader is, with its age."""
    moment = instant(stamp)
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S} ({ago(stamp)} ago)" if moment else ""


def instant(stamp: str | None) -> datetime | None:
    """The moment that an RFC 3339 string names; None for anything else."""
    try:
        moment = datetime.fromisoformat(stamp or "")
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def state(task: Mapping[str, Any]) -> str:
    """A task's state, with what changes its meaning: parked, or when it goes on."""
    name = str(task.get("state", "?"))
    if name == "waiting" and task.get("parked"):
        return "waiting (parked)"
    return name


def title(task: Mapping[str, Any]) -> str:
    """A task's title, or the beginning of its prompt when it has none."""
    return one_line(str(task.get("title") or task.get("prompt") or ""))


def sentence(task: Mapping[str, Any]) -> str:
    """A task in one line: `task 7 running: Mend the parser`."""
    return f"task {task.get('id')} {state(task)}: {title(task)}"


def size(number: int) -> str:
    """A number of bytes with the unit that suits it: `812 KB`, `1.4 GB`."""
    value = float(number)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1000:  # noqa: PLR2004 - units of a thousand
            shown = f"{value:.1f}" if value < 10 and unit != "B" else f"{value:.0f}"  # noqa: PLR2004 - as above
            return f"{shown} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def count(number: int, noun: str) -> str:
    """A number with its noun: `1 task`, `2 tasks`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def cost(tokens: Mapping[str, Any]) -> str:
    """Tokens with what they were, or nothing when there are none."""
    if not tokens.get("total"):
        return ""
    return (
        f"{tokens['total']:,} ({tokens.get('input') or 0:,} in,"
        f" {tokens.get('cached_input') or 0:,} of them cached, {tokens.get('output') or 0:,} out)"
    )


def lasted(milliseconds: int | None) -> str:
    """How long something took: `90 ms`, `1.2 s`, `3 m 5 s`, `2 h 10 m`; nothing when unknown."""
    if milliseconds is None:
        return ""
    if milliseconds < 1000:  # noqa: PLR2004 - a second
        return f"{milliseconds} ms"
    seconds = milliseconds // 1000
    if seconds < _MINUTE:
        return f"{milliseconds / 1000:.1f} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE} m {seconds % _MINUTE} s"
    return f"{seconds // _HOUR} h {seconds % _HOUR // _MINUTE} m"
