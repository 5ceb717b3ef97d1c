"""Who has nobody to refuse waits until it is stored; a damaged file and a stop end the waiting."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from byred.core.event import NewEvent
from byred.store import events
from byred.store.database import Database, Transaction, open_database
from byred.store.errors import SchemaError, StoreBusyError
from byred.store.patience import PatientDatabase


def note(transaction: Transaction) -> int:
    return transaction.emit(NewEvent(kind="test")).seq


class Troubled(Database):
    """A database that has trouble with the first few writes."""

    def __init__(self, same: Database, *troubles: Exception) -> None:
        self.path = same.path
        self.troubles = list(troubles)
        self.tried = asyncio.Event()
        self._same = same

    def listen(self, listener: Any) -> Callable[[], None]:
        return self._same.listen(listener)

    async def write(self, function: Callable[[Transaction], Any]) -> Any:
        self.tried.set()
        if self.troubles:
            raise self.troubles.pop(0)
        return await self._same.write(function)


FULL = StoreBusyError("cannot store: the disk is full")


async def test_what_finds_no_room_is_stored_once_as_soon_as_there_is_some(tmp_path: Path) -> None:
    async with open_database(tmp_path / "db") as database:
        heard: list[Any] = []
        patient = PatientDatabase(Troubled(database, FULL, FULL))
        patient.listen(heard.extend)
        async with asyncio.timeout(30):
            assert await patient.write(note) == 1
        assert len(await events.after(database, 0, limit=10)) == 1
        assert len(heard) == 1


async def test_a_stop_ends_the_waiting(tmp_path: Path) -> None:
    async with open_database(tmp_path / "db") as database:
        troubled = Troubled(database, *[FULL] * 1000)
        patient = PatientDatabase(troubled)
        writing = asyncio.create_task(patient.write(note))
        async with asyncio.timeout(30):
            await troubled.tried.wait()
            patient.hurry()
            with pytest.raises(StoreBusyError):
                await writing
        with pytest.raises(StoreBusyError):
            await patient.write(note)


async def test_a_damaged_file_and_the_functions_own_errors_are_not_waited_for(
    tmp_path: Path,
) -> None:
    async with open_database(tmp_path / "db") as database:
        patient = PatientDatabase(Troubled(database, SchemaError("damaged"), KeyError("own")))
        with pytest.raises(SchemaError):
            await patient.write(note)
        with pytest.raises(KeyError):
            await patient.write(note)
