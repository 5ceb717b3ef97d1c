"""Agents that stream faster than any model: nothing of it is lost to anybody."""

from pathlib import Path

from tests.bench.streams import measure
from tests.e2e.conftest import Daemon


async def test_every_frame_line_and_event_of_a_flood_arrives_in_order(
    down: Daemon, repo: Path
) -> None:
    """Transcripts, logs, the store and each follower are compared with what was said."""
    found = await measure(down, repo, tasks=3, followers=10, rate=3_000, frames=2_000)
    assert found.wrong == []
    # Each count of tokens, for each follower.
    assert found.events >= 3 * 20 * 10
    assert found.lines >= 3 * 20 * 8
    assert found.status
