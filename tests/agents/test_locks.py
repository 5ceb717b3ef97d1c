"""One at a time has the ground of a task, and nothing is kept of those that nobody wants."""

import asyncio

import pytest

from byred.agents.locks import TaskLocks

BOUND = 10.0


async def test_the_second_waits_for_the_first_and_others_do_not() -> None:
    locks = TaskLocks()
    order: list[str] = []
    waits = asyncio.Event()

    async def second() -> None:
        waits.set()
        async with locks.hold(1):
            order.append("second")

    async with locks.hold(1):
        waiting = asyncio.create_task(second())
        await asyncio.wait_for(waits.wait(), BOUND)
        async with locks.hold(2):
            order.append("another task")
        order.append("first")
    await asyncio.wait_for(waiting, BOUND)
    assert order == ["another task", "first", "second"]
    assert not locks.held(1)
    assert not locks.held(2)


async def test_who_gives_up_waiting_or_fails_leaves_no_lock_behind() -> None:
    locks = TaskLocks()
    async with locks.hold(1):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0), locks.hold(1):
                pytest.fail("two had it at once")
        assert locks.held(1)
    assert not locks.held(1)
    with pytest.raises(ValueError, match="it went wrong"):
        async with locks.hold(1):
            raise ValueError("it went wrong")
    assert not locks.held(1)
