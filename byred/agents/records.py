"""What codex itself recorded of a task, read from its home by a process beside the daemon.

Records can be gigabytes, and telling them is work: none of it is done here. This module owns the
reading processes: how many there are at once, what they are handed, and that each ends when
nobody wants its answer any more. What is in a record is `byred.codex.rollout`'s business.
"""

import asyncio
import contextlib
import os
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import structlog

import byred
from byred.codex.rollout.requests import Answer, Request, Search, Tell, Write
from byred.codex.rollout.selection import Selection
from byred.core.errors import InvalidError, LimitError, NotFoundError

MOST = 16
"""Reading processes at once: each has some 30 MB, and a follower stays for as long as its task."""
END = 10.0
"""Seconds for a process that was killed to be gone."""
_CHUNK = 1 << 18
_SECRET = re.compile(r"(?i)token|secret|passw|api_?key|access_?key|credential|auth")

_log = structlog.get_logger("byred.agents")
_decode = msgspec.json.Decoder(Answer).decode


class Records:
    """Reads the records of tasks. `secrets` gives what must not be in a document."""

    def __init__(self, tasks_dir: Path, *, secrets: Callable[[], Sequence[str]]) -> None:
        self._tasks_dir = tasks_dir
        self._secrets = secrets
        self._running = 0
        self._pokes: dict[int, set[asyncio.Event]] = {}

    def tell(
        self, task_id: int, wanted: Selection, *, speed: float | None = None
    ) -> AsyncGenerator[Answer, None]:
        """Give a task's turns, then `end`; with `speed` a step at a time, as it happened.

        Like everything here it raises NotFoundError for a turn that is not there, InvalidError for
        what cannot be read, LimitError when too much is read already.
        """
        return self._read(lambda: Tell(str(self._home(task_id)), wanted, speed=speed))

    def follow(
        self, task_id: int, wanted: Selection, *, ended: Callable[[], Awaitable[bool]]
    ) -> AsyncGenerator[Answer, None]:
        """Give a task's turns and then what comes, until `ended` says that no more will.

        Whoever changes what `ended` says calls `poke`.
        """
        return self._read(
            lambda: Tell(str(self._home(task_id)), wanted, follow=True),
            until=lambda: self._until(task_id, ended),
        )

    def write(
        self, task_id: int, wanted: Selection, *, form: str, title: str
    ) -> AsyncGenerator[Answer, None]:
        """Give a document of a task's history (md, html, jsonl) in pieces of `text`, then `end`."""
        home = str(self._home(task_id))
        return self._read(lambda: Write(home, form, title, wanted, tuple(self._secrets())))

    def search(
        self, words: str, *, task_id: int | None, exact_case: bool, most: int
    ) -> AsyncGenerator[Answer, None]:
        """Give the places where words stand in all records or one task's, newest task first."""

        def request() -> Search:
            ids = _numbers(self._tasks_dir) if task_id is None else [task_id]
            homes = {str(number): str(self._home(number)) for number in ids}
            return Search(homes, words, exact_case, most)

        return self._read(request)

    def poke(self, task_id: int) -> None:
        """Make the followers of a task ask again whether it has ended."""
        for event in self._pokes.get(task_id, ()):
            event.set()

    def _home(self, task_id: int) -> Path:
        return self._tasks_dir / str(task_id) / "home"

    async def _until(self, task_id: int, ended: Callable[[], Awaitable[bool]]) -> None:
        poked = asyncio.Event()
        events = self._pokes.setdefault(task_id, set())
        events.add(poked)
        try:
            while not await ended():
                await poked.wait()
                poked.clear()
        finally:
            events.discard(poked)
            if not events:
                self._pokes.pop(task_id, None)

    def _read(
        self, request: Callable[[], Request], until: Callable[[], Awaitable[None]] | None = None
    ) -> AsyncGenerator[Answer, None]:
        """Give the answer to a request, line by line; `until` returns when no more is wanted.

        `request` makes the request, and may block: it is called in a thread.
        """
        if self._running >= MOST:
            raise LimitError(
                f"cannot read more than {MOST} histories at once; end one that is followed or "
                "replayed, or try again when one is done"
            )
        return self._answers(request, until)

    async def _answers(
        self, request: Callable[[], Request], until: Callable[[], Awaitable[None]] | None
    ) -> AsyncGenerator[Answer, None]:
        self._running += 1
        try:
            async with _reading(request) as (answers, no_more), _ending(until, no_more):
                async for answer in answers:
                    if isinstance(answer.error, str):
                        raise (NotFoundError if answer.missing else InvalidError)(answer.error)
                    yield answer
        finally:
            self._running -= 1


