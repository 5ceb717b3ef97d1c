"""Rollouts in the state in which crashes, full disks and other programs leave them."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byred.codex.rollout import reader, zstd
from byred.codex.rollout.errors import RolloutError
from byred.codex.rollout.line import Line
from byred.codex.rollout.reader import Gap

needs_zstd = pytest.mark.skipif(shutil.which("zstd") is None, reason="no program zstd")

RAW = [
    b'{"timestamp":"t%d","type":"event_msg","payload":{"type":"agent_message","message":%s}}'
    % (number, text)
    for number, text in enumerate(
        [
            b'"plain"',
            b'"{\\"timestamp\\":\\"x\\",\\"type\\":\\"y\\",\\"payload\\":{}}"',
            b'"\xe2\x80\xa8 and \\u2028 and \\\\ and \\n"',
            b'"' + b"long " * 300 + b'"',
            b'["{", {"type": "a", "payload": {"timestamp": 1}}, "}"]',
            b'""',
        ]
    )
]
WHOLE = b"".join(raw + b"\n" for raw in RAW)


def pieces(path, **bounds):
    found = list(reader.read(path, **bounds))
    lines = [piece for piece in found if isinstance(piece, Line)]
    gaps = [piece for piece in found if isinstance(piece, Gap)]
    return lines, gaps


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A file to write each example of hypothesis into."""
    return tmp_path_factory.mktemp("rollouts") / "rollout.jsonl"


@given(st.integers(0, len(WHOLE)))
def test_cut_at_any_byte_every_whole_line_is_read_and_the_rest_reported_once(file, cut):
    file.write_bytes(WHOLE[:cut])
    lines, gaps = pieces(file)
    whole = [raw for raw in RAW if WHOLE.index(raw) + len(raw) <= cut]
    assert [line.raw for line in lines] == whole
    left = cut - sum(len(raw) + 1 for raw in whole)
    assert [gap.length for gap in gaps] == ([left] if left > 0 else [])
    assert all("torn" in gap.reason for gap in gaps)
    assert list(reader.read_back(file))[::-1] == list(reader.read(file))


@given(st.integers(0, len(WHOLE) - 1), st.binary(min_size=1, max_size=20))
def test_with_any_bytes_overwritten_every_untouched_line_is_read(file, at, garbage):
    broken = WHOLE[:at] + garbage + WHOLE[at + len(garbage) :]
    file.write_bytes(broken)
    lines, gaps = pieces(file)
    untouched = {
        raw
        for raw in RAW
        if WHOLE.index(raw) + len(raw) <= at or WHOLE.index(raw) >= at + len(garbage)
    }
    # White space that was put beside a line belongs to it.
    assert untouched <= {line.raw.strip() for line in lines}
    assert len(gaps) <= 1 + garbage.count(b"\n")
    _covers_every_byte(broken, lines, gaps)
    assert list(reader.read_back(file))[::-1] == list(reader.read(file))


@given(st.integers(0, len(WHOLE)), st.binary(min_size=1, max_size=20))
def test_with_any_bytes_put_in_between_every_untouched_line_is_read(file, at, garbage):
    broken = WHOLE[:at] + garbage + WHOLE[at:]
    file.write_bytes(broken)
    lines, gaps = pieces(file)
    untouched = {raw for raw in RAW if WHOLE.index(raw) + len(raw) <= at or WHOLE.index(raw) >= at}
    # White space that was put beside a line belongs to it.
    assert untouched <= {line.raw.strip() for line in lines}
    _covers_every_byte(broken, lines, gaps)


