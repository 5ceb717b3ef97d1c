"""A task's own log: whole, in order, and honest about what is not in it."""

import asyncio
import errno
import os
import threading
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from byred.agents import tasklog
from byred.agents.tasklog import Line, TaskLogs
from byred.fresh import MOST

BOUND = 30.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tasks" / "events.jsonl"


@pytest.fixture
def logs(path: Path) -> TaskLogs:
    return TaskLogs(lambda _: path, clock=lambda: datetime.now(UTC))


class Disk:
    """The disk that the log is on: it can be slow, and it can be full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._append = tasklog._append
        self.full = False
        self.writing = threading.Event()
        self.goes_on = threading.Event()
        self.goes_on.set()
        monkeypatch.setattr(tasklog, "_append", self.append)

    def append(self, path: Path, text: bytes) -> None:
        self.writing.set()
        assert self.goes_on.wait(60)
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._append(path, text)

    async def is_written_to(self) -> None:
        assert await asyncio.to_thread(self.writing.wait, 60)
        self.writing.clear()


@pytest.fixture
async def disk(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Disk]:
    disk = Disk(monkeypatch)
    yield disk
    disk.goes_on.set()


async def texts(logs: TaskLogs) -> list[str]:
    return [line.text for line in await logs.read(1, after=0)]


async def test_a_note_to_a_log_that_nobody_has_open_is_written(logs: TaskLogs) -> None:
    await logs.note(1, "state", "one")
    await logs.note(1, "state", "two")
    assert [(line.seq, line.text) for line in await logs.read(1, after=0)] == [
        (1, "one"),
        (2, "two"),
    ]


async def test_what_is_said_at_the_last_moment_is_written(logs: TaskLogs, disk: Disk) -> None:
    disk.goes_on.clear()
    async with logs.open(1) as log:
        log.append("state", "first")
        await disk.is_written_to()
        # While the disk is at work on what came before.
        log.append("state", "last")
        asyncio.get_running_loop().call_later(0.05, disk.goes_on.set)
    assert await texts(logs) == ["first", "last"]


async def test_notes_that_come_together_are_all_written(logs: TaskLogs) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(200):
            group.create_task(logs.note(1, "state", str(number)))
            await asyncio.sleep(0)
    lines = await logs.read(1, after=0)
    assert sorted(int(line.text) for line in lines) == list(range(200))
    assert [line.seq for line in lines] == list(range(1, 201))


async def test_a_note_beside_an_open_log_comes_in_its_order(logs: TaskLogs) -> None:
    async with logs.open(1) as log:
        log.append("state", "one")
        await logs.note(1, "state", "two")
        log.append("state", "three")
    assert await texts(logs) == ["one", "two", "three"]


async def test_a_reader_gets_what_a_slow_disk_has_not_yet(logs: TaskLogs, disk: Disk) -> None:
    disk.goes_on.clear()
    async with logs.open(1) as log:
        log.append("state", "being written")
        await disk.is_written_to()
        log.append("state", "waits")
        assert await texts(logs) == ["being written", "waits"]
        assert [line.text for line in await logs.read(1, after=1)] == ["waits"]
        assert [line.text for line in await logs.read(1, after=0, limit=1)] == ["being written"]
        disk.goes_on.set()
    assert await texts(logs) == ["being written", "waits"]


async def test_what_found_no_room_is_said_once_there_is_some(logs: TaskLogs, disk: Disk) -> None:
    async with logs.open(1) as log:
        disk.full = True
        for number in range(3):
            log.append("state", f"lost {number}")
        await disk.is_written_to()
        # Neither of them nor what is said about them finds room.
        log.append("state", "lost 3")
        await disk.is_written_to()
        log.append("state", "lost 4")
        await disk.is_written_to()
        # Known only once the write has failed.
        while log._waiting or log._dropped < 5:
            await asyncio.sleep(0)
        disk.full = False
        log.append("state", "back")
    assert await texts(logs) == [
        "5 lines are missing here: the disk was full or too slow",
        "back",
    ]


async def test_what_waits_for_a_slow_disk_is_bounded_and_the_gap_is_said(
    logs: TaskLogs, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasklog, "MOST_WAITING", 5)
    disk.goes_on.clear()
    async with logs.open(1) as log:
        log.append("state", "0")
        await disk.is_written_to()
        for number in range(1, 11):
            log.append("state", str(number))
        disk.goes_on.set()
        await disk.is_written_to()
        log.append("state", "11")
    gap = "5 lines are missing here: the disk was full or too slow"
    assert await texts(logs) == [*map(str, range(6)), gap, "11"]


async def test_a_torn_line_does_not_take_the_next_one_with_it(logs: TaskLogs, path: Path) -> None:
    await logs.note(1, "state", "one")
    with path.open("ab") as file:
        file.write(b'{"seq": 2, "at": "20')
    await logs.note(1, "state", "two")
    assert [(line.seq, line.text) for line in await logs.read(1, after=0)] == [
        (1, "one"),
        (2, "two"),
    ]


async def no() -> bool:
    return False


async def yes() -> bool:
    return True


async def follow(
    logs: TaskLogs, *, after: int = 0, until: Callable[[Line], bool] = lambda _: False
) -> list[int]:
    """Follow until the log's end, or a line that is so; the numbers of the lines."""
    found: list[int] = []
    async with asyncio.timeout(BOUND):
        async for together in logs.follow(1, after=after, ended=yes):
            found += [line.seq for line in together]
            if any(until(line) for line in together):
                break
    return found


