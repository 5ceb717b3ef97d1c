"""Following a rollout while codex writes it: new lines, or new steps of its story.

Nothing here waits: who follows decides when to look, by a clock or by watching the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from byred.codex.rollout import history
from byred.codex.rollout.line import Line
from byred.codex.rollout.reader import Gap, existing, read
from byred.codex.rollout.story import Kind, Turn, TurnStatus


class Follower:
    """Remembers how far a rollout was read.

    `start` is the byte to begin at: 0 for all of it, the file's size for what comes from now on.
    """

    def __init__(self, path: Path, start: int = 0) -> None:
        self.path = path
        self.offset = start

    def new(self) -> list[Line | Gap]:
        """Return what was written since the last look; a line that is still growing waits.

        A file that became shorter, or that is not there yet, has nothing new. Raises OSError when
        it cannot be read.
        """
        if not self.path.is_file():
            return []
        end = _last_newline(existing(self.path), self.offset)
        if end <= self.offset:
            return []
        found = list(read(self.path, self.offset, end))
        self.offset = end
        return found


class Tale:
    """Tells the story of a thread on from where it was told: each step once, when it is done.

    `path` is the rollout that the thread goes on in, `among` those that it may refer to. `start`
    is the byte from which on lines are new: None for the file's end as it is now. The story begins
    with the turn that lines before `start` leave open, or that was the last one.
    """

    def __init__(self, path: Path, among: Iterable[Path] = (), start: int | None = None) -> None:
        self.path, self._among = path, tuple(among)
        if start is None:
            start = path.stat().st_size if path.is_file() else 0
        self._follower = Follower(path, start)
        self._looked = False
        self._told: dict[str, tuple[int, TurnStatus]] = {}

    def tell(self, turn: Turn) -> Turn | None:
        """Take a turn as it is now; return it with the steps that were not told yet.

        None when there is nothing new: no further step is done, and it has not ended.
        """
        before, status = self._told.get(turn.id, (0, None))
        done = max(before, _done(turn))
        self._told[turn.id] = done, turn.status
        if done == before and turn.status is status:
            return None
        return msgspec.structs.replace(turn, steps=turn.steps[before:done])

    def new(self) -> list[Turn]:
        """Return the turns that went on since the last look, each with its new steps.

        A turn that ended comes once more with how it ended. A step that has no outcome yet waits,
        and so does what comes after it; a later line may still add a detail, as the exit code of
        a patch: that is not told again.
        """
        fresh = self._follower.new()
        if not fresh and (self._looked or not self.path.is_file()):
            return []
        self._looked = True
        starts = sum(isinstance(piece, Line) and piece.tag == "task_started" for piece in fresh)
        turns = history.last(self.path, starts + 1, self._among).turns
        return [told for turn in turns if (told := self.tell(turn)) is not None]


def _done(turn: Turn) -> int:
    """Return how many steps of a turn nothing will be added to."""
    if turn.status is not TurnStatus.OPEN:
        return len(turn.steps)
    for index, step in enumerate(turn.steps):
        # A message is context until the line behind it says that a person wrote it.
        unsaid = step.kind is Kind.CONTEXT and index == len(turn.steps) - 1
        if step.status == "open" or unsaid:
            return index
    return len(turn.steps)


def _last_newline(path: Path, start: int) -> int:
    """Return the offset behind the last newline at or after `start`, or `start`."""
    step = 64 * 1024
    with path.open("rb") as stream:
        end = stream.seek(0, 2)
        while end > start:
            begin = max(start, end - step)
            stream.seek(begin)
            cut = stream.read(end - begin).rfind(b"\n")
            if cut >= 0:
                return begin + cut + 1
            end = begin
    return start
