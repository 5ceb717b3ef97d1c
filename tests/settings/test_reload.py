"""What a change of the settings means, and that it is noticed."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from byred.settings import diff, load, reload, watch

Write = Callable[[str], Path]
BOUND = 10.0


def test_equal_settings_have_no_changes(write: Write) -> None:
    changes = diff(load(None), load(write("")))
    assert changes.applies_now == ()
    assert changes.needs_restart == ()


def test_changes_are_told_by_key(write: Write) -> None:
    text = """
[daemon]
socket = "x.sock"
stop_timeout = "20s"
[log]
level = "debug"
[scheduler.retry]
cap = "1h"
[workspace]
ports = []
"""
    changes = diff(load(None), load(write(text)))
    assert changes.needs_restart == ("daemon.socket",)
    assert changes.applies_now == (
        "daemon.stop_timeout",
        "log.level",
        "workspace.ports",
        "scheduler.retry.cap",
    )


def test_what_needs_a_restart_are_keys_that_exist() -> None:
    everything = {key for key, _ in reload.keys(load(None))}
    assert everything >= reload.NEEDS_RESTART


class Calls:
    """Counts calls and lets a test wait for them."""

    def __init__(self) -> None:
        self.count = 0
        self.called = asyncio.Event()

    async def __call__(self) -> None:
        self.count += 1
        self.called.set()

    async def next(self, bound: float = BOUND) -> None:
        async with asyncio.timeout(bound):
            await self.called.wait()
        self.called.clear()

    async def by(self, change: Callable[[int], object]) -> None:
        """Make changes, each unlike the one before, until one is noticed.

        Nobody can know when the kernel begins to tell of changes, so the first may be missed.
        """
        for number in range(20):
            change(number)
            try:
                return await self.next(0.5)
            except TimeoutError:
                continue
        raise AssertionError("no change was noticed")


@asynccontextmanager
async def watching(path: Path) -> AsyncIterator[Calls]:
    calls = Calls()
    task = asyncio.create_task(watch(path, calls))
    try:
        await calls.next()
        yield calls
    finally:
        task.cancel()
        async with asyncio.timeout(BOUND):
            await asyncio.wait([task])
        assert task.cancelled()


@pytest.fixture
def only_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reload, "LOOK_AGAIN_MS", 600_000)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reload, "LOOK_AGAIN_MS", 50)


@pytest.mark.usefixtures("only_events")
async def test_a_changed_file_is_noticed(write: Write) -> None:
    path = write("a = 1")
    async with watching(path) as calls:
        await calls.by(lambda number: path.write_text(f"a = 2{number}"))
        path.write_text("a = 3")
        await calls.next()


@pytest.mark.usefixtures("only_events")
async def test_a_file_that_is_replaced_is_followed(write: Write) -> None:
    path = write("a = 1")

    def replace(number: int) -> None:
        new = path.with_suffix(".new")
        new.write_text(f"b = {number}")
        new.rename(path)

    async with watching(path) as calls:
        await calls.by(replace)
        replace(100)
        await calls.next()


@pytest.mark.usefixtures("only_events")
async def test_a_link_to_another_folder_is_followed(write: Write, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "real.toml"
    target.parent.mkdir()
    target.write_text("a = 1")
    path = write("")
    path.unlink()
    path.symlink_to(target)
    async with watching(path) as calls:
        await calls.by(lambda number: target.write_text(f"a = 2{number}"))


@pytest.mark.usefixtures("often")
async def test_a_file_that_is_missing_for_a_moment_is_followed(write: Write) -> None:
    path = write("a = 1")
    async with watching(path) as calls:
        path.unlink()
        path.write_text("a = 2")
        await calls.next()
        assert calls.count == 2


@pytest.mark.usefixtures("often")
async def test_a_change_that_no_event_told_of_is_noticed(write: Write) -> None:
    path = write("a = 1")
    folder = path.parent
    async with watching(path) as calls:
        folder.rename(folder.with_name("old"))
        folder.mkdir()
        path.write_text("a = 2")
        await calls.next()


@pytest.mark.usefixtures("often")
async def test_without_inotify_the_file_is_still_looked_at(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("watchfiles.main.RustNotify", refuse)
    path = write("a = 1")
    async with watching(path) as calls:
        path.write_text("a = 2")
        await calls.next()


@pytest.mark.usefixtures("often")
async def test_the_same_content_again_is_no_change(write: Write) -> None:
    path = write("a = 1")
    async with watching(path) as calls:
        path.write_text("a = 1")
        path.touch()
        path.with_name("other.toml").write_text("x")
        path.write_text("a = 2")
        await calls.next()
        assert calls.count == 2
