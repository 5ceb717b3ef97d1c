"""`plain`: pipes or a socket, and a sweep. Works everywhere; contains by observation alone.

A process that leaves its parent *and* clears its environment before anybody looked escapes it; the
other launchers hold that too.
"""

from collections.abc import Sequence
from pathlib import Path

from byred.agents.launchers.census import Census
from byred.agents.launchers.contract import Server, ServerSpec
from byred.agents.launchers.handle import ProcessHandle
from byred.agents.launchers.held import Direct, HeldServer, to_the_end
from byred.agents.launchers.spawn import spawn
from byred.agents.launchers.sweeping import NoContainer, sweep
from byred.agents.process import ProcessIdentity


class PlainLauncher:
    """Starts servers as ordinary children in sessions of their own; see `contract.Launcher`."""

    name = "plain"

    def __init__(self) -> None:
        self._census = Census()

    async def start(self, spec: ServerSpec) -> Server:
        """Start a server; raises LaunchError."""
        return await to_the_end(self._start(spec))

    async def _start(self, spec: ServerSpec) -> HeldServer:
        handle, pipes = await spawn(spec, spec.argv)
        return HeldServer(spec, handle, Direct(), self._census, pipes)

    async def adopt(self, identity: ProcessIdentity, spec: ServerSpec) -> Server | None:
        """Take over a server that outlived the daemon; None when it is gone or has no socket."""
        handle = None if spec.socket is None else ProcessHandle.of_identity(identity)
        if handle is None:
            return None
        return HeldServer(spec, handle, Direct(), self._census)

    async def sweep(
        self, home: Path, identity: ProcessIdentity | None
    ) -> Sequence[ProcessIdentity]:
        """End whatever is left of the task with this home and return what was ended."""
        return await sweep(
            self._census, home, () if identity is None else (identity,), NoContainer()
        )
