"""`byre doctor`: the report of the examination, as a table and as advice."""

import json

import pytest

CHECKS = [
    {"name": "codex", "status": "ok", "found": "0.163.0 at /opt/codex", "mend": ""},
    {"name": "disk", "status": "warn", "found": "2 GB free", "mend": "free some\nspace"},
    {"name": "git", "status": "fail", "found": "not on PATH", "mend": "install git"},
]


@pytest.fixture
def examined(byre, tmp_path):
    """Let another program stand where Python is started for the examination."""

    def prepare(output, status=0, errors=""):
        (tmp_path / "report").write_text(output)
        program = tmp_path / "python"
        program.write_text(
            f'#!/bin/sh\necho "$@" > {tmp_path}/args\ncat {tmp_path}/report\n'
            f"echo '{errors}' >&2\nexit {status}\n"
        )
        program.chmod(0o755)
        byre.before = f"import sys; sys.executable = {str(program)!r}"

    return prepare


def test_a_failed_check_is_shown_with_its_mend_and_a_status(byre, examined, tmp_path):
    examined(json.dumps({"checks": CHECKS}), status=1)
    ended = byre("doctor", "--config", "/etc/byred.toml")
    assert (ended.returncode, ended.stderr) == (1, "")
    assert ended.stdout == (
        "      CHECK  FOUND\n"
        "ok    codex  0.163.0 at /opt/codex\n"
        "warn  disk   2 GB free\n"
        "fail  git    not on PATH\n"
        "\n"
        "how to mend it\n"
        "  disk: free some space\n"
        "  git: install git\n"
        "\n"
        "1 check failed\n"
    )
    given = (tmp_path / "args").read_text().split()
    assert given == ["-P", "-m", "byred.doctor", "--json", "--config", "/etc/byred.toml"]


@pytest.mark.parametrize(
    ("checks", "last"), [(CHECKS[:2], "good enough to run"), (CHECKS[:1], "all is well")]
)
def test_warnings_are_no_failure(byre, examined, checks, last):
    examined(json.dumps({"checks": checks}))
    ended = byre("doctor")
    assert ended.returncode == 0
    assert ended.stdout.endswith(f"\n{last}\n")


def test_json_is_the_report_as_it_came(byre, examined):
    text = '{"checks": [ ],  "n":1.0}'
    examined(text + "\n")
    assert byre("--json", "doctor").stdout == text + "\n"


@pytest.mark.parametrize(
    ("output", "errors", "sentence"),
    [
        ("", "ImportError: no module", "ended without a report (ImportError: no module); run "),
        ("nonsense", "", "gave no report that can be read; run "),
        ('{"checks": [{"name": "x"}]}', "", "gave no report that can be read; run "),
    ],
)
def test_an_examination_that_fails_is_one_sentence(byre, examined, output, errors, sentence):
    examined(output, status=3, errors=errors)
    ended = byre("doctor")
    assert ended.returncode == 4
    assert ended.stdout == ""
    assert ended.stderr.startswith("byre: cannot examine the set-up: ")
    assert sentence in ended.stderr
    assert ended.stderr.count("\n") == 1


def finding(number, **more):
    told = {"task_id": number, "path": f"/t/{number}/home/r\n.jsonl", "gaps": [], "problems": []}
    return told | {"lines": 9, "turns": 1, "healthy": True} | more


