"""What a stream shows: colour, width, and nothing that an agent could do to a terminal."""

import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byred.cli.table import Cell, columns, cut, fill, table
from byred.cli.terminal import Terminal, clean, one_line


class Stream(io.StringIO):
    def __init__(self, is_terminal):
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self):
        return self._is_terminal


@pytest.mark.parametrize(
    ("is_terminal", "environ", "colour"),
    [
        (True, {"TERM": "xterm"}, True),
        (True, {"TERM": "dumb"}, False),
        (True, {}, False),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (True, {"TERM": "xterm", "NO_COLOR": ""}, True),
        (True, {"TERM": "dumb", "FORCE_COLOR": "1"}, True),
        (False, {"TERM": "xterm"}, False),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colour_is_for_terminals_and_the_environment_has_the_last_word(
    is_terminal, environ, colour
):
    terminal = Terminal(Stream(is_terminal), environ)
    assert terminal.colour is colour
    assert (terminal.paint("x", "red") == "\x1b[31mx\x1b[0m") is colour


def test_only_a_terminal_has_a_width_and_columns_wins():
    assert Terminal(Stream(False), {"COLUMNS": "40"}).width is None
    assert Terminal(Stream(True), {"COLUMNS": "40"}).width == 40
    assert Terminal(Stream(True), {}).size() == (80, 24)
    assert Terminal(Stream(True), {"COLUMNS": "many", "LINES": "9"}).size() == (80, 9)


@given(st.text())
def test_clean_text_has_no_control_character(text):
    shown = clean(text)
    assert not [c for c in shown if unicodedata.category(c) == "Cc" and c not in "\n\t"]
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@given(st.text())
def test_one_line_is_one_line(text):
    assert len(one_line(text).split("\n")) == 1


def test_what_was_removed_can_be_read():
    assert clean("a\x1b[2Jb\x07\u202ec\r\nd\te") == "a\\x1b[2Jb\\x07\\u202ec\nd\te"
    assert clean("schön 日本 👩‍🚀") == "schön 日本 👩‍🚀"


@given(st.text(), st.integers(min_value=0, max_value=30))
def test_cut_text_fits(text, width):
    line = one_line(text)
    short = cut(line, width)
    assert columns(short) <= width
    if columns(line) <= width:
        assert short == line


def test_wide_and_combining_characters_are_counted_as_they_are_shown():
    assert columns("abc") == 3
    assert columns("日本") == 4
    assert columns("e\u0301") == 1
    assert cut("日本語です", 6) == "日本…"
    assert fill("日本", 6) == "日本  "


ROWS = [
    [Cell("1"), Cell("running", "blue"), Cell("parser"), Cell("Mend the parser of the thing")],
    [Cell("12"), Cell("failed", "red"), Cell("a-long-repository"), Cell("日本\nx")],
]
HEAD = ("ID", "STATE", "REPO", "TITLE")


def test_a_table_for_a_program_is_whole_and_plain():
    lines = table(Terminal(Stream(False), {}), HEAD, ROWS, flexible=(3, 2))
    assert lines == [
        "ID  STATE    REPO               TITLE",
        "1   running  parser             Mend the parser of the thing",
        "12  failed   a-long-repository  日本 x",
    ]


@pytest.mark.parametrize("width", [20, 30, 40, 50, 200])
def test_a_table_fits_the_terminal_as_long_as_something_can_be_read(width):
    environ = {"COLUMNS": str(width)}
    lines = table(Terminal(Stream(True), environ), HEAD, ROWS, flexible=(3, 2))
    least = len("ID  running  ") + 8 + 2 + 8
    assert max(columns(line) for line in lines) <= max(width, least)
    assert lines[1].startswith("1   running  ")


def test_the_first_flexible_column_gives_way_last():
    lines = table(Terminal(Stream(True), {"COLUMNS": "44"}), HEAD, ROWS, flexible=(3, 2))
    assert lines[1] == "1   running  parser    Mend the parser of t…"
    assert lines[2] == "12  failed   a-long-…  日本 x"


def test_colour_does_not_move_the_columns():
    painted = table(Terminal(Stream(True), {"TERM": "xterm"}), HEAD, ROWS, flexible=(3,))
    plain = table(Terminal(Stream(True), {"TERM": "dumb"}), HEAD, ROWS, flexible=(3,))
    assert "\x1b[34mrunning\x1b[0m" in painted[1]
    for one, other in zip(painted, plain, strict=True):
        bare = one
        for code in ("\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[34m"):
            bare = bare.replace(code, "")
        assert bare == other
