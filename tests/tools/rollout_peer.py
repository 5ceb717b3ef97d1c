"""A plain client of `codex app-server` on stdio, for the rollout tour alone.

It owns one server process and the questions that the server asks on the way. It is synchronous
on purpose: a tour is a list of steps.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Message = dict[str, Any]
Answer = Callable[[str, Message], Message]
WAIT = 60.0
"""Seconds before a step counts as stuck; the slowest one, a compaction, takes two."""


class RefusedError(Exception):
    """The server answered a call with an error: this version does not know the step."""


class Peer:
    """One app-server. `answer(method, params)` gives the results of its requests.

    `asked` is appended to: thread and text of every message that a turn was started or steered
    with.
    """

    def __init__(
        self, binary: Path, home: Path, cwd: Path, answer: Answer, asked: list[tuple[str, str]]
    ) -> None:
        self.asked = asked
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "CODEX_HOME": str(home),
            "LANG": "C.UTF-8",
        }
        self._process = subprocess.Popen(
            [str(binary), "app-server"],
            cwd=cwd,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._answer = answer
        self._ids = 0
        self._inbox: queue.Queue[Message] = queue.Queue()
        self.seen: list[Message] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.call(
            "initialize",
            clientInfo={"name": "tour", "title": "tour", "version": "1"},
            capabilities={"experimentalApi": True},
        )
        self._send({"method": "initialized"})

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                message = json.loads(line)
                if "method" in message and "id" in message:
                    result = self._answer(message["method"], message["params"])
                    self._send({"id": message["id"], "result": result})
                self._inbox.put(message)
        self._inbox.put({"method": "gone"})

    def _send(self, message: Message) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def until(self, wanted: Callable[[Message], bool]) -> Message:
        """Return the first new message that is wanted."""
        deadline = time.monotonic() + WAIT
        while True:
            message = self._inbox.get(timeout=max(0.1, deadline - time.monotonic()))
            self.seen.append(message)
            if wanted(message):
                return message
            if message.get("method") == "gone":
                raise RefusedError("cannot go on: the server ended")

    def call(self, method: str, **params: Any) -> Message:
        """Call a method and return its result; raises RefusedError with the server's words."""
        self._ids += 1
        mine = self._ids
        if method in ("turn/start", "turn/steer"):
            said = [part["text"] for part in params["input"] if part["type"] == "text"]
            self.asked.append((params["threadId"], "\n".join(said)))
        self._send({"id": mine, "method": method, "params": params})
        reply = self.until(lambda message: message.get("id") == mine and "method" not in message)
        if "error" in reply:
            raise RefusedError(f"{method}: {reply['error']['message'][:300]}")
        result: Message = reply["result"]
        return result

    def turn(self, thread: str, text: str | list[Message], **more: Any) -> str:
        """Run a turn to its end and return how it ended."""
        parts = [{"type": "text", "text": text}] if isinstance(text, str) else text
        self.call("turn/start", threadId=thread, input=parts, **more)
        return self.ended(thread)

    def ended(self, thread: str) -> str:
        """Wait for the end of the running turn and return its status."""
        message = self.until(
            lambda message: (
                message.get("method") == "turn/completed"
                and message["params"]["threadId"] == thread
            )
        )
        status: str = message["params"]["turn"]["status"]
        return status

    def notified(self, method: str) -> Message:
        """Wait for a notification or a request of this name and return its params."""
        message = self.until(lambda message: message.get("method") == method)
        params: Message = message["params"]
        return params

    def kill(self) -> None:
        """Kill the server as a crash would."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(WAIT)
        self.close()

    def close(self) -> None:
        """End the server the polite way: its input ends. Doing it twice does nothing more."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait(WAIT)
        self._reader.join(WAIT)


def sweep(home: Path) -> None:
    """End what killed servers of this home left running: commands are in sessions of their own."""
    mark = f"CODEX_HOME={home}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)
