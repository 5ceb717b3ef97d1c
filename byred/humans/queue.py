"""The question queue: asked by agents, closed once by a person or a deadline, waited for by calls.

A question is a row before anybody hears of it and outlives the process that asked. A call that
waits gets the reply from the row, so that it does not matter who closed it, when, or under which
daemon. Whether a reply reached the agent's thread is noted by whoever saw it there.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime

from byred.core import question as rules
from byred.core.event import Event
from byred.core.question import Ask, Question, QuestionState
from byred.core.task import TaskState
from byred.store import questions, tasks
from byred.store.database import Database, Transaction

# A deadline that is years away must not overflow the event loop's timer.
LONGEST_SLEEP = 3600.0


class QuestionQueue:
    """All questions of all tasks. `run` closes those whose deadline passes."""

    def __init__(
        self,
        database: Database,
        *,
        asked: Callable[[Question], None],
        people: Database | None = None,
    ) -> None:
        """Keep the questions in `database`; what people do goes to `people`, the same by default.

        They are two where an agent's question waits for room that a person's reply must not.
        """
        self._database = database
        self._people = people or database
        self._asked = asked
        self._waiters: dict[int, list[asyncio.Future[None]]] = {}
        self._deadlines_changed = asyncio.Event()
        self._forget = database.listen(self._on_events)

    def close(self) -> None:
        """Stop listening to the store."""
        self._forget()

    async def ask(self, ask: Ask) -> Question:
        """Store a question and say that the task waits; the same call again is the same question.

        Raises:
            WrongStateError: the task runs no turn any more.
        """

        def store(transaction: Transaction) -> tuple[Question, bool]:
            known = questions.by_call(transaction, ask.task_id, ask.thread_id, ask.call_id)
            if known is not None:
                return known, False
            task = tasks.apply(transaction, ask.task_id, lambda task: task.asked())
            deadline = None if ask.timeout is None else transaction.now + ask.timeout
            new = _new(ask, task.id, transaction.now, deadline)
            return questions.insert(transaction, new), True

        question, new = await self._database.write(store)
        if new:
            self._deadlines_changed.set()
            self._asked(question)
        return question

    async def wait(self, question_id: int) -> Question:
        """Wait until a question is closed, for as long as that takes."""
        future = asyncio.get_running_loop().create_future()
        waiters = self._waiters.setdefault(question_id, [])
        waiters.append(future)
        try:
            # Registered before the look, so that a close in between is not missed.
            question = await self.get(question_id)
            if question.state is QuestionState.OPEN:
                await future
                question = await self.get(question_id)
            return question
        finally:
            waiters.remove(future)
            if not waiters and self._waiters.get(question_id) is waiters:
                del self._waiters[question_id]

    async def get(self, question_id: int) -> Question:
        """Give a question as it stands.

        Raises:
            NotFoundError: there is none with this id.
        """
        return await self._database.write(lambda tx: questions.get(tx, question_id))

    async def answer(self, question_id: int, text: str, *, by: str) -> Question:
        """Close a question with a person's answer; the first one wins.

        Raises:
            NotFoundError: there is no such question.
            ConflictError: it is closed already; the text says by whom.
            InvalidError: the answer is empty.
        """
        return await self._close(
            question_id, lambda question, now: rules.answer(question, text, by=by, now=now)
        )

    async def withdraw(self, question_id: int, *, by: str) -> Question:
        """Close a question without an answer; the agent is told to use its own judgement.

        Raises:
            NotFoundError: there is no such question.
            ConflictError: it is closed already.
        """
        return await self._close(
            question_id, lambda question, now: rules.withdraw(question, by=by, now=now)
        )

    async def delivered(self, question_ids: Sequence[int]) -> None:
        """Note that the agent's thread holds the replies to these questions; once is enough."""

        def note(transaction: Transaction) -> None:
            for question_id in question_ids:
                question = questions.get(transaction, question_id)
                if question.delivered_at is None:
                    questions.delivered(transaction, question)

        await self._database.write(note)

    async def run(self) -> None:
        """Close questions whose own deadline passes, until cancelled."""
        while True:
            self._deadlines_changed.clear()
            deadline = await questions.next_deadline(self._database)
            await self._sleep_until(deadline)
            await self._database.write(_expire)

    async def _sleep_until(self, deadline: datetime | None) -> None:
        if deadline is None:
            await self._deadlines_changed.wait()
            return
        left = (deadline - datetime.now(deadline.tzinfo)).total_seconds()
        try:
            async with asyncio.timeout(min(max(left, 0.0), LONGEST_SLEEP)):
                await self._deadlines_changed.wait()
        except TimeoutError:
            return

    async def _close(
        self, question_id: int, rule: Callable[[Question, datetime], rules.QuestionStep]
    ) -> Question:
        def close(transaction: Transaction) -> Question:
            step = rule(questions.get(transaction, question_id), transaction.now)
            question = questions.save(transaction, step)
            _go_on(transaction, question.task_id)
            return question

        return await self._people.write(close)

    def _on_events(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.question_id is None or event.kind == "question.asked":
                continue
            for future in self._waiters.get(event.question_id, ()):
                if not future.done():
                    future.set_result(None)


def _go_on(transaction: Transaction, task_id: int) -> None:
    """Let the task go on once nothing is open any more."""
    if questions.open_of_task(transaction, task_id):
        return
    if tasks.get(transaction, task_id).state in (TaskState.WAITING, TaskState.HELD):
        tasks.apply(transaction, task_id, lambda task: task.answered())


def _expire(transaction: Transaction) -> None:
    for question in questions.past_deadline(transaction):
        questions.save(transaction, rules.expire(question, now=transaction.now))
        _go_on(transaction, question.task_id)


def _new(ask: Ask, task_id: int, now: datetime, deadline: datetime | None) -> Question:
    return Question(
        id=0,
        task_id=task_id,
        kind=ask.kind,
        text=ask.text,
        options=ask.options,
        context=ask.context,
        default=ask.default,
        deadline=deadline,
        asked_at=now,
        thread_id=ask.thread_id,
        turn_id=ask.turn_id,
        call_id=ask.call_id,
    )
