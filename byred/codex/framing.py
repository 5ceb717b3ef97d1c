"""Lines of JSON in a stream of bytes: LF alone ends a message.

Owns the splitting, joined from chunks of any size, with a limit that costs one message and not the
connection. Knows no JSON.
"""

from collections import deque
from typing import Final

MAX_MESSAGE: Final = 128 * 1024 * 1024
"""Bytes in one message, either way: what clients of codex allow."""

_HEAD: Final = 4096


class Oversized:
    """Stands for a message over the limit: its size in bytes and how it began."""

    __slots__ = ("head", "size")

    def __init__(self, head: bytes, size: int) -> None:
        self.head = head
        self.size = size


class LineSplitter:
    """Joins chunks and cuts them at LF; what has come in full waits in `ready`.

    Empty lines are passed over, a CR before the LF belongs to JSON's white space. A message over
    `limit` bytes is dropped while it comes in and leaves an `Oversized` in its place.
    """

    def __init__(self, limit: int = MAX_MESSAGE) -> None:
        self.limit = limit
        self.ready: deque[bytes | Oversized] = deque()
        self.oversized = 0
        """How many of those in `ready` are oversized; who takes one out counts it down."""
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the stream."""
        lines = chunk.split(b"\n")
        tail = lines.pop()
        if lines:
            if self._parts:
                self._keep(lines[0])
                self._end()
                del lines[0]
            if len(chunk) <= self.limit:
                self.ready.extend(filter(None, lines))
            else:
                for line in filter(None, lines):
                    self._keep(line)
                    self._end()
        if tail:
            self._keep(tail)

    def finish(self) -> bytes:
        """Return what the stream ended with: the start of a message that never came in full."""
        rest = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        return rest

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self.limit:
            self._parts.append(part)
            return
        head = b""
        for each in (*self._parts, part):
            if len(head) >= _HEAD:
                break
            head += each[:_HEAD]
        self._parts = [head[:_HEAD]]

    def _end(self) -> None:
        if self._size > self.limit:
            self.ready.append(Oversized(self._parts[0], self._size))
            self.oversized += 1
        elif self._size:
            self.ready.append(b"".join(self._parts))
        self._parts.clear()
        self._size = 0
