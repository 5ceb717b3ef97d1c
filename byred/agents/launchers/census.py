"""One look at all processes, shared by everybody who asks at the same time.

A walk over /proc costs the same for one task as for a hundred, and at the daemon's start a hundred
ask at once. Owns who belongs to which home; ending them is `sweeping`'s.
"""

import asyncio
import os
import signal
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from byred.agents.process import (
    GONE_STATES,
    ProcessIdentity,
    Stat,
    boot_id,
    pids,
    read_environment,
    read_stat,
    send_signal,
)

WALKS = 5
"""How often a look follows what was born meanwhile; on a busy machine something always was."""

_ENTRY = b"CODEX_HOME="


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The processes of one look, gone ones left out, and the CODEX_HOME of those that have one."""

    boot: str
    stats: Mapping[int, Stat]
    homes: Mapping[int, bytes]

    def belonging(
        self, home: Path, roots: Collection[ProcessIdentity] = ()
    ) -> set[ProcessIdentity]:
        """Return the processes of the task with this home.

        Those are the ones whose environment names the home, the `roots` (where pid, start time and
        boot match), and all their descendants. Our own process and its ancestors never count.
        """
        known = {root.pid: root.start_time for root in roots if root.boot_id == self.boot}
        wanted = os.fsencode(home)
        pending = [
            stat
            for stat in self.stats.values()
            if self.homes.get(stat.pid) == wanted or known.get(stat.pid) == stat.start_time
        ]
        children: defaultdict[int, list[Stat]] = defaultdict(list)
        for stat in self.stats.values():
            children[stat.parent].append(stat)
        spared = self._self_and_ancestors()
        found: set[ProcessIdentity] = set()
        while pending:
            stat = pending.pop()
            identity = ProcessIdentity(stat.pid, stat.start_time, self.boot)
            if identity not in found and stat.pid not in spared:
                found.add(identity)
                pending.extend(children[stat.pid])
        return found

    def _self_and_ancestors(self) -> set[int]:
        spared: set[int] = set()
        pid = os.getpid()
        while pid in self.stats and pid not in spared:
            spared.add(pid)
            pid = self.stats[pid].parent
        return spared


class Census:
    """Takes snapshots; whoever asks while one is under way shares the one that begins after it."""

    def __init__(self) -> None:
        self._running: asyncio.Future[Snapshot] | None = None
        self._next: asyncio.Future[Snapshot] | None = None
        self._hunted: Counter[bytes] = Counter()

    @contextmanager
    def hunting(self, home: Path) -> Iterator[None]:
        """Stop every process of this home the moment that a snapshot comes across it.

        Between the look and a signal that waits for the look's end, a process may have forked and
        gone.
        """
        key = os.fsencode(home)
        self._hunted[key] += 1
        try:
            yield
        finally:
            self._hunted[key] -= 1
            if not self._hunted[key]:
                del self._hunted[key]

    async def take(self) -> Snapshot:
        """Return a snapshot that began after this call."""
        if self._next is None:
            self._next = asyncio.ensure_future(self._take_after(self._running))
        # One who gives up must not take the look away from the others.
        return await asyncio.shield(self._next)

    async def _take_after(self, before: "asyncio.Future[Snapshot] | None") -> Snapshot:
        if before is not None:
            await asyncio.wait([before])
        self._running, self._next = self._next, None
        hunted = frozenset(self._hunted)
        return await asyncio.to_thread(look, hunted)


def look(hunted: Collection[bytes] = ()) -> Snapshot:
    """Walk over /proc, and stop what belongs to a hunted home on sight. Blocks.

    What was born during the walk is looked at too: a process that forks and goes before we come to
    it would be missed with its child otherwise.
    """
    boot = boot_id()
    stats: dict[int, Stat] = {}
    homes: dict[int, bytes] = {}
    seen: set[int] = set()
    ourselves = os.getpid()
    for _ in range(WALKS):
        # The newest first: they are the ones that will not be there for long.
        fresh = sorted(set(pids()) - seen, reverse=True)
        if not fresh:
            break
        seen.update(fresh)
        for pid in fresh:
            stat = read_stat(pid)
            if stat is None or stat.state in GONE_STATES:
                continue
            stats[pid] = stat
            home = _home_of(pid)
            if home is not None:
                homes[pid] = home
                if home in hunted and pid != ourselves:
                    stop(ProcessIdentity(pid, stat.start_time, boot))
    return Snapshot(boot, stats, homes)


async def homes_in_use() -> frozenset[Path]:
    """Name the homes of which any process runs, byred's or not."""
    snapshot = await asyncio.to_thread(look)
    return frozenset(Path(os.fsdecode(home)) for home in snapshot.homes.values())


def _home_of(pid: int) -> bytes | None:
    environment = read_environment(pid)
    # Most processes have none, and splitting costs more than looking.
    if _ENTRY in environment:
        for entry in environment.split(b"\0"):
            if entry.startswith(_ENTRY):
                return entry.removeprefix(_ENTRY)
    return None


def stop(identity: ProcessIdentity) -> None:
    """Keep a process from running on."""
    try:
        send_signal(identity, signal.SIGSTOP)
    except PermissionError:
        # Another user's: a sweep will meet it again and name it.
        return
