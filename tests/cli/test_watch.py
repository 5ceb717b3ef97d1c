"""`byre watch`: the screen of a terminal, or a line for every change."""

import os
import re
import signal
import termios

import pytest

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
ADVICE = "q ends this view"


class World:
    """What the daemon knows, which a test changes with an event."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.seq = 10
        self.tasks = []
        self.questions = []
        daemon.replies["daemon.status"] = lambda _: {"seq": self.seq}
        daemon.replies["events.follow"] = lambda _: {"seq": self.seq}
        daemon.replies["question.list"] = lambda _: {"questions": self.questions, "next": None}
        daemon.replies["task.list"] = lambda params: {
            "tasks": [task for task in self.tasks if task["state"] in params["states"]],
            "next": None,
        }

    def happens(self, kind, task_id=None, question_id=None, **data):
        self.seq += 1
        event = {
            "seq": self.seq,
            "at": "2026-01-02T03:04:05Z",
            "kind": kind,
            "task_id": task_id,
            "question_id": question_id,
            "data": data,
        }
        self.daemon.notify("event", event)


@pytest.fixture
def world(daemon):
    return World(daemon)


def test_the_screen_shows_tasks_and_questions_and_follows_them(byre, world, task, question):
    world.tasks = [task(8, "queued"), task(7, "running"), task(6, "succeeded")]
    with byre.on_terminal("watch") as tty:
        assert ENTER in tty.expect("1 queued, 1 running")
        shown = tty.expect(ADVICE)
        assert "Title 8" in shown
        assert "Title 6" in shown
        assert "open question" not in shown
        world.tasks[1] = task(7, "waiting")
        world.questions = [question(3, text="Red or\nblue?")]
        world.happens("question.asked", 7, 3)
        tty.expect("1 open question")
        tty.expect("question 3 of task 7: Red or blue?")
        tty.type("q")
        status, seen = tty.end()
    assert status == 0
    assert seen.endswith(LEAVE)


@pytest.mark.parametrize(("typed", "status"), [("q", 0), ("Q", 0), ("\x1b", 0), ("\x03", 130)])
def test_the_terminal_is_given_back_as_it_was(byre, world, typed, status):
    with byre.on_terminal("watch") as tty:
        before = tty.modes()
        tty.expect(ADVICE)
        assert not tty.modes()[3] & (termios.ICANON | termios.ECHO)
        tty.type(typed)
        ended, seen = tty.end()
        assert tty.modes() == before
    assert ended == status
    assert seen.endswith(LEAVE)
    assert "Traceback" not in seen


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_gives_the_terminal_back_too(byre, world, ending):
    with byre.on_terminal("watch") as tty:
        before = tty.modes()
        tty.expect(ADVICE)
        tty.process.send_signal(ending)
        status, seen = tty.end()
        assert tty.modes() == before
    assert status == 128 + ending
    assert seen.endswith(LEAVE)


def test_a_stopped_view_leaves_the_terminal_to_the_shell_and_comes_back(byre, world):
    with byre.on_terminal("watch") as tty:
        before = tty.modes()
        tty.expect(ADVICE)
        tty.type("\x1a")
        tty.expect(LEAVE)
        _, state = os.waitpid(tty.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(state)
        assert tty.modes() == before
        tty.process.send_signal(signal.SIGCONT)
        tty.expect(ENTER)
        tty.expect(ADVICE)
        tty.type("q")
        assert tty.end()[0] == 0


@pytest.mark.parametrize("size", [(80, 24), (40, 8), (20, 4), (200, 60)])
def test_the_view_fits_every_window(byre, world, task, question, size):
    columns, lines = size
    world.tasks = [task(n, "running", title="t" * 150) for n in range(60, 0, -1)]
    world.questions = [question(3, text="q" * 300)]
    with byre.on_terminal("watch", size=size, NO_COLOR="1") as tty:
        tty.expect("\x1b[H")
        tty.expect("\x1b[J")
        tty.expect("\x1b[H")
        picture = tty.expect("\x1b[J").removesuffix("\x1b[J")
        tty.type("q")
        tty.end()
    rows = [row.removesuffix("\x1b[K") for row in picture.split("\r\n")]
    assert len(rows) <= lines
    # A table never gets narrower than its fixed columns and eight of each other one.
    assert max(len(row) for row in rows) <= max(columns, 51)
    if lines > 4:
        assert any(row.startswith("  question 3 of task 7: qqq") for row in rows)
        assert any(re.match(r"… and \d+ more", row) for row in rows)


def test_a_change_of_the_window_is_drawn_at_once(byre, world, task):
    world.tasks = [task(7, "running", title="word " * 40)]
    with byre.on_terminal("watch", size=(60, 10)) as tty:
        tty.expect("…")
        tty.expect(ADVICE)
        tty.resize(300, 20)
        tty.expect("word " * 39 + "word")


def test_a_restart_of_the_daemon_is_shown_and_survived(byre, world, task):
    world.tasks = [task(7, "running")]
    with byre.on_terminal("watch") as tty:
        tty.expect(ADVICE)
        world.daemon.stop()
        tty.expect("the daemon went away")
        world.tasks = [task(7, "verifying")]
        world.daemon.start()
        tty.expect("1 verifying")
        tty.expect(ADVICE)
        tty.type("q")
        assert tty.end()[0] == 0
    assert [asked["after"] for asked in world.daemon.asked("events.follow")] == [10, 10]


def test_without_a_terminal_every_change_is_a_line(byre, world, task, question):
    world.tasks = [task(8, "queued"), task(7, "running")]
    world.questions = [question(3)]
    with byre.running("watch") as process:
        first = [process.stdout.readline() for _ in range(3)]
        assert first == [
            "task 7 running: Title 7\n",
            "task 8 queued: Title 8\n",
            "question 3 of task 7: Which name?\n",
        ]
        world.happens("task.waiting", 7, reason="waits\nfor an answer", was="running")
        world.happens("question.asked", 7, 4, text="Which\x1b[2J?")
        world.happens("daemon.reloaded")
        assert [process.stdout.readline() for _ in range(3)] == [
            "03:04:05  task.waiting  task 7  waits for an answer\n",
            "03:04:05  question.asked  task 7  question 4  Which\\x1b[2J?\n",
            "03:04:05  daemon.reloaded\n",
        ]


def test_a_dumb_terminal_gets_lines_too(byre, world, task):
    world.tasks = [task(7, "running")]
    with byre.on_terminal("watch", TERM="dumb") as tty:
        assert "\x1b" not in tty.expect("task 7 running: Title 7")


def test_in_json_every_event_is_passed_on(byre, world):
    with byre.running("--json", "watch") as process:
        world.daemon.wait_for("events.follow")
        world.daemon.send(b'{"method": "event","params":{"seq":11}}')
        assert process.stdout.readline() == '{"method": "event","params":{"seq":11}}\n'
