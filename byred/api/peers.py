"""Who may talk to the daemon: the kernel says who it is, the socket's owner and group who may."""

import asyncio
import os
import pwd
import socket
import struct
from asyncio.trsock import TransportSocket

from byred.api.contract import Peer
from byred.api.errors import PeerRefusedError

# Names and groups may come from the network; a user who left a group is out after this long.
REMEMBER = 60.0
LOOKUP_TIMEOUT = 5.0
_CREDENTIALS = struct.Struct("iII")


class Gate:
    """Lets in root, the owner, and the members of the group when there is one."""

    def __init__(self, *, owner: int, group: int | None) -> None:
        self._owner = owner
        self._group = group
        self._known: dict[int, tuple[float, str, frozenset[int]]] = {}

    async def admit(self, sock: socket.socket | TransportSocket) -> Peer:
        """Give the peer of a connected socket; raise PeerRefusedError."""
        packed = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid, uid, gid = _CREDENTIALS.unpack(packed)
        name, groups = await self._lookup(uid)
        allowed = uid in (0, self._owner) or (
            self._group is not None and self._group in groups | {gid}
        )
        if not allowed:
            raise PeerRefusedError(
                f"cannot serve user {name} (uid {uid}): only the owner of the socket, its group "
                "when daemon.socket_mode lets one in, and root may connect",
            )
        return Peer(uid=uid, pid=pid, user=name)

    async def _lookup(self, uid: int) -> tuple[str, frozenset[int]]:
        now = asyncio.get_running_loop().time()
        until, name, groups = self._known.get(uid, (now, "", frozenset()))
        if until > now:
            return name, groups
        try:
            async with asyncio.timeout(LOOKUP_TIMEOUT):
                name, groups = await asyncio.to_thread(_look_up, uid)
        except TimeoutError:
            return str(uid), frozenset()
        self._known[uid] = (now + REMEMBER, name, groups)
        return name, groups


def _look_up(uid: int) -> tuple[str, frozenset[int]]:
    try:
        user = pwd.getpwuid(uid)
    except KeyError:
        return str(uid), frozenset()
    return user.pw_name, frozenset(os.getgrouplist(user.pw_name, user.pw_gid))
