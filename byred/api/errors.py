"""What can go wrong around the socket itself; what a command refuses is in `byred.core.errors`."""


class ApiError(Exception):
    """The root of this package's errors; the text says what to do."""


class ListenError(ApiError):
    """The socket cannot be had."""


class PeerRefusedError(ApiError):
    """This user may not talk to the daemon; the text says who may."""


class LineTooLongError(ApiError):
    """A line is longer than the limit; what there is of it is dropped and the rest skipped."""


class LockedError(ApiError):
    """Another daemon has the state directory; `pid` is its process, or None when unknown."""

    def __init__(self, message: str, pid: int | None) -> None:
        super().__init__(message)
        self.pid = pid
