"""Lines out of bytes, with a bound on what one line may take.

Only LF ends a line: U+2028 and a lone CR stand raw inside JSON text that others write.
"""

from byred.api.errors import LineTooLongError


class Lines:
    """Collects bytes and gives them back as lines, never holding more than a line needs."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0
        self._skipping = False

    @property
    def held(self) -> int:
        """The bytes that have arrived and were not taken yet."""
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        """Add what has arrived."""
        self._buffer += data

    def take(self) -> bytes | None:
        """Give the next line without its end, or None until more has arrived.

        Raises LineTooLongError once for each line that is longer than the limit, as early as that
        can be known; the lines after it are not affected.
        """
        if self._skipping and not self._skip():
            return None
        end = self._buffer.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._buffer)
            if self._searched > self._limit:
                self.drop()
                raise LineTooLongError
            return None
        with memoryview(self._buffer) as view:
            line = view[:end].tobytes() if end <= self._limit else None
        del self._buffer[: end + 1]
        self._searched = 0
        if line is None:
            raise LineTooLongError
        return line

    def drop(self) -> None:
        """Forget the line that is arriving, and skip the rest of it."""
        self._buffer.clear()
        self._searched = 0
        self._skipping = True

    def _skip(self) -> bool:
        end = self._buffer.find(b"\n")
        if end < 0:
            self._buffer.clear()
            return False
        del self._buffer[: end + 1]
        self._skipping = False
        return True
