"""Choose free TCP ports by name, by trying to bind them.

Owns the trying; who leases a port durably, and to whom, is the caller's.
"""

import errno
import socket
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet

from byred.workspace.errors import Kind, WorkspaceError

_ADDRESSES = (
    (socket.AF_INET, "127.0.0.1"),
    (socket.AF_INET, "0.0.0.0"),  # noqa: S104 - bound for microseconds, to see whether somebody is there
    (socket.AF_INET6, "::1"),
    (socket.AF_INET6, "::"),
)
_NO_SUCH_FAMILY = frozenset({errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.EPROTONOSUPPORT})


def is_free(port: int) -> bool:
    """Say whether a server could listen on `port` now, on loopback and wildcard, IPv4 and IPv6."""
    return all(_can_listen(family, address, port) for family, address in _ADDRESSES)


def choose(
    names: Iterable[str],
    port_range: range,
    taken: AbstractSet[int],
    check: Callable[[int], bool] = is_free,
) -> dict[str, int]:
    """Return a port for each name: the lowest of the range that are neither taken nor in use.

    Raises WorkspaceError(`limit`) when the range has too few.
    """
    wanted = list(dict.fromkeys(names))
    free = (port for port in port_range if port not in taken and check(port))
    chosen = dict(zip(wanted, free, strict=False))
    if len(chosen) < len(wanted):
        message = (
            f"cannot find {len(wanted)} free ports between {port_range.start} and "
            f"{port_range.stop - 1}: end a task that holds some, or widen workspace.port_range"
        )
        raise WorkspaceError(message, Kind.LIMIT)
    return chosen


def _can_listen(family: int, address: str, port: int) -> bool:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            # Without it the remains of a server that just ended (TIME_WAIT) would look like one.
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                trial.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            trial.bind((address, port))
            # A bind alone succeeds beside another one with the same option; a listen does not.
            trial.listen(1)
    except OSError as error:
        return error.errno in _NO_SUCH_FAMILY
    return True
