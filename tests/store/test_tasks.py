"""The table `tasks`: what goes in comes out, one event a change, and lists a page at a time."""

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from byred.core.errors import NotFoundError, WrongStateError
from byred.core.question import Question, answer
from byred.core.task import Hold, Intent, Result, Task, TaskError, TaskState, Tokens
from byred.store import events, leases, processes, questions, tasks
from byred.store.database import Database, Transaction
from byred.store.rows import columns, from_row, stamp
from byred.store.tasks import TaskRow

Submit = Callable[..., Task]
Build = Callable[..., Task]
NOW = datetime(2026, 3, 1, tzinfo=UTC)


async def listed(database: Database, **filters: Any) -> list[int]:
    filters.setdefault("limit", 100)
    return [task.id for task in await tasks.listing(database, **filters)]


async def test_a_task_comes_out_as_it_went_in(database: Database, build_task: Build) -> None:
    task = build_task(
        1,
        key="null",
        prompt="  \x00 \u2028 'quoted' \U0001f600\n",
        labels=("a", "null", "b c"),
        depends_on=(),
        priority=-3,
        tokens=Tokens(input=1, cached_input=2, output=3, reasoning=4, total=2**53),
    )
    await database.write(lambda transaction: tasks.insert(transaction, task))
    row = await tasks.read(database, 1)
    assert msgspec.convert(msgspec.structs.asdict(row), Task) == task
    assert (row.questions, row.ports, row.pid) == ((), {}, None)


