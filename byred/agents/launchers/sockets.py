"""The socket of a server that listens: waiting for it, finding it, removing what is left of it.

codex makes the path that it is given a link to a socket in a directory of its own below /tmp. So
the path may be longer than a socket's may be (108 bytes), and a daemon with a /tmp of its own
(PrivateTmp) sees a link to nothing.
"""

import asyncio
from pathlib import Path

from byred.agents.launchers.contract import LaunchError, Server

LISTEN_LIMIT = 30.0
"""Seconds until a server must listen: 0.1 with a warm home, 4 for twenty at once with new ones."""

LISTEN_PAUSE = 0.01
"""Seconds between two looks: nothing tells of a link that appears, short of watching the folder."""

_ACCEPTS = 0x10000
"""The kernel's flag for a socket that takes connections."""


async def listening_at(server: Server) -> Path:
    """Wait until a server listens and return the path to connect to.

    Raises LaunchError when the server ends before, or does not listen within LISTEN_LIMIT.
    """
    ended = asyncio.ensure_future(server.wait())
    try:
        async with asyncio.timeout(LISTEN_LIMIT):
            while not ended.done():
                path = await asyncio.to_thread(_find, server)
                if path is not None:
                    return path
                await asyncio.wait([ended], timeout=LISTEN_PAUSE)
            how = f"it {ended.result().text} before it listened"
    except TimeoutError:
        how = f"it does not listen at {server.spec.socket} after {LISTEN_LIMIT:g} s"
    finally:
        ended.cancel()
        await asyncio.gather(ended, return_exceptions=True)
    raise LaunchError(
        f"cannot reach the server of task {server.spec.task_id}: {how}; see {server.spec.stderr}"
    )


def _find(server: Server) -> Path | None:
    link = server.spec.socket
    if link is None:
        return None
    target = _target(link)
    if not _listens(target):
        return None
    if target.exists():
        return target
    return Path(f"/proc/{server.identity.pid}/root", *target.parts[1:])


def _target(link: Path) -> Path:
    return link.parent / link.readlink() if link.is_symlink() else link


def _listens(path: Path) -> bool:
    """Ask the kernel: what a killed server left looks the same as a socket on the disk."""
    name = str(path)
    for line in Path("/proc/net/unix").read_text(errors="surrogateescape").splitlines()[1:]:
        # Number, references, protocol, flags, type, state, inode, path.
        fields = line.split(" ", 7)
        if fields[-1] == name and int(fields[3], 16) & _ACCEPTS:
            return True
    return False


def remove_socket(path: Path) -> None:
    """Remove what a killed server left of its socket, codex's lock included. Blocks.

    Only for a server that is proven gone: another may be about to listen there.
    """
    target = _target(path)
    for left in (target, target.with_name(f"{target.name}.lock"), path):
        left.unlink(missing_ok=True)
