"""Store and machine against a plain model, with a crash between any two steps.

The model is what a reader would expect of byred's facts: dictionaries of values, and a list of the
events in their order. A crash is a copy of the files as they are at that instant, as a machine
that loses its power leaves them; what was not committed by then is gone.
"""

import asyncio
import itertools
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from byred.core.errors import ConflictError, WrongStateError
from byred.core.question import Question, QuestionState, QuestionStep, answer, expire, withdraw
from byred.core.retry import FailureClass, RetryPolicy
from byred.core.task import Identity, Result, Step, Task, TaskError, TaskState
from byred.store import events, inputs, leases, processes, questions, tasks
from byred.store.database import Database, Transaction, open_database
from byred.store.inputs import InputKind

T = TypeVar("T")
START = datetime(2026, 3, 1, tzinfo=UTC)
RESULT = Result(summary="done", commits=("c",), files_changed=1, dirty=False)

EVENTS: dict[str, Callable[[Task, datetime, int], Step]] = {
    "unblocked": lambda task, _now, _open: task.unblocked(),
    "claim": lambda task, now, _open: task.claim(now=now),
    "placed": lambda task, _now, _open: task.placed(f"{task.branch}x", f"{task.worktree}x"),
    "thread_started": lambda task, _now, _open: task.thread_started("thread"),
    "turn_started": lambda task, _now, _open: task.turn_started("turn"),
    "verify": lambda task, _now, _open: task.verify(),
    "succeed": lambda task, now, _open: task.succeed(RESULT, now=now),
    "fail": lambda task, now, _open: task.attempt_failed(
        FailureClass.AGENT,
        "it crashed",
        policy=RetryPolicy(),
        now=now,
        retry_at=now + timedelta(seconds=10) if task.failures < 2 else None,
    ),
    "give_up": lambda task, now, _open: task.give_up(
        TaskError(kind="agent", message="hopeless"), now=now
    ),
    "due": lambda task, _now, _open: task.due(),
    "cancel": lambda task, now, _open: task.cancel(by="ada", now=now),
    "hold": lambda task, _now, _open: task.hold_back(by="ada"),
    "account": lambda task, now, _open: task.hold_for_account("limit", until=now),
    "repair": lambda task, _now, _open: task.hold_for_repair("broken"),
    "release": lambda task, _now, number: task.release(by="ada", open_questions=number),
    "interrupt": lambda task, _now, _open: task.interrupt(by="ada"),
    "told": lambda task, _now, _open: task.told(by="ada"),
    "retry": lambda task, _now, _open: task.retry(by="ada"),
    "stopped": lambda task, now, _open: task.stopped(now=now),
    "recovered": lambda task, now, number: task.recovered(now=now, open_questions=number),
}
# What brings a task on, where there is one such thing.
NEXT = {
    TaskState.QUEUED: "claim",
    TaskState.BLOCKED: "unblocked",
    TaskState.PREPARING: "turn_started",
    TaskState.RUNNING: "verify",
    TaskState.VERIFYING: "succeed",
    TaskState.BACKING_OFF: "due",
    TaskState.HELD: "release",
    TaskState.SUCCEEDED: "told",
    TaskState.FAILED: "retry",
    TaskState.CANCELLED: "retry",
}
CLOSINGS: dict[str, Callable[[Question, datetime], QuestionStep]] = {
    "answer": lambda question, now: answer(question, "yes", by="ada", now=now),
    "withdraw": lambda question, now: withdraw(question, by="ada", now=now),
    "expire": lambda question, now: expire(question, now=now),
}
PICK = st.integers(0, 1_000)


def one_of(number: int, choices: Sequence[T]) -> T:
    """Choose by any number, so that hypothesis needs not to know how many there are."""
    return choices[number % len(choices)]


def allows(event: Callable[[Task], Step], task: Task) -> bool:
    """Say whether the machine lets an event happen."""
    try:
        event(task)
    except WrongStateError:
        return False
    return True


