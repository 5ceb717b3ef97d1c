"""Lines out of bytes, whatever the pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byred.api.errors import LineTooLongError
from byred.api.framing import Lines

LIMIT = 8


def take_all(lines: Lines) -> list[bytes | None]:
    """Give all lines that can be taken now, None for one that was too long."""
    taken: list[bytes | None] = []
    while True:
        try:
            line = lines.take()
        except LineTooLongError:
            taken.append(None)
            continue
        if line is None:
            return taken
        taken.append(line)


@given(st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"x", b"\n"))), st.data())
def test_the_lines_are_those_of_the_whole_text(pieces: list[bytes], data: st.DataObject) -> None:
    text = b"".join(pieces)
    lines, taken = Lines(LIMIT), []
    while text:
        size = data.draw(st.integers(1, len(text)))
        lines.feed(text[:size])
        text = text[size:]
        taken += take_all(lines)
        assert lines.held <= LIMIT
    whole = b"".join(pieces).split(b"\n")
    expected = [line if len(line) <= LIMIT else None for line in whole[:-1]]
    if len(whole[-1]) > LIMIT:
        expected.append(None)
    assert taken == expected


def test_only_lf_ends_a_line() -> None:
    lines = Lines(100)
    lines.feed("a\r\u2028\x0b\x85b\r\n".encode())
    assert lines.take() == "a\r\u2028\x0b\x85b\r".encode()


def test_too_long_a_line_is_known_before_its_end() -> None:
    lines = Lines(LIMIT)
    lines.feed(b"x" * (LIMIT + 1))
    with pytest.raises(LineTooLongError):
        lines.take()
    assert lines.held == 0
    lines.feed(b"y" * 100)
    assert lines.take() is None
    assert lines.held == 0
    lines.feed(b"z\nok\n")
    assert lines.take() == b"ok"


def test_a_line_that_is_dropped_takes_its_rest_along() -> None:
    lines = Lines(LIMIT)
    lines.feed(b"abc")
    assert lines.take() is None
    lines.drop()
    lines.feed(b"def\nghi\n")
    assert take_all(lines) == [b"ghi"]
