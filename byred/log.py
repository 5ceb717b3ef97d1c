"""Logging: one line an event on stderr, for people or for programs.

Rooms log through structlog with an `action` beside the words, and know nothing of this module; what
libraries log through the standard library comes out the same way. Lines are written by a thread, so
that a terminal that is stopped or a slow journal does not stop the daemon.
"""

import atexit
import logging
import os
import sys
import threading
from collections import deque
from typing import Any, Self, TextIO

import msgspec
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

# Lines that wait for a slow reader; more are counted and dropped.
QUEUE = 10_000
# How long the end of the daemon may wait for the last lines to be written.
LAST_LINES = 1.0
# What these say below a warning is of no use to a person who runs byred.
TALKATIVE = ("aiosqlite", "apprise", "markdown", "watchfiles", "websockets")


def configure(*, level: str, form: str, stream: TextIO | None = None) -> None:
    """Log from now on what is at least of `level`, in the form `console` or `json`.

    May be called again at any time; loggers that exist follow. `stream` is stderr by default.
    """
    output = _output(stream or sys.stderr)
    least = logging.getLevelNamesMapping()[level.upper()]
    common: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _name_action,
    ]
    rendering = _rendering(form, output.stream)
    structlog.configure(
        processors=[*common, *rendering],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=output,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(output)
    remove = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=common, processors=[remove, *rendering]
        )
    )
    logging.basicConfig(handlers=[handler], level=least, force=True)
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(max(least, logging.WARNING))


class Output:
    """A file for structlog and logging whose lines a thread writes to a stream."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self._lines: deque[str] = deque()
        self._lost = 0
        self._closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def __call__(self, *_: object) -> Self:
        """Serve as structlog's factory of loggers: all of them are this one."""
        return self

    def msg(self, line: str) -> None:
        """Take a line from structlog."""
        self.write(line + "\n")

    debug = info = warning = error = critical = exception = msg

    def write(self, text: str) -> None:
        """Take text that ends a line; never waits."""
        with self._changed:
            if len(self._lines) < QUEUE:
                self._lines.append(text)
            else:
                self._lost += 1
            self._changed.notify()

    def flush(self) -> None:
        """Do nothing: the thread flushes."""

    def close(self) -> None:
        """Wait a moment for the last lines, then write no more."""
        atexit.unregister(self.close)
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(LAST_LINES)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not (self._lines or self._lost or self._closing):
                    self._changed.wait()
                if not (self._lines or self._lost):
                    return
                text = "".join(self._lines)
                self._lines.clear()
                if self._lost:
                    text += f"{self._lost} lines are lost: nobody read them in time\n"
                    self._lost = 0
            try:
                self.stream.write(text)
                self.stream.flush()
            except (OSError, ValueError):
                # Whoever read stderr is gone, and there is nowhere else to say so.
                continue


def _output(stream: TextIO) -> Output:
    """Give the output that is in use if it writes to `stream`, or else a new one."""
    current = structlog.get_config()["logger_factory"]
    if isinstance(current, Output):
        if current.stream is stream:
            return current
        current.close()
    return Output(stream)


def _name_action(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Give every line an action: what was logged without one is named after its source."""
    if "action" not in event:
        record = event.get("_record")
        event["action"] = record.name if isinstance(record, logging.LogRecord) else "log"
    return event


def _rendering(form: str, stream: TextIO) -> list[Processor]:
    if form == "json":
        return [
            # The values of variables would put secrets into the log.
            structlog.processors.ExceptionRenderer(
                structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
            ),
            structlog.processors.JSONRenderer(serializer=_to_json),
        ]
    colors = stream.isatty() and not os.environ.get("NO_COLOR")
    return [
        structlog.dev.ConsoleRenderer(
            colors=colors, exception_formatter=structlog.dev.plain_traceback
        )
    ]


def _to_json(event: EventDict, **_: Any) -> str:
    return msgspec.json.encode(event, enc_hook=repr).decode()
