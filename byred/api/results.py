"""The commands `task.*` that are about a task's work."""

from functools import partial
from typing import Any

import msgspec

from byred.api.contract import Command, Context
from byred.api.parts import Id, Parts
from byred.api.tasks import MOST, check_limit, view
from byred.api.views import TaskView
from byred.scheduler import forking
from byred.store import tasks, turns
from byred.store.turns import TurnRow
from byred.workspace.results.merge import How


class Diff(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`task.diff`."""

    id: Id
    turn: Id | None = None


class Turns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`task.turns`."""

    id: Id
    after: Id = 0
    limit: int = MOST


class Patches(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`task.patches`."""

    id: Id


class Fork(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`task.fork`."""

    id: Id
    turn: Id | None = None
    prompt: str | None = None
    title: str | None = None


class Merge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`task.merge`; `tell` hands conflicts back to the agent."""

    id: Id
    into: str | None = None
    how: How = How.MERGE
    tell: bool = False


class Discard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`task.discard`."""

    id: Id


class Undelete(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`task.undelete`."""

    id: Id


class Restore(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`task.restore`."""

    id: Id
    turn: Id


class TurnPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some turns of a task, and the number to list on from when there are more."""

    id: int
    turns: list[TurnRow]
    next: int | None


def commands(parts: Parts) -> list[Command[Any]]:
    """Give the commands on results."""
    return [
        Command("task.diff", Diff, partial(_diff, parts)),
        Command("task.turns", Turns, partial(_turns, parts)),
        Command("task.patches", Patches, partial(_patches, parts)),
        Command("task.fork", Fork, partial(_fork, parts)),
        Command("task.merge", Merge, partial(_merge, parts)),
        Command("task.discard", Discard, partial(_discard, parts)),
        Command("task.undelete", Undelete, partial(_undelete, parts)),
        Command("task.restore", Restore, partial(_restore, parts)),
    ]


async def _diff(parts: Parts, _context: Context, request: Diff) -> msgspec.Struct:
    return await parts.results.diff(request.id, request.turn)


async def _turns(parts: Parts, _context: Context, request: Turns) -> TurnPage:
    check_limit(request.limit)
    task = await tasks.read(parts.database, request.id)
    rows = await turns.of_task(
        parts.database, task.id, after=request.after, limit=request.limit + 1
    )
    page = rows[: request.limit]
    more = page[-1].number if len(rows) > request.limit else None
    return TurnPage(id=task.id, turns=page, next=more)


async def _patches(parts: Parts, _context: Context, request: Patches) -> dict[str, Any]:
    return {"id": request.id, "patches": await parts.results.patches(request.id)}


async def _fork(parts: Parts, context: Context, request: Fork) -> TaskView:
    asked = forking.Fork(
        task_id=request.id,
        owner=context.peer.user,
        turn=request.turn,
        prompt=request.prompt,
        title=request.title,
    )
    task = await forking.fork(parts.database, asked, parts.intake())
    return await view(parts, task.id)


async def _merge(parts: Parts, context: Context, request: Merge) -> TaskView:
    await parts.results.merge(
        request.id,
        into=request.into,
        how=request.how,
        tell_conflicts=request.tell,
        by=context.peer.user,
    )
    return await view(parts, request.id)


async def _discard(parts: Parts, context: Context, request: Discard) -> TaskView:
    await parts.removal.discard(request.id, by=context.peer.user)
    return await view(parts, request.id)


async def _undelete(parts: Parts, context: Context, request: Undelete) -> TaskView:
    await parts.removal.undelete(request.id, by=context.peer.user)
    return await view(parts, request.id)


async def _restore(parts: Parts, context: Context, request: Restore) -> TaskView:
    await parts.removal.restore(request.id, request.turn, by=context.peer.user)
    return await view(parts, request.id)