@settings(max_examples=300)
@given(st.lists(st.sampled_from([*RAW, b"", b"\0\0\0", b"nonsense", RAW[0][:40], b"[1]"])))
def test_lines_and_gaps_cover_every_byte_that_says_something(file, physical):
    file.write_bytes(b"".join(line + b"\n" for line in physical))
    found = list(reader.read(file))
    assert [p.raw for p in found if isinstance(p, Line)] == [raw for raw in physical if raw in RAW]
    assert list(reader.read_back(file))[::-1] == found
    # One report for one run of lost lines.
    kinds = [isinstance(piece, Gap) for piece in found]
    assert not any(one and other for one, other in itertools.pairwise(kinds))


def _covers_every_byte(data: bytes, lines: list[Line], gaps: list[Gap]) -> None:
    covered = bytearray(data)
    for piece in [*lines, *gaps]:
        covered[piece.offset : piece.end] = b"\n" * (piece.end - piece.offset)
    assert not covered.strip()
    for line in lines:
        assert data[line.offset : line.end] == line.raw


def test_a_record_behind_a_torn_one_on_the_same_line_is_saved(rollout):
    rollout.raw(RAW[0][:50])
    rollout.raw(RAW[1] + b"\n")
    lines, gaps = pieces(rollout.path)
    assert lines[-1].raw == RAW[1]
    assert [gap.length for gap in gaps] == [50]


def test_a_hole_of_nul_bytes_is_named_as_one(rollout):
    size = rollout.path.stat().st_size
    rollout.raw(b"\0" * 4096 + RAW[0] + b"\n")
    lines, gaps = pieces(rollout.path)
    assert lines[-1].raw == RAW[0]
    assert gaps == [Gap(size, 4096, "NUL bytes where a line was")]


def test_a_last_line_without_its_newline_is_whole_when_its_record_is(rollout):
    rollout.raw(RAW[0])
    lines, gaps = pieces(rollout.path)
    assert lines[-1].raw == RAW[0]
    assert not gaps


def test_a_part_of_a_file_is_read_by_its_offsets(rollout):
    for raw in RAW:
        rollout.raw(raw + b"\n")
    every, _ = pieces(rollout.path)
    middle, gaps = pieces(rollout.path, start=every[2].offset, end=every[4].offset)
    assert middle == every[2:4]
    assert not gaps
    assert list(reader.read_back(rollout.path, every[4].offset)) == every[:4][::-1]
    cut, gaps = pieces(rollout.path, start=0, end=every[4].offset + 5)
    assert cut == every[:4]
    assert [gap.length for gap in gaps] == [5]


def test_lines_longer_than_a_block_are_read_from_the_end_too(rollout, monkeypatch):
    monkeypatch.setattr(reader, "BLOCK", 100)
    for raw in RAW:
        rollout.raw(raw + b"\n")
    assert list(reader.read_back(rollout.path))[::-1] == list(reader.read(rollout.path))


def test_a_line_that_never_ends_is_given_up_and_the_next_one_read(rollout, monkeypatch):
    monkeypatch.setattr(reader, "LONGEST", 1000)
    size = rollout.path.stat().st_size
    rollout.raw(b"x" * 5000 + b"\n" + RAW[0] + b"\n")
    lines, gaps = pieces(rollout.path)
    assert lines[-1].raw == RAW[0]
    assert [(gap.offset, gap.length) for gap in gaps] == [(size, 5000)]


def test_windows_line_ends_are_part_of_the_line(rollout):
    rollout.raw(RAW[0] + b"\r\n")
    lines, gaps = pieces(rollout.path)
    assert lines[-1].write() == RAW[0] + b"\r\n"
    assert not gaps


def test_the_plain_form_is_preferred_and_either_name_finds_either(tmp_path):
    plain = tmp_path / "rollout-a.jsonl"
    packed = tmp_path / "rollout-a.jsonl.zst"
    packed.write_bytes(b"")
    assert reader.existing(plain) == packed
    plain.write_bytes(WHOLE)
    assert reader.existing(packed) == plain


@pytest.fixture(params=["program", "library"])
def unpacked_by(request, monkeypatch):
    """Let the program decompress, or the library as where there is no program."""
    if request.param == "library":
        monkeypatch.setattr(zstd.shutil, "which", lambda _: None)
    return request.param


