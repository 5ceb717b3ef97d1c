"""The database by hand: a backup while the daemon works, and the way back to it."""

import asyncio
from pathlib import Path

import pytest

from tests.e2e.conftest import Daemon
from tests.e2e.test_errors import byred, one_sentence


async def test_a_backup_is_taken_while_the_daemon_works_and_put_back(
    daemon: Daemon, repo: Path
) -> None:
    task = await daemon.submit(repo, "Say hello")
    await daemon.wait(task["id"], "succeeded")
    copy = daemon.folder / "copy.sqlite3"
    config = ("--config", str(daemon.config))
    taken = await asyncio.to_thread(byred, *config, "backup", str(copy))
    assert taken.returncode == 0, taken.stderr
    again = await asyncio.to_thread(byred, *config, "backup", str(copy))
    assert again.returncode == 1
    assert "exists" in one_sentence(again)
    refused = await asyncio.to_thread(byred, *config, "set-aside")
    assert refused.returncode == 1
    assert "pid" in one_sentence(refused)
    later = await daemon.submit(repo, "Say hello again")
    await daemon.wait(later["id"], "succeeded")
    assert daemon.stop() == 0
    aside = await asyncio.to_thread(byred, *config, "set-aside")
    assert aside.returncode == 0, aside.stderr
    put = await asyncio.to_thread(byred, *config, "restore", str(copy))
    assert put.returncode == 0, put.stderr
    await daemon.start()
    listed = await daemon.call("task.list")
    assert [each["id"] for each in listed["tasks"]] == [task["id"]]


@pytest.mark.promise("idle_costs_nothing")
async def test_an_idle_daemon_uses_no_cpu(daemon: Daemon, repo: Path) -> None:
    task = await daemon.submit(repo, "Say hello")
    await daemon.wait(task["id"], "succeeded")
    assert daemon.process is not None
    stat = Path(f"/proc/{daemon.process.pid}/stat")

    def ticks() -> int:
        fields = stat.read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    before = ticks()
    await asyncio.sleep(10)
    # Hundredths of a second in ten; in development mode, and with the kernel's rounding.
    assert ticks() - before <= 5