class Model(msgspec.Struct):
    """The facts as plain values; `log` holds kind, task and question of each event."""

    tasks: dict[int, Task] = msgspec.field(default_factory=dict)
    questions: dict[int, Question] = msgspec.field(default_factory=dict)
    ports: dict[int, tuple[int, str]] = msgspec.field(default_factory=dict)
    pids: dict[int, int] = msgspec.field(default_factory=dict)
    pending: list[tuple[int, int, str]] = msgspec.field(default_factory=list)
    said: int = 0
    log: list[tuple[str, int | None, int | None]] = msgspec.field(default_factory=list)

    def open_of(self, task_id: int) -> list[int]:
        """Give the open questions of a task."""
        return [
            question.id
            for question in self.questions.values()
            if question.task_id == task_id and question.state is QuestionState.OPEN
        ]

    def in_state(self, *, still_open: bool) -> list[int]:
        """Give the questions that are open, or those that are not."""
        return [
            question.id
            for question in self.questions.values()
            if (question.state is QuestionState.OPEN) == still_open
        ]

    def asking(self) -> list[int]:
        """Give the tasks whose agent may ask now."""
        return [task.id for task in self.tasks.values() if allows(Task.asked, task)]

    def events_of(self, task_id: int, *, allowed: bool) -> list[str]:
        """Give the events that may happen to a task, or those that may not."""
        task = self.tasks[task_id]
        return [
            name
            for name, event in EVENTS.items()
            if allows(lambda task, event=event: event(task, START, 0), task) == allowed
        ]

    def take(self, step: Step) -> None:
        """Let an event of the machine be a fact."""
        self.tasks[step.task.id] = step.task
        self.log.append((step.event.kind, step.event.task_id, None))

    def note(self, question: Question, kind: str) -> None:
        """Let a question and what happened to it be facts."""
        self.questions[question.id] = question
        self.log.append((kind, question.task_id, question.id))


class PowerCut(Exception):  # noqa: N818 - it is no error of the program's
    """The machine lost its power while a transaction was open."""


