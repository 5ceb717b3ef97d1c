"""The chaos run in short: twenty kills, every promise held. `make chaos` has the long one."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.promise("no_task_lost")
@pytest.mark.promise("no_task_twice")
@pytest.mark.promise("answer_delivered_once")
@pytest.mark.promise("no_process_left")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("transport", ["unix", "stdio"])
def test_twenty_kills_break_no_promise(transport: str) -> None:
    # A process of its own, since a disk of its own takes a namespace.
    command = ["--kills", "20", "--flight", "6", "--pause", "0.5", "--seed", "20"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.chaos", *command, "--transport", transport],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "tasks lost                       0" in done.stdout, done.stdout
