"""Every failure is one sentence on stderr and a status; this is the list of them."""

import re
import signal
import socket
import threading
from pathlib import Path

import pytest

NO_SOCKET = r"no daemon answers at \S+/byred\.sock \(no such file\); start it with systemctl"

USAGE_CASES = [
    (["frobnicate"], r"cannot run byre: no such command 'frobnicate'; see byre --help"),
    (["--colour", "ls"], r"cannot run byre: no such option '?--colour"),
    (["ls", "--state", "sleeping"], r"'sleeping' is not one of .*'queued'.*; see byre ls --help"),
    (["ls", "extra"], r"cannot run byre ls: got unexpected extra argument"),
    (["show"], r"cannot run byre show: missing argument 'ID'; see byre show --help"),
    (["show", "seven"], r"invalid value for 'ID': 'seven' is not a whole number; see"),
    (["cancel", "0"], r"cannot run byre cancel: invalid value for 'ID'"),
    (["fork", "7", "--turn", "0"], r"cannot run byre fork: invalid value for '--turn'"),
    (["submit", "--priority", "high", "x"], r"invalid value for '--priority'"),
    (["submit", "--after", "x", "y"], r"cannot run byre submit: invalid value for '--after'"),
    (["submit"], r"cannot submit the task: there is no prompt and no terminal .*; give the prompt"),
    (["submit", ""], r"cannot submit the task: the text is empty; "),
    (["submit", "-"], r"cannot submit the task: the text is empty; "),
    (["submit", " \n "], r"cannot submit the task: the text is empty; "),
    (["tell", "7"], r"cannot run byre tell: missing argument 'TEXT|-'"),
    (["tell", "7", "-"], r"cannot tell task 7 anything: the text is empty; "),
    (["answer", "3"], r"cannot answer question 3: there is no terminal to ask on; give the text"),
    (["answer", "3", ""], r"cannot answer question 3: the text is empty; "),
    (["completion", "tcsh"], r"'tcsh' is not one of 'bash', 'zsh', 'fish'"),
]

# verb and arguments, what could not be done
CALLS = [
    (["ls"], "list the tasks"),
    (["show", "7"], "show task 7"),
    (["logs", "7"], "show the log of task 7"),
    (["logs", "7", "-f"], "show the log of task 7"),
    (["watch"], "watch the tasks"),
    (["questions"], "list the questions"),
    (["answer", "3", "yes"], "answer question 3"),
    (["tell", "7", "more"], "tell task 7 anything"),
    (["interrupt", "7"], "interrupt task 7"),
    (["cancel", "7"], "cancel task 7"),
    (["retry", "7"], "retry task 7"),
    (["fork", "7"], "fork task 7"),
    (["hold", "7"], "hold task 7"),
    (["release", "7"], "release task 7"),
    (["explain", "7"], "explain task 7"),
    (["diff", "7"], "show the changes of task 7"),
    (["merge", "7"], "merge task 7"),
    (["discard", "7"], "discard task 7"),
    (["status"], "ask for the status"),
    (["submit", "x"], "submit the task"),
    (["submit", "--wait", "x"], "submit the task"),
]


def names(cases):
    return [" ".join(case[0]) or "nothing" for case in cases]


def sentence(ended, status):
    """The one sentence that a failure printed."""
    assert ended.returncode == status, ended.stderr
    assert ended.stderr.startswith("byre: cannot ")
    assert ended.stderr.count("\n") == 1
    assert "Traceback" not in ended.stderr
    return ended.stderr.removeprefix("byre: ").rstrip("\n")


@pytest.mark.parametrize(("args", "pattern"), USAGE_CASES, ids=names(USAGE_CASES))
def test_wrong_usage_says_what_is_wrong_and_where_to_look(byre, args, pattern):
    ended = byre(*args)
    said = sentence(ended, 2)
    assert ended.stdout == ""
    assert re.search(pattern, said), said
    assert ";" in said


@pytest.mark.parametrize(("args", "doing"), CALLS, ids=names(CALLS))
def test_without_a_daemon_every_verb_says_where_it_looked_and_how_to_start_one(byre, args, doing):
    said = sentence(byre(*args), 3)
    assert said.startswith(f"cannot {doing}: ")
    assert re.search(NO_SOCKET, said), said


