"""Histories: of one thread, of the end of a huge one, of a task through all its threads.

What is read is `chain`'s and `reader`'s business, what it means `telling`'s. Everything here
blocks on the disk; on an event loop call it through a thread or a process.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from byred.codex.rollout import chain, index
from byred.codex.rollout.chain import Meta
from byred.codex.rollout.line import Line
from byred.codex.rollout.reader import Gap, existing, read, read_back
from byred.codex.rollout.story import Break, History, Kind, Tokens, Turn
from byred.codex.rollout.telling import Teller

_ROLLBACK = b'"thread_rolled_back"'


class Chronicle:
    """A history while it is told: turn by turn, in the memory of one turn of each thread.

    `turns` tells it, once; `summary` has the rest of it, and after `turns` its sums.
    """

    def __init__(
        self, files: Iterable[_File], *, missing: Iterable[str] = (), own: str = ""
    ) -> None:
        self._files = tuple(files)
        self._own = own
        self._missing = tuple(missing)
        self._subs: tuple[str, ...] = ()
        self._count = 0
        self._tokens = Tokens()
        self._started_at = self._ended_at = ""

    @classmethod
    def of_thread(cls, path: Path, among: Iterable[Path] = ()) -> Chronicle:
        """Return the chronicle of the thread that this rollout ends.

        `among` are the rollouts that it may refer to. Raises RolloutError when there is none.
        """
        parts, missing = chain.parts(path, [*among, path])
        files = [_File(chain.meta(part.path), until=part.until) for part in parts]
        return cls(files, missing=missing, own=files[-1].meta.thread_id)

    @classmethod
    def of_task(cls, paths: Iterable[Path]) -> Chronicle:
        """Return the chronicle of all threads of a task: its retries, forks and reverted ends.

        Each turn comes once, with the thread that made it, in the order in which they began; a
        fork adds what it did itself. Sub-agents and reviewers are named, not told.
        """
        metas = sorted(map(chain.meta, paths), key=lambda m: (m.created_at, m.path.name))
        known = {meta.rollout_id for meta in metas}
        # Where a later rollout of the same thread goes on, what came behind was taken back.
        cuts = {m.base: m.base_end for m in metas if m.base and m.base == m.thread_id}
        told = [meta for meta in metas if not meta.sub_agent]
        chronicle = cls(
            [_File(meta, cut=cuts.get(meta.rollout_id)) for meta in told],
            missing=[meta.base for meta in metas if meta.base and meta.base not in known],
        )
        chronicle._subs = tuple(str(meta.path) for meta in metas if meta.sub_agent)
        return chronicle

    def turns(self) -> Iterator[Turn]:
        """Yield the turns, numbered from 1, in the order in which they began."""
        seen: set[str] = set()
        elsewhere: set[str] | None = None
        for turn in self._merged():
            if turn.id in seen:
                continue
            if turn.inherited and len(self._files) > 1:
                elsewhere = self._own_ids() if elsewhere is None else elsewhere
                if turn.id in elsewhere:
                    continue
            if turn.id:
                seen.add(turn.id)
            self._count += 1
            self._tokens += turn.tokens
            self._started_at = self._started_at or turn.started_at
            self._ended_at = turn.ended_at or turn.started_at or self._ended_at
            foreign = turn.inherited or (bool(self._own) and turn.thread_id != self._own)
            yield msgspec.structs.replace(turn, number=self._count, inherited=foreign)

    def summary(self) -> History:
        """Return the history without its turns."""
        metas = [file.meta for file in self._files]
        versions = [file.versions or [file.meta.version] for file in self._files]
        counted = [file.counted for file in self._files if file.counted.total]
        return History(
            thread_ids=_distinct(meta.thread_id for meta in metas),
            rollouts=tuple(str(meta.path) for meta in metas),
            cwd=next((meta.cwd for meta in metas if meta.cwd), ""),
            versions=_distinct(version for those in versions for version in those),
            tokens=self._tokens,
            counted=counted[-1] if counted else Tokens(),
            turn_count=self._count,
            started_at=self._started_at,
            ended_at=self._ended_at,
            breaks=tuple(found for file in self._files for found in file.breaks),
            missing=self._missing,
            sub_agents=self._subs,
        )

    def whole(self) -> History:
        """Return the history with all its turns: in memory, so not for the largest."""
        turns = tuple(self.turns())
        return msgspec.structs.replace(self.summary(), turns=turns)

    def _merged(self) -> Iterator[Turn]:
        if self._own:  # parts of one thread follow each other
            return (turn for file in self._files for turn in file.turns())
        return heapq.merge(*(file.turns() for file in self._files), key=attrgetter("started_at"))

    def _own_ids(self) -> set[str]:
        """Return the ids of turns that a rollout here made itself: older than no thread of it."""
        return {
            turn_id
            for file in self._files
            for turn_id in index.turn_ids(file.meta.path)
            if turn_id >= file.meta.thread_id
        }


class _File:
    """One rollout of a chronicle: how much of it counts, and what was seen of it so far."""

    def __init__(self, meta: Meta, *, until: int | None = None, cut: int | None = None) -> None:
        self.meta, self._until, self._cut = meta, until, cut
        self.breaks: list[Break] = []
        self.versions: list[str] = []
        self.counted = Tokens()
        self.rolled_back = 0
        """How many turns the turn that was told last took back."""

    def turns(self) -> Iterator[Turn]:
        """Yield the turns of this file, those marked that a later line takes back."""
        undone = self._undone()
        for number, turn in enumerate(self._told()):
            yield msgspec.structs.replace(turn, undone=True) if number in undone else turn

    def _told(self) -> Iterator[Turn]:
        teller = Teller(own_id=self.meta.thread_id)
        self.versions = teller.versions
        feed = teller.feed
        limited = self._until is not None or self._cut is not None
        for found in read(self.meta.path):
            if isinstance(found, Gap):
                self.breaks.append(_break(self.meta.path, found))
                continue
            if limited:
                ordinal = found.ordinal or 0
                if self._until is not None and ordinal >= self._until:
                    break
                teller.undoing = self._cut is not None and ordinal >= self._cut
            turn = feed(found)
            if turn is not None:
                self.rolled_back, teller.rolled_back = teller.rolled_back, 0
                yield turn
        turn = teller.finish()
        self.counted = teller.counted
        if turn is not None:
            self.rolled_back = teller.rolled_back
            yield turn

    def _undone(self) -> set[int]:
        """Return which turns are taken back, by their place; needs a look ahead, seldom."""
        if not index.mentions(self.meta.path, _ROLLBACK):
            return set()
        ahead = _File(self.meta, until=self._until, cut=self._cut)
        asked: list[int] = []  # the turns that a person began and that still count
        undone: set[int] = set()
        for number, turn in enumerate(ahead._told()):
            if _was_asked(turn) and not turn.undone:
                asked.append(number)
            for _ in range(min(ahead.rolled_back, len(asked))):
                undone.add(asked.pop())
        return undone


def turns(path: Path, among: Iterable[Path] = ()) -> Iterator[Turn]:
    """Yield the turns of a thread one by one, in the memory of one turn, however long it is.

    `among` are the rollouts that it may refer to. Raises RolloutError when there is none.
    """
    return Chronicle.of_thread(path, among).turns()


def of_thread(path: Path, among: Iterable[Path] = ()) -> History:
    """Return the whole history of the thread that this rollout ends."""
    return Chronicle.of_thread(path, among).whole()


def of_task(paths: Iterable[Path]) -> History:
    """Return one history of all threads of a task: its retries, forks and reverted ends."""
    return Chronicle.of_task(paths).whole()


def last(path: Path, count: int, among: Iterable[Path] = ()) -> History:
    """Return the last `count` turns of a thread, read from its end: its size does not matter.

    Turns are numbered backwards from -1. `among` are the rollouts that it may refer to. A
    compressed rollout has no end to begin with and is read whole.
    """
    path = existing(path)
    known = {chain.ids(other)[1]: other for other in [*among, path]}
    newest = here = chain.meta(path)
    found: list[Line] = []
    breaks: list[Break] = []
    files: list[str] = []
    end: int | None = None
    starts = 0
    while starts < count:
        if here.path.suffix == ".zst":
            whole = of_thread(path, known.values())
            return msgspec.structs.replace(whole, turns=_backwards(whole.turns[-count:]))
        files.append(str(here.path))
        for piece in read_back(here.path, end):
            if isinstance(piece, Gap):
                breaks.append(_break(here.path, piece))
                continue
            found.append(piece)
            starts += piece.type == "event_msg" and piece.tag == "task_started"
            if starts >= count:
                break
        if starts >= count or not here.base or here.base not in known:
            break
        if len(files) > chain.DEEPEST:
            raise chain.circle(path)
        end = here.base_offset
        here = chain.meta(known[here.base])
    teller = Teller(own_id=newest.thread_id)
    told: list[Turn] = []
    for line in reversed(found):
        _append(told, teller.feed(line), teller)
    _append(told, teller.finish(), teller)
    kept = _backwards(told[-count:] if count > 0 else ())
    return _summed(
        kept,
        thread_ids=(newest.thread_id,),
        rollouts=tuple(reversed(files)),
        cwd=newest.cwd,
        versions=(newest.version,) if newest.version else (),
        counted=teller.counted,
        breaks=tuple(reversed(breaks)),
    )


def last_of_task(paths: Iterable[Path], count: int) -> History:
    """Return the last `count` turns of a task, whichever of its threads made them."""
    paths = list(paths)
    threads = _distinct(m.thread_id for m in map(chain.meta, paths) if not m.sub_agent)
    ends = [last(end, count, paths) for t in threads if (end := chain.latest(paths, t))]
    if len(ends) == 1:
        return ends[0]
    kept: dict[str, Turn] = {}
    for turn in (turn for end in ends for turn in end.turns):
        if turn.id not in kept or kept[turn.id].inherited:
            kept[turn.id or f"{turn.thread_id} {turn.started_at}"] = turn
    ordered = sorted(kept.values(), key=attrgetter("started_at"))
    return _summed(
        _backwards(ordered[-count:] if count > 0 else ()),
        thread_ids=tuple(threads),
        rollouts=tuple(path for end in ends for path in end.rollouts),
        cwd=next((end.cwd for end in ends if end.cwd), ""),
        versions=_distinct(version for end in ends for version in end.versions),
        counted=next((end.counted for end in reversed(ends) if end.counted.total), Tokens()),
        breaks=tuple(found for end in ends for found in end.breaks),
    )


def _append(told: list[Turn], turn: Turn | None, teller: Teller) -> None:
    """Append a turn and mark those that it took back.

    codex counts the turns that a message of the person began, from the last one back.
    """
    if turn is not None:
        told.append(turn)
    count, teller.rolled_back = teller.rolled_back, 0
    for index_ in range(len(told) - 1, -1, -1):
        if count <= 0:
            return
        before = told[index_]
        if before.undone or not _was_asked(before):
            continue
        told[index_] = msgspec.structs.replace(before, undone=True)
        count -= 1


def _was_asked(turn: Turn) -> bool:
    return any(step.kind is Kind.ASKED for step in turn.steps)


def _summed(turns_: tuple[Turn, ...], **known: Any) -> History:
    ends = [turn.ended_at or turn.started_at for turn in turns_]
    return History(
        turns=turns_,
        turn_count=len(turns_),
        tokens=sum((turn.tokens for turn in turns_), Tokens()),
        started_at=next((turn.started_at for turn in turns_ if turn.started_at), ""),
        ended_at=next(filter(None, reversed(ends)), ""),
        **known,
    )


def _backwards(told: Iterable[Turn]) -> tuple[Turn, ...]:
    kept = list(told)
    return tuple(
        msgspec.structs.replace(turn, number=place - len(kept)) for place, turn in enumerate(kept)
    )


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, words)))


def _break(path: Path, gap: Gap) -> Break:
    return Break(str(path), gap.offset, gap.length, gap.reason)
