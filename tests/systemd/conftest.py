"""A throw-away machine with a systemd of its own, in namespaces."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SYSTEMD = Path("/usr/lib/systemd/systemd")
BOUND = 60.0
OWN_NAMESPACES = [
    "--mount",
    "--pid",
    "--cgroup",
    "--uts",
    "--ipc",
    "--fork",
    "--mount-proc",
    "--kill-child",
]


def why_not() -> str:
    """Say why no systemd can be booted here, or nothing."""
    if not SYSTEMD.exists() or shutil.which("systemctl") is None:
        return "this machine has no systemd"
    if os.getuid() != 0:
        return "only root can boot a systemd in namespaces"
    trial = ["unshare", *OWN_NAMESPACES, "true"]
    if subprocess.run(trial, capture_output=True, timeout=BOUND, check=False).returncode:
        return "this machine lets nobody make namespaces"
    return "" if cgroup2() else "this machine has no cgroup v2"


def cgroup2() -> Path | None:
    """Give the folder of the control groups, version 2."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, folder, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(folder)
    return None


class Machine:
    """A running systemd, seen from outside.

    `share` is a folder that the inside sees as /run/share; the checkout is /opt/byred there.
    """

    def __init__(self, share: Path, group: Path) -> None:
        self.share = share
        self._group = group
        share.chmod(0o755)
        command = [
            "sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', group,
            "unshare", *OWN_NAMESPACES, "sh", Path(__file__).with_name("boot.sh"),
            share, REPOSITORY, *_interpreters(),
        ]  # fmt: skip
        with (share / "boot.log").open("w") as log:
            self._outer = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        try:
            self.pid = self._first_process()
            self.wait_for("systemctl", "is-system-running", until=("running", "degraded"))
        except BaseException:
            self.end()
            raise

    def run(self, *command: str | Path, check: bool = True) -> str:
        """Run a command inside; give what it printed."""
        inside = ["nsenter", "-t", str(self.pid), "-m", "-p", "-C", "-u", "-i", "--"]
        done = subprocess.run(
            [*inside, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=BOUND,
            check=False,
        )
        if check and done.returncode:
            raise AssertionError(f"{command} ended with {done.returncode}: {done.stdout}")
        return done.stdout.strip()

    def show(self, unit: str, name: str) -> str:
        """Give a property of a unit."""
        return self.run("systemctl", "show", "--value", "-p", name, unit)

    def wait_for(self, *command: str, until: tuple[str, ...]) -> str:
        """Run a command inside until it prints one of some texts."""
        end = time.monotonic() + BOUND
        while (text := self.run(*command, check=False)) not in until:
            if time.monotonic() > end or self._outer.poll() is not None:
                log = (self.share / "boot.log").read_text()
                raise AssertionError(f"{command} went on saying {text!r}\n{log}")
            time.sleep(0.05)
        return text

    def wait_for_state(self, unit: str, *states: str) -> str:
        """Wait until a unit is in one of some states."""
        return self.wait_for(
            "systemctl", "show", "--value", "-p", "ActiveState", unit, until=states
        )

    def inside(self, path: str) -> Path:
        """Give the path from outside of what is at `path` inside."""
        return Path(f"/proc/{self.pid}/root{path}")

    def install(self, name: str, text: str) -> None:
        """Put a unit into the machine."""
        target = self.inside(f"/run/systemd/system/{name}")
        target.parent.mkdir(exist_ok=True)
        target.write_text(text)
        self.run("systemctl", "daemon-reload")

    def processes(self, unit: str) -> list[int]:
        """Give the pids, as the inside counts, of all processes in the control group of a unit."""
        group = self.run("systemctl", "show", "--value", "-p", "ControlGroup", unit)
        if not group:
            return []
        find = f"cat $(find /sys/fs/cgroup{group} -name cgroup.procs) 2>/dev/null"
        return [int(pid) for pid in self.run("sh", "-c", find, check=False).split()]

    def end(self) -> None:
        """End everything inside, and leave no control group behind."""
        (self._group / "cgroup.kill").write_text("1")
        self._outer.wait(BOUND)
        end = time.monotonic() + BOUND
        while "populated 1" in (self._group / "cgroup.events").read_text():
            assert time.monotonic() < end, "processes of the machine are left"
            time.sleep(0.01)
        for folder, _, _ in os.walk(self._group, topdown=False):
            Path(folder).rmdir()

    def _first_process(self) -> int:
        children = Path(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children")
        end = time.monotonic() + BOUND
        while time.monotonic() < end:
            for pid in children.read_text().split():
                if Path(f"/proc/{pid}/comm").read_text() == "systemd\n":
                    return int(pid)
            if self._outer.poll() is not None:
                break
            time.sleep(0.01)
        raise AssertionError(f"no systemd started: {(self.share / 'boot.log').read_text()}")


def _interpreters() -> list[Path]:
    """Give what the checkout's Python needs besides the checkout and /usr."""
    return [path for path in {Path(sys.base_prefix).resolve()} if not path.is_relative_to("/usr")]


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """Boot a systemd for the tests of a module."""
    if reason := why_not():
        pytest.skip(reason)
    parent = cgroup2()
    assert parent is not None
    group = Path(tempfile.mkdtemp(prefix="byred-test-", dir=parent))
    group.chmod(0o755)
    with tempfile.TemporaryDirectory(prefix="byred-") as share:
        machine = Machine(Path(share), group)
        try:
            yield machine
        finally:
            machine.end()


@pytest.fixture(scope="session")
def unit() -> Callable[[str], str]:
    """Give a function that gives the text of a shipped file."""
    return lambda name: (REPOSITORY / "systemd" / name).read_text()
