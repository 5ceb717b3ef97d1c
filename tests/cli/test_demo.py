"""`byre demo`: the real daemon and the real codex on a scripted model, and nothing left of them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from byred.cli.demo import server as demo_server
from byred.cli.demo.ground import Ground
from byred.cli.demo.server import Server
from byred.cli.errors import NoDaemonError

LIMIT = 110
pytestmark = pytest.mark.timeout(LIMIT)


@pytest.fixture
def place(byre, tmp_path):
    """A temporary directory and a home of the demonstration's own; both are to stay clean."""
    temporary, home = tmp_path / "t", tmp_path / "h"
    temporary.mkdir()
    home.mkdir()
    byre.environ |= {"TMPDIR": str(temporary), "HOME": str(home)}
    byre.limit = LIMIT
    yield temporary
    assert list(home.iterdir()) == []
    assert processes_of(temporary) == []


def processes_of(folder):
    """Every process that has the folder in its environment or its arguments."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            told = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if os.fsencode(folder) in told:
            found.append((entry.name, told))
    return found


def git(repository, *args):
    command = ["git", "-C", str(repository), *args]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.promise("demo_works_anywhere")
def test_without_a_terminal_it_answers_itself_and_leaves_only_the_repository(byre, place):
    ended = byre("demo")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "answered by the demonstration: nobody is asked here" in ended.stdout
    for state in ("queued", "preparing", "running", "waiting", "verifying", "succeeded"):
        assert f"  {state} " in ended.stdout
    (folder,) = place.iterdir()
    assert [entry.name for entry in folder.iterdir()] == ["repository"]
    repository = folder / "repository"
    assert f"git -C {repository} log --oneline --graph --all" in ended.stdout
    branches = git(repository, "branch", "--list", "byre/*", "--format=%(refname:short)").split()
    assert len(branches) == 3
    authors = {git(repository, "log", "-1", "--format=%an <%ae>", name) for name in branches}
    assert len(authors) == 3
    for name in branches:
        assert git(repository, "rev-list", "--count", f"main..{name}") == "1\n"
        commit = git(repository, "log", "-1", "--format=%h", name).strip()
        assert any(name in line and commit in line for line in ended.stdout.splitlines())
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "worktree", "list").count("\n") == 1


def test_on_a_terminal_the_person_answers_and_it_reaches_the_commit(byre, place):
    with byre.on_terminal("demo", "--keep") as tty:
        tty.expect("Which colour should the front door have?")
        tty.expect("answer> ")
        tty.type("3\n")
        tty.expect("see the branches")
        status, seen = tty.end()
    assert status == 0
    (folder,) = place.iterdir()
    branches = git(folder / "repository", "branch", "--list", "byre/2-*", "--format=%(refname)")
    assert "green" in git(folder / "repository", "show", f"{branches.strip()}:colour.txt")
    for name in ("worktrees", "state", "byred.toml", "byred.log"):
        assert (folder / name).exists()
        assert str(folder / name) in seen


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_end_in_the_middle_leaves_nothing(byre, place, number, expected):
    with byre.on_terminal("demo") as tty:
        tty.expect("answer> ")
        tty.process.send_signal(number)
        status, seen = tty.end()
    assert status == expected
    assert "Traceback" not in seen
    assert list(place.iterdir()) == []


def test_in_ci_nobody_is_asked_and_in_json_the_tasks_are_printed(byre, place):
    with byre.on_terminal("--json", "demo", CI="true") as tty:
        status, seen = tty.end()
    assert status == 0
    assert "nobody is asked here" in seen
    assert '{"tasks":[{"id":3,' in seen


def test_a_daemon_that_does_not_start_shows_its_log(byre, place):
    byre.before = (
        "import sys; from byred.cli.demo import server\n"
        "server._DAEMON = (sys.executable, '-c', 'import sys; sys.exit(\"no codex\\x1b[2J\")')"
    )
    ended = byre("demo")
    assert ended.returncode == 3
    *log, sentence = ended.stderr.splitlines()
    assert log == ["the end of the daemon's log:", "  no codex\\x1b[2J"]
    assert sentence.startswith("byre: cannot run the demonstration: its daemon ended at once with")
    assert list(place.iterdir()) == []


def test_without_git_it_says_so(byre, place, tmp_path):
    ended = byre("demo", PATH=str(tmp_path))
    assert ended.returncode == 4
    assert "there is no git on PATH; install it" in ended.stderr
    assert list(place.iterdir()) == []


def test_a_temporary_directory_that_no_socket_fits_in_is_refused(byre, place):
    deep = place / ("x" * 90)
    deep.mkdir()
    ended = byre("demo", TMPDIR=str(deep))
    assert ended.returncode == 2
    assert "too long a path for a socket; set TMPDIR to a shorter one" in ended.stderr
    assert list(deep.iterdir()) == []


@pytest.fixture
def ground(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    prepared = Ground({"PATH": os.environ["PATH"], "BYRED_LOG__LEVEL": "debug", "GIT_DIR": "/x"})
    prepared.prepare()
    return prepared


def test_nothing_of_the_persons_settings_reaches_the_demonstration(ground):
    assert "BYRED_LOG__LEVEL" not in ground.environ
    assert "GIT_DIR" not in ground.environ
    assert ground.git("log", "--format=%an <%ae>") == "byre demo <demo@byred.invalid>\n"


STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
folder = os.path.dirname(sys.argv[-1])
environ = dict(os.environ, CODEX_HOME=folder + "/state/tasks/1/home")
subprocess.Popen(["sleep", "600"], env=environ, start_new_session=True)
open(folder + "/ready", "w").close()
time.sleep(600)
"""


def test_a_daemon_that_does_not_end_is_killed_with_all_that_it_left(ground, monkeypatch):
    monkeypatch.setattr(demo_server, "_DAEMON", (sys.executable, "-c", STUBBORN))
    monkeypatch.setattr(demo_server, "_STOP_LIMIT", 0.2)
    with Server(ground) as server:
        ends = time.monotonic() + 20
        while not (ground.folder / "ready").exists():
            assert time.monotonic() < ends
            time.sleep(0.01)
        assert server.stop() is False
    assert "was killed and it left 1 processes of its tasks" in server.ending
    assert processes_of(ground.folder) == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_daemon_that_never_answers_is_not_waited_for_for_ever(ground, monkeypatch):
    sleeper = "import time; time.sleep(600)"
    monkeypatch.setattr(demo_server, "_DAEMON", (sys.executable, "-c", sleeper))
    monkeypatch.setattr(demo_server, "_START_LIMIT", 0.2)
    with Server(ground) as server, pytest.raises(NoDaemonError, match="does not answer after"):
        server.connect()
    assert processes_of(ground.folder) == []