class Machine(RuleBasedStateMachine):
    """Drives a real database and the model side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        # In memory: a crash is a copy here, so that no disk has to be waited for.
        memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self.folder = Path(tempfile.mkdtemp(prefix="byred-model-", dir=memory))
        self.lives = itertools.count(1)
        self.looks = itertools.count(1)
        self.model = Model()

    def now(self) -> datetime:
        return START + timedelta(seconds=next(self.looks))

    @initialize()
    def start(self) -> None:
        self.path = self.folder / "0.sqlite3"
        self.open()
        for task_id in (1, 2):
            self.submit(key=None, priority=0, after=False)
            self.apply(task_id, "claim")
            self.apply(task_id, "turn_started")

    def open(self) -> None:
        self.context: AbstractAsyncContextManager[Database] = open_database(
            self.path, clock=self.now
        )
        self.database = self.loop.run_until_complete(self.context.__aenter__())

    def shut(self) -> None:
        self.loop.run_until_complete(self.context.__aexit__(None, None, None))

    def write(self, function: Callable[[Transaction], T]) -> T:
        return self.loop.run_until_complete(self.database.write(function))

    def attempt(self, function: Callable[[Transaction], T]) -> T | None:
        """Write what may be refused; a refusal changes nothing, which the invariant checks."""
        try:
            return self.write(function)
        except sqlite3.IntegrityError:
            return None

    def copy(self) -> Path:
        """Take the files as they are now, as another name."""
        target = self.folder / f"{next(self.lives)}.sqlite3"
        for end in ("", "-wal"):
            source = self.path.with_name(f"{self.path.name}{end}")
            if source.exists():
                shutil.copyfile(source, target.with_name(f"{target.name}{end}"))
        return target

    def pick(self, number: int) -> int:
        return one_of(number, sorted(self.model.tasks))

    @rule(
        key=st.one_of(st.none(), st.sampled_from("abc")),
        priority=st.integers(-2, 2),
        after=st.booleans(),
    )
    def submit(self, key: str | None, priority: int, after: bool) -> None:
        depends_on = tuple(self.model.tasks)[:1] if after else ()

        def store(transaction: Transaction) -> Task | None:
            if key is not None and tasks.by_key(transaction, key) is not None:
                return None
            number = tasks.next_id(transaction)
            task = Task(
                id=number,
                key=key,
                title="t",
                slug="t",
                prompt="p" * 3_000,
                repo="/r",
                common_dir="/r/.git",
                base="main",
                base_commit="0",
                branch=f"b{number}",
                worktree=f"w{number}",
                home=f"h{number}",
                identity=Identity(name="n", email="e"),
                owner="o",
                state=TaskState.BLOCKED if depends_on else TaskState.QUEUED,
                priority=priority,
                depends_on=depends_on,
                created_at=transaction.now,
            )
            tasks.insert(transaction, task)
            return task

        task = self.write(store)
        known = key is not None and any(key == other.key for other in self.model.tasks.values())
        assert (task is None) == known
        if task is not None:
            assert task.id == len(self.model.tasks) + 1
            self.model.take(task.submitted())

    @rule(number=PICK, choice=PICK)
    def happen(self, number: int, choice: int) -> None:
        task_id = self.pick(number)
        self.apply(task_id, one_of(choice, self.model.events_of(task_id, allowed=True)))

    @rule(number=PICK)
    def go_on(self, number: int) -> None:
        task_id = self.pick(number)
        name = NEXT.get(self.model.tasks[task_id].state)
        if name in self.model.events_of(task_id, allowed=True):
            self.apply(task_id, name)

    def apply(self, task_id: int, name: str) -> None:
        known = self.model.tasks[task_id]
        still_open = len(self.model.open_of(task_id))

        def store(transaction: Transaction) -> tuple[Task, datetime]:
            def event(task: Task) -> Step:
                return EVENTS[name](task, transaction.now, still_open)

            return tasks.apply(transaction, task_id, event), transaction.now

        stored, now = self.write(store)
        step = EVENTS[name](known, now, still_open)
        assert stored == step.task
        self.model.take(step)

    @rule(number=PICK, choice=PICK)
    def be_refused(self, number: int, choice: int) -> None:
        task_id = self.pick(number)
        name = one_of(choice, self.model.events_of(task_id, allowed=False))
        with pytest.raises(WrongStateError):
            self.write(
                lambda tx: tasks.apply(tx, task_id, lambda task: EVENTS[name](task, tx.now, 0))
            )

    @precondition(lambda self: self.model.asking())
    @rule(number=PICK, call=st.integers(0, 4))
    def ask(self, number: int, call: int) -> None:
        task_id = one_of(number, self.model.asking())

        def store(transaction: Transaction) -> Question:
            tasks.apply(transaction, task_id, lambda task: task.asked())
            question = Question(
                id=0,
                task_id=task_id,
                text="?",
                asked_at=transaction.now,
                thread_id="thread",
                turn_id="turn",
                call_id=f"call-{call}",
            )
            return questions.insert(transaction, question)

        question = self.attempt(store)
        asked = (question.task_id for question in self.model.questions.values())
        if question is None:
            assert task_id in asked
        else:
            self.model.take(self.model.tasks[task_id].asked())
            self.model.note(question, "question.asked")

    @precondition(lambda self: self.model.in_state(still_open=True))
    @rule(number=PICK, close=st.sampled_from(sorted(CLOSINGS)))
    def close(self, number: int, close: str) -> None:
        question_id = one_of(number, self.model.in_state(still_open=True))

        def store(transaction: Transaction) -> tuple[Question, Task]:
            question = questions.get(transaction, question_id)
            step = CLOSINGS[close](question, transaction.now)
            questions.save(transaction, step)
            task = tasks.get(transaction, question.task_id)
            if task.state is TaskState.WAITING and not questions.open_of_task(transaction, task.id):
                task = tasks.apply(transaction, task.id, lambda task: task.answered())
            return step.question, task

        question, task = self.write(store)
        self.model.note(question, f"question.{question.state}")
        known = self.model.tasks[task.id]
        if known.state is TaskState.WAITING and not self.model.open_of(task.id):
            self.model.take(known.answered())
        assert self.model.tasks[task.id] == task

    @precondition(lambda self: self.model.in_state(still_open=False))
    @rule(number=PICK, close=st.sampled_from(sorted(CLOSINGS)))
    def close_again(self, number: int, close: str) -> None:
        question_id = one_of(number, self.model.in_state(still_open=False))
        with pytest.raises(ConflictError):
            self.write(
                lambda tx: questions.save(
                    tx, CLOSINGS[close](questions.get(tx, question_id), tx.now)
                )
            )

    @precondition(lambda self: self.model.in_state(still_open=False))
    @rule(number=PICK)
    def deliver(self, number: int) -> None:
        known = self.model.questions[one_of(number, self.model.in_state(still_open=False))]
        stored = self.write(lambda tx: questions.delivered(tx, known))
        if known.delivered_at is None:
            assert stored.delivered_at is not None
            self.model.note(stored, "question.delivered")
        else:
            assert stored == known

    @rule(number=PICK, port=st.integers(20_000, 20_004), name=st.sampled_from(["http", "db"]))
    def lease(self, number: int, port: int, name: str) -> None:
        task_id = self.pick(number)
        done = self.attempt(lambda tx: leases.take_ports(tx, task_id, {name: port}) or True)
        free = port not in self.model.ports and (task_id, name) not in self.model.ports.values()
        assert (done is True) == free
        if free:
            self.model.ports[port] = (task_id, name)

    @rule(number=PICK)
    def give_back(self, number: int) -> None:
        task_id = self.pick(number)
        self.write(lambda tx: leases.give_back(tx, task_id))
        self.model.ports = {
            port: held for port, held in self.model.ports.items() if held[0] != task_id
        }

    @rule(number=PICK, pid=st.integers(1, 5), alive=st.booleans())
    def serve(self, number: int, pid: int, alive: bool) -> None:
        task_id = self.pick(number)
        if not alive:
            self.write(lambda tx: processes.ended(tx, task_id, "ended"))
            self.model.pids.pop(task_id, None)
            return

        def store(transaction: Transaction) -> bool:
            processes.insert(
                transaction,
                task_id=task_id,
                pid=pid,
                start_time=1,
                boot_id="b",
                launcher="plain",
                socket=None,
            )
            return True

        done = self.attempt(store)
        assert (done is True) == (task_id not in self.model.pids)
        self.model.pids.setdefault(task_id, pid)

    @rule(number=PICK, text=st.sampled_from(["faster", "slower"]))
    def say(self, number: int, text: str) -> None:
        task_id = self.pick(number)
        said = self.write(lambda tx: inputs.insert(tx, task_id, InputKind.TELL, text, author="ada"))
        self.model.said += 1
        assert said.id == self.model.said
        self.model.pending.append((said.id, task_id, text))

    @precondition(lambda self: self.model.pending)
    @rule(number=PICK)
    def hear(self, number: int) -> None:
        input_id, _, _ = self.model.pending.pop(number % len(self.model.pending))
        self.write(lambda tx: inputs.taken(tx, [input_id], "turn"))

    @rule()
    def restart(self) -> None:
        self.shut()
        self.open()

    @rule()
    def crash(self) -> None:
        left = self.copy()
        self.shut()
        self.path = left
        self.open()

    @rule(number=PICK, size=st.sampled_from([1, 3_000_000]))
    def crash_within_a_transaction(self, number: int, size: int) -> None:
        task_id = self.pick(number)
        left: list[Path] = []

        def cut(transaction: Transaction) -> None:
            # A large one does not fit into memory's cache: SQLite writes it to the log early.
            transaction.connection.execute("PRAGMA cache_size = 10")
            tasks.apply(transaction, task_id, lambda task: task.told(by="nobody"))
            inputs.insert(transaction, task_id, InputKind.TELL, "x" * size, author="nobody")
            transaction.connection.execute("DELETE FROM leases")
            left.append(self.copy())
            raise PowerCut

        with pytest.raises(PowerCut):
            self.write(cut)
        self.shut()
        (self.path,) = left
        self.open()

    @invariant()
    def the_store_says_what_the_model_says(self) -> None:
        self.loop.run_until_complete(self.compare())

    async def compare(self) -> None:
        rows = await tasks.listing(self.database, limit=1_000)
        assert {row.id: as_task(row) for row in rows} == self.model.tasks
        for row in rows:
            assert list(row.questions) == self.model.open_of(row.id)
            assert row.pid == self.model.pids.get(row.id)
            assert row.ports == {
                name: port for port, (holder, name) in self.model.ports.items() if holder == row.id
            }
        asked = await questions.listing(self.database, limit=1_000)
        assert {question.id: question for question in asked} == self.model.questions
        log = await events.after(self.database, 0, limit=10_000)
        assert [(event.kind, event.task_id, event.question_id) for event in log] == self.model.log
        assert [event.seq for event in log] == list(range(1, len(log) + 1))
        pending = await self.database.rows(
            "SELECT id, task_id, text FROM inputs WHERE taken_at IS NULL ORDER BY id", {}
        )
        assert [tuple(row) for row in pending] == self.model.pending

    def teardown(self) -> None:
        if hasattr(self, "database"):
            self.shut()
        self.loop.close()
        shutil.rmtree(self.folder)


def as_task(row: Any) -> Task:
    """Leave away what other tables know of a task."""
    return Task(**{name: getattr(row, name) for name in Task.__struct_fields__})


@pytest.mark.promise("no_port_doubled")
@pytest.mark.promise("acknowledged_means_stored")
@pytest.mark.promise("state_with_its_event")
@pytest.mark.timeout(400)
def test_the_store_and_a_plain_model_never_differ_whatever_crashes() -> None:
    run_state_machine_as_test(
        Machine, settings=settings(max_examples=30, stateful_step_count=40, deadline=None)
    )
