"""The one writer: what shares a commit, what an error undoes, who is told what and when."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from byred.core.event import Event, NewEvent
from byred.core.task import Task
from byred.store import events, opening, tasks
from byred.store.database import Database, Transaction, open_database
from byred.store.errors import StoreError

Submit = Callable[..., Task]


@asynccontextmanager
async def queueing(database: Database) -> AsyncIterator[None]:
    """Keep the writer busy for as long as the block, so that all that is written in it waits."""
    entered, leave = threading.Event(), threading.Event()

    def block(_: Transaction) -> None:
        entered.set()
        assert leave.wait(30)

    blocked = asyncio.create_task(database.write(block))
    assert await asyncio.to_thread(entered.wait, 30)
    try:
        yield
    finally:
        leave.set()
        await blocked


async def at_once(database: Database, *functions: Callable[[Transaction], Any]) -> list[Any]:
    """Let functions wait for the writer together; give their results or errors."""
    async with queueing(database):
        waiting = [asyncio.create_task(database.write(function)) for function in functions]
        await asyncio.sleep(0)
    return await asyncio.gather(*waiting, return_exceptions=True)


async def stored(database: Database) -> list[int]:
    return [task.id for task in reversed(await tasks.listing(database, limit=10_000))]


async def test_functions_that_wait_together_share_one_commit(
    database: Database, submit: Submit
) -> None:
    made = await at_once(database, *[submit] * 20)
    assert [task.id for task in made] == list(range(1, 21))
    times = {event.at for event in await events.after(database, 0, limit=100)}
    assert len(times) == 1


async def test_functions_run_in_the_order_in_which_they_were_given(database: Database) -> None:
    order: list[int] = []
    await at_once(database, *[lambda _, n=n: order.append(n) for n in range(600)])
    assert order == list(range(600))


async def test_a_commit_carries_a_bounded_group(database: Database, submit: Submit) -> None:
    await at_once(database, *[submit] * 600)
    times = [event.at for event in await events.after(database, 0, limit=1_000)]
    assert len(times) == 600
    assert max(times.count(time) for time in set(times)) == 256


@pytest.mark.promise("state_with_its_event")
@pytest.mark.promise("bad_input_changes_nothing")
async def test_an_error_undoes_its_own_function_and_the_others_are_stored(
    database: Database, submit: Submit
) -> None:
    def fail(transaction: Transaction) -> None:
        submit(transaction)
        raise LookupError("no such repository")

    first, error, last = await at_once(database, submit, fail, submit)
    assert isinstance(error, LookupError)
    assert (first.id, last.id) == (1, 2)
    assert await stored(database) == [1, 2]
    assert [(e.seq, e.task_id) for e in await events.after(database, 0, limit=9)] == [
        (1, 1),
        (2, 2),
    ]


class Unusual(BaseException):
    """Something that is no ordinary exception."""


@pytest.mark.parametrize("kind", [Unusual, RecursionError, asyncio.CancelledError])
async def test_any_error_is_raised_where_its_caller_waits_and_nowhere_else(
    database: Database, submit: Submit, kind: type[BaseException]
) -> None:
    def fail(_: Transaction) -> None:
        raise kind

    with pytest.raises(kind):
        await database.write(fail)
    assert (await database.write(submit)).id == 1


async def test_a_function_that_runs_out_of_items_hangs_nobody(
    database: Database, submit: Submit
) -> None:
    error, made = await at_once(database, lambda _: next(iter(())), submit)
    assert isinstance(error, RuntimeError)
    assert isinstance(error.__cause__, StopIteration)
    assert made.id == 1


async def test_a_violated_constraint_stays_the_functions_own_error(
    database: Database, submit: Submit
) -> None:
    await database.write(lambda transaction: submit(transaction, key="k"))
    with pytest.raises(sqlite3.IntegrityError, match=r"tasks\.key"):
        await database.write(lambda transaction: submit(transaction, key="k"))


async def test_a_broken_statement_is_explained_with_its_cause(database: Database) -> None:
    with pytest.raises(StoreError, match="no such table: nowhere; check the disk") as refused:
        await database.write(lambda tx: tx.connection.execute("SELECT * FROM nowhere"))
    assert isinstance(refused.value.__cause__, sqlite3.OperationalError)


async def test_when_sqlite_undoes_the_group_every_caller_is_told_the_real_reason(
    database: Database, submit: Submit
) -> None:
    def limit(transaction: Transaction, spare: int) -> None:
        pages = transaction.connection.execute("PRAGMA page_count").fetchone()[0]
        transaction.connection.execute(f"PRAGMA max_page_count = {pages + spare}")

    await database.write(lambda transaction: limit(transaction, 2))
    outcomes = await at_once(
        database, submit, lambda transaction: submit(transaction, prompt="p" * 100_000), submit
    )
    for outcome in outcomes:
        assert isinstance(outcome, StoreError)
        assert "the disk is full; free some space and repeat" in str(outcome)
    assert await stored(database) == []
    assert await events.newest(database) == 0
    await database.write(lambda transaction: limit(transaction, 10_000))
    assert (await database.write(submit)).id == 1


async def test_a_clock_that_fails_is_told_to_those_who_waited_for_it(
    path: Path, submit: Submit
) -> None:
    def broken() -> Any:
        raise OSError("no clock")

    async with open_database(path, clock=broken) as database:
        outcomes = await at_once_without_clock(database, submit)
        assert [str(outcome) for outcome in outcomes] == ["no clock", "no clock"]


async def at_once_without_clock(database: Database, submit: Submit) -> list[Any]:
    writes = [database.write(submit), database.write(submit)]
    return await asyncio.gather(*writes, return_exceptions=True)


@pytest.mark.promise("acknowledged_means_stored")
async def test_a_write_has_returned_only_when_another_process_could_read_it(
    database: Database, submit: Submit
) -> None:
    for number in range(1, 20):
        await database.write(submit)
        with closing(sqlite3.connect(database.path)) as other:
            assert other.execute("SELECT count(*) FROM tasks").fetchone()[0] == number


@pytest.mark.promise("event_stream_has_no_gap")
async def test_listeners_get_every_event_once_in_order_and_after_its_commit(
    database: Database, submit: Submit
) -> None:
    heard: list[int] = []
    early: list[int] = []

    def listener(batch: Sequence[Event]) -> None:
        with closing(sqlite3.connect(database.path)) as other:
            newest = other.execute("SELECT max(seq) FROM events").fetchone()[0]
        early.extend(event.seq for event in batch if event.seq > newest)
        heard.extend(event.seq for event in batch)

    forget = database.listen(listener)

    def fail(transaction: Transaction) -> None:
        submit(transaction)
        raise LookupError

    for _ in range(5):
        await at_once(database, *[submit, fail, submit] * 10)
    assert early == []
    assert heard == list(range(1, 101))
    forget()
    forget()
    await database.write(submit)
    assert len(heard) == 100


async def test_listeners_have_heard_of_a_write_before_its_caller_goes_on(
    database: Database, submit: Submit
) -> None:
    heard: list[Event] = []
    database.listen(heard.extend)
    await database.write(submit)
    assert [event.kind for event in heard] == ["task.queued"]
    assert heard == await events.after(database, 0, limit=9)


async def test_a_listener_that_fails_harms_no_caller_and_no_other_listener(
    database: Database, submit: Submit
) -> None:
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, told: complaints.append(told))
    heard: list[Event] = []

    def broken(_: Sequence[Event]) -> None:
        raise ValueError("not today")

    database.listen(broken)
    database.listen(heard.extend)
    await asyncio.wait_for(database.write(submit), 30)
    assert len(heard) == 1
    assert [str(told["exception"]) for told in complaints] == ["not today"]


async def test_a_listener_may_leave_while_it_is_called(database: Database, submit: Submit) -> None:
    heard: list[str] = []
    forget = database.listen(lambda _: (heard.append("once"), forget()))
    database.listen(lambda _: heard.append("always"))
    await database.write(submit)
    await database.write(submit)
    assert heard == ["once", "always", "always"]


async def test_a_caller_that_is_cancelled_leaves_the_others_waiting_well(
    database: Database, submit: Submit
) -> None:
    async with queueing(database):
        given_up = asyncio.create_task(database.write(submit))
        patient = asyncio.create_task(database.write(submit))
        await asyncio.sleep(0)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
    assert (await patient).id == 2
    assert await stored(database) == [1, 2]


async def test_closing_finishes_what_was_asked_for(path: Path, submit: Submit) -> None:
    async with open_database(path) as database:
        waiting = [asyncio.create_task(database.write(submit)) for _ in range(300)]
        await asyncio.sleep(0)
    assert sorted([(await task).id for task in waiting]) == list(range(1, 301))
    async with open_database(path) as database:
        assert await stored(database) == list(range(1, 301))


async def test_a_closed_database_answers_instead_of_hanging(path: Path, submit: Submit) -> None:
    async with open_database(path) as database:
        pass
    with pytest.raises(StoreError, match="it is closed"):
        await asyncio.wait_for(database.write(submit), 30)
    with pytest.raises(StoreError, match="it is closed"):
        await asyncio.wait_for(stored(database), 30)
    await database.close()


async def test_closing_leaves_one_file_without_a_log(path: Path, submit: Submit) -> None:
    async with open_database(path) as database:
        await database.write(submit)
        await stored(database)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


async def test_a_lock_of_another_process_is_waited_for(
    database: Database,
    submit: Submit,
    hold: Callable[[Path, list[str]], AbstractContextManager[None]],
) -> None:
    with hold(database.path, ["BEGIN IMMEDIATE"]):
        waiting = asyncio.create_task(database.write(submit))
        assert await stored(database) == []
        assert not waiting.done()
    assert (await asyncio.wait_for(waiting, 30)).id == 1


async def test_a_lock_that_is_held_for_too_long_is_said_and_nothing_is_stored(
    path: Path,
    submit: Submit,
    hold: Callable[[Path, list[str]], AbstractContextManager[None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(opening, "BUSY_SECONDS", 0.05)
    async with open_database(path) as database:
        with hold(path, ["BEGIN IMMEDIATE"]):
            with pytest.raises(StoreError, match="another process has locked it; end that one"):
                await database.write(submit)
            assert await stored(database) == []
        assert (await database.write(submit)).id == 1


async def test_a_reader_that_stays_delays_no_writer(
    database: Database,
    submit: Submit,
    hold: Callable[[Path, list[str]], AbstractContextManager[None]],
) -> None:
    with hold(database.path, ["BEGIN", "SELECT count(*) FROM tasks"]):
        assert (await database.write(submit)).id == 1


async def test_an_event_without_task_or_question_is_stored_too(database: Database) -> None:
    event = NewEvent(kind="daemon.started", data={"pid": 1})
    stored_event = await database.write(lambda transaction: transaction.emit(event))
    assert await events.after(database, 0, limit=9) == [stored_event]
