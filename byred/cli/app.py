"""What every verb is given: the options before it, the streams, and the way to the daemon."""

import io
import os
import sys
from collections.abc import Mapping
from typing import Any, TextIO, cast

from byred.cli import client, words
from byred.cli.client import Daemon, Reply
from byred.cli.terminal import Terminal


class App:
    """One run of the command."""

    def __init__(
        self, stdin: TextIO, stdout: TextIO, stderr: TextIO, environ: Mapping[str, str]
    ) -> None:
        self.stdin = stdin
        self.out = Terminal(stdout, environ)
        self.err = Terminal(stderr, environ)
        self.environ = environ
        self.socket: str | None = None
        self.json = False

    def daemon(self, doing: str) -> Daemon:
        """Connect to the daemon; `doing` completes "cannot …" when that fails."""
        return client.connect(client.candidates(self.socket, self.environ), doing)

    def ask(self, method: str, params: Mapping[str, Any], *, doing: str) -> Reply:
        """Connect, call one method, hang up. With `--json` the reply is printed at once."""
        with self.daemon(doing) as daemon:
            reply = daemon.call(method, params)
        if self.json:
            self.out.raw(reply.text)
        return reply

    def read_all(
        self, method: str, params: Mapping[str, Any], noun: str, *, doing: str
    ) -> list[Mapping[str, Any]]:
        """Call a method that lists, on and on until there is no more; returns the `noun` of all.

        With `--json` each reply is printed, one a line.
        """
        found: list[Mapping[str, Any]] = []
        before: dict[str, Any] = {}
        with self.daemon(doing) as daemon:
            while True:
                reply = daemon.call(method, {**params, **before})
                if self.json:
                    self.out.raw(reply.text)
                found += reply.value[noun]
                if not (following := reply.value.get("next")):
                    return found
                before = {"before": following}

    def change(self, method: str, params: Mapping[str, Any], *, doing: str) -> None:
        """Call a method that changes one task, and say what became of it."""
        reply = self.ask(method, params, doing=doing)
        if not self.json:
            self.out.say(words.sentence(reply.value))

    @property
    def is_interactive(self) -> bool:
        """Whether a person can be asked: what is read and what is written is a terminal."""
        return self.stdin.isatty() and self.out.is_terminal


def from_process(environ: Mapping[str, str]) -> App:
    """The app on this process's own streams; one that is closed is as good as empty.

    A character that the locale can't spell is escaped: a title must not end the command.
    """
    stdin = sys.stdin or _nothing("r")
    stdout = sys.stdout or _nothing("w")
    stderr = sys.stderr or _nothing("w")
    for stream in (stdout, stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    return App(stdin, stdout, stderr, environ)


def _nothing(mode: str) -> TextIO:
    return cast("TextIO", os.fdopen(os.open(os.devnull, os.O_RDWR), mode, closefd=False))
