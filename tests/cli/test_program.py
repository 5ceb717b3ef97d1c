"""The command as a whole: its verbs, its help, and how little it loads."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

VERBS = (
    *("submit", "ls", "show", "logs", "watch", "questions", "answer", "tell", "interrupt"),
    *("cancel", "retry", "fork", "hold", "release", "explain", "diff", "merge", "discard"),
    *("status", "doctor", "demo", "completion", "history", "export", "replay"),
)
HEAVY = {"asyncio", "pydantic", "structlog", "msgspec", "subprocess", "tempfile", "pathlib"}


def test_help_lists_every_verb_with_a_sentence(byre):
    ended = byre("--help")
    assert (ended.returncode, ended.stderr) == (0, "")
    rows = [line.split(maxsplit=1) for line in ended.stdout.splitlines()]
    listed = {row[0]: row[1] for row in rows if len(row) == 2}
    for verb in VERBS:
        assert listed[verb].endswith(".")
        assert "..." not in listed[verb]
    assert "Exit status: 0 done" in ended.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(byre, verb):
    ended = byre(verb, "-h")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith(f"Usage: byre {verb} [OPTIONS]")
    assert "--json" in ended.stdout


def test_the_command_alone_shows_its_help(byre):
    assert byre().stdout == byre("--help").stdout


def test_the_version_is_the_packages(byre):
    assert byre("--version").stdout == f"byre {version('byred')}\n"


def test_listing_loads_one_verb_and_nothing_heavy(daemon, environ, task):
    daemon.replies["task.list"] = {"tasks": [task()], "next": None}
    script = (
        "import json, sys; from byred.cli.main import main; main(['ls'])\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, env=environ, timeout=20
    )
    loaded = set(json.loads(ended.stdout.splitlines()[-1]))
    verbs = {name for name in loaded if name.startswith("byred.cli.verbs.")}
    assert verbs == {"byred.cli.verbs.ls"}
    before = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"],
        check=True,
        capture_output=True,
        env=environ,
        timeout=20,
    )
    assert not HEAVY & loaded - set(before.stdout.decode().split())
    assert {name for name in loaded if name.startswith("byred.")} <= {
        name for name in loaded if name.startswith("byred.cli")
    }


@pytest.mark.parametrize(
    ("environ_changes", "on_terminal", "colour"),
    [
        ({}, True, True),
        ({"NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
        ({}, False, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
    ],
)
def test_colours_are_for_terminals_unless_one_says_otherwise(
    byre, daemon, task, environ_changes, on_terminal, colour
):
    daemon.replies["task.list"] = {"tasks": [task()], "next": None}
    if on_terminal:
        with byre.on_terminal("ls", **environ_changes) as tty:
            shown = tty.end()[1]
    else:
        shown = byre("ls", **environ_changes).stdout
    assert ("\x1b[34mrunning\x1b[0m" in shown) is colour
    assert ("\x1b" in shown) is colour


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_table_is_as_wide_as_the_terminal_at_most(byre, daemon, task, columns):
    daemon.replies["task.list"] = {"tasks": [task(title="word " * 60)], "next": None}
    with byre.on_terminal("ls", size=(columns, 24), NO_COLOR="1") as tty:
        lines = tty.end()[1].splitlines()
    assert len(lines[1]) <= columns
    assert lines[1].endswith("…")
    assert byre("ls").stdout.splitlines()[1].endswith("word word")


def test_the_manual_has_every_verb(byre):
    manual = (Path(__file__).parents[2] / "docs" / "command.md").read_text()
    for verb in VERBS:
        assert f"byre {verb}" in manual
