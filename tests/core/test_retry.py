"""When a failed attempt is tried again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byred.core.retry import RetryPolicy, delay

MIDDLE = 0.5


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(1, 10), (2, 20), (3, 40), (4, 80), (5, 160), (6, 300), (7, 300), (40, 300), (5_000, 300)],
)
def test_the_wait_doubles_from_ten_seconds_up_to_five_minutes(failures: int, seconds: int) -> None:
    assert delay(RetryPolicy(attempts=10_000), failures, MIDDLE) == seconds


def test_by_default_there_are_three_attempts() -> None:
    policy = RetryPolicy()
    assert [delay(policy, failures, MIDDLE) for failures in (1, 2, 3, 4)] == [10, 20, None, None]


def test_a_policy_of_one_attempt_never_tries_again() -> None:
    assert delay(RetryPolicy(attempts=1), 1, MIDDLE) is None


@given(
    failures=st.integers(1, 10_000),
    roll=st.floats(0, 1),
    first=st.floats(0.001, 1_000),
    cap=st.floats(0.001, 100_000),
    jitter=st.floats(0, 1),
)
def test_the_jitter_stays_within_its_share_of_the_wait(
    failures: int, roll: float, first: float, cap: float, jitter: float
) -> None:
    policy = RetryPolicy(attempts=failures + 1, first=first, cap=cap, jitter=jitter)
    middle = delay(policy, failures, MIDDLE)
    wait = delay(policy, failures, roll)
    assert middle is not None
    assert wait is not None
    assert middle == pytest.approx(min(first * 2.0 ** min(failures - 1, 32), cap))
    assert middle * (1 - jitter) - 1e-9 <= wait <= middle * (1 + jitter) + 1e-9


def test_the_roll_spreads_to_both_ends() -> None:
    policy = RetryPolicy(jitter=0.1)
    assert delay(policy, 1, 0.0) == pytest.approx(9)
    assert delay(policy, 1, 1.0) == pytest.approx(11)
