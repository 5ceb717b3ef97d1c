"""The commands `daemon.*`."""

from functools import partial
from typing import Annotated, Any

import msgspec

from byred.agents.rest.clearing import Bounds
from byred.api.contract import Command, Context
from byred.api.parts import Id, Parts
from byred.store.overview import Overview


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command without parameters."""


class Gc(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`daemon.gc`: seconds, worktrees and bytes; when none is given those of the settings hold."""

    dry_run: bool = False
    age: Annotated[float, msgspec.Meta(ge=0, le=1e10)] | None = None
    count: Id | None = None
    size: Id | None = None


def commands(parts: Parts) -> list[Command[Any]]:
    """Give the commands on the daemon itself."""
    return [
        Command("daemon.status", Nothing, partial(_status, parts, Overview(parts.database))),
        Command("daemon.reload", Nothing, partial(_reload, parts)),
        Command("daemon.drain", Nothing, partial(_drain, parts)),
        Command("daemon.gc", Gc, partial(_gc, parts)),
    ]


async def _status(
    parts: Parts, overview: Overview, _context: Context, _request: Nothing
) -> dict[str, Any]:
    figures = await overview.read()
    return msgspec.structs.asdict(parts.status()) | {
        "tasks": {str(state): number for state, number in figures.tasks.items()},
        "questions_open": figures.questions_open,
        "seq": figures.seq,
    }


async def _reload(parts: Parts, _context: Context, _request: Nothing) -> dict[str, Any]:
    return await parts.reload()


async def _drain(parts: Parts, _context: Context, _request: Nothing) -> dict[str, Any]:
    parts.drain()
    return {"draining": True, "running": parts.status().running}


async def _gc(parts: Parts, _context: Context, request: Gc) -> msgspec.Struct:
    asked = Bounds(age=request.age, count=request.count, size=request.size)
    bounds = asked if asked.of_worktrees else None
    return await parts.clearer.clear(dry_run=request.dry_run, bounds=bounds)
