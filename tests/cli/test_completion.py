"""Completion: the scripts, and what the shell is offered."""

import shutil
import subprocess

import pytest


def offered(ended):
    """What click's bash completion offers: a line of type and value each."""
    return [line.partition(",")[2] for line in ended.stdout.splitlines() if line]


@pytest.fixture
def complete(byre):
    """Complete a line as bash asks for it; its last word is the one with the cursor."""

    def ask(*words):
        changes = {
            "_BYRE_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(["byre", *words]),
            "COMP_CWORD": str(len(words)),
        }
        ended = byre(**changes)
        assert ended.stderr == ""
        return offered(ended)

    return ask


@pytest.mark.parametrize(
    ("shell", "mark"),
    [("bash", "complete -o nosort"), ("zsh", "#compdef byre"), ("fish", "complete --no-files")],
)
def test_each_shell_gets_its_script(byre, shell, mark):
    ended = byre("completion", shell)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert mark in ended.stdout
    assert "_BYRE_COMPLETE" in ended.stdout


def test_bash_completes_with_the_script(byre, tmp_path):
    """The script is loaded by a real bash, and its function asks the real command."""
    script = byre("completion", "bash").stdout
    program = tmp_path / "byre"
    program.write_text(f'#!/bin/sh\nexec {" ".join(byre.command())} "$@"\n')
    program.chmod(0o755)
    ask = (
        "COMP_WORDS=(byre interr) COMP_CWORD=1; _byre_completion byre interr; echo ${COMPREPLY[@]}"
    )
    ended = subprocess.run(
        [shutil.which("bash"), "--norc", "-c", f"{script}\n{ask}"],
        check=True,
        capture_output=True,
        text=True,
        env=byre.environ | {"PATH": f"{tmp_path}:{byre.environ['PATH']}"},
        timeout=20,
    )
    assert ended.stdout == "interrupt\n"


def test_verbs_and_options_are_offered(complete):
    assert complete("rel") == ["release"]
    assert {"release", "replay", "retry"} <= set(complete("re"))
    assert complete("submit", "--la") == ["--label"]
    assert complete("ls", "--state", "suc") == ["succeeded"]


def test_tasks_and_open_questions_are_offered_by_number(complete, daemon, task, question):
    daemon.replies["task.list"] = {"tasks": [task(71), task(7), task(8)], "next": None}
    daemon.replies["question.list"] = {"questions": [question(31), question(4)], "next": None}
    assert complete("show", "7") == ["71", "7"]
    assert complete("submit", "--after", "8") == ["8"]
    assert complete("answer", "3") == ["31"]
    assert daemon.asked("question.list") == [{"states": ["open"]}]


def test_the_named_socket_is_asked(complete, daemon, task, byre):
    daemon.replies["task.list"] = {"tasks": [task(7)], "next": None}
    byre.environ["BYRE_SOCKET"] = "/nonexistent"
    assert complete("--socket", str(daemon.path), "show", "") == ["7"]


def test_without_a_daemon_nothing_is_offered_and_nothing_said(complete):
    assert complete("show", "") == []
