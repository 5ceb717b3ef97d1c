"""Ports, servers, texts and attempts: what else the store knows of a task."""

import sqlite3
from collections.abc import Callable

import pytest

from byred.core.event import NewEvent
from byred.core.task import Task
from byred.store import attempts, inputs, leases, processes, tasks, turns
from byred.store.database import Database, Transaction
from byred.store.inputs import InputKind
from byred.store.processes import ProcessRow
from tests.store.conftest import Ticks

Submit = Callable[..., Task]


@pytest.fixture
async def two_tasks(database: Database, submit: Submit) -> None:
    await database.write(lambda tx: (submit(tx), submit(tx)))


def start(transaction: Transaction, task_id: int, pid: int) -> None:
    processes.insert(
        transaction,
        task_id=task_id,
        pid=pid,
        start_time=77,
        boot_id="boot-1",
        launcher="plain",
        socket="/run/x.sock",
    )


@pytest.mark.promise("no_port_doubled")
@pytest.mark.usefixtures("two_tasks")
async def test_a_port_has_one_holder(database: Database) -> None:
    await database.write(lambda tx: leases.take_ports(tx, 1, {"http": 20_000, "db": 20_001}))
    with pytest.raises(sqlite3.IntegrityError):
        await database.write(lambda tx: leases.take_ports(tx, 2, {"a": 20_002, "b": 20_001}))
    assert await database.write(leases.taken_ports) == {20_000, 20_001}
    assert await database.write(lambda tx: leases.ports_of(tx, 2)) == {}


@pytest.mark.usefixtures("two_tasks")
async def test_ports_are_given_back_one_by_one_or_together_and_by_their_holder(
    database: Database,
) -> None:
    await database.write(lambda tx: leases.take_ports(tx, 1, {"http": 20_001, "db": 20_000}))
    await database.write(lambda tx: leases.take_ports(tx, 2, {"http": 20_002}))
    await database.write(lambda tx: leases.give_back_port(tx, 2, 20_000))
    assert list((await database.write(lambda tx: leases.ports_of(tx, 1))).items()) == [
        ("db", 20_000),
        ("http", 20_001),
    ]
    await database.write(lambda tx: leases.give_back_port(tx, 1, 20_000))
    assert await database.write(leases.taken_ports) == {20_001, 20_002}
    await database.write(lambda tx: leases.give_back(tx, 1))
    assert await database.write(leases.taken_ports) == {20_002}
    await database.write(lambda tx: leases.take_ports(tx, 2, {"db": 20_001}))


@pytest.mark.usefixtures("two_tasks")
async def test_a_task_has_one_port_of_a_name(database: Database) -> None:
    await database.write(lambda tx: leases.take_ports(tx, 1, {"http": 20_000}))
    with pytest.raises(sqlite3.IntegrityError):
        await database.write(lambda tx: leases.take_ports(tx, 1, {"http": 20_001}))


@pytest.mark.usefixtures("two_tasks")
async def test_ended_tasks_that_still_hold_ports_are_found(database: Database) -> None:
    def fill(transaction: Transaction) -> list[int]:
        leases.take_ports(transaction, 1, {"http": 20_000, "db": 20_001})
        leases.take_ports(transaction, 2, {"http": 20_002})
        tasks.apply(transaction, 1, lambda task: task.cancel(by="ada", now=transaction.now))
        return leases.held_by_ended(transaction)

    assert await database.write(fill) == [1]


@pytest.mark.usefixtures("two_tasks")
async def test_a_task_has_at_most_one_living_server(database: Database) -> None:
    await database.write(lambda tx: start(tx, 1, 100))
    with pytest.raises(sqlite3.IntegrityError):
        await database.write(lambda tx: start(tx, 1, 101))
    await database.write(lambda tx: start(tx, 2, 200))
    await database.write(lambda tx: processes.ended(tx, 1, "killed", {"peak_memory": 5.0}))
    await database.write(lambda tx: start(tx, 1, 102))
    alive = await database.write(processes.alive)
    assert [(row.task_id, row.pid) for row in alive] == [(1, 102), (2, 200)]


