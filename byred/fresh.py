"""What has just become readable, handed to those who have read everything before it.

Owns the place where it waits for one follower. Where the older things are read, and when, is the
follower's own affair.
"""

import asyncio
from collections.abc import Sequence
from typing import Final, Generic, TypeVar

T = TypeVar("T")

MOST: Final = 500
"""Things that are kept for one follower."""


class Fresh(Generic[T]):
    """New things in their order, for one follower; when they become too many, none is kept.

    Before it reads what is older the follower calls `clear`: what it finds there is either older
    than what is kept from then on, or the same, which it passes over.
    """

    def __init__(self) -> None:
        self._kept: list[T] = []
        self._missed = False
        self._changed = asyncio.Event()

    def put(self, things: Sequence[T]) -> None:
        """Keep things, if all since `clear` are kept."""
        if self._missed or len(self._kept) + len(things) > MOST:
            self.miss()
        else:
            self._kept += things
            self._changed.set()

    def miss(self) -> None:
        """Make the follower read again, as one that has missed something."""
        self._kept.clear()
        self._missed = True
        self._changed.set()

    def clear(self) -> None:
        """Keep what comes from now on."""
        self._kept.clear()
        self._missed = False

    async def take(self) -> Sequence[T] | None:
        """Wait for new things and give all of them; None when one was missed since `clear`."""
        while not (self._kept or self._missed):
            self._changed.clear()
            await self._changed.wait()
        if self._missed:
            return None
        kept, self._kept = self._kept, []
        return kept
