"""What each verb asks the daemon, and what it prints of the reply."""

import pytest

CHANGES = [
    (["tell", "7", "also the docs"], "task.tell", {"id": 7, "text": "also the docs"}),
    (["interrupt", "7"], "task.interrupt", {"id": 7}),
    (["cancel", "7"], "task.cancel", {"id": 7}),
    (["retry", "7"], "task.retry", {"id": 7}),
    (["fork", "7"], "task.fork", {"id": 7}),
    (["fork", "7", "--turn", "2"], "task.fork", {"id": 7, "turn": 2}),
    (
        ["fork", "7", "and now", "--title", "x"],
        "task.fork",
        {"id": 7, "prompt": "and now", "title": "x"},
    ),
    (["hold", "7"], "task.hold", {"id": 7}),
    (["release", "7"], "task.release", {"id": 7}),
]
# A reply with everything in it that decoding and encoding would change.
AS_IT_CAME = r'{"id":7, "state":"failed","n":1.50e+2,"text":"\u00fc\n","tasks":[],"questions":[]}'
REPLIES = [
    *CHANGES,
    (["ls"], "task.list", None),
    (["show", "7"], "task.get", {"id": 7}),
    (["questions"], "question.list", {"states": ["open"]}),
    (["answer", "3", "yes"], "question.answer", {"id": 3, "text": "yes"}),
    (["explain", "7"], "task.explain", {"id": 7}),
    (["diff", "7"], "task.diff", {"id": 7}),
    (["diff", "7", "--turn", "2"], "task.diff", {"id": 7, "turn": 2}),
    (["turns", "7"], "task.turns", None),
    (["merge", "7"], "task.merge", {"id": 7}),
    (
        ["merge", "7", "--squash", "--into", "x"],
        "task.merge",
        {"id": 7, "into": "x", "how": "squash"},
    ),
    (["merge", "7", "--tell"], "task.merge", {"id": 7, "tell": True}),
    (["discard", "7"], "task.discard", {"id": 7}),
    (["undelete", "7"], "task.undelete", {"id": 7}),
    (["restore", "7", "--turn", "2"], "task.restore", {"id": 7, "turn": 2}),
    (["patches", "7", "/nowhere/yet"], "task.patches", {"id": 7}),
    (["gc", "--dry-run"], "daemon.gc", {"dry_run": True}),
    (
        ["gc", "--older-than", "2h", "--keep", "3", "--within", "1.5GB"],
        "daemon.gc",
        {"dry_run": False, "age": 7200, "count": 3, "size": 1_500_000_000},
    ),
    (["trust", "/r"], "repo.trust", {"repo": "/r"}),
    (["trust", "--list"], "repo.list", {}),
    (["untrust", "/r"], "repo.untrust", {"repo": "/r"}),
    (["status"], "daemon.status", {}),
    (["submit", "do it"], "task.submit", None),
]


def names(cases):
    return [" ".join(case[0]) for case in cases]


@pytest.mark.parametrize(("args", "method", "params"), CHANGES, ids=names(CHANGES))
def test_a_verb_that_changes_a_task_says_what_became_of_it(
    byre, daemon, task, args, method, params
):
    daemon.replies[method] = task(7, "queued", title="Mend\x1b[2J the parser")
    ended = byre(*args)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "task 7 queued: Mend\\x1b[2J the parser\n"
    assert daemon.calls == [(method, params)]


@pytest.mark.parametrize(("args", "method", "params"), REPLIES, ids=names(REPLIES))
def test_json_is_the_reply_to_the_byte(byre, daemon, raw, args, method, params):
    daemon.replies[method] = raw(AS_IT_CAME)
    for line in (["--json", *args], [*args, "--json"]):
        ended = byre(*line)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert ended.stdout == AS_IT_CAME + "\n"
    if params is not None:
        assert daemon.calls == [(method, params)] * 2