@pytest.mark.usefixtures("two_tasks")
async def test_the_identity_of_a_server_is_kept(database: Database) -> None:
    assert await database.write(lambda tx: processes.alive_of(tx, 1)) is None
    await database.write(lambda tx: start(tx, 1, 100))
    row = await database.write(lambda tx: processes.alive_of(tx, 1))
    assert isinstance(row, ProcessRow)
    assert (row.pid, row.start_time, row.boot_id) == (100, 77, "boot-1")
    assert (row.launcher, row.socket, row.ended_at) == ("plain", "/run/x.sock", None)


@pytest.mark.usefixtures("two_tasks")
async def test_noting_an_end_again_changes_nothing(database: Database) -> None:
    await database.write(lambda tx: start(tx, 1, 100))
    await database.write(lambda tx: processes.ended(tx, 1, "killed"))
    await database.write(lambda tx: processes.ended(tx, 1, "killed once more"))
    rows = await database.rows("SELECT outcome, usage FROM processes", {})
    assert [tuple(row) for row in rows] == [("killed", None)]


@pytest.mark.usefixtures("two_tasks")
async def test_texts_for_an_agent_are_pending_until_its_thread_holds_them(
    database: Database,
) -> None:
    def fill(transaction: Transaction) -> None:
        inputs.insert(transaction, 1, InputKind.PROMPT, "Mend.", author="ada")
        inputs.insert(transaction, 2, InputKind.PROMPT, "Other.", author="bob")
        inputs.insert(transaction, 1, InputKind.TELL, "Faster.", author="bob")

    await database.write(fill)
    first, second = await database.write(lambda tx: inputs.pending(tx, 1))
    assert (first.id, first.kind, first.text, first.author) == (1, "prompt", "Mend.", "ada")
    assert (second.id, second.sent_at, second.taken_at) == (3, None, None)
    await database.write(lambda tx: inputs.sent(tx, [1]))
    (sent, _) = await database.write(lambda tx: inputs.pending(tx, 1))
    assert sent.sent_at is not None
    await database.write(lambda tx: inputs.sent(tx, [1, 3]))
    (again, _) = await database.write(lambda tx: inputs.pending(tx, 1))
    assert again.sent_at == sent.sent_at
    await database.write(lambda tx: inputs.taken(tx, [1], "turn-1"))
    assert [text.id for text in await database.write(lambda tx: inputs.pending(tx, 1))] == [3]
    taken, _ = await database.write(lambda tx: inputs.of_task(tx, 1))
    assert (taken.turn_id, taken.taken_at is not None) == ("turn-1", True)
    await database.write(lambda tx: inputs.untaken(tx, [1]))
    pending = await database.write(lambda tx: inputs.pending(tx, 1))
    assert [(text.id, text.sent_at is None) for text in pending] == [(1, False), (3, False)]
    # What an earlier server was sent is in flight no more.
    await database.write(lambda tx: inputs.unsent(tx, 1))
    pending = await database.write(lambda tx: inputs.pending(tx, 1))
    assert [text.sent_at for text in pending] == [None, None]
    await database.write(lambda tx: inputs.taken(tx, [], "turn-2"))
    assert [text.id for text in await database.write(lambda tx: inputs.pending(tx, 1))] == [1, 3]


@pytest.mark.usefixtures("two_tasks")
async def test_the_story_of_a_task_is_kept_in_order(database: Database) -> None:
    def live(transaction: Transaction) -> None:
        for number, outcome in ((1, "failed"), (2, "stopped"), (2, "succeeded")):
            attempts.start(transaction, 1, number)
            attempts.end(transaction, 1, outcome, None if number == 1 else "why")
        attempts.start(transaction, 2, 1)

    await database.write(live)
    story = await attempts.of_task(database, 1)
    assert [(a.number, a.outcome, a.message) for a in story] == [
        (1, "failed", None),
        (2, "stopped", "why"),
        (2, "succeeded", "why"),
    ]
    (other,) = await attempts.of_task(database, 2)
    assert (other.outcome, other.ended_at) == (None, None)


