"""What a task's agent did, line by line, in a file of the task's own (`events.jsonl`).

A stream, not a fact: it never touches the database, and a slow disk delays nobody (lines wait in
memory, bounded, and are written by a thread). Each line has a `seq` that grows by one within the
task, so that a reader can come back. Deltas are not kept here; the transcript has them.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import structlog

from byred.agents.locks import TaskLocks
from byred.fresh import Fresh

# A reader that asks for everything gets it in pages of this many lines.
PAGE = 1000
# Seconds between two writes: a single line is written at once, a flood in pieces.
PAUSE = 0.1
# What waits for the disk at most. Lines beyond it, or without room, are dropped, and the next one
# that is written is about the gap.
MOST_WAITING = 10_000

_log = structlog.get_logger("byred.agents")
_encode = msgspec.json.Encoder().encode


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened: `kind` is state, turn, message, command, output, file, … ."""

    seq: int
    at: datetime
    kind: str
    text: str
    data: dict[str, Any] = msgspec.field(default_factory=dict)


class TaskLog:
    """The open log of one task: `append` never waits, `run` writes and calls `written`."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], datetime],
        last: int,
        written: Callable[[Sequence[Line] | None], None],
    ) -> None:
        self._path = path
        self._clock = clock
        self._last = last
        self._waiting: list[Line] = []
        self._writing: list[Line] = []
        self._dropped = 0
        self._more = asyncio.Event()
        self._over = asyncio.Event()
        self._tell = written

    @property
    def written(self) -> bool:
        """Whether nothing waits for the disk."""
        return not self._waiting

    def unwritten(self) -> list[Line]:
        """Give the lines that are not in the file yet."""
        return [*self._writing, *self._waiting]

    def append(self, kind: str, text: str, **data: Any) -> None:
        """Add a line; it is in the file soon."""
        if len(self._waiting) >= MOST_WAITING:
            self._dropped += 1
            return
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            gap = f"{dropped} lines are missing here: the disk was full or too slow"
            self._add("notice", gap, {"missing": dropped})
        self._add(kind, text, data)

    def _add(self, kind: str, text: str, data: dict[str, Any]) -> None:
        self._last += 1
        self._waiting.append(
            Line(seq=self._last, at=self._clock(), kind=kind, text=text, data=data)
        )
        self._more.set()

    async def _flush(self) -> None:
        """Write what waits."""
        self._writing = lines = self._waiting
        self._waiting = []
        self._more.clear()
        if not lines:
            return
        text = b"".join([_encode(line) + b"\n" for line in lines])
        try:
            await asyncio.to_thread(_append, self._path, text)
        except OSError as error:
            self._dropped += sum(line.data.get("missing", 1) for line in lines)
            _log.warning("task log not written", action="tasklog.failed", error=str(error))
            self._tell(None)
        else:
            self._tell(lines)
        finally:
            self._writing = []

    def stop(self) -> None:
        """Let `run` end once everything is written."""
        self._over.set()
        self._more.set()

    async def run(self) -> None:
        """Write lines as they come, until stopped. Not to be cancelled: a write would go astray."""
        while self._waiting or not self._over.is_set():
            await self._more.wait()
            await self._flush()
            with suppress(TimeoutError):
                async with asyncio.timeout(PAUSE):
                    await self._over.wait()


class TaskLogs:
    """The logs of all tasks: those that are written now, and the files of the others."""

    def __init__(self, path_of: Callable[[int], Path], *, clock: Callable[[], datetime]) -> None:
        self._path_of = path_of
        self._clock = clock
        self._locks = TaskLocks()
        self._open: dict[int, TaskLog] = {}
        self._followers: dict[int, set[Fresh[Line]]] = {}

    @asynccontextmanager
    async def open(self, task_id: int) -> AsyncGenerator[TaskLog, None]:
        """Open the task's log for writing; at the end all lines are in the file.

        Whoever else opens it meanwhile waits for that end.
        """
        path = self._path_of(task_id)
        async with self._locks.hold(task_id):
            log = TaskLog(
                path,
                clock=self._clock,
                last=await asyncio.to_thread(_last_seq, path),
                written=lambda lines: self._tell(task_id, lines),
            )
            self._open[task_id] = log
            writer = asyncio.create_task(log.run(), name=f"log of task {task_id}")
            try:
                yield log
            finally:
                log.stop()
                await asyncio.shield(writer)
                # A note may have come between the writer's end and now.
                while not log.written:
                    await asyncio.shield(asyncio.create_task(log.run()))
                del self._open[task_id]
        self.poke(task_id)

    def poke(self, task_id: int) -> None:
        """Make the followers of a task look again whether it has ended."""
        for follower in self._followers.get(task_id, ()):
            follower.miss()

    def _tell(self, task_id: int, lines: Sequence[Line] | None) -> None:
        """Hand on what is in the file now; None when only the file knows."""
        if lines is None:
            self.poke(task_id)
            return
        for follower in self._followers.get(task_id, ()):
            follower.put(lines)

    async def note(self, task_id: int, kind: str, text: str) -> None:
        """Add one line to a task's log, whether it is open or not."""
        log = self._open.get(task_id)
        if log is not None:
            log.append(kind, text)
            return
        async with self.open(task_id) as opened:
            opened.append(kind, text)

    async def read(self, task_id: int, *, after: int, limit: int = PAGE) -> list[Line]:
        """Give at most `limit` lines after `seq`, those too that are not in the file yet.

        A torn or broken line is left out.
        """
        log = self._open.get(task_id)
        unwritten = [] if log is None else log.unwritten()
        lines, _ = await asyncio.to_thread(_read, self._path_of(task_id), 0, after, limit)
        last = lines[-1].seq if lines else after
        return [*lines, *(line for line in unwritten if line.seq > last)][:limit]

    async def follow(
        self, task_id: int, *, after: int, ended: Callable[[], Awaitable[bool]]
    ) -> AsyncGenerator[Sequence[Line], None]:
        """Give the lines after `seq` as they are written, until `ended` says none will come.

        Those that come together are given together.

        Whoever changes what `ended` says calls `poke`.
        """
        path = self._path_of(task_id)
        fresh: Fresh[Line] = Fresh()
        followers = self._followers.setdefault(task_id, set())
        followers.add(fresh)
        offset = 0
        try:
            while True:
                fresh.clear()
                over = task_id not in self._open and await ended()
                lines, offset = await asyncio.to_thread(_read, path, offset, after, PAGE)
                if lines:
                    after = lines[-1].seq
                    yield lines
                    continue
                if over:
                    return
                while (new := await fresh.take()) is not None:
                    if new[-1].seq > after:
                        yield [line for line in new if line.seq > after]
                        after = new[-1].seq
        finally:
            followers.discard(fresh)
            if not followers:
                self._followers.pop(task_id, None)


