"""Starts of turns, of all tasks together, spaced once the model's servers asked for fewer.

Owns the gap: it grows with refusals, shrinks with turns that end well, and is none at first. A
refusal with quota left means that too many began at once, so only starts wait; what joins a running
turn does not. Kept in memory: after a restart the servers say again what they want.
"""

import asyncio
from collections.abc import Callable

FIRST_GAP = 1.0
LONGEST_GAP = 60.0


class Throttle:
    """One for all tasks; `clock` gives seconds that only grow."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._gap = 0.0
        self._next = 0.0
        self._grown_at = 0.0
        self._place = asyncio.Lock()
        self._eased = asyncio.Event()

    @property
    def gap(self) -> float:
        """Seconds between two starts now; 0 while nobody has refused anything."""
        return self._gap

    def refused(self) -> None:
        """A start was refused as one too many; those that were sent with it count with it."""
        now = self._clock()
        if self._gap and now < self._grown_at + self._gap:
            return
        self._gap = min(max(self._gap * 2, FIRST_GAP), LONGEST_GAP)
        self._grown_at = now
        self._next = max(self._next, now + self._gap)

    def worked(self) -> None:
        """A turn ended well: the next ones may come closer together."""
        self._gap = self._gap / 2 if self._gap / 2 >= FIRST_GAP else 0.0
        self._next = min(self._next, self._clock() + self._gap)
        self._eased.set()

    async def start(self) -> None:
        """Wait until a turn may start, each in the order in which it came."""
        async with self._place:
            while (left := self._next - self._clock()) > 0:
                self._eased.clear()
                try:
                    async with asyncio.timeout(left):
                        await self._eased.wait()
                except TimeoutError:
                    continue
            self._next = self._clock() + self._gap
