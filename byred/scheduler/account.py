"""The account that all tasks share: when it cannot work, none of them starts.

A usage limit or a lost login is the account's trouble. The task that met it is held, at no cost of
an attempt; until the reset nothing starts. Then one task goes first, and only when the model has
answered it the others follow. The store holds all of this in the tasks themselves, but for which
task goes first, which a restart may choose anew.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from byred.core.task import ENDED, Hold, Task, TaskState


class AccountPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What the account allows now.

    `paused` says why nothing but `probe` may start, or None when everything may. `release` are the
    held tasks that go on, `probe` the one that goes first.
    """

    paused: str | None = None
    release: tuple[int, ...] = ()
    probe: int | None = None
    next_look: datetime | None = None


def plan(tasks: Sequence[Task], now: datetime, *, probe: int | None, works: bool) -> AccountPlan:
    """Say what the account allows.

    `tasks` are all that have not ended, in the order in which they run; `probe` is the task that
    went first, if one did, and `works` whether the model has answered it since.
    """
    held = [task for task in tasks if task.state is TaskState.HELD and task.hold is Hold.ACCOUNT]
    if not held:
        return AccountPlan()
    if works:
        return AccountPlan(release=tuple(task.id for task in held))
    reason = held[0].reason or "the account cannot work now"
    if any(task.id == probe and _still_out(task) for task in tasks):
        return AccountPlan(paused=reason, probe=probe)
    resets = [task.held_until for task in held if task.held_until is not None]
    if not resets:
        return AccountPlan(paused=reason)
    reset = max(resets)
    if reset > now:
        return AccountPlan(paused=reason, next_look=reset)
    first = next(task.id for task in held if task.held_until is not None)
    return AccountPlan(paused=reason, release=(first,), probe=first)


def _still_out(task: Task) -> bool:
    """Whether a probe is on its way: it may be asked for an answer that nobody has yet."""
    return task.state is TaskState.QUEUED or (task.live and task.state not in ENDED)
