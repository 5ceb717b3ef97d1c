"""How much there is, in three figures that are asked for often and seldom change.

Owns when they are read again: after any event that may have changed them. An answer needs the
database then, and else nothing but the loop, whatever else the daemon is busy with.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from byred.core.event import Event
from byred.core.task import TaskState
from byred.store import events, questions, tasks
from byred.store.database import Database

STEADY: Final = frozenset({"task.tokens"})
"""Events that come all the time while agents work, and change nothing that is counted."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks by state, questions that are open, and the `seq` of the newest event."""

    tasks: Mapping[TaskState, int]
    questions_open: int
    seq: int


class Overview:
    """The figures of one database, for as long as that is open."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: Figures | None = None
        self._seq = 0
        self._changes = 0
        database.listen(self._on_events)

    async def read(self) -> Figures:
        """Give the figures, with everything in them that was acknowledged to anybody.

        Raises:
            StoreError: they have to be read, and the file cannot be.
        """
        known = self._known
        if known is None:
            changes = self._changes
            counts, questions_open, seq = await asyncio.gather(
                tasks.counts(self._database),
                questions.count_open(self._database),
                events.newest(self._database),
            )
            known = Figures(tasks=counts, questions_open=questions_open, seq=seq)
            if self._changes == changes:
                self._known = known
        return msgspec.structs.replace(known, seq=max(known.seq, self._seq))

    def _on_events(self, committed: Sequence[Event]) -> None:
        self._seq = committed[-1].seq
        if not all(event.kind in STEADY for event in committed):
            self._known = None
            self._changes += 1
