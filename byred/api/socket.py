"""The Unix socket: making it, letting clients in, ending with all of them.

Knows no method: it serves the table of commands that it is handed.
"""

import asyncio
import grp
import os
import socket
import stat
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import structlog

from byred.api.connection import Connection, Crowd, Limits
from byred.api.contract import Command
from byred.api.dispatcher import Dispatcher
from byred.api.errors import ListenError
from byred.api.peers import Gate

log = structlog.get_logger()

BACKLOG = 1024
PROBE_TIMEOUT = 1.0
# sun_path holds 108 bytes, the closing NUL included.
LONGEST_PATH = 107


@asynccontextmanager
async def serve(
    path: Path,
    commands: Mapping[str, Command[Any]],
    *,
    mode: int = 0o600,
    group: str = "",
    limits: Limits | None = None,
) -> AsyncIterator[None]:
    """Answer clients on a socket at `path` while the context is open.

    The socket has its mode and group before anybody can connect. A socket file that nobody listens
    on is replaced. At the end no more calls are taken, those in progress may go on for
    `limits.grace` seconds, and the file is removed. Raises ListenError when the path cannot be had.
    """
    limits = limits or Limits()
    listener, made = await asyncio.to_thread(_listen, path, mode, group)
    with listener:
        crowd = Crowd(limits)
        dispatcher = Dispatcher(commands, timeout=limits.call)
        gate = Gate(owner=made.st_uid, group=made.st_gid if mode & stat.S_IWGRP else None)
        server = await asyncio.get_running_loop().create_unix_server(
            lambda: Connection(dispatcher=dispatcher, gate=gate, crowd=crowd),
            sock=listener,
            backlog=BACKLOG,
        )
        try:
            yield
        finally:
            server.close()
            await crowd.end()
            await asyncio.to_thread(_remove, path, made)


def _listen(path: Path, mode: int, group: str) -> tuple[socket.socket, os.stat_result]:
    """Give a listening socket at `path`, and what its file is."""
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise ListenError(
            f"cannot listen on {path}: a socket's path has at most {LONGEST_PATH} bytes; set "
            "daemon.socket to a shorter one",
        )
    _refuse_if_taken(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        # Nobody can connect before it listens, and nobody else before it is whose it should be.
        before = os.umask(0o177)
        try:
            listener.bind(str(path))
        finally:
            os.umask(before)
        made = path.stat()
        try:
            if group:
                os.chown(path, -1, grp.getgrnam(group).gr_gid)
            path.chmod(mode)
            made = path.stat()
            listener.listen(BACKLOG)
        except BaseException:
            _remove(path, made)
            raise
    except BaseException as error:
        listener.close()
        if isinstance(error, OSError | KeyError):
            raise _cannot_listen(path, error) from error
        raise
    return listener, made


def _refuse_if_taken(path: Path) -> None:
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise ListenError(
                f"cannot listen on {path}: there is something that is no socket; remove it, or set "
                "daemon.socket to another path",
            )
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(PROBE_TIMEOUT)
            probe.connect(str(path))
    except (FileNotFoundError, ConnectionRefusedError):
        return
    except (TimeoutError, BlockingIOError):
        pass  # its queue of clients is full: it lives
    except OSError as error:
        raise _cannot_listen(path, error) from error
    raise ListenError(
        f"cannot listen on {path}: a program answers there; stop it, or set daemon.socket to "
        "another path",
    )


def _cannot_listen(path: Path, error: OSError | KeyError) -> ListenError:
    reason = str(error.args[0]) if isinstance(error, KeyError) else error.strerror or str(error)
    return ListenError(f"cannot listen on {path}: {reason}; mend that, or set daemon.socket")


def _remove(path: Path, made: os.stat_result) -> None:
    """Remove the socket's file unless another has taken its place."""
    try:
        found = path.lstat()
        if (found.st_dev, found.st_ino) == (made.st_dev, made.st_ino):
            path.unlink()
    except OSError as error:
        log.warning("cannot remove the socket", action="remove", path=str(path), error=str(error))
