"""A task as a value, for tests to which it does not matter what is in it."""

from datetime import UTC, datetime

from byred.core.task import Identity, Task


def a_task(*, home: str = "/h") -> Task:
    """Give task 1, queued."""
    return Task(
        id=1,
        title="t",
        slug="t",
        prompt="p",
        repo="/r",
        common_dir="/r/.git",
        base="main",
        base_commit="0" * 40,
        branch="b",
        worktree="/w",
        home=home,
        identity=Identity(name="n", email="e"),
        owner="o",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
