"""`cgroup`: a control group (v2) per task below the daemon's own, ended by one write.

A process cannot leave its group by detaching, only by writing into another group's files, which
needs the daemon's own rights. Where the controllers are ours to enable, limits hold and what was
used is counted for the task as a whole.
"""

import asyncio
import hashlib
import os
from collections.abc import Collection, Sequence
from pathlib import Path

from byred.agents.launchers.census import Census
from byred.agents.launchers.contract import LaunchError, Server, ServerSpec, Usage
from byred.agents.launchers.groups import Base, Group, controllers_of, enable_controllers
from byred.agents.launchers.handle import ProcessHandle
from byred.agents.launchers.held import Direct, HeldServer, to_the_end
from byred.agents.launchers.spawn import spawn
from byred.agents.launchers.sweeping import sweep
from byred.agents.process import ProcessIdentity

# The child moves in by itself before it becomes the server, so nothing is ever born outside.
_MOVE_IN = 'echo 0 > "$0" && exec "$@"'


class CgroupLauncher:
    """Starts each server in a group of its own below `base`; see `contract.Launcher`.

    `limits` names the controllers that it can enable there, which it does at the first start.
    """

    name = "cgroup"

    def __init__(self, base: Base) -> None:
        self.limits = controllers_of(base)
        self._base = base
        self._census = Census()

    async def start(self, spec: ServerSpec) -> Server:
        """Start a server; raises LaunchError."""
        return await to_the_end(self._start(spec))

    async def _start(self, spec: ServerSpec) -> HeldServer:
        group = Group(self._base.path / f"byre-task-{spec.task_id}-{digest(spec.home)}")
        try:
            enabled = await asyncio.to_thread(enable_controllers, self._base)
            await asyncio.to_thread(group.create, spec.limits, enabled)
        except OSError as error:
            raise LaunchError(
                f"cannot make the group {group.path} of task {spec.task_id}: {error.strerror}; see "
                "byre doctor for the launchers that can be used"
            ) from error
        wrapper = ("/bin/sh", "-c", _MOVE_IN, str(group.entrance))
        try:
            handle, pipes = await spawn(spec, (*wrapper, *spec.argv))
        except LaunchError:
            await asyncio.to_thread(group.remove)
            raise
        return HeldServer(spec, handle, Grouped([group]), self._census, pipes)

    async def adopt(self, identity: ProcessIdentity, spec: ServerSpec) -> Server | None:
        """Take over a server that outlived the daemon; None when it is gone or has no socket."""
        handle = None if spec.socket is None else ProcessHandle.of_identity(identity)
        if handle is None:
            return None
        groups = await asyncio.to_thread(self._groups, spec.home)
        return HeldServer(spec, handle, Grouped(groups), self._census)

    async def sweep(
        self, home: Path, identity: ProcessIdentity | None
    ) -> Sequence[ProcessIdentity]:
        """End whatever is left of the task with this home and return what was ended."""
        grouped = Grouped(await asyncio.to_thread(self._groups, home))
        roots = () if identity is None else (identity,)
        ended = await sweep(self._census, home, roots, grouped)
        await grouped.discard()
        return ended

    def _groups(self, home: Path) -> list[Group]:
        return [Group(path) for path in self._base.path.glob(f"byre-task-*-{digest(home)}")]


class Grouped(Direct):
    """A task's group; several when an earlier daemon numbered the same home otherwise."""

    def __init__(self, groups: Collection[Group]) -> None:
        self._found = groups
        self._used: Usage | None = None

    def groups(self) -> Collection[Group]:
        """List the groups; called anew each time."""
        return self._found

    async def end(self) -> Collection[ProcessIdentity]:
        """Kill all that is in the group, and return what was in it."""
        return await asyncio.to_thread(self._end)

    def _end(self) -> list[ProcessIdentity]:
        members = []
        for group in self.groups():
            if group.is_populated():
                members += group.members()
                group.kill()
        return members

    async def is_empty(self) -> bool:
        """Tell whether the group holds nothing any more."""
        return not any(group.is_populated() for group in self.groups())

    def usage(self, handle: ProcessHandle) -> Usage | None:
        """Return the group's figures; the server's own peak where no controller counts memory."""
        alone = handle.usage()
        for used in (group.usage() for group in self.groups()):
            if used is not None:
                peak = used.peak_memory or (alone.peak_memory if alone else 0)
                self._used = Usage(peak, used.cpu_seconds)
        return self._used or alone

    async def discard(self) -> None:
        """Remove the empty group."""
        for group in self.groups():
            await asyncio.to_thread(group.remove)


def digest(home: Path) -> str:
    """Return a short name for a home, the same for every daemon."""
    return hashlib.blake2b(os.fsencode(home), digest_size=6).hexdigest()
