"""The shipped units: what systemd says of them without running them."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="this machine has no systemd"
)
MOST_EXPOSED = 4.5


def analyze(*arguments: str | Path, runtime: Path) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {"XDG_RUNTIME_DIR": str(runtime), "SYSTEMD_COLORS": "0"}
    return subprocess.run(
        ["systemd-analyze", *arguments],
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "whose"), [("byred.service", "--system"), ("user/byred.service", "--user")]
)
def test_systemd_finds_nothing_wrong(
    name: str, whose: str, unit: Callable[[str], str], tmp_path: Path
) -> None:
    # Where it is installed is the only thing that is not so here.
    text, found = re.subn(r"(?m)^ExecStart=\S+", "ExecStart=/bin/true", unit(name))
    assert found == 1
    file = tmp_path / "byred.service"
    file.write_text(text)
    done = analyze("verify", "--man=no", whose, file, runtime=tmp_path)
    assert done.stdout + done.stderr == ""
    assert done.returncode == 0


def test_what_an_agent_can_reach_is_limited(unit: Callable[[str], str], tmp_path: Path) -> None:
    file = tmp_path / "byred.service"
    file.write_text(unit("byred.service"))
    done = analyze("security", "--offline=yes", "--no-pager", file, runtime=tmp_path)
    found = re.search(r"Overall exposure level for byred\.service: ([0-9.]+)", done.stdout)
    assert found, done.stdout + done.stderr
    assert float(found[1]) <= MOST_EXPOSED


@pytest.mark.parametrize("name", ["byred.service", "user/byred.service"])
def test_the_daemon_has_more_time_to_end_than_it_takes(
    name: str, unit: Callable[[str], str]
) -> None:
    from byred.settings import load, parse_duration  # noqa: PLC0415

    allowed = re.search(r"(?m)^TimeoutStopSec=(\S+)$", unit(name))
    assert allowed
    assert parse_duration(allowed[1]) >= load(None).daemon.stop_timeout + 10
