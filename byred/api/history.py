"""The commands on what codex recorded: a task's history, documents of it, words in all of them."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

import msgspec

from byred.api.contract import Command, Context, Notification, Result, Stream
from byred.api.parts import Id, Parts
from byred.api.tasks import check_limit
from byred.codex.rollout import story
from byred.codex.rollout.requests import Answer
from byred.codex.rollout.selection import Selection
from byred.core.errors import ByredError, InvalidError, NotFoundError
from byred.core.event import Event
from byred.core.task import ENDED, ENDINGS
from byred.store import tasks, turns
from byred.store.tasks import TaskRow

PAGE = 4 << 20
"""Bytes of turns or text in a reply; what is more follows as notifications."""
FASTEST = 1000.0
LONGEST_WORDS = 1000


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which turns of a task: all, one (by number or id), the last ones, those since a time."""

    id: Id
    turn: int | str | None = None
    last: Id | None = None
    since: str | None = None


class History(Wanted, frozen=True, kw_only=True):
    """`task.history`."""

    follow: bool = False
    speed: float | None = None


class Record(Wanted, frozen=True, kw_only=True):
    """`task.record`."""

    format: Literal["md", "html", "jsonl"]


class Search(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`history.search`."""

    words: str
    id: Id | None = None
    exact_case: bool = False
    limit: int = 100


def commands(parts: Parts) -> list[Command[Any]]:
    """Give the commands on histories."""
    return [
        Command("task.history", History, partial(_history, parts)),
        Command("task.record", Record, partial(_record, parts)),
        Command("history.search", Search, partial(_search, parts)),
    ]


async def _history(parts: Parts, _context: Context, request: History) -> Result | Stream:
    task = await tasks.read(parts.database, request.id)
    wanted = await _selection(parts, task, request)
    if request.follow:
        if request.turn is not None or request.speed is not None:
            raise InvalidError("cannot follow one turn or a replay; leave out turn and speed")
        source = _followed(parts, task.id, wanted)
        return Stream({"id": task.id, "turns": [], "more": True}, _turns(task.id, source))
    if request.speed is not None and not 0 < request.speed <= FASTEST:
        raise InvalidError(f"speed must be above 0 and at most {FASTEST:g}")
    source = parts.records.tell(task.id, wanted, speed=request.speed)
    # Of a replay the first step alone: the others come in their time.
    page = await _page(source, PAGE if request.speed is None else 0)
    told = [answer.turn for answer in page if answer.turn is not msgspec.UNSET]
    reply = {"id": task.id, "turns": told}
    if isinstance(end := page[-1].end, dict):
        return reply | {"more": False} | _about(end)
    return Stream(reply | {"more": True}, _turns(task.id, source))


async def _record(parts: Parts, _context: Context, request: Record) -> Result | Stream:
    task = await tasks.read(parts.database, request.id)
    wanted = await _selection(parts, task, request)
    title = task.title or task.prompt.strip().partition("\n")[0]
    source = parts.records.write(
        task.id, wanted, form=request.format, title=f"Task {task.id}: {title}"
    )
    page = await _page(source, PAGE)
    text = "".join(answer.text for answer in page if isinstance(answer.text, str))
    more = not isinstance(page[-1].end, dict)
    reply = {"id": task.id, "format": request.format, "text": text, "more": more}
    return Stream(reply, _texts(task.id, source)) if more else reply


async def _search(parts: Parts, _context: Context, request: Search) -> Result:
    check_limit(request.limit)
    if not request.words.strip() or len(request.words) > LONGEST_WORDS:
        raise InvalidError(f"words must be 1 to {LONGEST_WORDS} characters, not only spaces")
    if request.id is not None:
        await tasks.read(parts.database, request.id)
    hits: list[dict[str, Any]] = []
    unread: list[msgspec.Raw] = []
    more = False
    source = parts.records.search(
        request.words, task_id=request.id, exact_case=request.exact_case, most=request.limit
    )
    async with aclosing(source) as answers:
        async for answer in answers:
            if isinstance(answer.hit, msgspec.Raw):
                hit = msgspec.json.decode(answer.hit, type=dict[str, Any])
                hits.append({"task_id": int(hit.pop("home")), **hit})
            elif isinstance(answer.unread, msgspec.Raw):
                unread.append(answer.unread)
            elif isinstance(answer.end, dict):
                more = bool(answer.end.get("more"))
    return {"hits": hits, "more": more, "unread": unread[: request.limit]}


async def _selection(parts: Parts, task: TaskRow, request: Wanted) -> Selection:
    """Say which turns are wanted, under the numbers by which byred counts a task's turns."""
    given = [name for name in ("turn", "last", "since") if getattr(request, name) is not None]
    if len(given) > 1:
        raise InvalidError(f"cannot select by {' and '.join(given)} at once; leave out all but one")
    rows = await turns.of_task(parts.database, task.id)
    numbers = {row.turn_id: row.number for row in rows}
    own = tuple({row.thread_id for row in rows})
    if task.forked_from is not None and not own:
        own = ("none yet",)
    one = request.turn
    if rows and isinstance(one, int) and one > 0:
        one = next((row.turn_id for row in rows if row.number == one), None)
        if one is None:
            raise NotFoundError(
                f"there is no turn {request.turn} of task {task.id}; its turns are 1 to "
                f"{rows[-1].number}"
            )
    return Selection(one, request.last, _moment(request.since), numbers, own)


def _moment(text: str | None) -> str:
    """Write a moment as the records have it, so that texts compare as times do."""
    if text is None:
        return ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidError(
            f"since must be a time like 2026-01-31T12:00:00Z, not {text[:40]!r}"
        ) from None
    utc = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    return utc.isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def _page(source: AsyncGenerator[Answer, None], most: int) -> list[Answer]:
    """Take an answer to its end, or until it has more than so many bytes; the rest stays."""
    page: list[Answer] = []
    size = 0
    try:
        async for answer in source:
            page.append(answer)
            size += len(answer.text) if isinstance(answer.text, str) else 0
            size += len(bytes(answer.turn)) if isinstance(answer.turn, msgspec.Raw) else 0
            if size > most:
                break
    except BaseException:
        await source.aclose()
        raise
    return page


def _about(end: dict[str, Any]) -> dict[str, Any]:
    """Give what is known of a history beside its turns: every field, also when it says nothing."""
    about = msgspec.structs.asdict(msgspec.convert(end, story.History))
    return {name: value for name, value in about.items() if name != "turns"}


async def _turns(
    task_id: int, source: AsyncGenerator[Answer, None]
) -> AsyncGenerator[Notification, None]:
    async with aclosing(source) as answers:
        try:
            async for answer in answers:
                if isinstance(answer.turn, msgspec.Raw):
                    yield Notification("history", {"id": task_id, "turn": answer.turn})
                elif isinstance(answer.end, dict):
                    yield Notification("history.end", {"id": task_id} | _about(answer.end))
        except ByredError as error:
            yield Notification("history.end", {"id": task_id, "error": _error(error)})


async def _texts(
    task_id: int, source: AsyncGenerator[Answer, None]
) -> AsyncGenerator[Notification, None]:
    async with aclosing(source) as answers:
        try:
            async for answer in answers:
                if isinstance(answer.text, str):
                    yield Notification("record", {"id": task_id, "text": answer.text})
                elif isinstance(answer.end, dict):
                    yield Notification("record.end", {"id": task_id})
        except ByredError as error:
            yield Notification("record.end", {"id": task_id, "error": _error(error)})


def _error(error: ByredError) -> dict[str, str]:
    return {"kind": error.kind, "message": str(error)}


def _followed(parts: Parts, task_id: int, wanted: Selection) -> AsyncGenerator[Answer, None]:
    async def ended() -> bool:
        return (await tasks.read(parts.database, task_id)).state in ENDED

    def poke(events: Sequence[Event]) -> None:
        if any(event.task_id == task_id and event.kind in ENDINGS for event in events):
            parts.records.poke(task_id)

    source = parts.records.follow(task_id, wanted, ended=ended)

    async def answers() -> AsyncGenerator[Answer, None]:
        forget = parts.database.listen(poke)
        try:
            async with aclosing(source):
                async for answer in source:
                    yield answer
        finally:
            forget()

    return answers()
