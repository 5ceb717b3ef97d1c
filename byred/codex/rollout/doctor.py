"""Looking after rollouts: what is broken, what of it can be saved, and saving it.

codex itself resumes over a torn or a broken line, so nothing here is urgent, and nothing here
changes a rollout: `salvage` writes a new file beside it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from byred.codex.rollout import chain
from byred.codex.rollout.errors import RolloutError
from byred.codex.rollout.line import Line
from byred.codex.rollout.reader import Gap, read
from byred.codex.rollout.reading import string
from byred.codex.rollout.types import Unknown


class Finding(msgspec.Struct, frozen=True):
    """The state of one rollout: what is in it, what is wrong with it, what can be saved."""

    path: str
    thread_id: str
    version: str
    size: int
    lines: int
    turns: int
    gaps: tuple[Gap, ...] = ()
    problems: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    """Kinds of lines that no version known here writes: kept, shown, not understood."""
    open_turn: str = ""
    """The turn that the record ends in: it runs, or its process ended in it. No damage."""

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong with it."""
        return not self.gaps and not self.problems

    @property
    def lost(self) -> int:
        """Bytes that cannot be read."""
        return sum(gap.length for gap in self.gaps)


class _Tally:
    """What was seen of a rollout so far."""

    def __init__(self) -> None:
        self.gaps: list[Gap] = []
        self.unknown: Counter[str] = Counter()
        self.lines = self.turns = self.jumps = 0
        self.first: Line | None = None
        self.open_turn = ""
        self._expected: int | None = None

    def see(self, line: Line) -> None:
        self.lines += 1
        self.first = self.first or line
        if isinstance(line.record, Unknown):
            self.unknown[f"{line.type or 'no type'} {line.tag}".strip()] += 1
        if line.ordinal is not None:
            self.jumps += self._expected is not None and line.ordinal != self._expected
            self._expected = line.ordinal + 1
        tag = line.tag if line.type == "event_msg" else ""
        if tag == "task_started":
            self.turns += 1
            self.open_turn = string(line.payload.get("turn_id"))
        elif tag in ("task_complete", "turn_aborted"):
            self.open_turn = ""

    def problems(self) -> list[str]:
        found: list[str] = []
        if self.first is None:
            found.append("it has no whole line")
        elif self.first.type != "session_meta":
            found.append("its first line, which names the thread, is missing")
        if self.jumps:
            found.append(f"its lines' numbering jumps {self.jumps} times")
        return found


def examine(path: Path, among: dict[str, Path] | None = None) -> Finding:
    """Return the state of a rollout; `among` are the others by their rollout id, if known.

    Raises RolloutError when there is no such file.
    """
    tally = _Tally()
    for found in read(path):
        if isinstance(found, Gap):
            tally.gaps.append(found)
        else:
            tally.see(found)
    about = chain.meta(path)
    problems = tally.problems()
    if about.base and among is not None and about.base not in among:
        problems.append(f"it continues rollout {about.base}, which is not there")
    return Finding(
        path=str(path),
        thread_id=about.thread_id,
        version=about.version,
        size=path.stat().st_size,
        lines=tally.lines,
        turns=tally.turns,
        gaps=tuple(tally.gaps),
        problems=tuple(problems),
        unknown=tuple(sorted(tally.unknown)),
        open_turn=tally.open_turn,
    )


def examine_home(home: Path) -> Iterator[Finding]:
    """Yield the state of every rollout of a CODEX_HOME, oldest first."""
    paths = chain.find(home)
    among = {chain.ids(path)[1]: path for path in paths}
    for path in paths:
        try:
            yield examine(path, among)
        except (RolloutError, OSError) as error:
            thread_id, _ = chain.ids(path)
            problem = f"it cannot be read: {error}"
            yield Finding(str(path), thread_id, "", 0, 0, 0, problems=(problem,))


def salvage(path: Path, target: Path) -> Finding:
    """Write the whole lines of a rollout to a new file, as they are, and say what was left out.

    The file is complete on the disk when this returns. Raises RolloutError when `target` exists.
    """
    finding = examine(path)
    try:
        with target.open("xb") as out:
            for found in read(path):
                if isinstance(found, Line):
                    out.write(found.write())
            out.flush()
            os.fsync(out.fileno())
    except FileExistsError:
        raise RolloutError(f"cannot write {target}: it exists; name a new file") from None
    return finding
