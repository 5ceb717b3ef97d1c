"""`byre submit`: where the prompt comes from, what is sent, and waiting for the end."""

import json
import subprocess

import pytest

EDITOR = """#!/bin/sh
cp "$1" "{seen}"
printf '%s\\n' "$1" > "{path}"
printf '# Fix it\\n\\nand test it\\n' | cat - "$1" > "$1.new" && mv "$1.new" "$1"
"""


@pytest.fixture
def accepting(daemon, task):
    """A daemon that takes whatever is submitted."""
    daemon.replies["task.submit"] = lambda params: task(
        12, "queued", title=params.get("title", "from the prompt"), prompt=params["prompt"]
    )
    return daemon


@pytest.fixture
def editor(tmp_path):
    """An editor that writes a text, and remembers what it was shown and which file that was."""
    program = tmp_path / "editor"
    seen, path = tmp_path / "seen", tmp_path / "path"
    program.write_text(EDITOR.format(seen=seen, path=path))
    program.chmod(0o755)
    return program


def test_every_option_reaches_the_daemon(byre, accepting, tmp_path):
    args = ["--repo", "work/../repo", "--base", "dev", "--title", "T", "--priority", "-2"]
    args += ["--after", "3", "--after", "4", "--label", "a", "--label", "b", "--key", "k1"]
    ended = byre("submit", *args, "do\nit")
    assert (ended.returncode, ended.stdout) == (0, "task 12 queued: T\n")
    assert accepting.asked("task.submit") == [
        {
            "prompt": "do\nit",
            "repo": str(tmp_path / "repo"),
            "base": "dev",
            "title": "T",
            "priority": -2,
            "depends_on": [3, 4],
            "labels": ["a", "b"],
            "key": "k1",
        }
    ]


def test_what_was_not_given_is_the_daemons_to_choose(byre, accepting, tmp_path):
    byre("submit", "do it")
    assert accepting.asked("task.submit") == [{"prompt": "do it", "repo": str(tmp_path)}]


def test_the_repository_around_the_current_directory_is_meant(byre, accepting, tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path / "repo"], check=True)
    byre.folder = tmp_path / "repo" / "deep" / "inside"
    byre.folder.mkdir(parents=True)
    byre("submit", "do it")
    assert accepting.asked("task.submit")[0]["repo"] == str(tmp_path / "repo")


def test_a_prompt_comes_from_standard_input_as_it_is(byre, accepting):
    byre("submit", "-", given="  first\n\nlast \n")
    assert accepting.asked("task.submit")[0]["prompt"] == "  first\n\nlast "


def test_a_prompt_that_begins_with_a_dash_needs_two(byre, accepting):
    assert byre("submit", "--", "-x marks it").returncode == 0
    assert accepting.asked("task.submit")[0]["prompt"] == "-x marks it"


@pytest.mark.parametrize("variable", ["VISUAL", "EDITOR"])
def test_on_a_terminal_the_editor_opens_and_its_comments_are_cut(
    byre, accepting, editor, tmp_path, variable
):
    with byre.on_terminal("submit", "--base", "dev", **{variable: str(editor)}) as tty:
        status, seen = tty.end()
    assert (status, seen) == (0, "task 12 queued: from the prompt\r\n")
    assert accepting.asked("task.submit")[0]["prompt"] == "# Fix it\n\nand test it"
    template = (tmp_path / "seen").read_text()
    assert template.startswith("\n---")
    assert "Everything from the line with the scissors on is cut off." in template
    assert f"repository: {tmp_path}\nbase: dev" in template
    assert not (tmp_path / "path").exists() or not _left(tmp_path)


def _left(tmp_path):
    """The files that the editor was given and that are still there."""
    return list(tmp_path.glob("byre-*.md"))


def test_visual_comes_before_editor_and_may_have_arguments(byre, accepting, editor):
    choice = {"VISUAL": f"env -- {editor}", "EDITOR": "/bin/false"}
    with byre.on_terminal("submit", **choice) as tty:
        assert tty.end()[0] == 0


@pytest.mark.parametrize(
    ("editor", "sentence"),
    [
        ("true", "the text is empty"),
        ("false", "the editor false ended with status 1"),
        ("/nonexistent/edit", "the editor /nonexistent/edit does not start"),
    ],
)
def test_an_editor_that_writes_nothing_submits_nothing(byre, accepting, tmp_path, editor, sentence):
    with byre.on_terminal("submit", EDITOR=editor) as tty:
        status, seen = tty.end()
    assert status == 2
    assert f"byre: cannot submit the task: {sentence}" in seen
    assert accepting.calls == []
    assert _left(tmp_path) == []


