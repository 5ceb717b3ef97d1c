"""Two daemons started at once on one state directory: exactly one serves, every time.

`BYRED_TEST_STARTS=100` makes the long version of it.
"""

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from tests.e2e.conftest import BOUND, Daemon

STARTS = int(os.environ.get("BYRED_TEST_STARTS", "3"))


def begin(daemon: Daemon) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "byred.daemon", "--config", str(daemon.config)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


async def one_ended(pair: list[subprocess.Popen[str]]) -> None:
    async with asyncio.timeout(BOUND):
        while all(each.poll() is None for each in pair):
            await asyncio.sleep(0.02)


@pytest.mark.timeout(60 + 20 * STARTS)
@pytest.mark.promise("one_daemon_per_state")
async def test_of_two_daemons_started_at_once_exactly_one_serves(down: Daemon) -> None:
    """What the one before left, ended or killed, is no matter: its socket, its lock, its files."""
    down.write_config()
    for number in range(STARTS):
        pair = [begin(down) for _ in range(2)]
        try:
            await one_ended(pair)
            refused, serving = sorted(pair, key=lambda each: each.poll() is None)
            said = refused.communicate(timeout=BOUND)[1]
            assert refused.returncode == 1, said
            assert said.startswith(f"byred: cannot use {down.state}: "), said
            assert f"pid {refused.pid}" not in said

            async def answers(pid: int = serving.pid) -> bool:
                try:
                    return (await down.call("daemon.status"))["pid"] == pid
                except (OSError, EOFError):
                    return False

            await down.until(answers)
            assert serving.poll() is None
            assert (down.state / "lock").read_text() == f"{serving.pid}\n"
            serving.send_signal(signal.SIGTERM if number % 2 else signal.SIGKILL)
            said = serving.communicate(timeout=BOUND)[1]
            assert serving.returncode == (0 if number % 2 else -signal.SIGKILL), said
            assert "Traceback" not in said
        finally:
            for each in pair:
                if each.poll() is None:
                    each.kill()
                each.communicate(timeout=BOUND)
