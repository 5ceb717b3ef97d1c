"""The demonstration itself: three tasks, one question, and a picture of what happened."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from byred.cli import words
from byred.cli.app import App
from byred.cli.asking import read_answer, show_question
from byred.cli.client import Daemon, Notification
from byred.cli.demo.ground import DOING, Ground
from byred.cli.demo.server import Server
from byred.cli.errors import CommandError, RefusedError
from byred.cli.table import Cell, fill, table
from byred.cli.terminal import Terminal, clean, one_line

# Title and prompt. The script "demo" of the scripted model tells them apart by "ask" and "port".
TASKS = (
    ("Write a poem", "Write a short poem about worktrees into poem.txt and commit it."),
    ("Paint the door", "Ask which colour the front door is to have; commit it as colour.txt."),
    ("Note the port", "Find out which port is yours, note it in port.txt and commit it."),
)
_LIMIT = 300.0  # seconds for everything but the person's thinking
_STATE_WIDTH = 11


def perform(app: App, out: Terminal, ground: Ground, server: Server) -> list[dict[str, Any]]:
    """Play the demonstration on its daemon, and return the tasks as they ended.

    When that is not possible, the daemon's log is shown before the error goes on: it is removed
    with everything else.
    """
    try:
        with server.connect() as daemon:
            tasks = Play(app, out, ground, daemon).run()
            if app.json:
                app.out.raw(daemon.call("task.list", {}).text)
    except CommandError:
        _show_tail(app.err, server)
        raise
    if any(task["state"] != "succeeded" for task in tasks):
        _show_tail(app.err, server)
    return tasks


class Play:
    """One run of the demonstration against its daemon."""

    def __init__(self, app: App, out: Terminal, ground: Ground, daemon: Daemon) -> None:
        self._app = app
        self._out = out
        self._ground = ground
        self._daemon = daemon
        self._began = time.monotonic()
        self._tasks: dict[int, str] = {}
        self._asks_person = app.is_interactive and not app.environ.get("CI") and not app.json

    def run(self) -> list[dict[str, Any]]:
        """Queue the tasks, show what happens, answer what is asked; returns the ended tasks."""
        self._daemon.call("events.follow", {"after": 0})
        for title, prompt in TASKS:
            task = self._daemon.call(
                "task.submit",
                {"repo": str(self._ground.repository), "title": title, "prompt": prompt},
            ).value
            self._tasks[task["id"]] = task["title"]
        ended: set[int] = set()
        ends = time.monotonic() + _LIMIT
        while len(ended) < len(TASKS):
            event = self._daemon.hear(max(0.0, ends - time.monotonic()))
            if event is None:
                raise RefusedError(
                    f"cannot {DOING}: {words.count(len(TASKS) - len(ended), 'task')} did not end"
                    f" within {_LIMIT:.0f} s; see the daemon's log above"
                )
            ends += self._show(event)
            state = event.params["kind"].removeprefix("task.")
            if state in words.ENDED and event.params["task_id"] in self._tasks:
                ended.add(event.params["task_id"])
        return [self._daemon.call("task.get", {"id": number}).value for number in self._tasks]

    def _show(self, event: Notification) -> float:
        """Print a change of a task, or ask a question; returns the seconds a person took."""
        kind = str(event.params["kind"])
        state = kind.removeprefix("task.")
        if state in words.STATES:
            number = event.params["task_id"]
            reason = (event.params.get("data") or {}).get("reason")
            name = self._out.paint(fill(state, _STATE_WIDTH), words.STYLES[state])
            because = f"  ({one_line(str(reason))})" if reason else ""
            self._out.say(
                f"{time.monotonic() - self._began:6.1f} s  task {number}  {name}"
                f"  {self._tasks.get(number, '')}{because}"
            )
            self._out.flush()
        elif kind == "question.asked":
            return self._answer(event.params["question_id"])
        return 0.0

    def _answer(self, number: int) -> float:
        began = time.monotonic()
        listed = self._daemon.call("question.list", {"states": ["open"]}).value["questions"]
        question = next((found for found in listed if found["id"] == number), None)
        if question is None:
            return 0.0
        self._out.say()
        show_question(self._out, question)
        if self._asks_person:
            text = read_answer(self._out, question, doing=DOING)
        else:
            text = _own_answer(question)
            self._out.say(f"answer> {text}   (answered by the demonstration: nobody is asked here)")
        self._out.say()
        self._daemon.call("question.answer", {"id": number, "text": text})
        return time.monotonic() - began


def show_picture(out: Terminal, ground: Ground, tasks: list[dict[str, Any]]) -> None:
    """Print what became of each task, and the commits that the repository has now."""
    rows = []
    for task in tasks:
        range_ = f"{task['base'] or 'main'}..{task['branch']}"
        log = ground.git("log", "--format=%h%x09%an <%ae>%x09%s", range_, "--")
        commits = [line.split("\t") for line in log.splitlines()] or [["none", "", ""]]
        for commit, author, subject in commits:
            rows.append(_row(task, commit, author, subject))
    out.say()
    head = ("TASK", "STATE", "BRANCH", "COMMIT", "AUTHOR", "SUBJECT")
    for line in table(out, head, rows, flexible=(5, 4, 2)):
        out.say(line)
    for task in tasks:
        if error := task.get("error"):
            out.say(f"task {task['id']}: {one_line(str(error['message']))}", "red")


def show_how_to_look(out: Terminal, ground: Ground, *, keep: bool) -> None:
    """Print the commands that show more."""
    out.say()
    for what, how in _looks(ground.repository, keep=keep):
        out.say(f"{fill(what, 26)} {how}")
    if keep:
        for name in ("worktrees", "state", "config", "log"):
            out.say(f"{fill(f'its {name}', 26)} {getattr(ground, name)}")
        out.say(f"{fill('the daemon again', 26)} byred --scripted demo --config {ground.config}")
    else:
        out.say(f"{fill('the rest is gone', 26)} byre demo --keep keeps worktrees, state and log")
    out.say(f"{fill('to remove it', 26)} rm -rf {ground.folder}")


def _looks(repository: Path, *, keep: bool) -> list[tuple[str, str]]:
    looks = [
        ("see the branches", f"git -C {repository} log --oneline --graph --all"),
        ("see what they changed", f"git -C {repository} log --patch --all"),
    ]
    if keep:
        looks.append(("see the worktrees", f"git -C {repository} worktree list"))
    return looks


def _show_tail(out: Terminal, server: Server) -> None:
    out.say("the end of the daemon's log:")
    for line in server.tail():
        out.say(f"  {clean(line)}", "dim")


def _row(task: Mapping[str, Any], commit: str, author: str, subject: str) -> list[Cell]:
    state = str(task["state"])
    return [
        Cell(str(task["id"])),
        Cell(state, words.STYLES.get(state, "")),
        Cell(str(task["branch"])),
        Cell(commit, "yellow"),
        Cell(author),
        Cell(subject),
    ]


def _own_answer(question: Mapping[str, Any]) -> str:
    options = question.get("options") or []
    return str(question.get("default") or (options[0] if options else "Do as you think best."))
