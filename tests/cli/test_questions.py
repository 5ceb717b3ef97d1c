"""`byre questions` and `byre answer`: how a person sees a question and answers it."""

import signal

import pytest


@pytest.fixture
def asking(daemon, question):
    """A daemon with one open question with options, one that is answered, and one plain one."""
    listed = [
        question(5, text="How many?", options=[], default="12"),
        question(
            4,
            text="Which\nlicence?",
            options=["MIT", "Apache 2.0"],
            context="It goes into LICENSE.",
            deadline="2030-01-01T00:00:00Z",
        ),
        question(
            3,
            state="answered",
            answer="blue",
            answered_by="ann",
            answered_at="2026-01-02T04:00:00Z",
        ),
    ]

    def page(params):
        states, before = params.get("states"), params.get("before", 1_000)
        found = [q for q in listed if (not states or q["state"] in states) and q["id"] < before]
        kept = found[: params.get("limit", 2)]
        return {"questions": kept, "next": kept[-1]["id"] if len(kept) < len(found) else None}

    daemon.replies["question.list"] = page
    daemon.replies["question.answer"] = lambda params: question(
        params["id"], state="answered", answer=params["text"]
    )
    return daemon


def test_open_questions_are_listed(byre, asking):
    lines = byre("questions").stdout.splitlines()
    assert lines[0].split() == ["QID", "TASK", "AGE", "STATE", "QUESTION"]
    assert [line.split()[0] for line in lines[1:]] == ["5", "4"]
    assert lines[2].endswith("Which licence?")


def test_all_questions_are_listed_with_their_answers(byre, asking):
    lines = byre("questions", "--all").stdout.splitlines()
    assert lines[0].split()[-1] == "ANSWER"
    assert lines[3].split()[-1] == "blue"


def test_no_question_is_said(byre, daemon):
    daemon.replies["question.list"] = {"questions": [], "next": None}
    assert byre("questions").stdout == "no open question; byre questions --all shows all\n"
    assert byre("questions", "--all").stdout == "no question\n"


def test_an_answer_is_given_as_it_is(byre, asking):
    ended = byre("answer", "4", "2")
    assert ended.stdout == "question 4 of task 7 answered: 2\n"
    byre("answer", "4", "-", given="two\nlines\n")
    assert asking.asked("question.answer") == [
        {"id": 4, "text": "2"},
        {"id": 4, "text": "two\nlines"},
    ]


def test_on_a_terminal_the_question_is_shown_and_a_number_picks_an_option(byre, asking):
    with byre.on_terminal("answer", "4") as tty:
        shown = tty.expect("answer> ")
        for part in (
            "question 4 of task 7, asked ",
            "Which\r\nlicence?",
            "It goes into LICENSE.",
            "  1  MIT\r\n  2  Apache 2.0",
            "until 2030-01-01 00:00:00",
        ):
            assert part in shown
        tty.type("7\n")
        assert "there is no option 7; give a number from 1 to 2" in tty.expect("answer> ")
        tty.type("\n")
        tty.expect("answer> ")
        tty.type("2\n")
        status, seen = tty.end()
    assert status == 0
    assert "question 4 of task 7 answered: Apache 2.0" in seen
    assert asking.asked("question.answer") == [{"id": 4, "text": "Apache 2.0"}]


@pytest.mark.parametrize(
    ("number", "typed", "text"),
    [("4", "GPL 3\n", "GPL 3"), ("5", "42\n", "42"), ("5", "\n", "12"), ("4", " MIT \n", "MIT")],
)
def test_what_is_typed_is_the_answer_and_nothing_means_the_default(
    byre, asking, number, typed, text
):
    with byre.on_terminal("answer", number) as tty:
        tty.expect("answer> ")
        tty.type(typed)
        assert tty.end()[0] == 0
    assert asking.asked("question.answer") == [{"id": int(number), "text": text}]


def test_ending_the_input_answers_nothing(byre, asking):
    with byre.on_terminal("answer", "4") as tty:
        tty.expect("answer> ")
        tty.type("\x04")
        status, seen = tty.end()
    assert status == 2
    assert "no answer was typed; the question stays open" in seen
    assert asking.asked("question.answer") == []


def test_ctrl_c_at_the_prompt_is_quiet(byre, asking):
    with byre.on_terminal("answer", "4") as tty:
        tty.expect("answer> ")
        tty.process.send_signal(signal.SIGINT)
        status, seen = tty.end()
    assert status == 130
    assert "Traceback" not in seen
    assert asking.asked("question.answer") == []


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        ("3", "cannot answer question 3: it is answered by ann on 2026-01-02 04:00:00"),
        ("9", "cannot answer question 9: there is no such question; see byre questions"),
    ],
)
def test_a_question_that_is_not_open_is_not_asked(byre, asking, number, sentence):
    with byre.on_terminal("answer", number, COLUMNS="200") as tty:
        status, seen = tty.end()
    assert status == 4
    assert sentence in seen


def test_a_question_cannot_play_tricks_on_the_terminal(byre, daemon, question):
    evil = "\x1b]0;pwned\x07Sure?\x1b[8m"
    listed = [question(4, text=evil, options=[evil], context=evil, default=evil)]
    daemon.replies["question.list"] = {"questions": listed, "next": None}
    with byre.on_terminal("answer", "4", NO_COLOR="1") as tty:
        shown = tty.expect("answer> ")
    # What is left is readline's own.
    assert "\x1b]" not in shown
    assert "\x1b[8m" not in shown
    assert shown.count("\\x1b]0;pwned\\x07Sure?\\x1b[8m") == 4
