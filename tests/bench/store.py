"""How many facts a second the store takes, each on the disk before its caller goes on.

The same row is inserted in four ways into a new database each, in turns; the best turn of each
counts, and the ratios are of this run.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiosqlite

from byred.core.event import NewEvent
from byred.store.database import open_database
from byred.store.queries import load

_ROWS = 2_000
_TURNS = 3
_CALLERS = 256
_LEAST = 2.0  # times what one caller alone stores

EVENT = NewEvent(kind="task.progress", data={"text": "a line of what an agent says"})
_PARAMETERS = {
    "at": "2026-03-01T12:00:00.000000Z",
    "kind": EVENT.kind,
    "task_id": None,
    "question_id": None,
    "data": '{"text":"a line of what an agent says"}',
}


def main() -> int:
    """Print the table and return 0 when grouping is worth it."""
    ways = {
        "aiosqlite, a commit a statement": _commit_each,
        "aiosqlite, statement by statement, one commit": _one_commit,
        "the writer, one caller": _alone,
        f"the writer, {_CALLERS} callers": _together,
    }
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(_TURNS):
        for name, way in ways.items():
            with tempfile.TemporaryDirectory(prefix="byred-bench-") as folder:
                best[name] = min(best[name], asyncio.run(way(Path(folder) / "bench.sqlite3")))
    rates = {name: _ROWS / seconds for name, seconds in best.items()}
    first = next(iter(rates.values()))
    sys.stdout.write(f"{'':<48}{'rows/s':>10}{'ratio':>8}\n")
    for name, rate in rates.items():
        sys.stdout.write(f"{name:<48}{rate:>10,.0f}{rate / first:>7.1f}x\n")
    *_, alone, together = rates.values()
    sys.stdout.write(f"grouping gains {together / alone:.1f}x (at least {_LEAST:g}x)\n")
    return 0 if together >= _LEAST * alone else 1


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    start = time.perf_counter()
    await work()
    return time.perf_counter() - start


async def _commit_each(path: Path) -> float:
    return await _through_aiosqlite(path, each=True)


async def _one_commit(path: Path) -> float:
    return await _through_aiosqlite(path, each=False)


async def _through_aiosqlite(path: Path, *, each: bool) -> float:
    async with open_database(path):
        pass
    async with aiosqlite.connect(path) as connection:
        await connection.execute("PRAGMA synchronous = FULL")

        async def work() -> None:
            for _ in range(_ROWS):
                async with connection.execute(load("events")["append"], _PARAMETERS) as cursor:
                    await cursor.fetchone()
                if each:
                    await connection.commit()
            await connection.commit()

        return await _timed(work)


async def _alone(path: Path) -> float:
    return await _through_the_writer(path, callers=1)


async def _together(path: Path) -> float:
    return await _through_the_writer(path, callers=_CALLERS)


async def _through_the_writer(path: Path, *, callers: int) -> float:
    left = iter(range(_ROWS))
    async with open_database(path) as database:

        async def caller() -> None:
            for _ in left:
                await database.write(lambda transaction: transaction.emit(EVENT))

        return await _timed(lambda: asyncio.gather(*[caller() for _ in range(callers)]))


if __name__ == "__main__":
    raise SystemExit(main())
