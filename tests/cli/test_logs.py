"""`byre logs`: all that an agent said and did, once, in order, and to the end."""

import json

import pytest


def line(seq, kind="message", text="text"):
    return {"seq": seq, "at": f"2026-01-02T03:04:{seq:02}Z", "kind": kind, "text": text}


@pytest.fixture
def log(daemon):
    """A daemon with a log of seven lines, two a page."""
    lines = [
        line(1, "state", "running"),
        line(2, "command", "ls\n-la"),
        line(3, "output", "a\x1b[31mb\n"),
        line(4, "reasoning", ""),
        line(5, "question", "Why?"),
        line(6, "answer", "Because."),
        line(7, "new-kind", "unheard of"),
    ]

    def page(params):
        found = [each for each in lines if each["seq"] > params["after"]]
        more = found[1]["seq"] if len(found) >= 2 else None
        return {"id": 7, "lines": found[:2], "next": more}

    daemon.replies["task.log"] = page
    daemon.lines = lines
    return daemon


SHOWN = [
    "03:04:01  state      running",
    "03:04:02  command    ls",
    "                     -la",
    "03:04:03  output     a\\x1b[31mb",
    "03:04:04  reasoning",
    "03:04:05  question   Why?",
    "03:04:06  answer     Because.",
    "03:04:07  new-kind   unheard of",
]


def test_a_log_is_read_page_by_page(byre, log):
    ended = byre("logs", "7")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [text.rstrip() for text in ended.stdout.splitlines()] == SHOWN
    assert [asked["after"] for asked in log.asked("task.log")] == [0, 2, 4, 6]
    assert not any("follow" in asked for asked in log.asked("task.log"))


def test_an_empty_log_is_empty(byre, daemon):
    daemon.replies["task.log"] = {"id": 7, "lines": [], "next": None}
    assert byre("logs", "7").stdout == ""
    assert byre("--json", "logs", "7").stdout == '{"id": 7, "lines": [], "next": null}\n'


def test_following_goes_on_from_the_last_line_until_the_task_has_ended(byre, log):
    with byre.running("logs", "7", "-f") as process:
        log.wait_for("task.log", 5)
        assert log.asked("task.log")[-1] == {"id": 7, "after": 7, "follow": True}
        log.notify("log", {"id": 7, "line": line(7, "new-kind", "heard twice")})
        log.notify("log", {"id": 8, "line": line(8, "message", "another task's")})
        log.notify("log", {"id": 7, "line": line(8, "message", "more")})
        log.notify("log.end", {"id": 7, "state": "failed"})
        output, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")
    shown = [text.rstrip() for text in output.splitlines()]
    assert shown == [*SHOWN, "03:04:08  message    more", "task 7 failed"]


def test_a_line_appears_when_it_comes(byre, log):
    with byre.running("logs", "7", "-f") as process:
        for _ in SHOWN:
            process.stdout.readline()
        log.wait_for("task.log", 5)
        log.notify("log", {"id": 7, "line": line(8, "message", "now")})
        assert process.stdout.readline().endswith("now\n")


def test_following_in_json_passes_every_message_on(byre, daemon):
    reply = {"id": 7, "lines": [line(1)], "next": None}
    daemon.replies["task.log"] = lambda params: (
        reply if not params["after"] else reply | {"lines": []}
    )
    with byre.running("--json", "logs", "7", "-f") as process:
        daemon.wait_for("task.log", 2)
        daemon.send(b'{"method":"log",  "params":{"id":7,"line":{"seq":2}}}')
        daemon.send(b'{"method":"log.end","params":{"id":7,"state":"succeeded"}}')
        output, _ = process.communicate(timeout=20)
    first, *rest = output.splitlines()
    assert json.loads(first) == reply
    assert rest == [
        '{"method":"log",  "params":{"id":7,"line":{"seq":2}}}',
        '{"method":"log.end","params":{"id":7,"state":"succeeded"}}',
    ]


def test_following_outlives_a_restart_and_repeats_nothing(byre, log):
    with byre.running("logs", "7", "-f") as process:
        log.wait_for("task.log", 5)
        log.stop()
        assert "the daemon went away" in process.stderr.readline()
        log.lines.append(line(8, "message", "said meanwhile"))
        log.start()
        log.wait_for("task.log", 7)
        log.notify("log.end", {"id": 7, "state": "succeeded"})
        output, errors = process.communicate(timeout=20)
    assert errors == "the daemon is back\n"
    shown = [text.rstrip() for text in output.splitlines()]
    assert shown == [*SHOWN, "03:04:08  message    said meanwhile", "task 7 succeeded"]
