"""When a failed attempt is tried again: a pure rule on figures."""

from enum import StrEnum

import msgspec


class FailureClass(StrEnum):
    """Whose failure it was, which decides the limit and the wait."""

    AGENT = "agent"
    INFRASTRUCTURE = "infrastructure"
    STALL = "stall"
    VERIFY = "verify"


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How often a task is tried, and how long it rests in between (seconds)."""

    attempts: int = 3
    first: float = 10.0
    cap: float = 300.0
    jitter: float = 0.1


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """How often a task is tried, by whose failure it was; each class has a limit of its own."""

    agent: RetryPolicy = RetryPolicy()
    infrastructure: RetryPolicy = RetryPolicy()
    stall: RetryPolicy = RetryPolicy()
    verify: RetryPolicy = RetryPolicy(attempts=1)

    def of(self, failure: FailureClass) -> RetryPolicy:
        """Give the policy of a class."""
        match failure:
            case FailureClass.AGENT:
                return self.agent
            case FailureClass.INFRASTRUCTURE:
                return self.infrastructure
            case FailureClass.STALL:
                return self.stall
            case FailureClass.VERIFY:
                return self.verify


def delay(policy: RetryPolicy, failures: int, roll: float) -> float | None:
    """Say how many seconds to wait after `failures` failed attempts, or None when it was the last.

    The wait doubles from `policy.first` up to `policy.cap`; `roll`, from 0 to 1, spreads it by
    `policy.jitter` to both sides so that tasks that failed together do not return together.
    """
    if failures >= policy.attempts:
        return None
    doublings = min(failures - 1, 32)
    wait = min(policy.first * 2.0**doublings, policy.cap)
    return wait * (1.0 + policy.jitter * (2.0 * roll - 1.0))
