"""A connection that outlives the daemon it was made to.

Whoever watches may be there for days. When the daemon restarts, the connection is made again and
what was followed is followed on from where it was, so that nothing is missed and nothing twice.
"""

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from byred.cli.client import Daemon, Notification, Reply
from byred.cli.errors import DaemonLostError, NoDaemonError

_T = TypeVar("_T")

PATIENCE = 120.0  # seconds; a daemon that drains and starts again takes less
_PAUSE = 0.25  # between two tries to connect


class Steady:
    """Calls and notifications across restarts of the daemon.

    `open` connects. `follow` subscribes, at first and after every new connection; it is to remember
    where it was. `tell` is told in a sentence when the daemon goes away and when it is back.
    """

    def __init__(
        self,
        open_: Callable[[], Daemon],
        follow: Callable[[Daemon], object],
        tell: Callable[[str], None],
    ) -> None:
        self._open = open_
        self._follow = follow
        self._tell = tell
        self._daemon = open_()
        try:
            follow(self._daemon)
        except DaemonLostError:
            self._daemon.close()
            self._reconnect()
        except BaseException:
            self._daemon.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._daemon.close()

    def fileno(self) -> int:
        """The descriptor to wait on; another one after each new connection."""
        return self._daemon.fileno()

    @property
    def has_heard(self) -> bool:
        """Whether a notification is here already, so that nothing need be waited for."""
        return self._daemon.has_heard

    def call(self, method: str, params: Mapping[str, Any]) -> Reply:
        """Call a method that only reads: it may be called a second time."""
        return self._again(lambda: self._daemon.call(method, params))

    def hear(self, timeout: float | None = None) -> Notification | None:
        """The next notification, or None when `timeout` seconds passed without one."""
        return self._again(lambda: self._daemon.hear(timeout))

    def _again(self, work: Callable[[], _T]) -> _T:
        """Do `work`, and after a loss of the daemon connect, follow on and do it again."""
        while True:
            try:
                return work()
            except DaemonLostError:
                self._daemon.close()
                self._reconnect()

    def _reconnect(self) -> None:
        self._tell("the daemon went away; waiting for it to come back (Ctrl-C ends this)")
        ends = time.monotonic() + PATIENCE
        while True:
            try:
                self._daemon = self._open()
                self._follow(self._daemon)
            except NoDaemonError:
                if time.monotonic() > ends:
                    raise
                time.sleep(_PAUSE)
            else:
                self._tell("the daemon is back")
                return