def test_broken_records_say_what_is_lost_and_what_can_be_saved(byre, examined, tmp_path):
    gaps = [{"offset": n * 1000, "length": 1500, "reason": "torn"} for n in range(7)]
    told = [
        finding(1),
        finding(2, healthy=False, gaps=gaps, problems=["its numbering\njumps"]),
        finding(3, healthy=False, problems=["it has no whole line"], lines=0, turns=0),
    ]
    examined(json.dumps({"rollouts": told}), status=1)
    ended = byre("doctor", "--rollouts", "--config", "/etc/byred.toml")
    assert (ended.returncode, ended.stderr) == (1, "")
    assert ended.stdout == (
        "task 2  /t/2/home/r .jsonl\n"
        "  1,500 bytes at 0 cannot be read: torn\n"
        "  1,500 bytes at 1,000 cannot be read: torn\n"
        "  1,500 bytes at 2,000 cannot be read: torn\n"
        "  1,500 bytes at 3,000 cannot be read: torn\n"
        "  1,500 bytes at 4,000 cannot be read: torn\n"
        "  and 2 such places more\n"
        "  its numbering jumps\n"
        f"  9 lines of 1 turn can be saved: {tmp_path}/python -m byred.codex.rollout salvage"
        " /t/2/home/r .jsonl NEW\n"
        "\n"
        "task 3  /t/3/home/r .jsonl\n"
        "  it has no whole line\n"
        "  nothing of it can be saved\n"
        "\n"
        "1 record whole\n"
        "2 records broken\n"
    )
    given = (tmp_path / "args").read_text().split()
    assert given == [
        "-P",
        "-m",
        "byred.doctor",
        "--json",
        "--rollouts",
        "--config",
        "/etc/byred.toml",
    ]


def test_whole_records_are_counted_and_json_is_the_report(byre, examined):
    report = json.dumps({"rollouts": [finding(1), finding(2)]})
    examined(report)
    ended = byre("doctor", "--rollouts")
    assert (ended.returncode, ended.stdout) == (0, "2 records whole\n")
    assert byre("--json", "doctor", "--rollouts").stdout == f"{report}\n"


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ('{"error": "bad key"}', "cannot examine the records: bad key"),
        ('{"rollouts": [{}]}', "gave no report that can be read; run"),
        ("nonsense", "gave no report that can be read; run"),
    ],
)
@pytest.mark.promise("errors_say_what_to_do")
def test_a_report_on_records_that_is_none_is_refused(byre, examined, output, says):
    examined(output, status=1)
    ended = byre("doctor", "--rollouts")
    assert ended.returncode == 4
    assert says in ended.stderr


def test_the_records_of_real_tasks_are_examined(byre, tmp_path):
    sessions = tmp_path / "state" / "tasks" / "7" / "home" / "sessions"
    sessions.mkdir(parents=True)
    (tmp_path / "state" / "tasks" / "scratch").mkdir()
    thread = "01a00000-0000-7000-8000-000000000001"
    record = sessions / f"rollout-2026-01-01T00-00-00-{thread}.jsonl"
    record.write_text(
        f'{{"timestamp":"t","type":"session_meta","payload":{{"id":"{thread}"}}}}\n'
        '{"timestamp":"t","type":"event_msg","payload":{"type":"task_started","turn_id":"t"}}\n'
    )
    config = tmp_path / "byred.toml"
    config.write_text(f'[daemon]\nstate_dir = "{tmp_path}/state"\n')
    given = ("doctor", "--rollouts", "--config", str(config))
    ended = byre(*given)
    assert (ended.returncode, ended.stdout) == (0, "1 record whole\n")
    with record.open("a") as out:
        out.write('{"timestamp":"t","type":"eve')
    ended = byre(*given)
    assert ended.returncode == 1
    assert "28 bytes at " in ended.stdout
    assert "the line is torn" in ended.stdout
    assert "2 lines of 1 turn can be saved" in ended.stdout
    (told,) = json.loads(byre("--json", *given).stdout)["rollouts"]
    assert (told["task_id"], told["lost"], told["open_turn"]) == (7, 28, "t")
    config.write_text("[daemon]\nstate_dir = 3\n")
    assert byre(*given).returncode == 4


def test_the_database_is_looked_through_when_asked_and_nothing_is_imported_from_here(
    byre, tmp_path, monkeypatch
):
    # Of what the examination needs and the command does not.
    (tmp_path / "msgspec.py").write_text("raise SystemExit('from here')\n")
    config = tmp_path / "byred.toml"
    config.write_text(f'[daemon]\nstate_dir = "{tmp_path}/state"\nsocket = "{tmp_path}/s"\n')
    monkeypatch.chdir(tmp_path)
    ended = byre("--json", "doctor", "--db", "--config", str(config))
    assert "from here" not in ended.stdout + ended.stderr
    assert "database" in [check["name"] for check in json.loads(ended.stdout)["checks"]]