# No lone surrogates: they are no text that could be written as UTF-8 anywhere.
TEXT = st.text(alphabet=st.characters(exclude_categories=("Cs",)))
MOMENT = st.datetimes(
    min_value=datetime(1, 1, 2),  # noqa: DTZ001 - hypothesis wants them naive
    max_value=datetime(9999, 12, 30),  # noqa: DTZ001 - the same
    timezones=st.sampled_from([UTC]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_value_of_every_column_survives_the_way_through_a_row(
    data: st.DataObject, build_task: Build
) -> None:
    optional = st.one_of(st.none(), MOMENT)
    task = build_task(
        data.draw(st.integers(1, 2**63 - 1)),
        key=data.draw(st.one_of(st.none(), TEXT)),
        title=data.draw(TEXT),
        prompt=data.draw(TEXT),
        state=data.draw(st.sampled_from(TaskState)),
        reason=data.draw(st.one_of(st.none(), TEXT, st.sampled_from(["null", "true", "1"]))),
        parked=data.draw(st.booleans()),
        intent=data.draw(st.one_of(st.none(), st.sampled_from(Intent))),
        hold=data.draw(st.one_of(st.none(), st.sampled_from(Hold))),
        priority=data.draw(st.integers(-(2**63), 2**63 - 1)),
        labels=tuple(data.draw(st.lists(TEXT, max_size=3))),
        started_at=data.draw(optional),
        retry_at=data.draw(optional),
        result=Result(
            summary=data.draw(TEXT), commits=("c",), files_changed=1, dirty=data.draw(st.booleans())
        ),
        error=TaskError(kind="agent", message=data.draw(TEXT)),
    )
    as_json = ("identity", "labels", "depends_on", "tokens", "result", "error")
    parameters = columns(task, as_json)
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    names = ", ".join(f":{name} AS {name}" for name in parameters)
    row = connection.execute(f"SELECT {names}", parameters).fetchone()
    connection.close()
    assert from_row(row, Task, as_json) == task


@given(first=MOMENT, second=MOMENT)
def test_stored_times_sort_as_the_moments_do(first: datetime, second: datetime) -> None:
    assert (stamp(first) < stamp(second)) == (first < second)
    assert datetime.fromisoformat(stamp(first)) == first
    assert len(stamp(first)) == len("2026-03-01T00:00:00.000000Z")


async def test_a_moment_of_another_zone_is_stored_in_utc() -> None:
    from_elsewhere = datetime.fromisoformat("2026-03-01T01:30:00+05:30")
    assert stamp(from_elsewhere) == "2026-02-28T20:00:00.000000Z"


async def test_storing_a_task_tells_of_it(database: Database, submit: Submit) -> None:
    await database.write(lambda transaction: submit(transaction, title="Mend"))
    (event,) = await events.after(database, 0, limit=9)
    assert (event.seq, event.kind, event.task_id) == (1, "task.queued", 1)
    assert event.data["title"] == "Mend"


async def test_ids_grow_by_one_within_and_between_transactions(
    database: Database, submit: Submit
) -> None:
    both = await database.write(lambda tx: (submit(tx).id, submit(tx).id))
    assert both == (1, 2)
    assert (await database.write(submit)).id == 3


@pytest.mark.promise("same_key_same_task")
async def test_a_key_belongs_to_one_task(database: Database, submit: Submit) -> None:
    task = await database.write(lambda tx: submit(tx, key="k"))
    assert await database.write(lambda tx: tasks.by_key(tx, "k")) == task
    assert await database.write(lambda tx: tasks.by_key(tx, "other")) is None
    with pytest.raises(sqlite3.IntegrityError):
        await database.write(lambda tx: submit(tx, key="k"))
    for _ in range(2):
        await database.write(lambda tx: submit(tx, key=None))


@pytest.mark.parametrize("column", ["worktree", "home", "branch"])
async def test_no_two_tasks_share_ground(database: Database, submit: Submit, column: str) -> None:
    await database.write(lambda tx: submit(tx, **{column: "the same"}))
    with pytest.raises(sqlite3.IntegrityError):
        await database.write(lambda tx: submit(tx, **{column: "the same"}))


async def test_two_repositories_may_have_a_branch_of_the_same_name(
    database: Database, submit: Submit
) -> None:
    for common in ("/a/.git", "/b/.git"):
        await database.write(
            lambda tx, common=common: submit(tx, branch="byre/x", common_dir=common)
        )
    assert await listed(database) == [2, 1]


@pytest.mark.promise("state_with_its_event")
async def test_a_change_and_its_event_are_stored_together(
    database: Database, submit: Submit
) -> None:
    await database.write(submit)
    claimed = await database.write(
        lambda tx: tasks.apply(tx, 1, lambda task: task.claim(now=tx.now))
    )
    row = await tasks.read(database, 1)
    assert row.state is claimed.state is TaskState.PREPARING
    newest = (await events.after(database, 0, limit=9))[-1]
    assert newest.kind == "task.preparing"
    assert newest.data["was"] == "queued"
    assert newest.at == row.started_at


@pytest.mark.promise("bad_input_changes_nothing")
async def test_an_event_that_the_state_does_not_allow_changes_nothing(
    database: Database, submit: Submit
) -> None:
    await database.write(submit)
    before = await tasks.read(database, 1)
    with pytest.raises(WrongStateError):
        await database.write(lambda tx: tasks.apply(tx, 1, lambda task: task.verify()))
    assert await tasks.read(database, 1) == before
    assert await events.newest(database) == 1


async def test_a_task_that_is_not_there_is_named(database: Database) -> None:
    for missing in (0, -1, 7, 2**63 - 1):
        with pytest.raises(NotFoundError, match=f"there is no task {missing}; byre ls --all"):
            await tasks.read(database, missing)
        with pytest.raises(NotFoundError):
            await database.write(lambda tx, missing=missing: tasks.get(tx, missing))
        with pytest.raises(NotFoundError):
            await database.write(
                lambda tx, missing=missing: tasks.apply(tx, missing, lambda task: task.due())
            )


async def test_a_row_shows_open_questions_ports_and_the_living_process(
    database: Database, submit: Submit, ask: Callable[..., Question]
) -> None:
    def fill(transaction: Transaction) -> None:
        for task_id in (1, 2):
            submit(transaction)
            base = task_id * 100
            leases.take_ports(transaction, task_id, {"http": base, "db": base + 1})
            for pid in (base, base + 1):
                processes.insert(
                    transaction,
                    task_id=task_id,
                    pid=pid,
                    start_time=1,
                    boot_id="b",
                    launcher="plain",
                    socket=None,
                )
                if pid == base:
                    processes.ended(transaction, task_id, "died")
            asked = [ask(transaction, task_id) for _ in range(3)]
            step = answer(asked[1], "left", by="ada", now=transaction.now)
            questions.save(transaction, step)

    await database.write(fill)
    row = await tasks.read(database, 2)
    assert row.questions == (4, 6)
    assert row.ports == {"http": 200, "db": 201}
    assert row.pid == 201
    assert await tasks.listing(database, limit=9) == [row, await tasks.read(database, 1)]
    assert await tasks.listing(database, states=[TaskState.QUEUED], limit=1) == [row]


async def test_a_long_list_comes_a_page_at_a_time(database: Database, submit: Submit) -> None:
    def fill(transaction: Transaction) -> None:
        for number in range(1, 26):
            state = TaskState.BLOCKED if number % 5 == 0 else TaskState.QUEUED
            submit(transaction, labels=("odd",) if number % 2 else ("even", "x"), state=state)

    await database.write(fill)
    for filters, expected in (
        ({}, range(25, 0, -1)),
        ({"states": list(TaskState)}, range(25, 0, -1)),
        ({"states": [TaskState.BLOCKED]}, range(25, 0, -5)),
        ({"label": "odd"}, range(25, 0, -2)),
        ({"label": "x", "states": [TaskState.BLOCKED]}, (20, 10)),
        ({"states": [TaskState.FAILED]}, ()),
        ({"states": []}, ()),
        ({"label": "od"}, ()),
    ):
        found: list[int] = []
        before = None
        while page := await listed(database, before=before, limit=4, **filters):
            assert len(page) <= 4
            found += page
            before = page[-1]
        assert found == list(expected), filters


async def test_a_list_is_empty_below_the_first_task(database: Database, submit: Submit) -> None:
    await database.write(submit)
    assert await listed(database, before=1) == []
    assert await listed(database, limit=0) == []


async def test_tasks_are_counted_by_state(database: Database, submit: Submit) -> None:
    def fill(transaction: Transaction) -> None:
        for _ in range(3):
            submit(transaction)
        tasks.apply(transaction, 2, lambda task: task.cancel(by="ada", now=transaction.now))

    await database.write(fill)
    assert await tasks.counts(database) == {TaskState.QUEUED: 2, TaskState.CANCELLED: 1}


async def test_dependencies_are_found_from_both_ends(database: Database, submit: Submit) -> None:
    def fill(transaction: Transaction) -> None:
        for _ in range(2):
            submit(transaction)
        submit(transaction, state=TaskState.BLOCKED, depends_on=(1, 2))
        submit(transaction, state=TaskState.BLOCKED, depends_on=(12, 2))

    await database.write(fill)
    assert [task.id for task in await database.write(lambda tx: tasks.dependents(tx, 2))] == [3, 4]
    assert [task.id for task in await database.write(lambda tx: tasks.dependents(tx, 1))] == [3]
    assert await database.write(lambda tx: tasks.unmet(tx, [2, 1])) == [
        (1, TaskState.QUEUED),
        (2, TaskState.QUEUED),
    ]
    assert await database.write(lambda tx: tasks.unknown(tx, [1, 99, 2, 98])) == [99, 98]
    assert await database.write(lambda tx: tasks.unknown(tx, [])) == []


async def test_a_row_of_a_task_is_a_task(database: Database, submit: Submit) -> None:
    task = await database.write(submit)
    row = await tasks.read(database, 1)
    assert isinstance(row, TaskRow)
    assert row.live is task.live
    assert row.created_at - task.created_at == timedelta(0)
