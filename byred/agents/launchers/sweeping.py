"""Ending all that belongs to a task, in rounds until none is left.

`census` says what belongs; a container (a cgroup, a pid namespace) may add to this and is asked in
every round.
"""

import asyncio
import signal
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol

from byred.agents.launchers.census import Census, stop
from byred.agents.launchers.contract import LaunchError
from byred.agents.process import ProcessIdentity, send_signal

SWEEP_LIMIT = 4.0
"""Seconds until a sweep gives up on what it sees: a killed process that is still there after that
hangs in the kernel (a dead network mount), and the ladder around this has to end within 10 s."""

LOOK_LIMIT = 30.0
"""Seconds for all looks together. A look costs 0.01 s, and seconds on a machine that swaps: slow is
not the same as left."""

ROUND_PAUSE = 0.005
"""Seconds between two rounds: as long as a killed process usually takes to vanish."""

CLEAN_ROUNDS = 2
"""A process in the middle of an exec shows an empty environment for an instant, so one look that
finds nothing is not yet proof."""

FREEZE_LIMIT = 1.0
"""Seconds in which newly found processes are stopped rather than killed. A family that still grows
after that is killed as it stands."""


class Container(Protocol):
    """What the kernel holds together for a task, whatever its processes do."""

    async def end(self) -> Collection[ProcessIdentity]:
        """Kill all that it holds and return what that was; repeated until it is empty."""

    async def is_empty(self) -> bool:
        """Tell whether it holds nothing any more."""


class NoContainer:
    """For a task that has none."""

    async def end(self) -> Collection[ProcessIdentity]:
        """Kill nothing: the sweep does it all."""
        return ()

    async def is_empty(self) -> bool:
        """Hold nothing."""
        return True


async def sweep(
    census: Census,
    home: Path,
    roots: Collection[ProcessIdentity],
    container: Container,
) -> Sequence[ProcessIdentity]:
    """End all that belongs to a task and return what was ended.

    First everything is stopped, so that nothing forks away under the hand that counts it and no
    child loses the parent that it is known by; then everything is killed. Raises LaunchError when
    something is left after SWEEP_LIMIT, or /proc cannot be read to the end within LOOK_LIMIT.
    """
    ended: dict[ProcessIdentity, None] = {}
    stopped: set[ProcessIdentity] = set()
    clock = asyncio.get_running_loop().time
    began = clock()
    try:
        async with asyncio.timeout(LOOK_LIMIT):
            clean = 0
            while clean < CLEAN_ROUNDS:
                held = await container.end()
                with census.hunting(home):
                    left = (await census.take()).belonging(home, {*roots, *ended})
                fresh = left - stopped
                if fresh and clock() < began + FREEZE_LIMIT:
                    for identity in fresh:
                        stop(identity)
                    stopped |= fresh
                else:
                    _kill(left)
                left.update(held)
                ended.update(dict.fromkeys(left))
                clean = 0 if left or not await container.is_empty() else clean + 1
                if not clean and clock() > began + SWEEP_LIMIT:
                    names = ", ".join(str(identity.pid) for identity in left) or "in its group"
                    raise LaunchError(
                        f"cannot end everything of the task with home {home}: process {names} is "
                        f"still there {SWEEP_LIMIT:g} s after SIGKILL; it hangs in the kernel or "
                        "belongs to another user, so end it by hand"
                    )
                await asyncio.sleep(ROUND_PAUSE)
    except TimeoutError:
        raise LaunchError(
            f"cannot look for what is left of the task with home {home}: /proc was not read to the "
            f"end within {LOOK_LIMIT:g} s; nothing of the task is given back until that can be done"
        ) from None
    except OSError as error:
        raise LaunchError(
            f"cannot look for what is left of the task with home {home}: {error.strerror}; nothing "
            "of it is given back until that can be done"
        ) from error
    finally:
        # Given up or cancelled half way, nothing may stay stopped for ever.
        _kill(stopped)
    return list(ended)


def _kill(targets: Collection[ProcessIdentity]) -> None:
    for target in targets:
        try:
            send_signal(target, signal.SIGKILL)
        except PermissionError:
            # It stays in the next round's list, and the limit's error then names it.
            continue
