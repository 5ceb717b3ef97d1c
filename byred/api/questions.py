"""The commands `question.*`."""

from functools import partial
from typing import Any

import msgspec

from byred.api.contract import Command, Context
from byred.api.parts import Id, Parts
from byred.api.tasks import check_limit
from byred.api.views import QuestionPage, QuestionView, question_view
from byred.core.question import QuestionState
from byred.store import questions


class List(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`question.list`."""

    states: tuple[QuestionState, ...] | None = None
    task_id: Id | None = None
    limit: int = 100
    before: Id | None = None


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`question.answer`."""

    id: Id
    text: str


class Withdraw(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`question.withdraw`."""

    id: Id


def commands(parts: Parts) -> list[Command[Any]]:
    """Give the commands on questions."""
    return [
        Command("question.list", List, partial(_list, parts)),
        Command("question.answer", Answer, partial(_answer, parts)),
        Command("question.withdraw", Withdraw, partial(_withdraw, parts)),
    ]


async def _list(parts: Parts, _context: Context, request: List) -> QuestionPage:
    check_limit(request.limit)
    found = await questions.listing(
        parts.database,
        states=request.states,
        task_id=request.task_id,
        before=request.before,
        limit=request.limit + 1,
    )
    page = found[: request.limit]
    more = page[-1].id if len(found) > request.limit else None
    return QuestionPage(questions=[question_view(each) for each in page], next=more)


async def _answer(parts: Parts, context: Context, request: Answer) -> QuestionView:
    by = context.peer.user
    return question_view(await parts.questions.answer(request.id, request.text, by=by))


async def _withdraw(parts: Parts, context: Context, request: Withdraw) -> QuestionView:
    return question_view(await parts.questions.withdraw(request.id, by=context.peer.user))
