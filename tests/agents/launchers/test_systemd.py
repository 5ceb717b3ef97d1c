"""The suite under a real systemd, booted for it in namespaces of its own.

Nothing of the machine is touched: see boot.sh. What needs root and cgroup v2 is left out elsewhere.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from byred.agents.launchers.contract import LaunchError
from byred.agents.launchers.groups import Group, locate
from byred.agents.process import ProcessIdentity

HERE = Path(__file__).parent
TOP = HERE.parents[2]
SYSTEMD = Path("/usr/lib/systemd/systemd")
BOOT_LIMIT = 60
SUITE_LIMIT = 600


class Booted:
    """A systemd in namespaces; `pid` is its process as we see it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def argv(self, *words):
        """A command that runs `words` inside, in the checkout."""
        inside = ("sh", "-c", 'cd "$0" && exec "$@"', str(TOP), *map(str, words))
        return ("nsenter", "-t", str(self.pid), "-m", "-p", "-C", "-u", "-i", "--", *inside)

    def run(self, *words, timeout=SUITE_LIMIT, **rest):
        return subprocess.run(
            self.argv(*words), capture_output=True, text=True, timeout=timeout, check=False, **rest
        )


@pytest.fixture(scope="module")
def booted(tmp_path_factory):
    tools = [shutil.which(tool) for tool in ("unshare", "nsenter", "systemd-run", "systemctl")]
    if os.geteuid() != 0 or None in tools or not SYSTEMD.exists():
        pytest.skip("booting a systemd needs root and systemd's own programs")
    try:
        group = Group(locate("/") / f"byred-test-boot-{os.getpid()}")
    except LaunchError as error:
        pytest.skip(str(error))
    group.create(None, ())
    marker = tmp_path_factory.mktemp("boot") / "the-machines-own"
    marker.touch()
    options = ("--mount", "--pid", "--cgroup", "--uts", "--ipc", "--fork", "--kill-child")
    with (marker.parent / "log").open("wb") as log:
        unshare = subprocess.Popen(
            (
                *("/bin/sh", "-c", 'echo 0 > "$0" && exec "$@"', group.entrance),
                *(
                    "unshare",
                    *options,
                    "--mount-proc",
                    "sh",
                    HERE / "boot.sh",
                    marker,
                    TOP,
                    sys.prefix,
                ),
            ),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield Booted(until_it_runs(unshare, log.name))
    finally:
        group.kill()
        unshare.wait()
        with contextlib.suppress(TimeoutError):
            wait_for(lambda: not group.is_populated(), 10)
        group.remove()
        assert marker.exists()


def until_it_runs(unshare, log):
    def running():
        children = Path(f"/proc/{unshare.pid}/task/{unshare.pid}/children").read_text().split()
        if not children or unshare.poll() is not None:
            return None
        booted = Booted(int(children[0]))
        state = booted.run("systemctl", "is-system-running", timeout=10).stdout.strip()
        return booted.pid if state == "running" else None

    try:
        return wait_for(running, BOOT_LIMIT)
    except TimeoutError:
        pytest.fail(f"systemd did not boot: {Path(log).read_text()}")


def wait_for(condition, seconds):
    until = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.05)
    return value


def suite(launcher, files):
    """The command that runs these files of this folder with one launcher."""
    files = [HERE / name for name in files.split()]
    return (
        *("env", f"BYRED_TEST_LAUNCHERS={launcher}", f"PATH={os.environ['PATH']}"),
        *(sys.executable, "-m", "pytest", *files),
        *("-q", "-p", "no:cacheprovider", f"--basetemp=/tmp/{launcher}"),
    )


def passed(done):
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    return int(re.search(r"(\d+) passed", done.stdout)[1])


EVERYTHING = "test_suite.py test_supervisor.py test_survival.py test_codex.py"
SERVICE = ("systemd-run", "--quiet", "--pipe", "--wait", "--collect", f"-pWorkingDirectory={TOP}")


@pytest.mark.timeout(SUITE_LIMIT)
def test_the_whole_suite_holds_for_units_of_systemd(booted):
    assert passed(booted.run(*suite("systemd", EVERYTHING))) > 60
    units = booted.run("systemctl", "list-units", "--all", "--no-legend", "byre-*").stdout
    assert units == ""


@pytest.mark.timeout(SUITE_LIMIT)
def test_the_suite_holds_for_groups_that_systemd_delegated(booted):
    files = "test_suite.py test_survival.py"
    assert passed(booted.run(*SERVICE, "-pDelegate=yes", *suite("cgroup", files))) > 40