def known_secrets(auth_file: Path | None, environ: Mapping[str, str]) -> list[str]:
    """Return the secrets that the daemon itself knows: its login, and variables named like one."""
    found = [value for name, value in environ.items() if _SECRET.search(name)]
    with contextlib.suppress(OSError, msgspec.DecodeError):
        if auth_file is not None:
            found += _strings(msgspec.json.decode(auth_file.read_bytes()))
    return found


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in values for text in _strings(each)]


def _numbers(tasks_dir: Path) -> list[int]:
    """Return the numbers of all tasks that have a folder, newest first."""
    with contextlib.suppress(FileNotFoundError):
        return sorted(
            (int(p.name) for p in tasks_dir.iterdir() if p.name.isdecimal()), reverse=True
        )
    return []


@contextlib.asynccontextmanager
async def _reading(
    request: Callable[[], Request],
) -> AsyncIterator[tuple[AsyncIterator[Answer], Callable[[], None]]]:
    """Start a reading process: its answers, and a function that says that nobody wants more."""
    errors = os.memfd_create("errors")
    process = subprocess.Popen(  # noqa: ASYNC220 - a vfork of milliseconds, as asyncio itself does
        # The code that this daemon runs, and nothing that lies about where it was started.
        [sys.executable, "-P", "-m", "byred.codex.rollout.aside"],
        env=os.environ | {"PYTHONPATH": str(Path(byred.__file__).parents[1])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
    )
    assert process.stdin is not None  # noqa: S101 - asked for
    assert process.stdout is not None  # noqa: S101 - asked for
    given = process.stdin
    try:
        reader = asyncio.StreamReader(limit=_CHUNK)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), process.stdout
        )
        try:
            await asyncio.to_thread(_hand, given, request)
            async with contextlib.aclosing(_lines(reader, errors)) as answers:
                yield answers, given.close
        finally:
            transport.close()
    finally:
        # It may be in the middle of gigabytes: what it does changes nothing, so it just ends.
        process.kill()
        with contextlib.suppress(BrokenPipeError):
            given.close()
        process.stdout.close()
        os.close(errors)
        await asyncio.shield(asyncio.to_thread(process.wait, END))


@contextlib.asynccontextmanager
async def _ending(
    until: Callable[[], Awaitable[None]] | None, no_more: Callable[[], None]
) -> AsyncIterator[None]:
    """Say `no_more` once `until` has returned, while the block runs; raises what it raised."""
    if until is None:
        yield
        return
    waiting = asyncio.ensure_future(until())
    waiting.add_done_callback(lambda _: no_more())
    try:
        yield
    finally:
        waiting.cancel()
        await asyncio.wait({waiting})
        if not waiting.cancelled():
            waiting.result()


def _hand(given: Any, request: Callable[[], Request]) -> None:
    with contextlib.suppress(BrokenPipeError):  # then its answer says what is wrong
        given.write(msgspec.json.encode(request()) + b"\n")
        given.flush()


async def _lines(reader: asyncio.StreamReader, errors: int) -> AsyncGenerator[Answer, None]:
    held = bytearray()
    while chunk := await reader.read(_CHUNK):
        held += chunk
        if b"\n" not in chunk:
            continue
        *lines, rest = bytes(held).split(b"\n")
        held = bytearray(rest)
        for line in lines:
            answer = _decode(line)
            yield answer
            if answer.end is not msgspec.UNSET:
                return
    said = os.pread(errors, 1 << 16, 0).decode(errors="replace").strip()
    _log.error("the reading of a record ended early", action="records.failed", said=said[-2000:])
    last = said.splitlines()[-1] if said else "it said nothing"
    raise InvalidError(f"cannot read the record: its reader ended ({last}); the log has more")
