"""When a turn is suspect, and what is found when it is looked at.

Owns the clocks of a turn and the look at one that fell silent: codex is asked, then its own record
is read, before anybody touches it. What is done about it is the conversation's.
"""

import asyncio
import math
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

import msgspec

from byred.agents.talk.reconcile import read_thread
from byred.codex.errors import CodexError, TransportClosed
from byred.codex.thread import Thread
from byred.codex.turn import Turn

LOOK_SECONDS = 10.0
"""Seconds for codex to say how a turn stands; one that does not say it is not well."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds: of silence (also while a tool runs), of a turn in all, of waiting with a server.

    None is for any.
    """

    stall: float
    tool_stall: float | None
    turn: float | None
    park: float


class Due(StrEnum):
    """What falls due when nothing happens."""

    STALL = "stall"
    OVERTIME = "overtime"
    PARK = "park"


class Watch:
    """The clocks of one turn after the other; `clock` gives seconds that only grow."""

    def __init__(self, limits: Limits, clock: Callable[[], float]) -> None:
        self.limits = limits
        self._clock = clock
        self._heard = self._began = clock()
        self._waiting_since: float | None = None
        self._patience: float | None = None

    def begin(self) -> None:
        """A turn is followed from now on."""
        self._heard = self._began = self._clock()
        self._waiting_since = None

    def heard(self, at: float | None = None) -> None:
        """Something was heard of the turn, whatever it is: now, or at that time."""
        self._heard = max(self._heard, self._clock() if at is None else at)

    def waiting(self, patience: float | None) -> None:
        """Say for how long in all the turn may wait for a person; None when it does not wait.

        That is neither silence nor work.
        """
        now = self._clock()
        self._patience = patience
        if patience is not None and self._waiting_since is None:
            self._waiting_since = now
        elif patience is None and self._waiting_since is not None:
            self._began += now - self._waiting_since
            self._heard = now
            self._waiting_since = None

    def patience(self, *, at_work: bool) -> float:
        """Give the seconds of silence that are nothing to worry about.

        A command that builds or tests may print nothing for long; only its agent waits.
        """
        if not at_work:
            return self.limits.stall
        longer = math.inf if self.limits.tool_stall is None else self.limits.tool_stall
        return max(self.limits.stall, longer)

    def next(self, *, at_work: bool = False) -> tuple[Due, float]:
        """Say what falls due next, and in how many seconds; not above 0 when it is due.

        `at_work` is whether a tool of the agent's runs now.
        """
        now = self._clock()
        if self._waiting_since is not None and self._patience is not None:
            return Due.PARK, self._waiting_since + self._patience - now
        stall = self._heard + self.patience(at_work=at_work) - now
        if (
            self.limits.turn is not None
            and (overtime := self._began + self.limits.turn - now) < stall
        ):
            return Due.OVERTIME, overtime
        return Due.STALL, stall


async def find_end(thread: Thread, turn: Turn) -> str | None:
    """Look whether a turn has ended unheard; then it has its end now, and this says where it was.

    Raises:
        TransportClosed: the server or the connection is gone.
    """
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            if await thread.look(turn):
                return "codex says so"
    except TransportClosed:
        raise
    except (CodexError, TimeoutError):
        # Whoever does not answer may still have written it down.
        pass
    path = None if thread.info is None else thread.info.path
    if path is None:
        return None
    try:
        record = await asyncio.to_thread(read_thread, Path(path))
    except OSError:
        return None
    if turn.id not in record.finished:
        return None
    said = {"id": "said", "type": "agentMessage", "text": record.finished[turn.id]}
    turn.take_ended({"id": turn.id, "status": "completed", "items": [said]})
    return "its record says so"
