"""`byre history`, `byre replay` and `byre export`: what happened, told to a person or a program."""

import json

import pytest

ZERO = {"input": 0, "cached_input": 0, "output": 0, "reasoning": 0, "total": 0}
TOKENS = {"input": 1200, "cached_input": 200, "output": 34, "reasoning": 4, "total": 1234}
ABOUT = {
    "thread_ids": ["thread-1"],
    "tokens": TOKENS,
    "counted": TOKENS,
    "turn_count": 2,
    "breaks": [],
    "missing": [],
    "sub_agents": [],
}
AT = "2026-01-02T03:04:05.000Z"


def step(kind="said", text="text", **more):
    return {"kind": kind, "at": AT, "text": text, **more}


def turn(number=1, *steps, status="completed", **more):
    told = {"number": number, "id": f"turn-{number}", "status": status, "tokens": ZERO}
    return told | {"started_at": AT, "steps": list(steps)} | more


STEPS = [
    step("context", "never shown"),
    step("asked", "Mend it.\nWell."),
    step("thought", "Hm."),
    step("ran", "make", output="a\x1b[31mb\n", status="failed", exit_code=2, duration_ms=1234),
    step("ran", "sleep 9", status="lost"),
    step("changed", "", changes=[{"path": "a\nb", "kind": "update", "diff": "@@ 1\n-x\n+y"}]),
    step("changed", changes=[{"path": "a", "kind": "update", "moved_to": "b"}]),
    step("called", "{}", name="web/find", output="found", duration_ms=90),
    step("question", "Which?", output="blue"),
    step("answered", "", output="later"),
    step("pictured", "x.png", images=["data:image/png;base64," + "A" * 500]),
    step("went_wrong", "it broke"),
    step("noted", "a note", name="goal"),
    step("new_kind", "unheard of"),
    step("said", "Done."),
]
SHOWN = """\
turn 1  completed, 3 m 5 s, 1,234 tokens, taken back, inherited, 2026-01-02 03:04:05
03:04:05  asked      Mend it.
                     Well.
03:04:05  thought    Hm.
03:04:05  ran        make  (failed, exit 2, 1.2 s)
                     a\\x1b[31mb
03:04:05  ran        sleep 9  (its process ended)
03:04:05  changed    update a b
                     @@ 1
                     -x
                     +y
03:04:05  changed    update a -> b
03:04:05  called     {}  (web/find, 90 ms)
                     found
03:04:05  question   Which?
                     blue
03:04:05  answered
                     later
03:04:05  picture    x.png
                     data:image/png;base64,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
03:04:05  error      it broke
03:04:05  noted      a note  (goal)
03:04:05  new_kind   unheard of
03:04:05  said       Done.

turn 2  failed, 2026-01-02 03:04:05
--:--:--  error      the model is gone

2 turns; tokens: 1,234 (1,200 in, 200 of them cached, 34 out)
"""


BROKEN = (
    "the record is broken in 1 place, 1,500 bytes of it cannot be read; see byre doctor --rollouts"
)


def plain(output):
    """What was printed, without ages, which grow, and spaces at the ends of lines."""
    lines = (
        line.partition(" (")[0] if line[:5] == "turn " else line for line in output.split("\n")
    )
    return "\n".join(line.rstrip() for line in lines)


def test_a_history_is_told_turn_by_turn(byre, daemon):
    more = {"duration_ms": 185_000, "tokens": TOKENS, "undone": True, "inherited": True}
    turns = [turn(1, *STEPS, **more), turn(2, status="failed", error="the model\nis gone")]
    daemon.replies["task.history"] = {"id": 7, "turns": turns, "more": False, **ABOUT}
    ended = byre("history", "7")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert plain(ended.stdout) == SHOWN
    assert daemon.asked("task.history") == [{"id": 7}]


