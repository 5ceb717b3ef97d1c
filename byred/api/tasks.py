"""The commands `task.*`."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any

import msgspec

from byred.api.contract import Command, Context, Notification, Stream
from byred.api.explain import explain
from byred.api.parts import Id, Parts
from byred.api.views import TaskPage, TaskView, task_view
from byred.core.errors import InvalidError
from byred.core.event import Event
from byred.core.task import ENDED, ENDINGS, Step, Task, TaskState
from byred.scheduler.intake import LONGEST_PROMPT, Submission, submit
from byred.store import inputs, leases, questions, tasks
from byred.store.database import Database, Transaction
from byred.store.inputs import InputKind

# A cancelled or held task's server is gone well within this; then the reply shows the end.
STOP_SECONDS = 12.0
MOST = 1000


class Submit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`task.submit`."""

    repo: str
    prompt: str
    base: str | None = None
    title: str | None = None
    priority: int = 0
    depends_on: tuple[Id, ...] = ()
    labels: tuple[str, ...] = ()
    key: str | None = None


class List(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`task.list`."""

    states: tuple[TaskState, ...] | None = None
    label: str | None = None
    limit: int = 100
    before: Id | None = None


class One(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command on one task."""

    id: Id


class Tell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`task.tell`."""

    id: Id
    text: str


class Log(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`task.log`."""

    id: Id
    after: Id = 0
    limit: int = MOST
    follow: bool = False


def commands(parts: Parts) -> list[Command[Any]]:
    """Give the commands on tasks."""
    return [
        Command("task.submit", Submit, partial(_submit, parts)),
        Command("task.list", List, partial(_list, parts)),
        Command("task.get", One, partial(_get, parts)),
        Command("task.cancel", One, partial(_cancel, parts)),
        Command("task.tell", Tell, partial(_tell, parts)),
        Command("task.interrupt", One, partial(_interrupt, parts)),
        Command("task.retry", One, partial(_retry, parts)),
        Command("task.hold", One, partial(_hold, parts)),
        Command("task.release", One, partial(_release, parts)),
        Command("task.explain", One, partial(_explain, parts)),
        Command("task.log", Log, partial(_log, parts)),
    ]


async def _submit(parts: Parts, context: Context, request: Submit) -> TaskView:
    submission = Submission(**msgspec.structs.asdict(request), owner=context.peer.user)
    task = await submit(parts.database, submission, parts.intake())
    return await view(parts, task.id)


async def _list(parts: Parts, _context: Context, request: List) -> TaskPage:
    check_limit(request.limit)
    rows = await tasks.listing(
        parts.database,
        states=request.states,
        label=request.label,
        before=request.before,
        limit=request.limit + 1,
    )
    page = rows[: request.limit]
    more = page[-1].id if len(rows) > request.limit else None
    return TaskPage(tasks=[task_view(row) for row in page], next=more)


async def _get(parts: Parts, _context: Context, request: One) -> TaskView:
    return await view(parts, request.id)


async def _cancel(parts: Parts, context: Context, request: One) -> TaskView:
    def cancel(transaction: Transaction) -> Task:
        task = tasks.apply(
            transaction,
            request.id,
            lambda task: task.cancel(by=context.peer.user, now=transaction.now),
        )
        if task.state in ENDED:
            questions.withdraw_all(transaction, task.id, by=context.peer.user)
            leases.give_back(transaction, task.id)
        return task

    await parts.database.write(cancel)
    return await _when_stopped(parts, request.id)


async def _hold(parts: Parts, context: Context, request: One) -> TaskView:
    await _change(parts, request.id, lambda task: task.hold_back(by=context.peer.user))
    return await _when_stopped(parts, request.id)


async def _interrupt(parts: Parts, context: Context, request: One) -> TaskView:
    await _change(parts, request.id, lambda task: task.interrupt(by=context.peer.user))
    return await _when_stopped(parts, request.id)


async def _release(parts: Parts, context: Context, request: One) -> TaskView:
    def release(transaction: Transaction) -> None:
        open_questions = len(questions.open_of_task(transaction, request.id))
        tasks.apply(
            transaction,
            request.id,
            lambda task: task.release(by=context.peer.user, open_questions=open_questions),
        )

    await parts.database.write(release)
    return await view(parts, request.id)


async def _retry(parts: Parts, context: Context, request: One) -> TaskView:
    await _change(parts, request.id, lambda task: task.retry(by=context.peer.user))
    return await view(parts, request.id)


async def _tell(parts: Parts, context: Context, request: Tell) -> TaskView:
    if not request.text.strip():
        raise InvalidError(f"cannot tell task {request.id} nothing; give a text")
    if len(request.text) > LONGEST_PROMPT:
        raise InvalidError(
            f"cannot tell more than {LONGEST_PROMPT:,} characters at once; put the text into a "
            "file of the worktree and name it"
        )

    def tell(transaction: Transaction) -> None:
        by = context.peer.user
        tasks.apply(transaction, request.id, lambda task: task.told(by=by))
        inputs.insert(transaction, request.id, InputKind.TELL, request.text, author=by)

    await parts.database.write(tell)
    return await view(parts, request.id)


async def _explain(parts: Parts, _context: Context, request: One) -> msgspec.Struct:
    return await explain(parts, request.id)


async def _log(parts: Parts, _context: Context, request: Log) -> dict[str, Any] | Stream:
    check_limit(request.limit)
    task = await tasks.read(parts.database, request.id)
    lines = await parts.logs.read(task.id, after=request.after, limit=request.limit)
    more = lines[-1].seq if len(lines) == request.limit else None
    reply = {"id": task.id, "lines": lines, "next": more}
    if not request.follow:
        return reply
    after = lines[-1].seq if lines else request.after
    return Stream(reply, _follow_log(parts, task.id, after))


async def _follow_log(
    parts: Parts, task_id: int, after: int
) -> AsyncGenerator[Notification | Sequence[Notification], None]:
    state: TaskState | None = None

    async def ended() -> bool:
        nonlocal state
        state = (await tasks.read(parts.database, task_id)).state
        return state in ENDED

    def poke(events: Sequence[Event]) -> None:
        if any(event.task_id == task_id and event.kind in ENDINGS for event in events):
            parts.logs.poke(task_id)

    forget = parts.database.listen(poke)
    try:
        async with aclosing(parts.logs.follow(task_id, after=after, ended=ended)) as source:
            async for lines in source:
                yield [Notification("log", {"id": task_id, "line": line}) for line in lines]
        yield Notification("log.end", {"id": task_id, "state": state})
    finally:
        forget()


async def _change(parts: Parts, task_id: int, event: Callable[[Task], Step]) -> None:
    await parts.database.write(lambda tx: tasks.apply(tx, task_id, event))


async def view(parts: Parts, task_id: int) -> TaskView:
    """Show one task."""
    return task_view(await tasks.read(parts.database, task_id))


async def _when_stopped(parts: Parts, task_id: int) -> TaskView:
    """Show a task once its runner has carried out what was wanted, or as it is after a while."""
    with_runner = partial(_is_live, parts.database, task_id)
    await _until_not(parts.database, task_id, with_runner)
    return await view(parts, task_id)


async def _is_live(database: Database, task_id: int) -> bool:
    row = await tasks.read(database, task_id)
    return row.live and row.intent is not None


async def _until_not(database: Database, task_id: int, condition: Callable[[], Any]) -> None:
    changed = asyncio.Event()

    def on_events(events: Sequence[Event]) -> None:
        if any(event.task_id == task_id for event in events):
            changed.set()

    forget = database.listen(on_events)
    try:
        async with asyncio.timeout(STOP_SECONDS):
            while await condition():
                await changed.wait()
                changed.clear()
    except TimeoutError:
        return
    finally:
        forget()


def check_limit(limit: int) -> None:
    """Refuse a page size that is no page size."""
    if not 1 <= limit <= MOST:
        raise InvalidError(f"limit must be between 1 and {MOST}, not {limit}")
