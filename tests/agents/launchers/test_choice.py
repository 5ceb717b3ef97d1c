"""Which launcher is taken, and why; the machine's part is played, trying is real."""

import os

import pytest

from byred.agents.launchers import choice, choose, survey
from byred.agents.launchers.contract import LaunchError


class Cgroup(choice.CgroupLauncher):
    def __init__(self, limits):
        self.limits = limits


class Other:
    def __init__(self, name):
        self.name = name


@pytest.fixture
def machine(monkeypatch):
    """Let the machine allow these launchers alone; a group with or without limits."""

    def allow(*names, limits=frozenset()):
        def finder(name):
            async def find():
                if name not in names:
                    raise LaunchError(f"cannot use {name} in this test")
                launcher = Cgroup(limits) if name == "cgroup" else Other(name)
                return choice._Found(launcher, f"{name} works in this test")

            return find

        every = ("systemd", "cgroup", "pidns", "plain")
        monkeypatch.setattr(choice, "_LAUNCHERS", {name: finder(name) for name in every})

    return allow


@pytest.mark.parametrize(
    ("allowed", "limits", "taken"),
    [
        (("systemd", "cgroup", "pidns", "plain"), {"memory"}, "systemd"),
        (("cgroup", "pidns", "plain"), {"memory"}, "cgroup"),
        (("cgroup", "pidns", "plain"), (), "pidns"),
        (("cgroup", "plain"), (), "cgroup"),
        (("pidns", "plain"), (), "pidns"),
        (("plain",), (), "plain"),
    ],
)
async def test_auto_takes_the_strongest_that_works(machine, allowed, limits, taken):
    machine(*allowed, limits=frozenset(limits))
    assert (await choose("auto")).name == taken


async def test_what_was_asked_for_by_name_is_taken_or_refused_with_the_reason(machine):
    machine("plain", "systemd")
    assert (await choose("plain")).name == "plain"
    with pytest.raises(LaunchError, match="cannot use pidns in this test"):
        await choose("pidns")


async def test_an_unknown_name_is_refused_with_the_known_ones(machine):
    machine("plain")
    expected = "cannot use launcher 'docker': it is none of auto, systemd, cgroup, pidns, plain"
    with pytest.raises(LaunchError, match=expected):
        await choose("docker")


async def test_the_survey_tells_of_each_whether_and_why(machine):
    machine("plain", "pidns")
    assert [(each.name, each.usable, each.why) for each in await survey()] == [
        ("systemd", False, "cannot use systemd in this test"),
        ("cgroup", False, "cannot use cgroup in this test"),
        ("pidns", True, "pidns works in this test"),
        ("plain", True, "plain works in this test"),
    ]


async def test_what_the_survey_calls_usable_can_be_chosen_here():
    found = await survey()
    assert [each.name for each in found] == ["systemd", "cgroup", "pidns", "plain"]
    assert found[-1].usable
    for each in found:
        if each.usable:
            assert (await choose(each.name)).name == each.name
        else:
            with pytest.raises(LaunchError, match=r"^cannot "):
                await choose(each.name)


async def test_a_program_that_fails_is_quoted(tmp_path):
    with pytest.raises(LaunchError, match="the last line"):
        await choice._try(("/bin/sh", "-c", "echo first >&2; echo the last line >&2; exit 3"))
    with pytest.raises(LaunchError, match="ended with status 3"):
        await choice._try(("/bin/sh", "-c", "exit 3"))
    with pytest.raises(LaunchError, match=r"cannot run .*missing"):
        await choice._try((os.fspath(tmp_path / "missing"),))


async def test_a_program_that_hangs_is_given_up(monkeypatch):
    monkeypatch.setattr(choice, "PROBE_LIMIT", 0.2)
    with pytest.raises(LaunchError, match="cannot run /bin/sleep"):
        await choice._try(("/bin/sleep", "1000"))
