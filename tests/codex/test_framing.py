"""Any stream, cut anywhere, gives the same messages."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from byred.codex.framing import LineSplitter, Oversized

LINE = st.binary(max_size=40).map(lambda data: data.replace(b"\n", b""))


def chunked(stream: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({min(cut, len(stream)) for cut in cuts} | {0, len(stream)})
    return [stream[start:end] for start, end in itertools.pairwise(places)]


def outcome(splitter: LineSplitter) -> list[object]:
    return [
        (item.size, item.head) if isinstance(item, Oversized) else item for item in splitter.ready
    ]


@given(st.lists(LINE), LINE, st.lists(st.integers(0, 400)))
def test_any_split_into_chunks_gives_the_same_messages(lines, rest, cuts):
    stream = b"".join(line + b"\n" for line in lines) + rest
    splitter = LineSplitter()
    for chunk in chunked(stream, cuts):
        splitter.feed(chunk)
    assert list(splitter.ready) == [line for line in lines if line]
    assert splitter.finish() == rest


@given(st.lists(LINE), st.integers(1, 30), st.lists(st.integers(0, 400)))
def test_a_line_over_the_limit_is_dropped_alone_however_it_comes(lines, limit, cuts):
    stream = b"".join(line + b"\n" for line in lines)
    splitter = LineSplitter(limit)
    for chunk in chunked(stream, cuts):
        splitter.feed(chunk)
    assert outcome(splitter) == [
        line if len(line) <= limit else (len(line), line) for line in lines if line
    ]


def test_an_oversized_line_is_not_kept_while_it_comes_in():
    splitter = LineSplitter(10_000)
    for _ in range(1000):
        splitter.feed(b"x" * 100_000)
        held = sum(len(part) for part in splitter._parts)
        assert held <= 10_000
    splitter.feed(b'\n{"id":1}\n')
    big, small = splitter.ready
    assert isinstance(big, Oversized)
    assert (big.size, big.head) == (100_000_000, b"x" * 4096)
    assert small == b'{"id":1}'


def test_only_lf_ends_a_line():
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\rg".encode()
    splitter = LineSplitter()
    splitter.feed(text + b"\n")
    assert list(splitter.ready) == [text]
