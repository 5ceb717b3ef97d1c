"""Who is next, and who gives a place back: a pure rule on the line and the limits."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from byred.store.line import Place


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How many tasks may have a server at once; 0 sets no limit per repository.

    `longest_retry` is how many seconds a retry is ever put off.
    """

    max_running: int
    max_per_repo: int = 0
    longest_retry: float = 300.0


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The queued tasks that start now, and those that wait for a person in the place of others."""

    start: tuple[Place, ...]
    give_back: tuple[Place, ...]


def choose(line: Iterable[Place], placed: Sequence[Place], limits: Limits) -> Choice:
    """Choose from the line, which is in the order in which its tasks run.

    `placed` are the tasks that have a server. A task whose repository is full lets later ones
    pass. For each that finds no place, one that only waits for a person is to give its own back.
    The line is read no further than that needs.
    """
    free = limits.max_running - len(placed)
    busy = Counter(task.common_dir for task in placed)
    idle = [task for task in placed if task.waiting]
    start: list[Place] = []
    give_back: list[Place] = []
    if free <= 0 and not idle:
        return Choice(start=(), give_back=())
    for task in line:
        full = bool(limits.max_per_repo) and busy[task.common_dir] >= limits.max_per_repo
        if len(start) < free and not full:
            start.append(task)
            busy[task.common_dir] += 1
            continue
        helping = (each for each in idle if not full or each.common_dir == task.common_dir)
        found = next(helping, None)
        if found is not None:
            idle.remove(found)
            give_back.append(found)
            busy[found.common_dir] -= 1
            busy[task.common_dir] += 1
        if len(start) >= free and not idle:
            break
    return Choice(start=tuple(start), give_back=tuple(give_back))
