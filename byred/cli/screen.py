"""A terminal taken over for a live view, and given back as it was however the view ends."""

import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Any, Self

from byred.cli.app import App

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l"  # the alternate screen, no cursor, long lines cut
_LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"
_HOME = "\x1b[H"
_REST_OF_LINE = "\x1b[K"
_REST_OF_SCREEN = "\x1b[J"
_ENDINGS = (signal.SIGTERM, signal.SIGHUP)


class Screen:
    """The whole terminal, from `with` to its end: alternate screen, single keys, no echo."""

    def __init__(self, app: App) -> None:
        self._out = app.out
        self._input = app.stdin.fileno()
        self._found = termios.tcgetattr(self._input)
        self._handlers: dict[signal.Signals, Any] = {}
        self._wake_read, self._wake_write = os.pipe()
        self._stops = False

    def __enter__(self) -> Self:
        os.set_blocking(self._wake_write, False)
        for ending in _ENDINGS:
            self._handlers[ending] = signal.signal(ending, _end)
        self._handlers[signal.SIGWINCH] = signal.signal(signal.SIGWINCH, self._wake)
        self._handlers[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, self._note_stop)
        self._take()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._give_back()
        for name, handler in self._handlers.items():
            signal.signal(name, handler)
        os.close(self._wake_read)
        os.close(self._wake_write)

    def size(self) -> tuple[int, int]:
        """Columns and lines now."""
        return self._out.size()

    def draw(self, lines: Sequence[str]) -> None:
        """Show these lines in place of what was there; those that do not fit are left out."""
        shown = lines[: self.size()[1]]
        text = f"{_REST_OF_LINE}\n".join(shown)
        self._out.write(f"{_HOME}{text}{_REST_OF_LINE}{_REST_OF_SCREEN}")
        self._out.flush()

    def wait(self, other: int, timeout: float) -> tuple[str, bool]:
        """Wait for a key, for `other` to be readable, or for a change of the window.

        Returns the keys that were pressed (empty for none) and whether `other` is readable.
        """
        ready, _, _ = select.select([self._input, other, self._wake_read], [], [], timeout)
        if self._wake_read in ready:
            os.read(self._wake_read, 1024)
        if self._stops:
            self._stop()
        keys = os.read(self._input, 1024).decode(errors="replace") if self._input in ready else ""
        return keys, other in ready

    def _take(self) -> None:
        tty.setcbreak(self._input)
        self._out.write(_ENTER)
        self._out.flush()

    def _give_back(self) -> None:
        self._out.write(_LEAVE)
        self._out.flush()
        termios.tcsetattr(self._input, termios.TCSADRAIN, self._found)

    def _wake(self, _number: int, _frame: FrameType | None) -> None:
        try:
            os.write(self._wake_write, b"w")
        except BlockingIOError:
            return  # it is awake already

    def _note_stop(self, number: int, frame: FrameType | None) -> None:
        # A handler that wrote to the terminal could meet a half-written picture.
        self._stops = True
        self._wake(number, frame)

    def _stop(self) -> None:
        """Ctrl-Z: give the terminal back for as long as the shell has it."""
        self._stops = False
        self._give_back()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._take()


def _end(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)
