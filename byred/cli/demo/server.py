"""The demonstration's own daemon: started as a child, stopped in every case, nothing left of it."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from byred.cli import client
from byred.cli.client import Daemon
from byred.cli.demo.ground import DOING, Ground
from byred.cli.errors import NoDaemonError

_DAEMON = (sys.executable, "-m", "byred.daemon", "--scripted", "demo", "--config")
_START_LIMIT = 60.0  # seconds; it takes one, on a machine with better things to do
_STOP_LIMIT = 30.0  # seconds; three times its own stop_timeout
_PAUSE = 0.05  # between two looks at a socket that is not there yet
_SWEEP_LIMIT = 5.0  # seconds until killed processes are gone
_TAIL = 15  # lines of the log that a failure shows


class Server:
    """The daemon, from `with` to its end."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._process: subprocess.Popen[bytes] | None = None
        self.ending = ""

    def __enter__(self) -> Self:
        with self._ground.log.open("wb") as log:
            self._process = subprocess.Popen(
                [*_DAEMON, str(self._ground.config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._ground.environ,
                cwd=self._ground.folder,
                # Ctrl-C is for this command, which then stops the daemon in order.
                start_new_session=True,
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def connect(self) -> Daemon:
        """Wait until the daemon answers, and return the connection.

        Raises NoDaemonError when it ends instead, or takes too long.
        """
        ends = time.monotonic() + _START_LIMIT
        while True:
            try:
                daemon = client.connect([str(self._ground.socket)], DOING)
            except NoDaemonError:
                status = self._process.poll() if self._process else None
                if status is not None:
                    raise NoDaemonError(
                        f"cannot {DOING}: its daemon ended at once with status {status};"
                        " see byre doctor for what is missing"
                    ) from None
                if time.monotonic() > ends:
                    raise NoDaemonError(
                        f"cannot {DOING}: its daemon does not answer after {_START_LIMIT:.0f} s;"
                        " see byre doctor for what is missing"
                    ) from None
                time.sleep(_PAUSE)
            else:
                return daemon

    def stop(self) -> bool:
        """Stop the daemon and whatever it left; whether it ended in order and left nothing.

        What was not in order is in `ending`.
        """
        if self._process is None:
            return True
        with undisturbed():
            self.ending = self._end(self._process)
        self._process = None
        return not self.ending

    def _end(self, process: subprocess.Popen[bytes]) -> str:
        process.terminate()
        try:
            status = process.wait(_STOP_LIMIT)
            ending = f"it ended with status {status}" if status else ""
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            ending = f"it was still there {_STOP_LIMIT:.0f} s after SIGTERM and was killed"
        if left := _sweep(self._ground.folder):
            ending += f"{' and ' if ending else ''}it left {len(left)} processes of its tasks"
        return ending

    def tail(self) -> list[str]:
        """The last lines of the daemon's log."""
        try:
            return self._ground.log.read_text(errors="replace").splitlines()[-_TAIL:]
        except OSError:
            return []


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Take no notice of Ctrl-C and the like: a clean-up that is bounded is to be finished."""
    endings = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    found = [(ending, signal.signal(ending, signal.SIG_IGN)) for ending in endings]
    try:
        yield
    finally:
        for ending, handler in found:
            signal.signal(ending, handler)


def _sweep(folder: Path) -> list[int]:
    """Kill every process that has the demonstration's folder in its environment."""
    found = _processes_of(folder)
    ends = time.monotonic() + _SWEEP_LIMIT
    while (left := _processes_of(folder)) and time.monotonic() < ends:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(_PAUSE)
    return found


def _processes_of(folder: Path) -> list[int]:
    mark = b"CODEX_HOME=" + os.fsencode(folder)
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue  # it ended meanwhile, or is somebody else's
    return found
