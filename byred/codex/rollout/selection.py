"""What is told of a task's history: all of it, its end, one turn, or what came since a time.

Turns come one by one, in memory that does not grow with the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from byred.codex.rollout import history
from byred.codex.rollout.errors import NoTurnError, RolloutError
from byred.codex.rollout.history import Chronicle
from byred.codex.rollout.story import History, Tokens, Turn, TurnStatus


class Selection(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which turns are wanted; without any of these all of them.

    `turn` is one turn: its number from 1, or from -1 backwards, or its id. `last` is how many from
    the end. `since` is RFC 3339 in UTC with milliseconds, as in the records: a turn counts that
    had not ended by then.

    Turns are counted as they are found, or from -1 backwards where only the end is read. Who
    counts them himself gives his `numbers` by their ids and his `own` threads: a turn of another
    thread is inherited, one that is not counted has the number 0, and those that begin after all
    that are known go on from there.
    """

    turn: int | str | None = None
    last: int | None = None
    since: str = ""
    numbers: dict[str, int] = {}
    own: tuple[str, ...] = ()

    def wants(self, turn: Turn) -> bool:
        """Whether a turn is one of those."""
        if self.turn is not None:
            return self.turn in (turn.number, turn.id)
        if not self.since or turn.status is TurnStatus.OPEN:
            return True
        return (turn.ended_at or turn.started_at or self.since) >= self.since


class Selected:
    """The wanted turns of a task while they are told, and their sums afterwards."""

    def __init__(self, paths: Iterable[Path], wanted: Selection) -> None:
        self._paths = list(paths)
        self._wanted = wanted
        self._numbers = dict(wanted.numbers)
        self._newest = max(wanted.numbers, default="")
        self._about = History()
        self._count = 0
        self._tokens = Tokens()
        self._started_at = self._ended_at = ""

    def turns(self) -> Iterator[Turn]:
        """Yield the turns, oldest first; NoTurnError when one is wanted that is not there."""
        for turn in self._found():
            self._count += 1
            self._tokens += turn.tokens
            self._started_at = self._started_at or turn.started_at
            self._ended_at = turn.ended_at or turn.started_at or self._ended_at
            yield self._numbered(turn)

    def summary(self) -> History:
        """Return the history without its turns: the sums are those of the turns that were told."""
        return msgspec.structs.replace(
            self._about,
            turns=(),
            turn_count=self._count,
            tokens=self._tokens,
            started_at=self._started_at,
            ended_at=self._ended_at,
        )

    def _numbered(self, turn: Turn) -> Turn:
        if not self._wanted.own:
            return turn
        inherited = turn.thread_id not in self._wanted.own
        if not inherited and turn.id > self._newest:
            self._newest = turn.id  # these ids grow with time
            self._numbers[turn.id] = max(self._numbers.values(), default=0) + 1
        number = self._numbers.get(turn.id, 0)
        return msgspec.structs.replace(turn, number=number, inherited=inherited)

    def _found(self) -> Iterator[Turn]:
        one = self._wanted.turn
        if isinstance(one, int) and one < 0:
            yield from self._from_end(-one, one)
        elif self._wanted.last is not None:
            yield from self._from_end(self._wanted.last, None)
        else:
            yield from self._from_begin(one)

    def _from_end(self, count: int, one: int | None) -> Iterator[Turn]:
        self._about = told = history.last_of_task(self._paths, count)
        if one is None:
            yield from filter(self._wanted.wants, told.turns)
        elif len(told.turns) < count:
            raise _no_turn(one, len(told.turns))
        else:
            yield told.turns[0]

    def _from_begin(self, one: int | str | None) -> Iterator[Turn]:
        chronicle = Chronicle.of_task(self._paths)
        self._about = chronicle.summary()
        for turn in chronicle.turns():
            if self._wanted.wants(turn):
                yield turn
                if one is not None:
                    break
        self._about = chronicle.summary()
        if one is not None and not self._count:
            raise _no_turn(one, self._about.turn_count)


def _no_turn(wanted: int | str, count: int) -> RolloutError:
    return NoTurnError(f"cannot show turn {wanted}: the history has {count} turns")