def test_the_options_choose_turns(byre, daemon):
    daemon.replies["task.history"] = {"id": 7, "turns": [], "more": False, **ABOUT}
    for given in (
        ("--turn", "3"),
        ("--turn", "-1"),
        ("--turn", "01a2-b"),
        ("--last", "2"),
        ("--since", "2026-01-02T03:04:05+01:00"),
        ("--since", "2026-01-02"),
    ):
        assert byre("history", "7", *given).returncode == 0
    byre("history", "7", "--since", "2h")
    *asked, ago = daemon.asked("task.history")
    assert asked == [
        {"id": 7, "turn": 3},
        {"id": 7, "turn": -1},
        {"id": 7, "turn": "01a2-b"},
        {"id": 7, "last": 2},
        {"id": 7, "since": "2026-01-02T02:04:05.000Z"},
        {"id": 7, "since": "2026-01-02T00:00:00.000Z"},
    ]
    assert ago["since"].endswith("Z")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("history",), "cannot tell a history: give a task's ID, or --search TEXT"),
        (("history", "7", "--turn", "1", "--last", "2"), "--turn and --last exclude each other"),
        (("history", "7", "--turn", "1", "-f"), "--turn and --follow exclude each other"),
        (("history", "7", "--since", "soon"), "--since soon is no time; give 2026-01-31T12:00"),
        (("history", "7", "--search", "x", "--last", "1"), "cannot search and tell at once"),
        (("history", "7", "--case"), "cannot use --case or --limit without --search TEXT"),
        (("history", "0"), "cannot run byre history"),
        (("replay", "7", "--speed", "0"), "cannot run byre replay"),
        (("export", "7", "--format", "pdf"), "cannot run byre export"),
    ],
)
@pytest.mark.promise("errors_say_what_to_do")
def test_what_cannot_be_meant_is_wrong_usage(byre, daemon, given, says):
    ended = byre(*given)
    assert ended.returncode == 2
    assert says in ended.stderr
    assert not daemon.calls


def test_json_is_every_message_as_it_came(byre, daemon, raw):
    reply = '{"id": 7,  "turns": [], "more": true}'
    daemon.replies["task.history"] = raw(reply)
    with byre.running("--json", "history", "7") as process:
        daemon.wait_for("task.history")
        lines = [
            '{"method":"history",  "params":{"id":7,"turn":{"number":1}}}',
            '{"method":"history.end","params":{"id":7,"turn_count":1}}',
        ]
        for line in lines:
            daemon.send(line.encode())
        output, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")
    assert output.splitlines() == [reply, *lines]


def test_what_comes_behind_the_reply_is_told_too(byre, daemon):
    daemon.replies["task.history"] = {"id": 7, "turns": [turn(1, step(text="a"))], "more": True}
    with byre.running("history", "7") as process:
        daemon.wait_for("task.history")
        # Of a long turn a second piece, another task's turn, and a turn of its own.
        daemon.notify("history", {"id": 7, "turn": turn(1, step(text="b"))})
        daemon.notify("history", {"id": 8, "turn": turn(1, step(text="no"))})
        daemon.notify("history", {"id": 7, "turn": turn(2, step(text="c"))})
        daemon.notify("history.end", {"id": 7, **ABOUT, "tokens": ZERO})
        output, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")
    assert plain(output).splitlines() == [
        "turn 1  completed, 2026-01-02 03:04:05",
        "03:04:05  said       a",
        "03:04:05  said       b",
        "",
        "turn 2  completed, 2026-01-02 03:04:05",
        "03:04:05  said       c",
        "",
        "2 turns",
    ]


def test_an_answer_that_breaks_off_is_said_with_a_status(byre, daemon):
    error = {"kind": "invalid", "message": "cannot read the record: its reader\nended"}
    for verb, method, name in (
        ("history", "task.history", "history.end"),
        ("export", "task.record", "record.end"),
    ):
        daemon.replies[method] = {"id": 7, "turns": [], "text": "begin", "more": True}
        with byre.running(verb, "7") as process:
            daemon.wait_for(method)
            daemon.notify(name, {"id": 7, "error": error})
            _, errors = process.communicate(timeout=20)
        assert (process.returncode, errors) == (
            4,
            "byre: cannot read the record: its reader ended\n",
        )


