"""`byre logs`: what a task's agent said and did."""

from collections.abc import Mapping
from typing import Any

import click

from byred.cli import words
from byred.cli.app import App
from byred.cli.arguments import task_argument
from byred.cli.client import Daemon
from byred.cli.steady import Steady
from byred.cli.terminal import clean
from byred.cli.verb import Verb

_KIND_WIDTH = 9
_STYLES = {
    "state": "bold",
    "turn": "bold",
    "reasoning": "dim",
    "command": "cyan",
    "output": "dim",
    "file": "cyan",
    "question": "yellow",
    "answer": "green",
    "notice": "magenta",
    "error": "red",
}


@click.command(cls=Verb, section="Tasks")
@task_argument()
@click.option("-f", "--follow", is_flag=True, help="Go on until the task has ended.")
@click.pass_obj
def command(app: App, task_id: int, follow: bool) -> None:  # noqa: FBT001 - click passes options by name
    """Print what a task's agent said and did."""
    log = Log(app, task_id)

    def opened() -> Daemon:
        return app.daemon(f"show the log of task {task_id}")

    if not follow:
        with opened() as daemon:
            log.read(daemon)
        return
    with Steady(opened, log.follow, app.err.say) as steady:
        while not log.ended and (told := steady.hear()) is not None:
            if told.params.get("id") != task_id:
                continue
            if app.json:
                app.out.raw(told.text)
            if told.method == "log":
                log.show(told.params["line"])
            elif told.method == "log.end":
                log.end(told.params)
            app.out.flush()


class Log:
    """A task's log as far as it was printed."""

    def __init__(self, app: App, task_id: int) -> None:
        self.ended = False
        self._app = app
        self._task_id = task_id
        self._last = 0

    def read(self, daemon: Daemon) -> None:
        """Print everything that there is now, page by page."""
        while self._page(daemon, {}):
            pass

    def follow(self, daemon: Daemon) -> None:
        """Print everything that there is, and have the rest sent."""
        self.read(daemon)
        self._page(daemon, {"follow": True})
        self._app.out.flush()

    def show(self, line: Mapping[str, Any]) -> None:
        """Print one line, unless it was printed before."""
        number = int(line.get("seq") or 0)
        if number <= self._last:
            return
        self._last = number
        if self._app.json:
            return
        out = self._app.out
        kind = str(line.get("kind") or "")
        style = _STYLES.get(kind, "")
        first, *more = clean(str(line.get("text") or "")).splitlines() or [""]
        name = out.paint(kind.ljust(_KIND_WIDTH), style)
        out.say(
            f"{out.paint(words.clock(line.get('at')), 'dim')}  {name}  {out.paint(first, style)}"
        )
        for text in more:
            out.say(" " * (12 + _KIND_WIDTH) + out.paint(text, style))

    def end(self, told: Mapping[str, Any]) -> None:
        """Say how the task ended; nothing more will come."""
        self.ended = True
        if not self._app.json:
            state = str(told.get("state"))
            self._app.out.say(f"task {self._task_id} {state}", words.STYLES.get(state, ""))

    def _page(self, daemon: Daemon, more: Mapping[str, Any]) -> bool:
        """Print the next page; whether another one follows it."""
        reply = daemon.call("task.log", {"id": self._task_id, "after": self._last, **more})
        if self._app.json and (reply.value["lines"] or self._last == 0):
            self._app.out.raw(reply.text)
        before = self._last
        for line in reply.value["lines"]:
            self.show(line)
        return bool(reply.value.get("next")) and self._last > before
