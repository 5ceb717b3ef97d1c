"""What a question may become, and what the agent is told of it."""

from datetime import datetime

import msgspec
import pytest

from byred.core.errors import ConflictError, InvalidError
from byred.core.question import (
    Question,
    QuestionState,
    answer,
    deliver,
    expire,
    reply_text,
    withdraw,
)

CLOSED = (QuestionState.ANSWERED, QuestionState.WITHDRAWN, QuestionState.EXPIRED)


def in_state(question: Question, state: QuestionState, now: datetime) -> Question:
    by = None if state is QuestionState.EXPIRED else "ada"
    return msgspec.structs.replace(question, state=state, answered_by=by, answered_at=now)


def test_an_answer_closes_an_open_question(question: Question, now: datetime) -> None:
    step = answer(question, "the left one", by="ada", now=now)
    closed = step.question
    assert closed.state is QuestionState.ANSWERED
    assert (closed.answer, closed.answered_by, closed.answered_at) == ("the left one", "ada", now)
    assert closed.delivered_at is None
    assert step.event.kind == "question.answered"
    assert (step.event.task_id, step.event.question_id) == (7, 4)
    assert step.event.data == {"by": "ada", "answer": "the left one"}


@pytest.mark.promise("first_answer_wins")
def test_a_second_answer_is_told_who_was_first_and_when(question: Question, now: datetime) -> None:
    closed = answer(question, "left", by="ada", now=now).question
    with pytest.raises(ConflictError) as refused:
        answer(closed, "right", by="bob", now=now)
    assert str(refused.value) == (
        "question 4 was already answered by ada at 2026-03-01T12:00:00+00:00; "
        "see it with: byre questions --all"
    )


@pytest.mark.parametrize("state", CLOSED)
def test_nothing_closes_a_closed_question(
    question: Question, state: QuestionState, now: datetime
) -> None:
    closed = in_state(question, state, now)
    for close in (
        lambda: answer(closed, "right", by="bob", now=now),
        lambda: answer(closed, "", by="bob", now=now),
        lambda: withdraw(closed, by="bob", now=now),
        lambda: expire(closed, now=now),
    ):
        with pytest.raises(ConflictError, match=f"already {state}"):
            close()


@pytest.mark.parametrize("text", ["", " ", "\n\t  "])
def test_an_answer_of_nothing_is_refused(question: Question, text: str, now: datetime) -> None:
    with pytest.raises(InvalidError, match="cannot answer question 4 with nothing"):
        answer(question, text, by="ada", now=now)


def test_an_answer_is_kept_to_the_letter(question: Question, now: datetime) -> None:
    text = "  null\n\u2028 0 \x00 true "
    assert reply_text(answer(question, text, by="ada", now=now).question) == text


def test_a_question_that_expires_falls_back_to_its_default(
    question: Question, now: datetime
) -> None:
    with_default = msgspec.structs.replace(question, default="the left one")
    step = expire(with_default, now=now)
    assert step.question.state is QuestionState.EXPIRED
    assert step.question.answer == "the left one"
    assert step.question.answered_by is None
    assert step.event.kind == "question.expired"
    assert reply_text(step.question).endswith("Go on with your default: the left one")


def test_a_question_that_expires_without_a_default_says_so(
    question: Question, now: datetime
) -> None:
    closed = expire(question, now=now).question
    assert closed.answer is None
    assert "best judgement" in reply_text(closed)


def test_a_withdrawn_question_has_no_answer_but_a_reply(question: Question, now: datetime) -> None:
    step = withdraw(question, by="ada", now=now)
    assert (step.question.answer, step.question.answered_by) == (None, "ada")
    assert step.event.kind == "question.withdrawn"
    assert "withdrawn" in reply_text(step.question)


def test_an_open_question_has_no_reply_yet(question: Question, now: datetime) -> None:
    with pytest.raises(InvalidError, match="still open"):
        reply_text(question)
    with pytest.raises(InvalidError, match="still open"):
        deliver(question, now=now)


@pytest.mark.parametrize("state", CLOSED)
def test_a_reply_is_noted_as_delivered_once(
    question: Question, state: QuestionState, now: datetime, later: datetime
) -> None:
    step = deliver(in_state(question, state, now), now=later)
    assert step.question.delivered_at == later
    assert step.question.state is state
    assert step.event.kind == "question.delivered"
    with pytest.raises(ConflictError, match="delivered already"):
        deliver(step.question, now=later)
