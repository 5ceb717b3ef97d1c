"""A daemon that is started while its disk is full: it starts as far as it can, or says why not."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import BOUND, Daemon

MOUNT = 'mount -t tmpfs -o size=32m tmpfs "$0" && echo mounted && exec sleep 3600'
CHECKPOINT = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute("SELECT count(*) FROM events").fetchone()
database.close()
"""
ROOM_TO_OPEN = 40_960
"""Bytes that SQLite needs to open a database and not to change it."""


class SmallDisk:
    """A disk of 32 MB under a daemon's state, which stays while the daemon comes and goes."""

    def __init__(self, daemon: Daemon) -> None:
        daemon.state.mkdir()
        root = os.geteuid() == 0
        private = ("--mount",) if root else ("--map-root-user", "--mount")
        self.keeper = subprocess.Popen(
            ["unshare", *private, "--", "sh", "-c", MOUNT, str(daemon.state)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.keeper.stdout is not None
        assert self.keeper.stdout.readline() == "mounted\n"
        user = () if root else ("--user", "--preserve-credentials")
        daemon.prefix = ("nsenter", f"--target={self.keeper.pid}", *user, "--mount", "--")
        self.folder = Path(f"/proc/{self.keeper.pid}/root{daemon.state}")

    def fill(self) -> None:
        """Take all the room that is left."""
        with (self.folder / "filler").open("ab", buffering=0) as file:
            for size in (65_536, 4_096, 1):
                while True:
                    try:
                        file.write(b"\0" * size)
                    except OSError:
                        break

    def free(self, size: int | None = None) -> None:
        """Give back so many bytes, or all."""
        filler = self.folder / "filler"
        if size is None:
            filler.unlink()
        else:
            os.truncate(filler, filler.stat().st_size - size)

    def end(self) -> None:
        self.keeper.kill()
        self.keeper.wait(BOUND)
        assert self.keeper.stdout is not None
        self.keeper.stdout.close()


@pytest.fixture
def disk(down: Daemon) -> Iterator[SmallDisk]:
    disk = SmallDisk(down)
    down.settings["workspace"] = {"min_free": "", "root": str(down.folder / "worktrees")}
    down.settings["scheduler"]["retry"]["attempts"] = 50
    yield disk
    down.end()
    disk.end()


@pytest.fixture
async def killed(down: Daemon, disk: SmallDisk, repo: Path) -> dict[str, Any]:
    """A task that waits for an answer and whose daemon was killed; the log is in the database."""
    await down.start()
    task = await down.submit(repo, "Ask me something")
    await down.question(task["id"])
    down.kill()
    # From inside, since SQLite follows the link to the disk's root. Whoever closes it last puts the
    # log into the database.
    path = str(down.state / "byred.sqlite3")
    subprocess.run([*down.prefix, sys.executable, "-c", CHECKPOINT, path], check=True)
    assert not (disk.folder / "byred.sqlite3-wal").exists()
    disk.fill()
    return task


@pytest.mark.promise("full_disk_loses_nothing")
async def test_it_serves_and_recovers_when_there_is_room(
    down: Daemon, disk: SmallDisk, killed: dict[str, Any], repo: Path
) -> None:
    disk.free(ROOM_TO_OPEN)
    await down.start()
    assert "the disk is full" in (await down.call("daemon.status"))["full"]
    assert (await down.call("task.get", id=killed["id"]))["state"] == "waiting"
    error = await down.call_refused("task.submit", repo=str(repo), prompt="Say hello")
    assert error["data"]["kind"] == "limit"
    assert "the disk is full" in error["message"]
    disk.free()
    # Nobody else notes that its server is gone.
    await down.event("task.repaired", task_id=killed["id"])
    question = (await down.call("question.list", states=["open"]))["questions"][0]
    await down.call("question.answer", id=question["id"], text="red")
    done = await down.wait(killed["id"], "succeeded")
    assert (done["attempt"], len(done["result"]["commits"])) == (1, 1)
    assert (await down.call("daemon.status"))["full"] is None


async def test_it_can_be_stopped_while_it_waits_for_room(
    down: Daemon, disk: SmallDisk, killed: dict[str, Any]
) -> None:
    disk.free(ROOM_TO_OPEN)
    await down.start()
    assert down.stop() == 0
    assert "task recovered" not in down.log.read_text()
    disk.free()
    await down.start()
    await down.event("task.repaired", task_id=killed["id"])
    await down.call("task.cancel", id=killed["id"])


async def test_without_room_for_the_database_it_says_so_in_a_line(
    down: Daemon, disk: SmallDisk, killed: dict[str, Any]
) -> None:
    with pytest.raises(AssertionError):
        await down.start()
    said = down.log.read_text().splitlines()[-1]
    path = down.state / "byred.sqlite3"
    assert said == f"byred: cannot store in {path}: the disk is full; free some space and repeat"
    disk.free()
    await down.start()
    await down.event("task.repaired", task_id=killed["id"])
    await down.call("task.cancel", id=killed["id"])


async def test_a_first_start_without_any_room_says_so_in_a_line(
    down: Daemon, disk: SmallDisk
) -> None:
    disk.fill()
    with pytest.raises(AssertionError):
        await down.start()
    said = down.log.read_text().splitlines()[-1]
    assert said.startswith(f"byred: cannot store in {down.state / 'byred.sqlite3'}: the disk is")