async def test_followers_that_come_at_any_moment_get_every_line(logs: TaskLogs) -> None:
    following = []
    async with logs.open(1) as log:
        for number in range(1, 301):
            log.append("message", f"line {number}")
            if number % 30 == 0:
                after = number // 3
                following.append((after, asyncio.create_task(follow(logs, after=after))))
                await asyncio.sleep(0.01)
    for after, task in following:
        assert await task == list(range(after + 1, 301))


async def test_more_than_is_kept_for_a_follower_is_read_from_the_file(logs: TaskLogs) -> None:
    async with asyncio.timeout(BOUND), logs.open(1) as log:
        source = logs.follow(1, after=0, ended=no)
        log.append("message", "first")
        assert [line.seq for line in await anext(source)] == [1]
        total = MOST * 2 + 100
        for _ in range(total):
            log.append("message", "another")
        # All of it is in the file before the follower asks for more.
        while len(await logs.read(1, after=1, limit=total)) < total:
            await asyncio.sleep(0.01)
        found: list[int] = []
        while len(found) < total:
            found += [line.seq for line in await anext(source)]
        assert found == list(range(2, total + 2))
        await source.aclose()


async def test_a_follower_of_an_ended_task_reads_and_ends(logs: TaskLogs) -> None:
    await logs.note(1, "notice", "one")
    await logs.note(1, "notice", "two")
    assert await follow(logs) == [1, 2]


async def test_whoever_waits_for_the_end_hears_of_it(logs: TaskLogs) -> None:
    over = False

    async def ended() -> bool:
        return over

    async def read() -> int:
        lines = 0
        async for together in logs.follow(1, after=0, ended=ended):
            lines += len(together)
        return lines

    await logs.note(1, "notice", "one")
    reading = asyncio.create_task(read())
    await asyncio.sleep(0.05)
    over = True
    logs.poke(1)
    assert await asyncio.wait_for(reading, BOUND) == 1


async def test_lines_that_could_not_be_written_do_not_end_what_is_followed(
    logs: TaskLogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = tasklog._append
    failed = threading.Event()

    def fail_once(path: Path, text: bytes) -> None:
        if b"two" in text:
            failed.set()
            raise OSError(28, "No space left on device")
        append(path, text)

    monkeypatch.setattr(tasklog, "_append", fail_once)
    async with logs.open(1) as log:
        log.append("message", "one")
        source = logs.follow(1, after=0, ended=no)
        assert [line.text for line in await asyncio.wait_for(anext(source), BOUND)] == ["one"]
        waiting = asyncio.ensure_future(anext(source))
        log.append("message", "two")
        assert await asyncio.to_thread(failed.wait, BOUND)
        log.append("message", "three")
        assert [line.text for line in await asyncio.wait_for(waiting, BOUND)][-1] == "three"
        await source.aclose()
