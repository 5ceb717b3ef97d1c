"""The database as the rest of byred sees it: write a function, read rows, listen to events.

A write is a function of a `Transaction`, run by the one writer (`writer`); it is stored whole or
not at all. Reads go through aiosqlite on a connection of their own, and see every commit that was
acknowledged. How the file is opened and brought to this program's schema is `opening`'s.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from byred.core.event import Event
from byred.store import opening
from byred.store.errors import StoreError, explained
from byred.store.writer import Clock, Transaction, Writer

__all__ = ["Clock", "Database", "Transaction", "open_database", "utc_now"]

T = TypeVar("T")
Listener = Callable[[Sequence[Event]], None]


def utc_now() -> datetime:
    """Give the wall clock's time in UTC."""
    return datetime.now(UTC)


class Database:
    """One open database; made by `open_database`."""

    def __init__(
        self,
        path: Path,
        writer: sqlite3.Connection,
        reader: aiosqlite.Connection,
        clock: Clock,
    ) -> None:
        self.path = path
        self._reader = reader
        self._closed = False
        self._listeners: list[Listener] = []
        self._writer = Writer(path, writer, clock, self._tell)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` on the loop with the events of each commit; the result ends that.

        The events come in the order of their `seq`, after their commit and before the functions
        that caused them return to their callers.
        """
        self._listeners.append(listener)

        def forget() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return forget

    async def write(self, function: Callable[[Transaction], T]) -> T:
        """Run `function` as one transaction and give its result once that is on the disk.

        A caller that is cancelled while it waits does not undo the write: it may still happen.

        Raises:
            StoreError: the disk is full, the file locked for too long, or the storage broken.
            Exception: whatever `function` raises; then nothing of it is stored.
        """
        return await self._writer.write(function)

    async def rows(self, sql: str, parameters: dict[str, Any]) -> list[sqlite3.Row]:
        """Read all rows of one statement.

        Raises:
            StoreError: the file cannot be read.
        """
        if self._closed:
            raise StoreError(f"cannot read {self.path}: it is closed; start byred again")
        try:
            # In one step: a statement that is still open would keep its snapshot for all others.
            return list(await self._reader.execute_fetchall(sql, parameters))
        except sqlite3.Error as error:
            raise explained(self.path, error) from error

    async def close(self) -> None:
        """Finish what was asked for and close the file."""
        self._closed = True
        # The writer last: only it can bring the log into the file and take it away.
        try:
            await self._reader.close()
        finally:
            await self._writer.close()

    def _tell(self, events: Sequence[Event]) -> None:
        for listener in list(self._listeners):
            try:
                listener(events)
            # The event is stored: a listener that fails must not keep it from the others.
            except Exception as error:  # noqa: BLE001
                asyncio.get_running_loop().call_exception_handler(
                    {"message": "a listener of the store failed", "exception": error}
                )


@asynccontextmanager
async def open_database(path: Path, *, clock: Clock = utc_now) -> AsyncIterator[Database]:
    """Open the database at `path`, made or brought to this program's schema where needed.

    Raises:
        SchemaError: it is newer than this program, damaged, or something else; it stays as it is.
        StoreError: it cannot be opened or written.
    """
    writer = await asyncio.to_thread(opening.open_for_writing, path)
    try:
        reader = await aiosqlite.connect(
            opening.read_only(path), uri=True, timeout=opening.BUSY_SECONDS
        )
        reader.row_factory = sqlite3.Row
    except BaseException:
        writer.close()
        raise
    database = Database(path, writer, reader, clock)
    try:
        yield database
    finally:
        await database.close()
