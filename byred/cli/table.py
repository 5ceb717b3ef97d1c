"""Tables for people: aligned columns that fit the terminal, cut where they must be."""

from collections.abc import Sequence
from typing import NamedTuple

from byred.cli.terminal import Terminal, one_line

_GAP = "  "
_LEAST = 8  # columns that a cut column keeps, so that something of it can be read


class Cell(NamedTuple):
    """One field of a table: its text, and how it is painted."""

    text: str
    style: str = ""


def columns(text: str) -> int:
    """How many columns of a terminal a clean line takes."""
    if text.isascii():
        return len(text)
    import unicodedata  # noqa: PLC0415 - only text beyond ASCII needs the tables

    taken = 0
    for character in text:
        if unicodedata.category(character) in ("Mn", "Me", "Cf"):
            continue
        taken += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return taken


def cut(text: str, width: int) -> str:
    """The text in at most `width` columns, with an ellipsis when some of it is missing."""
    if columns(text) <= width:
        return text
    kept: list[str] = []
    taken = 1  # the ellipsis
    for character in text:
        taken += columns(character)
        if taken > width:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…" if width > 0 else ""


def fill(text: str, width: int) -> str:
    """The text followed by spaces up to `width` columns."""
    return text + " " * (width - columns(text))


def table(
    terminal: Terminal,
    head: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    *,
    flexible: Sequence[int],
) -> list[str]:
    """Lines of a table: a head, then a line a row.

    When the terminal is too narrow the `flexible` columns give way, the first one last. The last
    column is not filled up.
    """
    cells = [[Cell(one_line(cell.text), cell.style) for cell in row] for row in rows]
    widths = [
        max([len(name), *(columns(row[at].text) for row in cells)]) for at, name in enumerate(head)
    ]
    if (width := terminal.width) is not None:
        _shrink(widths, width - len(_GAP) * (len(head) - 1), flexible)
    painted = [_row(terminal, [Cell(name, "bold") for name in head], widths)]
    painted += [_row(terminal, row, widths) for row in cells]
    return painted


def _shrink(widths: list[int], room: int, flexible: Sequence[int]) -> None:
    for at in reversed(flexible):
        over = sum(widths) - room
        if over <= 0:
            return
        widths[at] = max(min(widths[at], _LEAST), widths[at] - over)


def _row(terminal: Terminal, row: Sequence[Cell], widths: Sequence[int]) -> str:
    line: list[str] = []
    for cell, width in zip(row, widths, strict=True):
        text = cut(cell.text, width)
        room = " " * (width - columns(text))
        line.append(terminal.paint(text, cell.style) + room)
    return _GAP.join(line).rstrip()
