"""The errors of this package."""


class RolloutError(ValueError):
    """A rollout, a record of it or a request for it cannot be read or written."""


class NoTurnError(RolloutError, LookupError):
    """The history has no such turn."""
