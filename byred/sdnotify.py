"""What the daemon tells systemd, in the protocol of sd_notify(3).

Without `NOTIFY_SOCKET` in the environment, so when systemd did not ask, all of it does nothing.
"""

import asyncio
import os
import socket
import time
from collections.abc import Mapping

import structlog

# The service manager reads at once; one that does not must not hold up the daemon.
SEND_TIMEOUT = 0.5

log = structlog.get_logger()


def notify(*assignments: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Send assignments such as `READY=1` or `STATUS=…` in one message; say whether it went out."""
    address = environ.get("NOTIFY_SOCKET", "")
    if not address:
        return False
    if address.startswith("@"):  # an abstract socket
        address = "\0" + address[1:]
    message = "\n".join(line.replace("\n", " ") for line in assignments).encode()
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
            sock.settimeout(SEND_TIMEOUT)
            sock.sendto(message, address)
    except OSError as error:
        log.warning("cannot tell systemd", action="notify", what=assignments, error=str(error))
        return False
    return True


def reloading(*, environ: Mapping[str, str] = os.environ) -> bool:
    """Say that a reload has begun; `READY=1` ends it."""
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    return notify("RELOADING=1", f"MONOTONIC_USEC={now}", environ=environ)


def watchdog_interval(environ: Mapping[str, str] = os.environ) -> float | None:
    """Give the seconds between signs of life, half of what systemd allows; None if it asks none."""
    allowed = environ.get("WATCHDOG_USEC", "")
    if not allowed.isdecimal() or int(allowed) == 0:
        return None
    if environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    return int(allowed) / 1_000_000 / 2


async def watchdog(environ: Mapping[str, str] = os.environ) -> None:
    """Give signs of life from the event loop for as long as it turns; return if none are asked."""
    interval = watchdog_interval(environ)
    while interval is not None:
        notify("WATCHDOG=1", environ=environ)
        await asyncio.sleep(interval)
