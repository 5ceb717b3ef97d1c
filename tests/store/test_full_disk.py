"""A disk that is full: a clear error, nothing by halves, and on it goes once there is room."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("on_a_small_disk.py")
FULL = "the disk is full; free some space and repeat"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Give what happened on a small disk, mounted where nobody else sees it."""
    folder = tmp_path_factory.mktemp("disk")
    private = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "-m"]
    command = [*private, sys.executable, str(SCRIPT), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    assert not os.path.ismount(folder)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.promise("full_disk_loses_nothing")
def test_a_write_that_finds_no_room_says_so_and_the_ones_before_are_there(
    report: dict[str, Any],
) -> None:
    assert FULL in report["alone"]
    acknowledged, stored, newest_event = report["after_one"]
    assert len(acknowledged) > 10
    assert stored == acknowledged
    assert newest_event == 2 * len(acknowledged)


@pytest.mark.promise("full_disk_loses_nothing")
def test_many_writes_that_find_no_room_are_all_refused_and_store_nothing(
    report: dict[str, Any],
) -> None:
    (told,) = report["together"]
    assert FULL in told
    assert report["after_many"] == report["after_one"][1:]


@pytest.mark.promise("full_disk_loses_nothing")
def test_writing_goes_on_without_a_restart_once_there_is_room(report: dict[str, Any]) -> None:
    last = report["after_many"][0][-1]
    assert report["again"] == list(range(last + 1, last + 6))
    assert report["after_room"] == [list(range(1, last + 6)), 2 * (last + 5)]
    assert report["check"] == "ok"


def test_a_database_that_finds_no_room_to_be_made_is_made_later(report: dict[str, Any]) -> None:
    assert "opened" not in report
    assert FULL in report["opening"]
    assert report["opened_with_room"] == 1


@pytest.mark.promise("full_disk_loses_nothing")
def test_opening_without_room_loses_nothing(report: dict[str, Any]) -> None:
    assert FULL in report.get("reopening", FULL)
    assert report.get("facts_when_full", report["facts"]) == report["facts"]
    assert report["facts_afterwards"] == report["facts"] == report["after_room"]