def test_following_shows_each_step_once_and_how_a_turn_ended(byre, daemon):
    daemon.replies["task.history"] = {"id": 7, "turns": [], "more": True}
    with byre.running("history", "7", "-f") as process:
        daemon.wait_for("task.history")

        def tell(*steps, status="open", **more):
            daemon.notify("history", {"id": 7, "turn": turn(1, *steps, status=status, **more)})

        tell(step(text="a"))
        tell(step(text="b"))
        assert [process.stdout.readline() for _ in range(3)][1:] == [
            "03:04:05  said       a\n",
            "03:04:05  said       b\n",
        ]
        daemon.stop()
        assert "the daemon went away" in process.stderr.readline()
        daemon.start()
        daemon.wait_for("task.history", 2)
        tell(step(text="a"), step(text="b"), step(text="c"))
        tell(status="failed", error="gone", tokens=TOKENS)
        daemon.notify("history.end", {"id": 7, **ABOUT, "turn_count": 1})
        output, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "the daemon is back\n")
    assert plain(output).splitlines() == [
        "03:04:05  said       c",
        "turn 1  failed, 1,234 tokens, 2026-01-02 03:04:05",
        "--:--:--  error      gone",
        "",
        "1 turn; tokens: 1,234 (1,200 in, 200 of them cached, 34 out)",
    ]
    assert daemon.asked("task.history") == [{"id": 7, "follow": True}] * 2


def test_turns_told_again_after_a_restart_are_passed_over(byre, daemon):
    told = [turn(1, step(text="a")), turn(2, step(text="b"), status="open")]
    daemon.replies["task.history"] = {"id": 7, "turns": told, "more": True}
    with byre.running("history", "7", "-f") as process:
        daemon.wait_for("task.history")
        for _ in range(5):
            process.stdout.readline()
        daemon.stop()
        daemon.start()
        daemon.wait_for("task.history", 2)
        daemon.notify("history.end", {"id": 7, **ABOUT, "tokens": ZERO})
        output, _ = process.communicate(timeout=20)
    assert output == "\n2 turns\n"


def test_a_record_that_is_not_whole_says_so(byre, daemon):
    about = ABOUT | {
        "breaks": [{"path": "p", "offset": 1, "length": 1500, "reason": "torn"}],
        "missing": ["0abc"],
        "sub_agents": ["p", "q"],
        "turn_count": 0,
        "tokens": ZERO,
    }
    daemon.replies["task.history"] = {"id": 7, "turns": [], "more": False, **about}
    assert byre("history", "7").stdout.splitlines() == [
        "0 turns",
        BROKEN,
        "it builds on records that are gone: 0abc",
        "2 sub-agents took part, not told here",
    ]


def test_a_long_output_is_shown_by_its_ends(byre, daemon):
    long = step("ran", "x", output="a" * 1500 + "b" * 1500)
    daemon.replies["task.history"] = {"id": 7, "turns": [turn(1, long)], "more": False, **ABOUT}
    shown = byre("history", "7").stdout
    assert "[1,000 characters more]" in shown
    assert (shown.count("a" * 1000), shown.count("b" * 1000)) == (1, 1)


def test_colours_are_for_terminals(byre, daemon):
    steps = [step("asked", "why"), step("changed", changes=[{"path": "p", "diff": "+new\n-old"}])]
    daemon.replies["task.history"] = {"id": 7, "turns": [turn(1, *steps)], "more": False, **ABOUT}
    with byre.on_terminal("history", "7") as tty:
        _, seen = tty.end()
    assert "\x1b[1mturn 1\x1b[0m  \x1b[32mcompleted\x1b[0m" in seen
    assert "\x1b[32m+new\x1b[0m" in seen
    assert "\x1b[31m-old\x1b[0m" in seen


