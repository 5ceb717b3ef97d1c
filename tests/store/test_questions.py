"""The table `questions`: what agents ask outlives everything, and is answered once."""

import asyncio
import sqlite3
from collections.abc import Callable
from datetime import timedelta

import msgspec
import pytest

from byred.core.errors import ConflictError, InvalidError, NotFoundError
from byred.core.question import Question, QuestionKind, QuestionState, answer, expire, withdraw
from byred.core.task import Task
from byred.store import events, questions
from byred.store.database import Database, Transaction

Submit = Callable[..., Task]
Ask = Callable[..., Question]


@pytest.fixture
async def task(database: Database, submit: Submit) -> Task:
    return await database.write(submit)


async def test_a_question_comes_out_as_it_went_in(database: Database, task: Task, ask: Ask) -> None:
    stored = await database.write(
        lambda tx: ask(
            tx,
            task.id,
            kind=QuestionKind.APPROVAL,
            text="null",
            options=("yes", "no", "null"),
            context="  \x00 \U0001f600",
            default="null",
            deadline=tx.now + timedelta(microseconds=1),
        )
    )
    assert stored.id == 1
    assert await database.write(lambda tx: questions.get(tx, 1)) == stored
    assert await questions.listing(database, limit=9) == [stored]


async def test_asking_tells_of_it(database: Database, task: Task, ask: Ask) -> None:
    await database.write(lambda tx: ask(tx, task.id, options=("a", "b")))
    event = (await events.after(database, 0, limit=9))[-1]
    assert (event.kind, event.task_id, event.question_id) == ("question.asked", 1, 1)
    assert event.data == {"kind": "question", "text": "Which door?", "options": ["a", "b"]}


async def test_one_call_of_one_thread_asks_once(database: Database, task: Task, ask: Ask) -> None:
    first = await database.write(lambda tx: ask(tx, task.id, call_id="c"))
    with pytest.raises(sqlite3.IntegrityError):
        await database.write(lambda tx: ask(tx, task.id, call_id="c"))
    other = await database.write(lambda tx: ask(tx, task.id, call_id="c", thread_id="thread-2"))
    assert await database.write(lambda tx: questions.by_call(tx, 1, "thread-1", "c")) == first
    assert await database.write(lambda tx: questions.by_call(tx, 1, "thread-2", "c")) == other
    assert await database.write(lambda tx: questions.by_call(tx, 1, "thread-1", "d")) is None


async def test_a_question_of_no_task_is_refused(database: Database, ask: Ask) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        await database.write(lambda tx: ask(tx, 99))


@pytest.mark.promise("first_answer_wins")
async def test_of_many_answers_at_once_one_is_stored(
    database: Database, task: Task, ask: Ask
) -> None:
    await database.write(lambda tx: ask(tx, task.id))
    outcomes: list[str] = []

    def give(name: str) -> Callable[[Transaction], None]:
        def store(transaction: Transaction) -> None:
            question = questions.get(transaction, 1)
            step = answer(question, name, by=name, now=transaction.now)
            outcomes.append(questions.save(transaction, step).answered_by or "")

        return store

    gives = [database.write(give(f"person-{number}")) for number in range(20)]
    refusals = [o for o in await asyncio.gather(*gives, return_exceptions=True) if o is not None]
    assert outcomes == ["person-0"]
    assert len(refusals) == 19
    for refusal in refusals:
        assert isinstance(refusal, ConflictError)
        assert "answered by person-0" in str(refusal)
    kinds = [event.kind for event in await events.after(database, 0, limit=99)]
    assert kinds.count("question.answered") == 1


async def test_a_delivery_is_noted_once_and_tells_once(
    database: Database, task: Task, ask: Ask
) -> None:
    def close(transaction: Transaction) -> Question:
        step = answer(ask(transaction, task.id), "left", by="ada", now=transaction.now)
        return questions.save(transaction, step)

    closed = await database.write(close)
    first = await database.write(lambda tx: questions.delivered(tx, closed))
    again = await database.write(lambda tx: questions.delivered(tx, closed))
    assert first.delivered_at is not None
    assert again == first
    kinds = [event.kind for event in await events.after(database, 0, limit=99)]
    assert kinds.count("question.delivered") == 1


async def test_a_note_by_somebody_who_looked_earlier_loses_no_answer(
    database: Database, task: Task, ask: Ask
) -> None:
    seen_open = await database.write(lambda tx: ask(tx, task.id))
    with pytest.raises(InvalidError, match="still open"):
        await database.write(lambda tx: questions.delivered(tx, seen_open))
    await database.write(
        lambda tx: questions.save(tx, answer(seen_open, "left", by="ada", now=tx.now))
    )
    noted = await database.write(lambda tx: questions.delivered(tx, seen_open))
    assert (noted.state, noted.answer) == (QuestionState.ANSWERED, "left")
    assert await database.write(lambda tx: questions.get(tx, 1)) == noted


