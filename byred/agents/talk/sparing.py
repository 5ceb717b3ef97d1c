"""A task's log as one server may write to it: what can be said without end does not fill the disk.

Owns which of a server's notices, errors and lines that are no messages the log gets: the first
ones, then fewer and fewer. How many were left out stands in the log.
"""

from types import TracebackType
from typing import Any, Self

from byred.agents.tasklog import TaskLog

FIRST = 100
"""Lines of one sort that are written in any case; of the others every doubling is one."""


class ServerLog:
    """The log for the life of one server; leaving it says what is not there."""

    def __init__(self, log: TaskLog) -> None:
        self._log = log
        self._bad_lines = _Spared("bad lines")
        self._spared = {"notice": _Spared("notices"), "error": _Spared("errors")}

    def append(self, kind: str, text: str, **data: Any) -> None:
        """Add a line, unless there were too many of its kind."""
        spared = self._spared.get(kind)
        if spared is None or spared.may_write():
            self._log.append(kind, text, **data)

    def bad_line(self, _line: bytes, why: str) -> None:
        """Note that the server said what is no message."""
        if self._bad_lines.may_write():
            self._log.append("notice", f"a bad line: {why}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Say how many lines were left out, if any."""
        for spared in (self._bad_lines, *self._spared.values()):
            if spared.left_out:
                text = (
                    f"of this server's {spared.seen} {spared.what}, {spared.left_out} are not here"
                )
                self._log.append("notice", text)


class _Spared:
    """How many lines of one sort there were, and how many were not written."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.seen = 0
        self.left_out = 0
        self._next = 2 * FIRST

    def may_write(self) -> bool:
        self.seen += 1
        if self.seen <= FIRST:
            return True
        if self.seen == self._next:
            self._next *= 2
            return True
        self.left_out += 1
        return False