@pytest.mark.parametrize(("args", "doing"), CALLS, ids=names(CALLS))
def test_a_daemon_that_does_not_offer_a_verb_is_called_older(byre, daemon, args, doing):
    said = sentence(byre(*args), 4)
    assert said.startswith(f"cannot {doing}: this daemon is older than the command and does not")


def test_a_refusal_is_the_daemons_own_sentence(byre, daemon, fault):
    daemon.replies["task.get"] = fault(
        -32001, "cannot find task 9; byre ls --all lists them", "not_found"
    )
    assert sentence(byre("show", "9"), 4) == "cannot find task 9; byre ls --all lists them"


def test_who_was_first_with_an_answer_is_said(byre, daemon, fault):
    daemon.replies["question.answer"] = fault(
        -32003, "question 3 was already answered by ann at 12:00; see byre questions", "conflict"
    )
    said = sentence(byre("answer", "3", "no"), 4)
    assert said.startswith("cannot answer question 3: question 3 was already answered by ann")


def test_a_refusal_in_json_is_the_error_as_it_came(byre, daemon, fault):
    daemon.replies["task.cancel"] = fault(-32002, "it has ended; nothing to do", "wrong_state")
    ended = byre("--json", "cancel", "7")
    sentence(ended, 4)
    assert ended.stdout == (
        '{"code": -32002, "message": "it has ended; nothing to do",'
        ' "data": {"kind": "wrong_state"}}\n'
    )


def test_another_program_on_the_socket_is_not_taken_for_byred(byre, tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "byred.sock"))
        listener.listen()

        def play():
            channel, _ = listener.accept()
            with channel:
                channel.recv(65536)
                channel.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        playing = threading.Thread(target=play)
        playing.start()
        said = sentence(byre("ls"), 3)
        playing.join(20)
    assert "does not speak byred's protocol; name the daemon's socket" in said


def test_a_daemon_that_hangs_up_is_no_daemon(byre, tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "byred.sock"))
        listener.listen()

        def hang_up():
            listener.accept()[0].close()

        playing = threading.Thread(target=hang_up)
        playing.start()
        said = sentence(byre("ls"), 3)
        playing.join(20)
    assert "hung up before it answered; see its log" in said


def test_a_reply_of_another_kind_is_a_sentence_too(byre, daemon):
    daemon.replies["task.list"] = {"jobs": []}
    said = sentence(byre("ls"), 4)
    assert "KeyError: 'tasks'" in said
    assert "compare byre --version" in said


def test_bytes_that_are_no_text_are_refused_before_they_are_sent(byre, daemon):
    assert "not text" in sentence(byre("tell", "7", "-", given=b"\xff\xfe\n"), 2)
    assert "not text" in sentence(byre("tell", "7", b"\xff".decode(errors="surrogateescape")), 2)
    assert daemon.calls == []


def test_a_current_directory_that_is_gone_is_named(byre, daemon, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    byre.folder = gone
    byre.before = "import os; os.rmdir(os.getcwd())"
    assert "the current directory is gone" in sentence(byre("submit", "x"), 2)


def test_a_full_disk_is_a_sentence(byre, daemon, task):
    daemon.replies["task.list"] = {"tasks": [task()], "next": None}
    with Path("/dev/full").open("w") as full:
        ended = byre("ls", stdout=full)
    assert "cannot write the output: No space left on device" in sentence(ended, 1)


def test_a_reader_that_leaves_early_is_no_failure(byre, daemon, task):
    daemon.replies["task.list"] = {"tasks": [task(n) for n in range(1, 3000)], "next": None}
    with byre.running("ls", "--all") as process:
        assert process.stdout.readline().startswith("ID")
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(20) == 141


def test_ctrl_c_is_quiet(byre, daemon):
    daemon.replies["daemon.status"] = {"seq": 1}
    daemon.replies["events.follow"] = {"seq": 1}
    with byre.running("--json", "watch") as process:
        daemon.wait_for("events.follow")
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20) == ("", "")
        assert process.returncode == 130


def test_closed_streams_are_survived(byre, daemon, task):
    daemon.replies["task.list"] = {"tasks": [task()], "next": None}
    byre.before = "import os, sys; sys.stdin = sys.stdout = None"
    ended = byre("ls")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
