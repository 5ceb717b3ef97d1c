"""The database for those who have nobody to refuse: what finds no room or a lock is tried again.

A client whose write finds no room hears of it at once. An agent's turn, a verdict or an exit that
happened cannot be refused: they wait here until they are stored, and what they are about goes on
meanwhile. Owns how long between two tries, and the end of the patience when the daemon stops.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import structlog

from byred.store.database import Database, Listener, Transaction
from byred.store.errors import StoreBusyError

FIRST_WAIT = 0.2
LONGEST_WAIT = 5.0

T = TypeVar("T")
_log = structlog.get_logger("byred.store")


class PatientDatabase(Database):
    """The same database, with writes and reads that wait until they can be done."""

    def __init__(self, database: Database) -> None:
        # The file, its writer and its listeners are the other's; nothing here has any of its own.
        self._same = database
        self.path = database.path
        self._over = asyncio.Event()

    def hurry(self) -> None:
        """From now on try once: the daemon stops, and the next one recovers what is not stored."""
        self._over.set()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """See `Database.listen`."""
        return self._same.listen(listener)

    async def write(self, function: Callable[[Transaction], T]) -> T:
        """Run `function` as one transaction, as often as it takes until it is on the disk.

        Raises:
            StoreBusyError: it cannot be stored now and the daemon stops.
            StoreError: the database is damaged or closed.
            Exception: whatever `function` raises; then nothing of it is stored.
        """
        return await self._insist(lambda: self._same.write(function))

    async def rows(self, sql: str, parameters: dict[str, Any]) -> list[sqlite3.Row]:
        """Read all rows of one statement, as often as it takes.

        Raises:
            StoreBusyError: it cannot be read now and the daemon stops.
            StoreError: the database is damaged or closed.
        """
        return await self._insist(lambda: self._same.rows(sql, parameters))

    async def close(self) -> None:
        """Leave the file to who opened it."""
        self.hurry()

    async def _insist(self, act: Callable[[], Awaitable[T]]) -> T:
        wait = FIRST_WAIT
        while True:
            try:
                return await act()
            except StoreBusyError as error:
                if self._over.is_set():
                    raise
                _log.warning("waits to store", action="store.waits", why=str(error))
            try:
                async with asyncio.timeout(wait):
                    await self._over.wait()
            except TimeoutError:
                wait = min(wait * 2, LONGEST_WAIT)