@pytest.mark.usefixtures("two_tasks")
async def test_a_turn_is_noted_once_and_its_first_end_counts(database: Database) -> None:
    for _ in range(2):
        await database.write(
            lambda tx: turns.start(tx, 1, "turn-1", thread_id="thread-1", attempt=1)
        )
    await database.write(lambda tx: turns.end(tx, 1, "turn-1", "completed", None))
    await database.write(lambda tx: turns.end(tx, 1, "turn-1", "failed", "late"))
    rows = await database.rows("SELECT turn_id, status, error FROM turns", {})
    assert [tuple(row) for row in rows] == [("turn-1", "completed", None)]


# The wall clock is put back


def set_back(clock: Ticks) -> None:
    """Put the clock back by an hour."""
    clock.looks -= 3600


def check_failed(transaction: Transaction, *, rounds: int = 2) -> int:
    """Let a check fail as the runner does; give the round that it was."""
    before = inputs.verify_rounds(transaction, 1)
    data = {"round": before + 1, "rounds": rounds + 1}
    transaction.emit(NewEvent(kind="task.verify_failed", task_id=1, data=data))
    if before < rounds:
        inputs.insert(transaction, 1, InputKind.VERIFY, "mend it", author="byred")
    return before + 1


def ended(transaction: Transaction) -> None:
    attempts.start(transaction, 1, 1)
    attempts.end(transaction, 1, "gave up: verify", "its checks failed")
    transaction.emit(NewEvent(kind="task.failed", task_id=1, data={"was": "verifying"}))


@pytest.mark.usefixtures("two_tasks")
async def test_a_task_that_a_person_retries_has_all_its_rounds_whatever_the_clock_says(
    database: Database, clock: Ticks
) -> None:
    for _ in range(3):
        assert [await database.write(check_failed) for _ in range(3)] == [1, 2, 3]
        # A crash before the end was stored changes nothing.
        assert await database.write(lambda tx: inputs.verify_rounds(tx, 1)) == 2
        await database.write(ended)
        set_back(clock)
        assert await database.write(lambda tx: inputs.verify_rounds(tx, 1)) == 0


@pytest.mark.usefixtures("two_tasks")
async def test_a_word_of_a_persons_gives_a_task_its_rounds_again(
    database: Database, clock: Ticks
) -> None:
    await database.write(ended)
    assert [await database.write(check_failed) for _ in range(2)] == [1, 2]
    set_back(clock)
    await database.write(lambda tx: inputs.insert(tx, 1, InputKind.TELL, "try this", author="ann"))
    assert [await database.write(check_failed) for _ in range(3)] == [1, 2, 3]


@pytest.mark.usefixtures("two_tasks")
async def test_attempts_are_in_their_order_whatever_the_clock_says(
    database: Database, clock: Ticks
) -> None:
    def attempt(outcome: str) -> Callable[[Transaction], None]:
        def run(transaction: Transaction) -> None:
            attempts.start(transaction, 1, 1)
            attempts.end(transaction, 1, outcome, None)

        return run

    for outcome in ("failed: agent", "failed: stall", "failed: infrastructure"):
        await database.write(attempt(outcome))
        set_back(clock)
    newest = await database.write(
        lambda tx: attempts.outcomes(tx, 1, beginning="failed: ", newest=2)
    )
    assert newest == ["failed: infrastructure", "failed: stall"]
    story = await attempts.of_task(database, 1)
    assert [each.outcome for each in story] == [
        "failed: agent",
        "failed: stall",
        "failed: infrastructure",
    ]
