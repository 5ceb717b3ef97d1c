"""A blocking client for the daemon's socket: find it, call it, hear its notifications.

It owns the connection and the sentences about it. What a reply means is the verbs' business.
"""

import contextlib
import os
import select
import socket
import time
from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

from byred.cli import wire
from byred.cli.errors import DaemonLostError, NoDaemonError, RefusedError, WrongUsageError

CALL_LIMIT = 60.0  # seconds; a merge or a diff of a large repository takes a while
CONNECT_LIMIT = 10.0  # a Unix socket connects at once unless the daemon's queue is full
METHOD_NOT_FOUND = -32601
HOW_TO_START = "start it with systemctl start byred, or byred --config FILE"


class Reply(NamedTuple):
    """What the daemon answered: `value` decoded, `text` the result exactly as it came."""

    value: Any
    text: str


class Notification(NamedTuple):
    """What the daemon said unasked; `text` is the whole line exactly as it came."""

    method: str
    params: Mapping[str, Any]
    text: str


def candidates(given: str | None, environ: Mapping[str, str]) -> list[str]:
    """Where the socket may be: one that somebody named, else the usual places in their order."""
    if named := given or environ.get("BYRE_SOCKET"):
        return [named]
    places = ["/run/byred/byred.sock"]
    if runtime := environ.get("XDG_RUNTIME_DIR"):
        places.insert(0, f"{runtime}/byred.sock")
    return places


def connect(paths: list[str], doing: str) -> "Daemon":
    """Connect to the first socket of `paths` that a daemon listens on.

    `doing` completes "cannot …" in every sentence about this connection. Raises NoDaemonError.
    """
    tried: list[str] = []
    for path in paths:
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        channel.settimeout(CONNECT_LIMIT)
        try:
            channel.connect(path)
        except OSError as error:
            channel.close()
            if isinstance(error, PermissionError):
                raise NoDaemonError(
                    f"cannot {doing}: you may not use the socket {path}; ask for membership of its"
                    " group (daemon.socket_group), or use your own daemon with --socket PATH"
                ) from error
            tried.append(f"{path} ({_why(error)})")
        else:
            return Daemon(channel, path, doing)
    raise NoDaemonError(
        f"cannot {doing}: no daemon answers at {' or '.join(tried)};"
        f" {HOW_TO_START}, or name its socket with --socket PATH or BYRE_SOCKET"
    )


class Daemon:
    """A connection to the daemon; one call at a time, notifications kept in their order."""

    def __init__(self, channel: socket.socket, path: str, doing: str) -> None:
        self.path = path
        self.doing = doing
        self._channel = channel
        self._received = bytearray()
        self._searched = 0
        self._heard: deque[Notification] = deque()
        self._calls = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up; the daemon forgets what this connection followed."""
        self._channel.close()

    def fileno(self) -> int:
        """The descriptor to wait on, beside others."""
        return self._channel.fileno()

    @property
    def has_heard(self) -> bool:
        """Whether something was received that nobody has asked for yet."""
        return bool(self._heard) or bool(self._received)

    def call(self, method: str, params: Mapping[str, Any], *, limit: float = CALL_LIMIT) -> Reply:
        """Call one method and return its reply.

        Raises RefusedError when the daemon answers with an error, DaemonLostError when it hangs
        up, NoDaemonError when it is silent for `limit` seconds or does not speak JSON-RPC,
        WrongUsageError when the params hold what is not text.
        """
        self._calls += 1
        number = self._calls
        try:
            request = wire.request(number, method, params)
        except ValueError as error:
            raise WrongUsageError(
                f"cannot {self.doing}: what you gave is not text in UTF-8; convert it first"
            ) from error
        self._channel.settimeout(limit)
        try:
            # A daemon that turned us away has hung up already; why is still to be read.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self._channel.sendall(request)
        except TimeoutError as error:
            raise self._silent(limit) from error
        ends = time.monotonic() + limit
        while True:
            line = self._line(ends)
            if line is None:
                raise self._silent(limit)
            parts = self._parts(line)
            if "method" in parts:
                self._keep(parts, line)
            elif "error" in parts:
                raise self._refusal(method, parts["error"])
            elif "result" in parts and parts.get("id", wire.Member(None, "")).value == number:
                return Reply(*parts["result"])

    def hear(self, timeout: float | None) -> Notification | None:
        """The next notification, or None when `timeout` seconds passed without one.

        Without a timeout it waits until one comes. Raises DaemonLostError when the daemon hangs up.
        """
        ends = None if timeout is None else time.monotonic() + timeout
        while not self._heard:
            line = self._line(ends)
            if line is None:
                return None
            parts = self._parts(line)
            if "method" in parts:
                self._keep(parts, line)
        return self._heard.popleft()

    def _keep(self, parts: Mapping[str, wire.Member], line: str) -> None:
        params = parts["params"].value if "params" in parts else {}
        if isinstance(params, dict):
            self._heard.append(Notification(str(parts["method"].value), params, line))

    def _line(self, ends: float | None) -> str | None:
        """The next line, or None when `ends` (of the monotonic clock) came first."""
        while (end := self._received.find(b"\n", self._searched)) < 0:
            self._searched = len(self._received)
            wait = None if ends is None else max(0.0, ends - time.monotonic())
            ready, _, _ = select.select([self._channel], [], [], wait)
            if not ready:
                return None
            try:
                piece = self._channel.recv(262_144)
            except OSError as error:
                raise self._lost() from error
            if not piece:
                raise self._lost()
            self._received += piece
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        self._searched = 0
        try:
            return line.decode()
        except UnicodeDecodeError as error:
            raise self._not_byred() from error

    def _parts(self, line: str) -> dict[str, wire.Member]:
        try:
            return wire.members(line)
        except ValueError as error:
            raise self._not_byred() from error

    def _refusal(self, method: str, error: wire.Member) -> RefusedError:
        told = error.value if isinstance(error.value, dict) else {}
        if told.get("code") == METHOD_NOT_FOUND:
            return RefusedError(
                f"cannot {self.doing}: this daemon is older than the command and does not offer"
                f" {method}; restart it with the byred that this command came with",
                text=error.text,
            )
        message = " ".join(str(told.get("message") or "the daemon gave no reason").split())
        if not message.startswith("cannot "):
            message = f"cannot {self.doing}: {message}"
        data = told.get("data")
        return RefusedError(message, text=error.text, data=data if isinstance(data, dict) else None)

    def _lost(self) -> DaemonLostError:
        return DaemonLostError(
            f"cannot {self.doing}: the daemon at {self.path} hung up before it answered;"
            " see its log, then try again"
        )

    def _silent(self, limit: float) -> NoDaemonError:
        return NoDaemonError(
            f"cannot {self.doing}: the daemon at {self.path} gave no answer within {limit:.0f} s;"
            " see its log"
        )

    def _not_byred(self) -> NoDaemonError:
        return NoDaemonError(
            f"cannot {self.doing}: what listens at {self.path} does not speak byred's protocol;"
            " name the daemon's socket with --socket PATH"
        )


def _why(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, ConnectionRefusedError):
        return "nobody listens"
    if isinstance(error, TimeoutError | BlockingIOError):
        return "it takes no connections"
    return os.strerror(error.errno) if error.errno else str(error)