def test_auto_takes_systemd_where_it_is_the_manager(booted):
    program = (
        "import asyncio; from byred.agents.launchers import choose, survey\n"
        "print(asyncio.run(choose('auto')).name)\n"
        "for each in asyncio.run(survey()): print(each.name, each.usable, each.why)"
    )
    lines = booted.run(*SERVICE, sys.executable, "-c", program).stdout.splitlines()
    assert lines[0] == "systemd"
    assert lines[1] == "systemd True units of the system manager; limits cpu, memory, pids"
    assert lines[2].startswith("cgroup False cannot make groups below ")
    assert "run byred as a service with Delegate=yes" in lines[2]


def daemon(booted, launcher, home, *properties):
    """Start a daemon of one server as a service; give the server's identity."""
    child = (sys.executable, "-I", "-S", HERE / "child.py", "survivor", home.name, home.name)
    home.mkdir()
    (home / "identity").touch()
    done = booted.run(
        *("systemd-run", "--quiet", f"--unit=daemon-{home.name}", *properties),
        *(f"--working-directory={TOP}", f"--property=StandardOutput=file:{home}/identity"),
        *(sys.executable, HERE / "daemon.py", launcher, home, *child),
    )
    assert done.returncode == 0, done.stderr
    try:
        line = wait_for((home / "identity").read_text, 30)
    except TimeoutError:
        pytest.fail(booted.run("systemctl", "status", f"daemon-{home.name}").stdout)
    return ProcessIdentity(**json.loads(line))


def state(booted, identity):
    """Whether the process is alive, as those inside see it."""
    program = (
        "import sys; from byred.agents.process import ProcessIdentity as P\n"
        "print(P(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]).is_alive())"
    )
    words = (identity.pid, identity.start_time, identity.boot_id)
    return booted.run(sys.executable, "-c", program, *words).stdout.strip()


@pytest.mark.parametrize("verb", ["restart", "kill"])
def test_a_units_server_is_untouched_by_the_daemons_end(booted, shared, verb):
    identity = daemon(booted, "systemd", shared / f"units-{verb}")
    words = ("-s", "KILL") if verb == "kill" else ()
    booted.run("systemctl", verb, *words, f"daemon-units-{verb}")
    assert state(booted, identity) == "True"


def test_a_groups_server_stays_where_only_the_daemon_is_killed(booted, shared):
    options = ("--property=Delegate=yes", "--property=KillMode=process")
    identity = daemon(booted, "cgroup", shared / "groups", *options)
    booted.run("systemctl", "stop", "daemon-groups")
    assert state(booted, identity) == "True"


def test_a_service_with_a_task_in_its_group_can_be_restarted(booted, shared):
    options = ("--property=Delegate=yes", "--property=KillMode=process")
    identity = daemon(booted, "cgroup", shared / "again", *options)
    (shared / "again" / "identity").write_text("")
    assert booted.run("systemctl", "restart", "daemon-again").returncode == 0
    line = wait_for((shared / "again" / "identity").read_text, 30)
    assert state(booted, ProcessIdentity(**json.loads(line))) == "True"
    # The next daemon found the home in use, and ended the old server before it started its own.
    assert state(booted, identity) == "False"


def test_a_groups_server_ends_with_the_daemons_service_otherwise(booted, shared):
    identity = daemon(booted, "cgroup", shared / "ended", "--property=Delegate=yes")
    booted.run("systemctl", "stop", "daemon-ended")
    wait_for(lambda: state(booted, identity) == "False", 20)


def test_limits_are_the_units_own(booted, shared):
    program = (
        "import asyncio, os, sys; from pathlib import Path\n"
        "from byred.agents.launchers import choose\n"
        "from byred.agents.launchers.contract import Limits, ServerSpec\n"
        "async def main(home):\n"
        "    server = await (await choose('systemd')).start(ServerSpec(\n"
        "        argv=('/bin/sleep', '1000'), cwd=home, env={'PATH': os.environ['PATH']},\n"
        "        home=home, task_id=9, stderr=home / 'stderr.log',\n"
        "        limits=Limits(memory_max=1 << 28, pids_max=77, cpu_weight=50)))\n"
        "    os.system('systemctl show -p MemoryMax,TasksMax,CPUWeight byre-task-9-*.service')\n"
        "    await server.kill_tree(); await server.release()\n"
        "asyncio.run(main(Path(sys.argv[1])))"
    )
    done = booted.run(sys.executable, "-c", program, shared)
    assert sorted(done.stdout.split()) == ["CPUWeight=50", "MemoryMax=268435456", "TasksMax=77"]


@pytest.fixture
def shared():
    """A folder that those inside see as well: their /tmp is another."""
    folder = Path("/dev/shm") / f"byred-test-{os.getpid()}"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)
