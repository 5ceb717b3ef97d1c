"""Where groups may be made and what is in them: made-up files for other machines, real ones."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from byred.agents.launchers import groups
from byred.agents.launchers.contract import LaunchError, Limits, Usage
from byred.agents.launchers.groups import Base, Group, controllers_of, enable_controllers, find_base

PROGRAM = """
import os, sys
from pathlib import Path
from byred.agents.launchers.groups import Base, controllers_of, enable_controllers
base = Base(Path(sys.argv[1]), delegated=sys.argv[2] == "delegated")
(base.path / "cgroup.procs").write_text("0")
print(*controllers_of(base, ("hugetlb",)), "/", *enable_controllers(base, ("hugetlb",)), "/",
      Path("/proc/self/cgroup").read_text().splitlines()[-1].split("::")[1])
"""


class Machine:
    """A cgroup tree and a /proc made of ordinary files."""

    def __init__(self, folder):
        self.proc = folder / "proc"
        self.top = folder / "top"
        self.systemd = folder / "systemd"
        self.proc.mkdir()
        self.top.mkdir()
        self.lives_in("/")

    def lives_in(self, group, *, root="/"):
        (self.proc / "cgroup").write_text(f"4:memory:/elsewhere\n0::{group}\n")
        (self.proc / "mountinfo").write_text(
            "21 1 0:20 / /sys rw - sysfs sysfs rw\n"
            "31 21 0:27 / /nowhere rw,relatime shared:9 - cgroup2 hidden rw\n"
            f"32 21 0:27 {root} {self.top} rw,relatime shared:9 - cgroup2 cgroup2 rw\n"
        )
        return self.group(group)

    def group(self, name, *, procs="", here="cpu memory pids io", type_=True):
        path = self.top / name.lstrip("/")
        path.mkdir(parents=True, exist_ok=True)
        (path / "cgroup.procs").write_text(procs)
        (path / "cgroup.controllers").write_text(here)
        (path / "cgroup.subtree_control").write_text("")
        (path / "cgroup.type").write_text("domain")
        if not type_:
            (path / "cgroup.type").unlink()
        return path

    def find(self):
        return find_base(self.proc, self.systemd)


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.fixture
def delegate(monkeypatch):
    """Let these paths be delegated: ordinary files may not have such attributes."""
    delegated = set()

    def getxattr(path, name):
        if Path(path) in delegated and name == "user.delegate":
            return b"1"
        raise OSError(61, "no data available")

    monkeypatch.setattr(os, "getxattr", getxattr)
    return delegated.add


def test_without_systemd_the_own_group_is_the_base(machine):
    own = machine.lives_in("/one/two")
    assert machine.find() == Base(own, delegated=False)


def test_under_systemd_only_a_delegated_group_is_taken(machine, delegate):
    machine.systemd.mkdir()
    own = machine.lives_in("/system.slice/byred.service")
    with pytest.raises(LaunchError, match=r"not delegated it; run byred .* with Delegate=yes"):
        machine.find()
    delegate(own)
    assert machine.find() == Base(own, delegated=True)


def test_a_daemon_that_moved_to_its_leaf_finds_the_group_above(machine, delegate):
    machine.systemd.mkdir()
    service = machine.group("/system.slice/byred.service")
    delegate(service)
    machine.lives_in("/system.slice/byred.service/main")
    assert machine.find() == Base(service, delegated=True)


def test_a_group_that_happens_to_be_called_main_is_a_group(machine):
    assert machine.find().path == machine.top
    own = machine.lives_in("/main")
    assert machine.find() == Base(own, delegated=False)


def test_a_container_that_sees_a_part_of_the_tree_finds_itself(machine):
    machine.lives_in("/docker/abc", root="/docker/abc")
    assert machine.find().path == machine.top
    machine.lives_in("/docker/abc/inner", root="/docker/abc")
    inner = machine.group("/inner")
    assert machine.find().path == inner


@pytest.mark.parametrize("group", ["/..", "/../../elsewhere"])
def test_outside_of_what_is_visible_there_is_no_base(machine, group):
    (machine.proc / "cgroup").write_text(f"0::{group}\n")
    with pytest.raises(LaunchError, match="no cgroup v2 hierarchy that is visible"):
        machine.find()


def test_without_cgroup_v2_there_is_no_base(machine):
    (machine.proc / "cgroup").write_text("4:memory:/elsewhere\n")
    with pytest.raises(LaunchError, match="no cgroup v2 hierarchy"):
        machine.find()
    (machine.proc / "cgroup").write_text("0::/\n")
    (machine.proc / "mountinfo").write_text("21 1 0:20 / /sys rw - sysfs sysfs rw\n")
    with pytest.raises(LaunchError, match="no cgroup v2 hierarchy is mounted"):
        machine.find()


def test_a_group_that_is_not_writable_is_no_base(machine, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(LaunchError, match="it is not writable"):
        machine.find()


def test_controllers_can_be_enabled_where_no_stranger_lives(machine):
    us = str(os.getpid())
    alone, shared = machine.group("/alone", procs=us), machine.group("/shared", procs=f"{us}\n1")
    root = machine.group("/", procs=f"{us}\n1", type_=False)
    wanted = {"cpu", "memory", "pids"}
    assert controllers_of(Base(alone, delegated=False)) == wanted
    assert controllers_of(Base(shared, delegated=False)) == set()
    assert controllers_of(Base(machine.group("/leaf"), delegated=True)) == wanted
    assert controllers_of(Base(root, delegated=False)) == wanted
    assert controllers_of(Base(machine.group("/few", here="pids"), delegated=True)) == {"pids"}


def test_a_service_that_was_not_started_in_its_leaf_goes_without(machine):
    """With controllers enabled systemd could not start the next daemon beside the tasks of this."""
    base = Base(machine.group("/service", procs=str(os.getpid())), delegated=True)
    assert controllers_of(base) == set()
    assert enable_controllers(base) == set()
    assert not (base.path / "main").exists()


def test_limits_are_written_for_the_controllers_that_are_enabled(tmp_path):
    group = Group(tmp_path / "task")
    group.create(Limits(memory_max=1 << 30, pids_max=512, cpu_weight=50), {"memory", "pids"})
    assert {path.name: path.read_text() for path in group.path.iterdir()} == {
        "memory.max": "1073741824",
        "pids.max": "512",
    }


def test_a_group_that_an_earlier_run_left_loses_its_limits(tmp_path):
    group = Group(tmp_path / "task")
    group.create(Limits(memory_max=1 << 30, cpu_weight=50), groups.CONTROLLERS)
    group.create(None, groups.CONTROLLERS)
    assert {path.name: path.read_text() for path in group.path.iterdir()} == {
        "memory.max": "max",
        "pids.max": "max",
        "cpu.weight": "100",
    }


def test_what_a_group_used_is_read_from_its_files(tmp_path):
    group = Group(tmp_path)
    assert group.usage() is None
    (tmp_path / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 1\nsystem_usec 2\n")
    assert group.usage() == Usage(peak_memory=0, cpu_seconds=2.5)
    (tmp_path / "memory.peak").write_text("7340032\n")
    assert group.usage() == Usage(peak_memory=7340032, cpu_seconds=2.5)


@pytest.fixture
def real():
    """A real group below our own, or below the root where we live there."""
    try:
        base = find_base()
    except LaunchError as error:
        pytest.skip(str(error))
    group = Group(base.path / f"byred-test-{os.getpid()}")
    group.create(None, ())
    yield group
    group.kill()
    group.remove()
    assert not group.path.exists()


@pytest.fixture
def inhabitant(real):
    """A process in a group below the real one."""
    below = Group(real.path / "below")
    below.create(None, ())
    words = ("/bin/sh", "-c", 'echo 0 > "$0" && echo in && exec sleep 1000', below.entrance)
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield process
        process.kill()


def test_members_and_kill_reach_below(real, inhabitant):
    assert real.is_populated()
    assert [member.pid for member in real.members()] == [inhabitant.pid]
    real.kill()
    assert inhabitant.wait(10) == -signal.SIGKILL
    assert not real.is_populated()
    assert real.members() == []


def test_without_the_kernels_kill_members_are_killed_one_by_one(real, inhabitant, monkeypatch):
    write = Path.write_text

    def refuse(path, text, *rest):
        if path.name == "cgroup.kill":
            raise FileNotFoundError(2, "as on an older kernel")
        return write(path, text, *rest)

    monkeypatch.setattr(Path, "write_text", refuse)
    real.kill()
    assert inhabitant.wait(10) == -signal.SIGKILL


def test_a_busy_group_is_not_removed_and_an_empty_one_with_all_below(real, inhabitant):
    real.remove()
    assert real.path.exists()
    inhabitant.kill()
    inhabitant.wait()
    real.remove()
    assert not real.path.exists()
    real.remove()
    real.kill()
    assert not real.is_populated()
    real.create(None, ())


@pytest.fixture
def hugetlb(real):
    """A controller that this machine can spare for a trial of the rules."""
    control = real.path.parent / "cgroup.subtree_control"
    if "hugetlb" not in (real.path.parent / "cgroup.controllers").read_text():
        pytest.skip("no controller to try with")
    before = control.read_text()
    control.write_text("+hugetlb")
    yield real
    if "hugetlb" not in before:
        real.kill()
        real.remove()
        control.write_text("-hugetlb")


def test_the_daemon_moves_to_a_leaf_to_enable_controllers(hugetlb):
    words = (sys.executable, "-c", PROGRAM, hugetlb.path, "not")
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    possible, enabled, where = done.stdout.strip().split(" / ")
    assert (possible, enabled) == ("hugetlb", "hugetlb")
    assert where.endswith(f"{hugetlb.path.name}/main")
    assert (hugetlb.path / "cgroup.subtree_control").read_text() == "hugetlb\n"


def test_with_strangers_in_its_group_the_daemon_stays_and_does_without(hugetlb):
    words = ("/bin/sh", "-c", 'echo 0 > "$0" && echo in && exec sleep 1000', hugetlb.entrance)
    with subprocess.Popen(words, stdout=subprocess.PIPE) as stranger:
        stranger.stdout.readline()
        program = (sys.executable, "-c", PROGRAM, hugetlb.path, "not")
        done = subprocess.run(program, capture_output=True, text=True, check=True)
        stranger.kill()
    possible, enabled, where = done.stdout.rstrip("\n").split("/", 2)
    assert (possible.strip(), enabled.strip()) == ("", "")
    assert where.endswith(hugetlb.path.name)


def test_a_service_in_its_leaf_enables_controllers_beside_running_tasks(hugetlb, inhabitant):
    base = Base(hugetlb.path, delegated=True)
    assert enable_controllers(base, ("hugetlb",)) == {"hugetlb"}
    assert enable_controllers(base, ("hugetlb",)) == {"hugetlb"}
    assert inhabitant.poll() is None
