"""What a person sees who starts the daemon with wrong settings."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from byred import daemon
from byred.api.lock import StateLock

Write = Callable[[str], Path]


def byred(*arguments: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "byred.daemon", *arguments],
        env=os.environ | environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.promise("bad_config_refused")
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[daemon]\nsockt = 1", "daemon.sockt: unknown key; did you mean socket?"),
        ('[human]\npark_after = "soon"', "human.park_after: expected a duration with its unit"),
        ('[workspace]\nport_range = "80-90"', "workspace.port_range: expected ports from 1024 on"),
        ("[log", "expected TOML, but found: "),
    ],
)
def test_a_bad_file_ends_the_start_with_one_line(text: str, line: str, write: Write) -> None:
    path = write(text)
    done = byred("--config", path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"byred: {path}: {line}")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.promise("bad_config_refused")
def test_a_bad_variable_ends_the_start_with_its_name() -> None:
    done = byred(BYRED_LOG__LEVEL="loud")
    assert done.returncode == 2
    assert done.stderr.startswith("byred: BYRED_LOG__LEVEL: expected one of ")
    assert done.stderr.count("\n") == 1


def test_a_missing_file_ends_the_start() -> None:
    done = byred("--config", "/nowhere/byred.toml")
    assert done.returncode == 2
    assert "/nowhere/byred.toml: cannot read the settings: No such file" in done.stderr


@pytest.mark.promise("one_daemon_per_state")
def test_a_second_daemon_ends_with_a_message(write: Write, tmp_path: Path) -> None:
    path = write(f'[daemon]\nstate_dir = "{tmp_path / "state"}"\nsocket = "{tmp_path / "s"}"\n')
    with StateLock(tmp_path / "state"):
        done = byred("--config", path)
    assert done.returncode == 1
    assert done.stderr == (
        f"byred: cannot use {tmp_path / 'state'}: the daemon with pid {os.getpid()} is using it; "
        "stop that one first, or set daemon.state_dir to another folder\n"
    )
    assert not (tmp_path / "s").exists()


def test_what_a_killed_daemon_left_in_its_own_folder_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "tmp"
    (folder / "byre-index-x" / "deep").mkdir(parents=True)
    (folder / "file").touch()
    (folder / "link").symlink_to(tmp_path)
    before = folder.stat().st_ino
    assert daemon._empty_folder(folder) == folder
    assert list(folder.iterdir()) == []
    # On a full disk there is no room for a new one.
    assert folder.stat().st_ino == before
    assert tmp_path.is_dir()


def test_a_folder_of_others_is_not_emptied(write: Write, tmp_path: Path) -> None:
    path = write(f'[daemon]\nstate_dir = "{tmp_path / "state"}"\nsocket = "{tmp_path / "s"}"\n')
    (tmp_path / "state").mkdir()
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "theirs").touch()
    (tmp_path / "state" / "tmp").symlink_to(tmp_path / "others")
    done = byred("--config", path)
    assert done.returncode == 1
    assert "it is a link to a folder of others: " in done.stderr
    assert (tmp_path / "others" / "theirs").exists()


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.ENOSPC, "free some space and start it again"),
        (errno.EDQUOT, "free some space and start it again"),
        (errno.EACCES, "check daemon.state_dir and its owner"),
    ],
)
def test_what_keeps_it_from_starting_says_what_to_do(number: int, hint: str) -> None:
    said = daemon._start_failed(OSError(number, os.strerror(number), "/state/tmp"))
    assert said.startswith("cannot start: ")
    assert "'/state/tmp'" in said
    assert said.endswith(hint)