def _append(path: Path, text: bytes) -> None:
    try:
        file = path.open("a+b")
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b")
    with file:
        # A daemon that was killed in mid-write may have left a torn line: it must not eat the next.
        if file.seek(0, os.SEEK_END) and os.pread(file.fileno(), 1, file.tell() - 1) != b"\n":
            text = b"\n" + text
        file.write(text)


def _read(path: Path, offset: int, after: int, limit: int) -> tuple[list[Line], int]:
    """Give lines from a byte on, and the byte after the last whole line that was looked at."""
    lines: list[Line] = []
    try:
        with path.open("rb") as file:
            file.seek(offset)
            for raw in file:
                if not raw.endswith(b"\n") or len(lines) == limit:
                    break
                offset += len(raw)
                line = _decoded(raw)
                if line is not None and line.seq > after:
                    lines.append(line)
    except FileNotFoundError:
        return [], 0
    return lines, offset


def _last_seq(path: Path) -> int:
    """Find the last line's number from the end of the file."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            step = 1 << 16
            while True:
                start = max(0, size - step)
                file.seek(start)
                for raw in reversed(file.read().split(b"\n")):
                    line = _decoded(raw)
                    if line is not None:
                        return line.seq
                if start == 0:
                    return 0
                step *= 4
    except FileNotFoundError:
        return 0


def _decoded(raw: bytes) -> Line | None:
    try:
        return msgspec.json.decode(raw, type=Line)
    except msgspec.DecodeError:
        return None
