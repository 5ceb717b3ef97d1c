"""The live view of all tasks and open questions, and its plain form for programs and files."""

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from byred.cli import words
from byred.cli.app import App
from byred.cli.screen import Screen
from byred.cli.steady import Steady
from byred.cli.table import cut, table
from byred.cli.terminal import one_line
from byred.cli.verbs import ls
from byred.cli.waiting import Events

_DOING = "watch the tasks"
_REFRESH = 1.0  # seconds; ages grow
_BREATH = 0.1  # seconds between two drawings: a hundred events at once are one picture
_QUIT = frozenset("qQ\x1b\x04")
_MOST = 100  # rows that are asked for; a terminal shows fewer
_AROUND = 3  # lines beside the tasks and the questions: the table's head, how many more, advice
_ADVICE = "q ends this view; byre answer QID answers a question"
_NOUNS = ("task", "question")
_TELLING = ("title", "text", "message", "reason")


class View(NamedTuple):
    """What is to be drawn."""

    active: list[Mapping[str, Any]]
    ended: list[Mapping[str, Any]]
    questions: list[Mapping[str, Any]]
    notice: str


def live(app: App, screen: Screen) -> None:
    """Draw the view again and again until the person presses q."""
    events = Events()
    notice = ""

    def tell(text: str) -> None:
        nonlocal notice
        notice = text
        screen.draw([app.out.paint(text, "yellow")])

    with Steady(lambda: app.daemon(_DOING), events.follow, tell) as daemon:
        view, changed = View([], [], [], ""), True
        while True:
            if changed:
                view = _ask(daemon)
            screen.draw(draw(app, view._replace(notice=notice), screen.size()))
            keys, readable = screen.wait(daemon.fileno(), 0 if daemon.has_heard else _REFRESH)
            if _QUIT & set(keys):
                return
            changed = readable or daemon.has_heard
            if changed:
                _drain(daemon, events)
                notice = ""


def append_lines(app: App) -> None:
    """Print a line for every change, without an end: for a file, a pipe, a dumb terminal."""
    events = Events()

    with Steady(lambda: app.daemon(_DOING), events.follow, app.err.say) as daemon:
        if not app.json:
            view = _ask(daemon)
            for task in reversed(view.active):
                app.out.say(words.sentence(task))
            for question in view.questions:
                app.out.say(_question_line(question))
            app.out.flush()
        while (event := daemon.hear()) is not None:
            events.seq = int(event.params.get("seq") or events.seq or 0)
            if app.json:
                app.out.raw(event.text)
            else:
                app.out.say(_event_line(event.params))
            app.out.flush()


def draw(app: App, view: View, size: tuple[int, int]) -> list[str]:
    """The lines of the view, cut to `size` columns and lines; questions are never crowded out."""
    width, height = size
    counts: dict[str, int] = {}
    for task in view.active:
        counts[str(task["state"])] = counts.get(str(task["state"]), 0) + 1
    summary = ", ".join(f"{counts[state]} {state}" for state in words.STATES if state in counts)
    head = f"byre watch  {summary or 'nothing to do'}"
    if view.notice:
        head += f"  ({view.notice})"
    lines = [app.out.paint(cut(head, width), "bold"), ""]
    asked = _questions(app, view.questions, width)
    room = max(0, height - len(lines) - len(asked) - _AROUND)
    tasks = [*view.active, *view.ended][:room]
    if tasks:
        rows = [ls.row(task) for task in tasks]
        lines += table(app.out, ls.HEAD, rows, flexible=ls.FLEXIBLE)
    hidden = len(view.active) - len(tasks)
    if hidden > 0:
        lines.append(app.out.paint(f"… and {hidden} more", "dim"))
    lines += asked
    lines = lines[: max(1, height - 1)]
    lines.append(app.out.paint(cut(_ADVICE, width), "dim"))
    return lines


def _questions(app: App, questions: list[Mapping[str, Any]], width: int) -> list[str]:
    if not questions:
        return []
    lines = ["", app.out.paint(words.count(len(questions), "open question"), "yellow")]
    lines += [cut("  " + _question_line(question), width) for question in questions]
    return lines


def _question_line(question: Mapping[str, Any]) -> str:
    text = one_line(str(question.get("text") or ""))
    return f"question {question.get('id')} of task {question.get('task_id')}: {text}"


def _event_line(event: Mapping[str, Any]) -> str:
    numbers = [f"{name} {event[f'{name}_id']}" for name in _NOUNS if event.get(f"{name}_id")]
    data = event.get("data") or {}
    telling = (one_line(str(data[name])) for name in _TELLING if data.get(name))
    return "  ".join(
        [words.clock(event.get("at")), str(event.get("kind")), *numbers, next(telling, "")]
    ).rstrip()


def _ask(daemon: Steady) -> View:
    active = daemon.call("task.list", {"states": list(words.ACTIVE), "limit": _MOST}).value["tasks"]
    ended = daemon.call("task.list", {"states": sorted(words.ENDED), "limit": _MOST}).value["tasks"]
    questions = daemon.call("question.list", {"states": ["open"]}).value["questions"]
    return View(active, ended, questions, "")


def _drain(daemon: Steady, events: Events) -> None:
    """Hear what there is: every event of the next moment makes one picture."""
    ends = time.monotonic() + _BREATH
    while (left := ends - time.monotonic()) > 0:
        event = daemon.hear(left)
        if event is not None:
            events.seq = int(event.params.get("seq") or events.seq or 0)
