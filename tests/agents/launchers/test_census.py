"""Who belongs to which home."""

import asyncio
import itertools
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byred.agents.launchers import census as module
from byred.agents.launchers.census import Census, Snapshot, look
from byred.agents.process import ProcessIdentity, Stat

BOOT = "this-boot"
HOME = Path("/homes/7")


def snapshot(parents, homes=None):
    stats = {
        pid: Stat(pid=pid, parent=parent, state="S", start_time=pid * 10, cpu_seconds=0.0)
        for pid, parent in parents.items()
    }
    return Snapshot(BOOT, stats, {pid: os.fsencode(home) for pid, home in (homes or {}).items()})


def identity(pid):
    return ProcessIdentity(pid, pid * 10, BOOT)


def pids(found):
    return {each.pid for each in found}


def test_a_home_in_the_environment_counts_to_the_letter():
    homes = {2: HOME, 3: "/homes/70", 4: "/homes", 5: "homes/7"}
    assert pids(snapshot(dict.fromkeys(range(2, 6), 1), homes).belonging(HOME)) == {2}


def test_descendants_count_whatever_their_environment():
    tree = {2: 1, 3: 2, 4: 3, 5: 1}
    assert pids(snapshot(tree, {2: HOME, 4: "/homes/8"}).belonging(HOME)) == {2, 3, 4}


def test_a_root_counts_by_its_whole_identity():
    look = snapshot({2: 1, 3: 2})
    assert pids(look.belonging(HOME, [identity(2)])) == {2, 3}
    assert look.belonging(HOME, [ProcessIdentity(2, 19, BOOT)]) == set()
    assert look.belonging(HOME, [ProcessIdentity(2, 20, "earlier-boot")]) == set()


def test_we_and_our_ancestors_never_count():
    us, parent, child = os.getpid(), os.getpid() + 1, os.getpid() + 2
    tree = {parent: 1, us: parent, child: us}
    look = snapshot(tree, dict.fromkeys(tree, HOME))
    assert pids(look.belonging(HOME, [identity(us)])) == {child}


@given(
    st.dictionaries(st.integers(2, 40), st.integers(1, 40)),
    st.sets(st.integers(2, 40)),
    st.sets(st.integers(2, 40)),
)
def test_what_belongs_is_closed_under_children_and_nothing_more(parents, marked, roots):
    look = snapshot(parents, dict.fromkeys(marked, HOME))
    found = pids(look.belonging(HOME, [identity(pid) for pid in roots]))
    first = (marked | roots) & parents.keys()
    assert first <= found
    for pid, parent in parents.items():
        if parent in found:
            assert pid in found
        if pid in found:
            assert pid in first or parent in found


async def test_a_look_begins_after_the_call_for_it(monkeypatch):
    began = []

    def slow(hunted):
        began.append(time.monotonic())
        time.sleep(0.05)
        return snapshot({})

    monkeypatch.setattr(module, "look", slow)
    census = Census()
    first = asyncio.ensure_future(census.take())
    while not began:
        await asyncio.sleep(0.001)
    called = time.monotonic()
    await census.take()
    await first
    assert len(began) == 2
    assert began[1] >= called


async def test_all_who_ask_at_once_share_a_look(monkeypatch):
    looks = []
    monkeypatch.setattr(module, "look", lambda hunted: looks.append(hunted) or snapshot({}))
    census = Census()
    taken = await asyncio.gather(*(census.take() for _ in range(100)))
    assert len(looks) == 1
    assert all(each is taken[0] for each in taken)


async def test_one_who_gives_up_takes_nothing_from_the_others():
    census = Census()
    impatient, patient = (asyncio.ensure_future(census.take()) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    assert os.getpid() in (await patient).stats
    with pytest.raises(asyncio.CancelledError):
        await impatient


def test_what_is_born_during_a_look_is_seen(monkeypatch):
    """A process forks and goes between the list and the look at it; its child is found."""
    lists = iter([[5], [5, 6], [5, 6]])
    monkeypatch.setattr(module, "pids", lambda: next(lists))
    born = Stat(pid=6, parent=1, state="S", start_time=1, cpu_seconds=0.0)
    monkeypatch.setattr(module, "read_stat", {5: None, 6: born}.get)
    monkeypatch.setattr(module, "read_environment", {6: b"A=b\0CODEX_HOME=/homes/7\0"}.get)
    assert pids(look().belonging(HOME)) == {6}


def test_a_look_on_a_machine_that_never_rests_comes_to_an_end(monkeypatch):
    counter = itertools.count(1)
    monkeypatch.setattr(module, "pids", lambda: [next(counter)])
    monkeypatch.setattr(module, "read_stat", lambda _pid: None)
    assert look().stats == {}


def test_a_look_sees_us_and_no_zombie():
    seen = look()
    assert seen.stats[os.getpid()].parent == os.getppid()
    assert {stat.state for stat in seen.stats.values()}.isdisjoint("ZX")