def test_no_editor_at_all_is_said(byre, accepting, tmp_path):
    with byre.on_terminal("submit", PATH=str(tmp_path)) as tty:
        status, seen = tty.end()
    assert status == 2
    assert "there is no editor to write in; set EDITOR" in seen


def test_a_text_that_was_refused_is_not_lost(byre, daemon, fault, editor, tmp_path):
    daemon.replies["task.submit"] = fault(-32005, "cannot take more tasks; try later", "limit")
    with byre.on_terminal("submit", EDITOR=str(editor), COLUMNS="400") as tty:
        status, seen = tty.end()
    (kept,) = _left(tmp_path)
    assert status == 4
    assert f"cannot take more tasks; try later (your text is kept in {kept})" in seen
    assert kept.read_text().startswith("# Fix it")


def test_without_a_daemon_no_editor_opens(byre, tmp_path, editor):
    with byre.on_terminal("submit", EDITOR=str(editor)) as tty:
        assert tty.end()[0] == 3
    assert not (tmp_path / "seen").exists()


class Life:
    """A task whose states a test moves on, with an event for each."""

    def __init__(self, daemon, task, question):
        self.daemon = daemon
        self.make = task
        self.task = task(12, "queued")
        self.seq = 40
        daemon.replies["task.submit"] = lambda _: self.task
        daemon.replies["task.get"] = lambda _: self.task
        daemon.replies["daemon.status"] = lambda _: {"seq": self.seq}
        daemon.replies["events.follow"] = lambda _: {"seq": self.seq}
        daemon.replies["question.list"] = {"questions": [question(3, task_id=12)], "next": None}

    def becomes(self, state, **changes):
        self.seq += 1
        self.task = self.make(12, state, **changes)
        event = {"seq": self.seq, "kind": f"task.{state}", "task_id": 12, "data": {}}
        self.daemon.notify("event", event)


@pytest.fixture
def life(daemon, task, question):
    return Life(daemon, task, question)


@pytest.mark.parametrize(("state", "status"), [("succeeded", 0), ("failed", 1), ("cancelled", 1)])
def test_waiting_ends_with_the_task_and_its_status(byre, daemon, life, state, status):
    with byre.running("submit", "--wait", "do it") as process:
        daemon.wait_for("task.get")
        life.becomes("running")
        daemon.wait_for("task.get", 2)
        daemon.notify("event", {"seq": 50, "kind": "task.running", "task_id": 99, "data": {}})
        life.becomes("waiting", questions=[3])
        daemon.wait_for("question.list")
        life.becomes(state, error={"kind": "agent", "message": "it broke"})
        output, errors = process.communicate(timeout=20)
    assert process.returncode == status
    assert errors == ""
    assert output.splitlines() == [
        "task 12 queued: Title 12",
        "task 12 running: Title 12",
        "task 12 waiting: Title 12",
        "question 3: Which name?; byre answer 3 answers it",
        f"task 12 {state}: Title 12",
        "it broke",
    ]
    assert len(daemon.asked("task.get")) == 4


def test_a_task_that_ended_before_one_could_follow_is_seen(byre, life, task):
    life.task = task(12, "succeeded")
    assert byre("submit", "--wait", "do it").returncode == 0


def test_waiting_in_json_prints_the_ended_task_only(byre, daemon, life):
    with byre.running("--json", "submit", "--wait", "do it") as process:
        daemon.wait_for("task.get")
        life.becomes("failed")
        output, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (1, "")
    assert json.loads(output) == life.task
    assert output.count("\n") == 1


def test_waiting_outlives_a_restart_of_the_daemon(byre, daemon, life):
    with byre.running("submit", "--wait", "do it") as process:
        daemon.wait_for("task.get")
        life.becomes("running")
        daemon.wait_for("task.get", 2)
        daemon.stop()
        assert "went away" in process.stderr.readline()
        daemon.start()
        daemon.wait_for("events.follow", 2)
        life.becomes("succeeded")
        output, errors = process.communicate(timeout=20)
    assert process.returncode == 0
    assert errors == "the daemon is back\n"
    assert output.endswith("task 12 succeeded: Title 12\n")
    assert [asked["after"] for asked in daemon.asked("events.follow")] == [40, 41]