async def test_a_task_that_ends_withdraws_what_it_asked_and_nothing_else(
    database: Database, task: Task, ask: Ask, submit: Submit
) -> None:
    def fill(transaction: Transaction) -> None:
        submit(transaction)
        ask(transaction, task.id)
        step = answer(ask(transaction, task.id), "left", by="ada", now=transaction.now)
        questions.save(transaction, step)
        ask(transaction, 2)
        questions.withdraw_all(transaction, task.id, by="the end of the task")

    await database.write(fill)
    states = {q.id: (q.state, q.delivered_at) for q in await questions.listing(database, limit=9)}
    assert states[1][0] is QuestionState.WITHDRAWN
    assert states[1][1] is not None
    assert states[2] == (QuestionState.ANSWERED, None)
    assert states[3] == (QuestionState.OPEN, None)
    assert await questions.count_open(database) == 1


async def test_a_server_takes_its_approvals_with_it_and_leaves_the_questions_open(
    database: Database, task: Task, ask: Ask
) -> None:
    def fill(transaction: Transaction) -> None:
        for kind in QuestionKind:
            ask(transaction, task.id, kind=kind)
        questions.withdraw_lost(transaction, task.id)

    await database.write(fill)
    still_open = await questions.listing(database, states=[QuestionState.OPEN], limit=9)
    assert [question.kind for question in still_open] == [QuestionKind.QUESTION]
    assert await questions.count_open(database) == 1


async def test_questions_of_a_task_and_of_a_thread_are_found(
    database: Database, task: Task, ask: Ask
) -> None:
    def fill(transaction: Transaction) -> None:
        for thread in ("a", "b", "a", "a"):
            ask(transaction, task.id, thread_id=thread)
        for question_id in (1, 2, 4):
            question = questions.get(transaction, question_id)
            questions.save(transaction, withdraw(question, by="ada", now=transaction.now))

    await database.write(fill)
    closed = await database.write(lambda tx: questions.closed_for_thread(tx, task.id, "a"))
    assert [question.id for question in closed] == [1, 2, 4]
    await database.write(lambda tx: questions.delivered(tx, questions.get(tx, 2)))
    closed = await database.write(lambda tx: questions.closed_for_thread(tx, task.id, "a"))
    assert [question.id for question in closed] == [1, 4]
    still_open = await database.write(lambda tx: questions.open_of_task(tx, task.id))
    assert [question.id for question in still_open] == [3]


async def test_deadlines_come_in_their_order_and_to_the_microsecond(
    database: Database, task: Task, ask: Ask
) -> None:
    assert await questions.next_deadline(database) is None

    def fill(transaction: Transaction) -> None:
        ask(transaction, task.id)
        for seconds in (30, 10, 20):
            ask(transaction, task.id, deadline=transaction.now + timedelta(seconds=seconds))

    await database.write(fill)
    asked = {question.id: question for question in await questions.listing(database, limit=9)}
    assert await questions.next_deadline(database) == asked[3].deadline

    def due(transaction: Transaction, lag: timedelta) -> list[int]:
        assert asked[3].deadline is not None
        transaction.now = asked[3].deadline + lag
        return [question.id for question in questions.past_deadline(transaction)]

    assert await database.write(lambda tx: due(tx, -timedelta(microseconds=1))) == []
    assert await database.write(lambda tx: due(tx, timedelta(0))) == [3]
    assert await database.write(lambda tx: due(tx, timedelta(seconds=15))) == [3, 4]
    await database.write(lambda tx: questions.save(tx, expire(asked[3], now=tx.now)))
    assert await questions.next_deadline(database) == asked[4].deadline
    assert await database.write(lambda tx: due(tx, timedelta(seconds=15))) == [4]


async def test_a_list_of_questions_comes_a_page_at_a_time(
    database: Database, task: Task, ask: Ask, submit: Submit
) -> None:
    def fill(transaction: Transaction) -> None:
        submit(transaction)
        for number in range(1, 21):
            question = ask(transaction, 1 + number % 2)
            if number % 4 == 0:
                questions.save(transaction, withdraw(question, by="ada", now=transaction.now))

    await database.write(fill)
    everything = list(range(20, 0, -1))
    gone = [QuestionState.WITHDRAWN]
    for filters, expected in (
        ({}, everything),
        ({"states": gone}, [20, 16, 12, 8, 4]),
        ({"task_id": 2}, [n for n in everything if n % 2]),
        ({"task_id": 1, "states": gone}, [20, 16, 12, 8, 4]),
        ({"task_id": 2, "states": gone}, []),
        ({"task_id": 3}, []),
    ):
        found: list[int] = []
        before = None
        while page := await questions.listing(database, before=before, limit=3, **filters):
            found += [question.id for question in page]
            before = page[-1].id
        assert found == expected, filters


async def test_a_question_that_is_not_there_is_named(database: Database) -> None:
    with pytest.raises(NotFoundError, match="there is no question 7; byre questions --all"):
        await database.write(lambda tx: questions.get(tx, 7))


async def test_what_a_question_is_never_changes_with_its_state(
    database: Database, task: Task, ask: Ask
) -> None:
    asked = await database.write(lambda tx: ask(tx, task.id, options=("a",), context="c"))
    lie = msgspec.structs.replace(asked, text="another", options=(), context="")
    await database.write(lambda tx: questions.save(tx, answer(lie, "a", by="ada", now=tx.now)))
    kept = await database.write(lambda tx: questions.get(tx, asked.id))
    assert (kept.text, kept.options, kept.context) == ("Which door?", ("a",), "c")
