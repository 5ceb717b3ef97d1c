"""A daemon that plays replies, the command as a real process, and a terminal to run it on."""

import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

LIMIT = 20.0
# A session's leader that opens a terminal gets it as its own: Ctrl-C and Ctrl-Z then reach it.
_TAKE_TERMINAL = """
import os, sys
os.close(os.open(os.ttyname(0), os.O_RDWR))
os.execv(sys.argv[1], sys.argv[1:])
"""


class Raw(str):
    """A reply's result as text, to be sent as it is."""

    __slots__ = ()


class Fault:
    """A JSON-RPC error to answer with."""

    def __init__(self, code: int, message: str, kind: str) -> None:
        self.body = {"code": code, "message": message, "data": {"kind": kind}}


class FakeDaemon:
    """Plays the replies that a test sets, to any number of clients, and records what it was asked.

    A reply is a value, a Raw text, a Fault, or a function of the params that gives one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.replies: dict[str, Any] = {}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.changed = threading.Condition()
        self._clients: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener: socket.socket | None = None
        self._stopped = False

    def start(self) -> None:
        self._stopped = False
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen()
        self._run(self._accept, self._listener)

    def stop(self) -> None:
        """Hang up on everybody and stop listening, as a daemon that was killed."""
        assert self._listener is not None
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self.changed:
            self._stopped = True
            for client in self._clients:
                with contextlib.suppress(OSError):
                    client.shutdown(socket.SHUT_RDWR)
            self._clients.clear()
        for thread in self._threads:
            thread.join(LIMIT)
        assert not [thread for thread in self._threads if thread.is_alive()]
        self._threads.clear()
        self.path.unlink()

    def send(self, line: bytes) -> None:
        """Send a line to every client, whatever is in it."""
        with self.changed:
            for client in self._clients:
                # One may have hung up without its own thread having noticed yet.
                with contextlib.suppress(ConnectionError):
                    client.sendall(line + b"\n")

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def asked(self, method: str) -> list[dict[str, Any]]:
        return [params for name, params in self.calls if name == method]

    def wait_for(self, method: str, times: int = 1) -> None:
        """Wait until a method was called so often."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.asked(method)) >= times, LIMIT), (
                self.calls
            )

    def _run(self, work: Callable[[socket.socket], None], channel: socket.socket) -> None:
        thread = threading.Thread(target=work, args=(channel,))
        self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with self.changed:
                if self._stopped:
                    client.close()
                    return
                self._clients.append(client)
                self._run(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        with client:
            # A client that is killed with a reply unread resets the connection.
            with contextlib.suppress(ConnectionError):
                self._reply_to(client)
            with self.changed:
                if client in self._clients:
                    self._clients.remove(client)

    def _reply_to(self, client: socket.socket) -> None:
        with client.makefile("rb") as lines:
            for line in lines:
                request = json.loads(line)
                answer = self._answer(request["method"], request["params"])
                text = f'{{"jsonrpc":"2.0","id":{request["id"]},{answer}}}\n'
                with self.changed:
                    self.calls.append((request["method"], request["params"]))
                    client.sendall(text.encode())
                    self.changed.notify_all()

    def _answer(self, method: str, params: dict[str, Any]) -> str:
        reply = self.replies.get(method, Fault(-32601, f"no method {method}", "invalid"))
        if callable(reply):
            reply = reply(params)
        if isinstance(reply, Fault):
            return f'"error":{json.dumps(reply.body)}'
        return f'"result":{reply if isinstance(reply, Raw) else json.dumps(reply)}'


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[FakeDaemon]:
    playing = FakeDaemon(tmp_path / "byred.sock")
    playing.start()
    yield playing
    playing.stop()


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """The environment of the command: nothing of this machine's user in it."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "BYRE_SOCKET": str(tmp_path / "byred.sock"),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "TZ": "UTC",
        "PYTHONWARNINGS": "error",
    }


class Command:
    """The command as a real process."""

    def __init__(self, environ: dict[str, str], folder: Path) -> None:
        self.environ = environ
        self.folder = folder
        self.before = ""
        self.limit = LIMIT

    def __call__(
        self,
        *args: str,
        given: str | bytes | None = None,
        stdout: Any = subprocess.PIPE,
        **changes: str,
    ) -> subprocess.CompletedProcess[str]:
        """Run it to its end with no terminal; `changes` are of the environment."""
        ended = subprocess.run(
            [*self.command(), *args],
            check=False,
            input=given.encode() if isinstance(given, str) else given or b"",
            stdout=stdout,
            stderr=subprocess.PIPE,
            timeout=self.limit,
            cwd=self.folder,
            env=self.environ | changes,
        )
        said = (ended.stdout or b"").decode(), ended.stderr.decode()
        return subprocess.CompletedProcess(ended.args, ended.returncode, *said)

    def command(self) -> list[str]:
        """What to start; `before` is Python that runs in the process before the command does."""
        if not self.before:
            return [sys.executable, "-m", "byred.cli.main"]
        main = "import sys; from byred.cli.main import main; sys.exit(main())"
        return [sys.executable, "-c", f"{self.before}\n{main}"]

    @contextlib.contextmanager
    def running(self, *args: str, **changes: str) -> Iterator[subprocess.Popen[str]]:
        """Run it beside the test; it is killed when the test is done with it."""
        process = subprocess.Popen(
            [*self.command(), *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=self.environ | changes,
        )
        with process:
            try:
                yield process
            finally:
                process.kill()

    @contextlib.contextmanager
    def on_terminal(
        self, *args: str, size: tuple[int, int] = (80, 24), **changes: str
    ) -> Iterator["Tty"]:
        """Run it on a terminal of so many columns and lines."""
        ours, theirs = pty.openpty()
        _resize(ours, size)
        process = subprocess.Popen(
            [sys.executable, "-c", _TAKE_TERMINAL, *self.command(), *args],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            cwd=self.folder,
            env=self.environ | changes,
        )
        os.close(theirs)
        tty = Tty(process, ours, self.limit)
        try:
            yield tty
        finally:
            process.kill()
            process.wait(LIMIT)
            os.close(ours)


class Tty:
    """A person at a terminal: reads what appears, types, changes the window."""

    def __init__(self, process: subprocess.Popen[bytes], ours: int, limit: float) -> None:
        self.process = process
        self.limit = limit
        self.seen = ""
        self._ours = ours

    def expect(self, text: str) -> str:
        """Wait until a text has appeared after what was expected before; returns all up to it."""
        ends = time.monotonic() + self.limit
        while (at := self.seen.find(text)) < 0:
            ready, _, _ = select.select([self._ours], [], [], max(0.0, ends - time.monotonic()))
            assert ready, f"{text!r} never appeared in {self.seen!r}"
            assert self._read(), f"{text!r} never appeared in {self.seen!r}"
        found, self.seen = self.seen[: at + len(text)], self.seen[at + len(text) :]
        return found

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def resize(self, columns: int, lines: int) -> None:
        _resize(self._ours, (columns, lines))
        os.kill(self.process.pid, signal.SIGWINCH)

    def modes(self) -> list[Any]:
        """How the terminal is set."""
        return termios.tcgetattr(self._ours)

    def end(self) -> tuple[int, str]:
        """Wait for the command's end: its status, and what appeared since the last look."""
        while self._read():
            pass
        return self.process.wait(LIMIT), self.seen

    def _read(self) -> bool:
        try:
            piece = os.read(self._ours, 65536)
        except OSError:
            return False  # the other side is closed
        self.seen += piece.decode(errors="replace")
        return bool(piece)


def _resize(descriptor: int, size: tuple[int, int]) -> None:
    columns, lines = size
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


@pytest.fixture
def byre(environ: dict[str, str], tmp_path: Path) -> Command:
    return Command(environ, tmp_path)


@pytest.fixture
def fault() -> type[Fault]:
    return Fault


@pytest.fixture
def raw() -> type[Raw]:
    return Raw


@pytest.fixture
def task() -> Callable[..., dict[str, Any]]:
    """A task as the daemon gives it, with the fields that a test changes."""

    def make(number: int = 7, state: str = "running", **changes: Any) -> dict[str, Any]:
        return {
            "id": number,
            "title": f"Title {number}",
            "prompt": "Do it.\nWell.",
            "repo": "/srv/repos/parser",
            "base": "main",
            "branch": f"byre/{number}-title",
            "worktree": f"/srv/worktrees/parser/{number}-title",
            "home": f"/srv/state/tasks/{number}/home",
            "ports": {"web": 20001},
            "identity": {"name": "byre 7", "email": "byre+7@localhost"},
            "state": state,
            "reason": None,
            "parked": False,
            "priority": 0,
            "labels": [],
            "depends_on": [],
            "attempt": 1,
            "thread_id": None,
            "turn_id": None,
            "pid": None,
            "created_at": "2026-01-02T03:04:05Z",
            "started_at": None,
            "ended_at": None,
            "retry_at": None,
            "held_until": None,
            "tokens": {
                "input": 1200,
                "cached_input": 200,
                "output": 34,
                "reasoning": 4,
                "total": 1234,
            },
            "questions": [],
            "result": None,
            "error": None,
        } | changes

    return make


@pytest.fixture
def question() -> Callable[..., dict[str, Any]]:
    """A question as the daemon gives it, with the fields that a test changes."""

    def make(number: int = 3, **changes: Any) -> dict[str, Any]:
        return {
            "id": number,
            "task_id": 7,
            "kind": "question",
            "text": "Which name?",
            "options": [],
            "context": None,
            "default": None,
            "deadline": None,
            "state": "open",
            "answer": None,
            "answered_by": None,
            "asked_at": "2026-01-02T03:04:05Z",
            "answered_at": None,
            "delivered_at": None,
        } | changes

    return make
