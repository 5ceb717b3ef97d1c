"""One daemon for one state directory: a lock that ends with the process that holds it."""

import errno
import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from byred.api.errors import LockedError


class StateLock:
    """Holds `state_dir/lock` while it is open, and makes the directory when it is missing.

    The kernel lets go of the lock when the process ends, however it ends, so there is nothing to
    clean up: the file stays and means nothing by itself. Children do not inherit it.
    """

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir
        self._fd = -1

    def __enter__(self) -> Self:
        """Take the lock; raise LockedError, or OSError when the directory cannot be used."""
        self._state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(self._state_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _note_pid(fd)
        except BlockingIOError:
            holder = os.pread(fd, 32, 0).strip()
            os.close(fd)
            pid = int(holder) if holder.isdigit() else None
            who = "another daemon" if pid is None else f"the daemon with pid {pid}"
            raise LockedError(
                f"cannot use {self._state_dir}: {who} is using it; stop that one first, or set "
                "daemon.state_dir to another folder",
                pid,
            ) from None
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go of the lock."""
        os.close(self._fd)
        self._fd = -1


def _note_pid(fd: int) -> None:
    """Say who holds the lock; that it is held does not depend on it."""
    try:
        written = os.pwrite(fd, b"%d\n" % os.getpid(), 0)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        written = 0
    # Last, so that whoever reads meanwhile finds a pid in it.
    os.ftruncate(fd, written)
