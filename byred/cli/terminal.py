"""Where text goes: what the stream can show, and text made safe for it.

An agent chooses titles, questions and output. On a terminal its control characters could move the
cursor, change the title or fake a prompt, so nothing of an agent's reaches a person unescaped.
"""

import os
import re
from collections.abc import Mapping
from typing import TextIO

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_STYLES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
_DEFAULT_WIDTH = 80


class Terminal:
    """An output stream, with what is known about its reader.

    `width` is in columns, or None when a program reads: then nothing is cut.
    """

    def __init__(self, stream: TextIO, environ: Mapping[str, str]) -> None:
        self.stream = stream
        self.environ = environ
        self.is_terminal = stream.isatty()
        self.colour = _wants_colour(environ, is_terminal=self.is_terminal)

    @property
    def width(self) -> int | None:
        """Columns of the terminal now, or None when the stream is none."""
        return self.size()[0] if self.is_terminal else None

    def size(self) -> tuple[int, int]:
        """Columns and lines; COLUMNS and LINES win, as everywhere."""
        try:
            columns, lines = os.get_terminal_size(self.stream.fileno())
        except OSError:
            columns, lines = 0, 0
        columns = _number(self.environ.get("COLUMNS")) or columns or _DEFAULT_WIDTH
        lines = _number(self.environ.get("LINES")) or lines or 24
        return columns, lines

    def paint(self, text: str, style: str) -> str:
        """The text in a style, when this stream shows styles."""
        if not self.colour or not text or style not in _STYLES:
            return text
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"

    def say(self, text: str = "", style: str = "") -> None:
        """Write one line."""
        self.stream.write(self.paint(text, style) + "\n")

    def write(self, text: str) -> None:
        """Write text as it is."""
        self.stream.write(text)

    def raw(self, text: str) -> None:
        """Write one line in UTF-8 whatever the locale: a reply is bytes, not words."""
        self.text(text + "\n")

    def text(self, text: str) -> None:
        """Write a piece of a document: in UTF-8 and as it is, whatever the locale."""
        self.stream.flush()
        self.stream.buffer.write(text.encode())
        self.stream.buffer.flush()

    def flush(self) -> None:
        """Hand everything to the reader now."""
        self.stream.flush()


def clean(text: str) -> str:
    """Text of several lines with every control character spelt out."""
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    return _CONTROL.sub(lambda found: _spelt(found.group()), text)


def one_line(text: str) -> str:
    """Text as one clean line: every run of white space becomes one space."""
    return clean(" ".join(text.split()))


def _spelt(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004 - \x spells a byte


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 0


def _wants_colour(environ: Mapping[str, str], *, is_terminal: bool) -> bool:
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return is_terminal and environ.get("TERM") not in (None, "", "dumb")