def test_json_is_utf_8_whatever_the_locale(byre, daemon, raw):
    daemon.replies["daemon.status"] = raw('{"version":"ü日"}')
    ended = byre("--json", "status", LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert ended.stdout == '{"version":"ü日"}\n'


def test_a_title_that_the_locale_cannot_spell_ends_nothing(byre, daemon, task):
    daemon.replies["task.hold"] = task(title="ü \ud800")
    ended = byre("hold", "7", PYTHONIOENCODING="ascii")
    assert (ended.returncode, ended.stdout) == (0, "task 7 running: \\xfc \\ud800\n")


def test_the_socket_may_be_named_before_or_after_the_verb(byre, daemon, tmp_path):
    daemon.replies["task.list"] = {"tasks": [], "next": None}
    for args in (["--socket", str(daemon.path), "ls"], ["ls", "--socket", str(daemon.path)]):
        ended = byre(*args, BYRE_SOCKET=str(tmp_path / "elsewhere"))
        assert (ended.returncode, ended.stderr) == (0, "")


def test_ls_asks_for_what_has_not_ended(byre, daemon, task):
    daemon.replies["task.list"] = {"tasks": [task(8, "waiting"), task(7)], "next": None}
    ended = byre("ls")
    assert (ended.returncode, ended.stderr) == (0, "")
    head, first, second = ended.stdout.splitlines()
    assert head.split() == ["ID", "STATE", "AGE", "TRY", "REPO", "TITLE"]
    assert first.split()[:2] == ["8", "waiting"]
    assert second.endswith("parser  Title 7")
    states = daemon.asked("task.list")[0]["states"]
    assert {"queued", "running", "waiting", "held", "backing_off"} <= set(states)
    assert not {"succeeded", "failed", "cancelled"} & set(states)


@pytest.mark.parametrize(
    ("args", "params"),
    [
        (["--all"], {}),
        (["--state", "failed", "--state", "held"], {"states": ["failed", "held"]}),
        (["--all", "--label", "night"], {"label": "night"}),
    ],
)
def test_ls_passes_its_filters_on(byre, daemon, args, params):
    daemon.replies["task.list"] = {"tasks": [], "next": None}
    assert byre("ls", *args).stdout == "no such task\n"
    assert daemon.asked("task.list") == [params]


def test_ls_with_nothing_to_show_says_where_the_ended_ones_are(byre, daemon):
    daemon.replies["task.list"] = {"tasks": [], "next": None}
    assert "byre ls --all shows the ended ones" in byre("ls").stdout


def test_ls_reads_on_until_there_is_no_more(byre, daemon, task):
    def page(params):
        before = params.get("before", 6)
        numbers = list(range(before - 1, max(0, before - 3), -1))
        return {
            "tasks": [task(n) for n in numbers],
            "next": numbers[-1] if numbers[-1] > 1 else None,
        }

    daemon.replies["task.list"] = page
    shown = byre("ls", "--all").stdout.splitlines()[1:]
    assert [line.split()[0] for line in shown] == ["5", "4", "3", "2", "1"]
    assert [asked.get("before") for asked in daemon.asked("task.list")] == [None, 4, 2]
    assert len(byre("--json", "ls", "--all").stdout.splitlines()) == 3


def test_show_prints_what_is_known_and_leaves_out_what_is_not(byre, daemon, task, question):
    daemon.replies["task.get"] = task(
        7,
        "waiting",
        reason="waits for an answer",
        questions=[3],
        labels=["night", "docs"],
        depends_on=[5, 6],
        ports={"web": 20001, "api": 20002},
        error={"kind": "agent", "message": "the turn failed"},
        result={"summary": "Did it.", "commits": ["abc"], "files_changed": 2, "dirty": True},
    )
    daemon.replies["question.list"] = {"questions": [question(options=["a", "b"])], "next": None}
    ended = byre("show", "7")
    assert (ended.returncode, ended.stderr) == (0, "")
    for line in (
        "task 7 waiting: Title 7",
        "  prompt      Do it.\n              Well.",
        "  reason      waits for an answer",
        "  error       agent: the turn failed",
        "  result      Did it.",
        "  made        1 commit, 2 files changed, changes that are not committed",
        "  branch      byre/7-title",
        "  ports       web http://localhost:20001\n              api http://localhost:20002\n",
        "  commits as  byre 7 <byre+7@localhost>",
        "  labels      night, docs",
        "  after       task 5, task 6",
        "  tokens      1,234 (1,200 in, 200 of them cached, 34 out)",
        "Which name?\n  1  a\n  2  b\nanswer it with byre answer 3",
    ):
        assert line in ended.stdout
    assert "ended" not in ended.stdout
    assert daemon.asked("question.list") == [{"states": ["open"], "task_id": 7}]


def test_show_asks_for_no_questions_when_none_is_open(byre, daemon, task):
    daemon.replies["task.get"] = task()
    assert byre("show", "7").returncode == 0
    assert [method for method, _ in daemon.calls] == ["task.get"]


def test_explain_prints_the_reason_the_facts_and_what_to_do(byre, daemon):
    daemon.replies["task.explain"] = {
        "id": 7,
        "state": "queued",
        "why": "two of two tasks of this repository run",
        "facts": [{"name": "max_per_repo", "value": 2}, {"name": "ahead", "value": "task 5"}],
        "next": [{"command": "byre cancel 7", "what": "gives it up"}],
    }
    assert byre("explain", "7").stdout == (
        "two of two tasks of this repository run\n\n"
        "facts\n  max_per_repo  2\n  ahead         task 5\n\n"
        "what you can do\n  byre cancel 7  gives it up\n"
    )


DIFF = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\x1b[2J\r\n+new\n no newline"


def test_a_diff_for_a_program_is_exact(byre, daemon):
    daemon.replies["task.diff"] = {"id": 7, "base": "main", "diff": DIFF}
    assert byre("diff", "7").stdout == DIFF


def test_a_diff_on_a_terminal_has_colours_and_no_control_characters(byre, daemon):
    daemon.replies["task.diff"] = {"id": 7, "base": "main", "diff": DIFF}
    with byre.on_terminal("diff", "7") as tty:
        status, seen = tty.end()
    assert status == 0
    assert "\x1b[32m+new\x1b[0m" in seen
    assert "\x1b[31m-old\\x1b[2J\x1b[0m" in seen
    assert "\x1b[1m--- a/x\x1b[0m" in seen


def test_an_empty_diff_is_said_to_a_person_only(byre, daemon):
    daemon.replies["task.diff"] = {"id": 7, "base": "main", "diff": ""}
    assert byre("diff", "7").stdout == ""
    with byre.on_terminal("diff", "7") as tty:
        assert "task 7 has changed nothing" in tty.end()[1]


def test_status_shows_the_daemon_codex_and_the_work(byre, daemon):
    daemon.replies["daemon.status"] = {
        "version": "0.1.0",
        "pid": 4242,
        "started_at": "2026-01-02T03:04:05Z",
        "socket": "/run/byred/byred.sock",
        "state_dir": "/var/lib/byred",
        "codex": {"path": "/opt/codex", "version": "0.163.0", "source": "package"},
        "running": 2,
        "max_running": 4,
        "tasks": {"succeeded": 9, "running": 2, "dreaming": 1},
        "questions_open": 1,
        "seq": 99,
        "draining": True,
    }
    shown = byre("status").stdout
    for line in (
        "byred     0.1.0, pid 4242; it is ending and starts nothing more\n",
        "codex     0.163.0 (package): /opt/codex\n",
        "running   2 of at most 4\n",
        "tasks     2 running, 9 succeeded, 1 dreaming\n",
        "1 open question: see byre questions\n",
    ):
        assert line in shown


@pytest.mark.parametrize("name", ["paused", "full"])
def test_status_says_why_nothing_new_starts(byre, daemon, name):
    daemon.replies["daemon.status"] = {"version": "0.1.0", "pid": 1, name: "there is\nno room"}
    assert "nothing new starts: there is no room\n" in byre("status").stdout


def test_status_without_codex_and_tasks_is_short(byre, daemon):
    daemon.replies["daemon.status"] = {"version": "0.1.0", "pid": 1, "codex": None, "tasks": {}}
    shown = byre("status").stdout
    assert "codex" not in shown
    assert "tasks     none\n" in shown