@needs_zstd
def test_a_compressed_rollout_reads_like_a_plain_one(tmp_path, corpus, unpacked_by):
    source = max(corpus, key=lambda path: path.stat().st_size)
    packed = tmp_path / (source.name + ".zst")
    subprocess.run(["zstd", "-q", str(source), "-o", str(packed)], check=True)
    plain = list(reader.read(source))
    assert list(reader.read(packed)) == plain
    assert list(reader.read(tmp_path / source.name)) == plain
    assert list(reader.read(packed, start=plain[7].offset)) == plain[7:]
    with pytest.raises(RolloutError, match="compressed; read it forward"):
        next(reader.read_back(packed))


@needs_zstd
def test_a_compressed_rollout_that_is_cut_short_is_read_as_far_as_it_goes(tmp_path, unpacked_by):
    source = tmp_path / "big.jsonl"
    noise = (os.urandom(30000).hex().encode() for _ in range(20))
    source.write_bytes(b"".join(b'{"type":"x","payload":{"a":"%s"}}\n' % hexes for hexes in noise))
    packed = tmp_path / "rollout-b.jsonl.zst"
    subprocess.run(["zstd", "-q", str(source), "-o", str(packed)], check=True)
    packed.write_bytes(packed.read_bytes()[:-1000])
    lines, gaps = pieces(packed)
    assert 0 < len(lines) < 20
    assert len(gaps) == 1
    assert "cannot read all of" in gaps[0].reason


@needs_zstd
def test_a_compressed_rollout_in_several_frames_is_read_to_its_end(tmp_path, unpacked_by):
    packed = tmp_path / "rollout-f.jsonl.zst"
    frames = [
        subprocess.run(["zstd", "-q"], input=part, capture_output=True, check=True).stdout
        for part in (WHOLE * 50_000, b"", WHOLE)
    ]
    packed.write_bytes(b"".join(frames))
    lines, gaps = pieces(packed)
    assert b"".join(line.write() for line in lines) == WHOLE * 50_001
    assert not gaps


def test_what_is_no_zstd_at_all_is_one_gap(tmp_path, unpacked_by):
    packed = tmp_path / "rollout-g.jsonl.zst"
    packed.write_bytes(b"no zstd at all, but long enough to look like something")
    (gap,) = list(reader.read(packed))
    assert "cannot read all of" in gap.reason


@needs_zstd
def test_who_stops_reading_a_compressed_rollout_leaves_no_process(tmp_path, children):
    packed = tmp_path / "rollout-c.jsonl.zst"
    subprocess.run(["zstd", "-q", "-o", str(packed)], input=WHOLE * 20000, check=True)
    lines = reader.read(packed)
    next(lines)
    lines.close()
    assert not children()


def test_where_nothing_unpacks_a_compressed_rollout_says_what_to_install(tmp_path, monkeypatch):
    packed = tmp_path / "rollout-d.jsonl.zst"
    packed.write_bytes(b"")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(zstd, "LIBRARY", "libzstd-that-is-not-here.so.1")
    (gap,) = list(reader.read(packed))
    assert "install the program zstd" in gap.reason


_READ_ALL = """
import resource, sys
from pathlib import Path
from byred.codex.rollout import history
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(1 for _ in history.turns(Path(sys.argv[1])))
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_large_rollout_is_told_in_the_memory_of_a_small_one(rollout):
    text = "word " * 4000
    for number in range(1500):
        rollout.turn(f"turn{number}", text, text)
    size = rollout.path.stat().st_size
    assert size > 100_000_000
    done = subprocess.run(
        [sys.executable, "-c", _READ_ALL, str(rollout.path)],
        capture_output=True,
        text=True,
        check=True,
    )
    count, grown = map(int, done.stdout.split())
    assert count == 1500
    assert grown * 1024 < size / 10
