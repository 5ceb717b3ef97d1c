"""When a sweep gives up: on what it sees is still there, and on looks that never end."""

import asyncio

import pytest

from byred.agents.launchers import sweeping as module
from byred.agents.launchers.census import Census
from byred.agents.launchers.contract import LaunchError
from byred.agents.launchers.sweeping import NoContainer, sweep


class Hanging(NoContainer):
    """A group whose member the kernel doesn't let go."""

    async def is_empty(self):
        return False


class Endless(Census):
    """A /proc that is never read to the end."""

    async def take(self):
        await asyncio.Event().wait()


async def test_a_slow_look_that_finds_nothing_is_nothing_left(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SWEEP_LIMIT", -1.0)
    assert await sweep(Census(), tmp_path, (), NoContainer()) == []


async def test_what_is_still_there_is_given_up_and_named(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SWEEP_LIMIT", 0.05)
    with pytest.raises(LaunchError, match=r"process in its group is still there .* by hand"):
        await sweep(Census(), tmp_path, (), Hanging())


async def test_looks_that_never_end_are_no_proof(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LOOK_LIMIT", 0.05)
    with pytest.raises(LaunchError, match=r"/proc was not read to the end within 0\.05 s"):
        await sweep(Endless(), tmp_path, (), NoContainer())
