"""A question to a person: what it holds and what it may become."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import msgspec

from byred.core.errors import ConflictError, InvalidError
from byred.core.event import NewEvent


class QuestionState(StrEnum):
    """Where a question stands. Only an open one can still change."""

    OPEN = "open"
    ANSWERED = "answered"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"


class QuestionKind(StrEnum):
    """What sort of answer the agent waits for."""

    QUESTION = "question"
    APPROVAL = "approval"
    INPUT = "input"
    ELICITATION = "elicitation"


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One question of one task; `call_id` ties it to the tool call that asked it."""

    id: int
    task_id: int
    kind: QuestionKind = QuestionKind.QUESTION
    text: str
    options: tuple[str, ...] = ()
    context: str = ""
    default: str | None = None
    deadline: datetime | None = None
    state: QuestionState = QuestionState.OPEN
    answer: str | None = None
    answered_by: str | None = None
    asked_at: datetime
    answered_at: datetime | None = None
    delivered_at: datetime | None = None
    thread_id: str
    turn_id: str
    call_id: str


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent wants to know, and which call of which turn of its thread asks."""

    task_id: int
    thread_id: str
    turn_id: str
    call_id: str
    text: str
    kind: QuestionKind = QuestionKind.QUESTION
    options: tuple[str, ...] = ()
    context: str = ""
    default: str | None = None
    timeout: timedelta | None = None


class QuestionStep(msgspec.Struct, frozen=True, kw_only=True):
    """What a question becomes, and the event that says so."""

    question: Question
    event: NewEvent


def answer(question: Question, text: str, *, by: str, now: datetime) -> QuestionStep:
    """Close an open question with a person's answer. The first answer wins.

    Raises:
        InvalidError: the answer is empty.
        ConflictError: the question is closed already; the text says by whom and when.
    """
    _must_be_open(question)
    if not text.strip():
        raise InvalidError(f"cannot answer question {question.id} with nothing; give a text")
    return _close(question, QuestionState.ANSWERED, text, by, now)


def expire(question: Question, *, now: datetime) -> QuestionStep:
    """Close an open question whose own deadline has passed; its default, if any, is the answer.

    Raises:
        ConflictError: the question is closed already.
    """
    _must_be_open(question)
    return _close(question, QuestionState.EXPIRED, question.default, None, now)


def withdraw(question: Question, *, by: str, now: datetime) -> QuestionStep:
    """Close an open question that needs no answer any more.

    Raises:
        ConflictError: the question is closed already.
    """
    _must_be_open(question)
    return _close(question, QuestionState.WITHDRAWN, None, by, now)


def deliver(question: Question, *, now: datetime) -> QuestionStep:
    """Note that the agent's thread holds the reply to a closed question.

    Raises:
        InvalidError: it is still open: there is no reply that could have been delivered.
        ConflictError: it was noted before; a reply is delivered once.
    """
    if question.state is QuestionState.OPEN:
        raise InvalidError(f"question {question.id} is still open: there is no reply to deliver")
    if question.delivered_at is not None:
        raise ConflictError(f"the reply to question {question.id} was delivered already")
    done = msgspec.structs.replace(question, delivered_at=now)
    event = NewEvent(
        kind="question.delivered", task_id=question.task_id, question_id=question.id, data={}
    )
    return QuestionStep(question=done, event=event)


def reply_text(question: Question) -> str:
    """Say to the agent what came of its question, in words that it can act on."""
    match question.state:
        case QuestionState.ANSWERED:
            return question.answer or ""
        case QuestionState.EXPIRED if question.answer is not None:
            return f"Nobody answered in time. Go on with your default: {question.answer}"
        case QuestionState.EXPIRED:
            return "Nobody answered in time. Go on with your own best judgement and say so."
        case QuestionState.WITHDRAWN:
            return "The question was withdrawn without an answer. Use your own best judgement."
        case QuestionState.OPEN:
            raise InvalidError(f"question {question.id} is still open: there is no reply yet")


def _must_be_open(question: Question) -> None:
    if question.state is QuestionState.OPEN:
        return
    who = question.answered_by or "its deadline"
    when = question.answered_at.isoformat(timespec="seconds") if question.answered_at else "earlier"
    raise ConflictError(
        f"question {question.id} was already {question.state} by {who} at {when}; "
        f"see it with: byre questions --all"
    )


def _close(
    question: Question, state: QuestionState, text: str | None, by: str | None, now: datetime
) -> QuestionStep:
    closed = msgspec.structs.replace(
        question, state=state, answer=text, answered_by=by, answered_at=now
    )
    data: dict[str, Any] = {"by": by, "answer": text}
    event = NewEvent(
        kind=f"question.{state}", task_id=question.task_id, question_id=question.id, data=data
    )
    return QuestionStep(question=closed, event=event)
