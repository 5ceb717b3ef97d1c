"""A question as a person sees it, and the answer as he types it."""

import contextlib
import signal
from collections.abc import Iterator, Mapping
from typing import Any

from byred.cli import words
from byred.cli.errors import WrongUsageError
from byred.cli.terminal import Terminal, clean, one_line

_LOOK = 0.5  # seconds


def show_question(out: Terminal, question: Mapping[str, Any]) -> None:
    """Print a question with all that helps to answer it; its options are numbered."""
    number = question.get("id")
    asked = words.ago(question.get("asked_at"))
    since = f", asked {asked} ago" if asked else ""
    out.say(f"question {number} of task {question.get('task_id')}{since}", "bold")
    out.say(clean(str(question.get("text") or "")))
    if context := question.get("context"):
        out.say(clean(_as_text(context)), "dim")
    for at, option in enumerate(question.get("options") or [], 1):
        out.say(f"  {at}  {one_line(_as_text(option))}")
    if (default := question.get("default")) is not None:
        out.say(f"default: {one_line(_as_text(default))}", "dim")
    if deadline := question.get("deadline"):
        out.say(f"until {words.date(deadline)}", "dim")


def agrees(out: Terminal, question: str) -> bool:
    """Ask at the prompt whether to do something; nothing, or the end of the input, is no."""
    out.flush()
    try:
        with _heeding_signals():
            return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        out.say()
        return False


def read_answer(out: Terminal, question: Mapping[str, Any], *, doing: str) -> str:
    """Ask at the prompt until there is an answer: a number picks an option, nothing the default.

    Raises WrongUsageError when the person ends the input instead.
    """
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401, PLC0415 - makes input() editable; slow, and not everywhere

    options = [_as_text(option) for option in question.get("options") or []]
    default = question.get("default")
    while True:
        out.flush()
        try:
            with _heeding_signals():
                typed = input("answer> ").strip()
        except EOFError:
            out.say()
            raise WrongUsageError(
                f"cannot {doing}: no answer was typed; the question stays open"
            ) from None
        if typed.isdecimal() and options:
            if 1 <= int(typed) <= len(options):
                return options[int(typed) - 1]
            out.say(f"there is no option {typed}; give a number from 1 to {len(options)}")
        elif typed:
            return typed
        elif default is not None:
            return _as_text(default)


@contextlib.contextmanager
def _heeding_signals() -> Iterator[None]:
    """Let no signal be missed by input().

    It looks for signals only when one interrupts its waiting: one that came just before would stay
    unheeded until a key is pressed. A timer makes it look twice a second.
    """
    found = signal.signal(signal.SIGALRM, lambda _number, _frame: None)
    signal.setitimer(signal.ITIMER_REAL, _LOOK, _LOOK)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, found)


def _as_text(value: Any) -> str:
    """An option may be a plain string or an object with a label."""
    if isinstance(value, dict):
        return str(value.get("label") or value.get("value") or value)
    return str(value)
