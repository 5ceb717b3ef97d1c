"""Failpoints are free when off, kill at the place that was named, and see what byred does."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from byred import failpoint

PROGRAM = """
import asyncio, os, sys
from pathlib import Path
from byred import failpoint
from byred.codex import thread  # any module of the plumbing
source = '''
async def act(folder):
    await asyncio.to_thread((folder / "made").mkdir)
    (folder / "file").write_text("x")
    (folder / "file").rename(folder / "moved")
    (folder / "moved").unlink()
    failpoint.reach("before", "message")
    failpoint.reach("after", ["git", "-c", "a=b", "update-ref", "x"])
    failpoint.reach("after", ["git", "rev-parse", "HEAD"])
    for _ in range(3):
        (folder / "made" / "again").write_text("x")
    print(sorted(os.environ.keys() & {"BYRE_FAILPOINT", "BYRE_FAILPOINTS_SEEN"}))
'''
scope = {"__name__": "byred.room.thing", "asyncio": asyncio, "os": os, "failpoint": failpoint}
exec(source, scope)
asyncio.run(scope["act"](Path(sys.argv[1])))
"""
SEEN = [
    "room.thing.act before mkdir",
    "room.thing.act before write",
    "room.thing.act before rename",
    "room.thing.act before remove",
    "room.thing.act before message",
    "room.thing.act after git update-ref",
    "room.thing.act before write",
    "room.thing.act before write",
]


def live(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "work").mkdir()
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder / "work")],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_a_name_nothing_is_passed() -> None:
    assert failpoint.reach is failpoint._nothing
    assert failpoint.mark() == ""


def test_all_that_a_function_does_has_a_name(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    done = live(tmp_path, BYRE_FAILPOINTS_SEEN=str(seen))
    assert (done.returncode, done.stderr) == (0, "")
    assert seen.read_text().splitlines() == SEEN


def test_no_child_is_to_die_by_it(tmp_path: Path) -> None:
    done = live(tmp_path, BYRE_FAILPOINT="elsewhere", BYRE_FAILPOINTS_SEEN=str(tmp_path / "seen"))
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", dict.fromkeys(SEEN))
def test_a_process_dies_where_it_is_told(tmp_path: Path, name: str) -> None:
    seen = tmp_path / "seen"
    done = live(tmp_path, BYRE_FAILPOINT=name, BYRE_FAILPOINTS_SEEN=str(seen))
    assert done.returncode == -signal.SIGKILL
    assert seen.read_text().splitlines() == [*SEEN[: SEEN.index(name)], f"died at {name}"]


def test_a_process_dies_at_a_later_time_of_passing(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    name = "room.thing.act before write"
    done = live(tmp_path, BYRE_FAILPOINT=f"{name}#3", BYRE_FAILPOINTS_SEEN=str(seen))
    assert done.returncode == -signal.SIGKILL
    assert seen.read_text().splitlines() == [*SEEN[:-1], f"died at {name}"]
    assert not (tmp_path / "work" / "file").exists()
