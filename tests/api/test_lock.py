"""One daemon for one state directory."""

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from byred.api.errors import LockedError
from byred.api.lock import StateLock

HOLDER = """
import sys, pathlib
from byred.api.lock import StateLock
from byred.api.errors import LockedError
try:
    with StateLock(pathlib.Path(sys.argv[1])):
        print("held", flush=True)
        sys.stdin.read()
except LockedError as error:
    print("locked", error.pid, flush=True)
"""


def holder(path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_the_directory_is_made_for_this_user_alone(tmp_path: Path) -> None:
    with StateLock(tmp_path / "a" / "b"):
        assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
        assert (tmp_path / "a" / "b" / "lock").read_text() == f"{os.getpid()}\n"


def test_a_second_one_is_told_the_pid_of_the_first(tmp_path: Path) -> None:
    with StateLock(tmp_path), pytest.raises(LockedError) as raised, StateLock(tmp_path):
        pass
    assert raised.value.pid == os.getpid()
    assert f"cannot use {tmp_path}: the daemon with pid {os.getpid()} is using it" in str(
        raised.value
    )


def test_without_room_for_its_pid_it_is_held_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lock").write_text("12345\n")

    def full(_fd: int, _text: bytes, _offset: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with StateLock(tmp_path), pytest.raises(LockedError) as raised, StateLock(tmp_path):
        pass
    # Not the pid of whoever held it before.
    assert raised.value.pid is None


def test_a_holder_that_does_not_say_who_it_is_is_still_one(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with (
            pytest.raises(LockedError, match="another daemon is using it") as raised,
            StateLock(tmp_path),
        ):
            pass
    assert raised.value.pid is None


def test_it_can_be_taken_again_after_it_was_let_go(tmp_path: Path) -> None:
    lock = StateLock(tmp_path)
    for _ in range(2):
        with lock:
            pass


def test_a_longer_pid_before_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("99999999999999999999\n")
    with StateLock(tmp_path):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


def test_it_ends_with_a_holder_that_is_killed(tmp_path: Path) -> None:
    first = holder(tmp_path)
    assert first.stdout is not None
    assert first.stdout.readline() == "held\n"
    second = holder(tmp_path)
    assert second.communicate(timeout=20)[0] == f"locked {first.pid}\n"
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=20)
    with StateLock(tmp_path):
        pass


def test_a_child_does_not_inherit_it(tmp_path: Path) -> None:
    with StateLock(tmp_path):
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        with StateLock(tmp_path):
            pass
    finally:
        child.kill()
        child.wait(10)


@pytest.mark.promise("one_daemon_per_state")
def test_of_many_started_at_once_exactly_one_has_it(tmp_path: Path) -> None:
    everyone = [holder(tmp_path) for _ in range(8)]
    said = [process.stdout.readline().split()[0] for process in everyone if process.stdout]
    for process in everyone:
        process.communicate(timeout=20)
    assert sorted(said) == ["held"] + ["locked"] * 7