HITS = [
    {"task_id": 9, "turn_id": "t-1", "at": AT, "what": "user message", "excerpt": "a needle\x07"},
    {"task_id": 9, "turn_id": "t-1", "at": AT, "what": "agent message", "excerpt": "the needle"},
    {"task_id": 3, "turn_id": "", "at": AT, "what": "function call", "excerpt": "…needle…"},
]


def test_a_search_says_where_words_stand_and_how_to_see_them(byre, daemon):
    daemon.replies["history.search"] = {
        "hits": HITS,
        "more": True,
        "unread": [{"path": "p", "reason": "cannot read p: it is compressed"}],
    }
    ended = byre("history", "--search", "needle")
    assert ended.returncode == 0
    lines = ended.stdout.splitlines()
    assert lines[0].startswith("task 9  2026-01-02 03:04:05")
    assert lines[0].endswith("byre history 9 --turn t-1")
    assert lines[1:3] == [
        "  user message        a needle\\x07",
        "  agent message       the needle",
    ]
    assert lines[3].startswith("task 3  2026-01-02")
    assert lines[4] == "  function call       …needle…"
    assert lines[5] == "there are more than these 100; --limit shows more"
    assert ended.stderr == "not searched: cannot read p: it is compressed\n"
    assert daemon.asked("history.search") == [
        {"words": "needle", "exact_case": False, "limit": 100}
    ]


def test_a_search_can_be_of_one_task_exact_and_longer(byre, daemon):
    daemon.replies["history.search"] = {"hits": [], "more": False, "unread": []}
    ended = byre("history", "7", "--search", "Needle", "--case", "--limit", "500")
    assert ended.stdout == "it stands nowhere\n"
    byre("--json", "history", "--search", "-x")
    assert daemon.asked("history.search") == [
        {"words": "Needle", "exact_case": True, "limit": 500, "id": 7},
        {"words": "-x", "exact_case": False, "limit": 100},
    ]


def test_a_replay_shows_steps_as_they_come(byre, daemon):
    daemon.replies["task.history"] = {"id": 7, "turns": [turn(1, step(text="a"))], "more": True}
    with byre.running("replay", "7", "--speed", "8", "--last", "2") as process:
        daemon.wait_for("task.history")
        assert process.stdout.readline().startswith("turn 1")
        assert process.stdout.readline() == "03:04:05  said       a\n"
        daemon.notify("history", {"id": 7, "turn": turn(1, step(text="b"))})
        assert process.stdout.readline() == "03:04:05  said       b\n"
        daemon.notify("history.end", {"id": 7, **ABOUT})
        process.communicate(timeout=20)
    assert process.returncode == 0
    assert daemon.asked("task.history") == [{"id": 7, "speed": 8.0, "last": 2}]


def test_an_export_is_the_document_to_the_letter(byre, daemon):
    daemon.replies["task.record"] = {"id": 7, "format": "html", "text": "<p>ü\x1b", "more": True}
    with byre.running("export", "7", "--format", "html", "--turn", "2", LANG="C") as process:
        daemon.wait_for("task.record")
        daemon.notify("record", {"id": 8, "text": "another"})
        daemon.notify("record", {"id": 7, "text": "\u2028</p>"})
        daemon.notify("record.end", {"id": 7})
        output, errors = process.communicate(timeout=20)
    assert (process.returncode, errors, output) == (0, "", "<p>ü\x1b\u2028</p>")
    assert daemon.asked("task.record") == [{"id": 7, "format": "html", "turn": 2}]


def test_a_small_export_is_markdown_and_json_is_the_reply(byre, daemon):
    reply = {"id": 7, "format": "md", "text": "# Task\n", "more": False}
    daemon.replies["task.record"] = reply
    assert byre("export", "7").stdout == "# Task\n"
    assert json.loads(byre("--json", "export", "7").stdout) == reply
