"""Asking the daemon for a task's history and printing it as it comes."""

from collections.abc import Mapping
from typing import Any

from byred.cli.app import App
from byred.cli.client import Daemon, Notification
from byred.cli.errors import RefusedError
from byred.cli.steady import Steady
from byred.cli.story import Story

LIMIT = 330.0  # seconds; the daemon itself gives up a reply after 300, and says so


def tell(app: App, params: Mapping[str, Any], doing: str, *, follow: bool = False) -> None:
    """Print the history that `params` of `task.history` ask for, to its end.

    With `follow` a restart of the daemon is waited for, and nothing is printed twice.
    """
    history = _History(app, params, doing)

    def opened() -> Daemon:
        return app.daemon(doing)

    if follow:
        with Steady(opened, history.begin, app.err.say) as steady:
            while not history.ended and (told := steady.hear()) is not None:
                history.take(told)
        return
    with opened() as daemon:
        history.begin(daemon)
        while not history.ended and (told := daemon.hear(None)) is not None:
            history.take(told)


class _History:
    def __init__(self, app: App, params: Mapping[str, Any], doing: str) -> None:
        self.ended = False
        self._app = app
        self._params = params
        self._doing = doing
        self._story = Story(app.out)

    def begin(self, daemon: Daemon) -> None:
        """Ask for it, and print what the reply has of it."""
        reply = daemon.call("task.history", self._params, limit=LIMIT)
        self._raw(reply.text)
        self._story.again()
        for turn in reply.value["turns"]:
            self._show(turn)
        if not reply.value.get("more"):
            self._end(reply.value)
        self._app.out.flush()

    def take(self, told: Notification) -> None:
        """Print what came."""
        if told.params.get("id") != self._params["id"]:
            return
        self._raw(told.text)
        if told.method == "history":
            self._show(told.params["turn"])
        elif told.method == "history.end":
            self._end(told.params)
        self._app.out.flush()

    def _raw(self, text: str) -> None:
        if self._app.json:
            self._app.out.raw(text)

    def _show(self, turn: Mapping[str, Any]) -> None:
        if not self._app.json:
            self._story.show(turn)

    def _end(self, about: Mapping[str, Any]) -> None:
        self.ended = True
        if error := about.get("error"):
            raise RefusedError(sentence(self._doing, error))
        if not self._app.json:
            self._story.end(about)


def sentence(doing: str, error: Mapping[str, Any]) -> str:
    """The sentence about an error that ended an answer in its middle."""
    message = " ".join(str(error.get("message")).split())
    return message if message.startswith("cannot ") else f"cannot {doing}: {message}"
