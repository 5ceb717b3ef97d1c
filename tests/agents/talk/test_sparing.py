"""A server that says the same without end does not fill the disk."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from byred.agents.talk.sparing import FIRST, ServerLog
from byred.agents.tasklog import TaskLogs


@pytest.fixture
def logs(tmp_path: Path) -> TaskLogs:
    return TaskLogs(lambda _: tmp_path / "events.jsonl", clock=lambda: datetime.now(UTC))


async def written(logs: TaskLogs, say: Callable[[ServerLog], None]) -> list[tuple[str, str]]:
    """Let a server say something to its end; give what is in the file."""
    async with logs.open(1) as log:
        with ServerLog(log) as server_log:
            say(server_log)
    return [(line.kind, line.text) for line in await logs.read(1, after=0, limit=10**6)]


async def test_a_few_lines_of_each_sort_are_all_there(logs: TaskLogs) -> None:
    def say(log: ServerLog) -> None:
        for number in range(FIRST):
            log.append("notice", f"notice {number}", more=number)
            log.append("error", f"error {number}")
            log.bad_line(b"x", f"why {number}")

    found = await written(logs, say)
    assert len(found) == 3 * FIRST
    assert found[:3] == [
        ("notice", "notice 0"),
        ("error", "error 0"),
        ("notice", "a bad line: why 0"),
    ]
    assert (await logs.read(1, after=0))[0].data == {"more": 0}


async def test_of_very_many_the_first_and_a_few_more_are_there_and_their_number(
    logs: TaskLogs,
) -> None:
    def say(log: ServerLog) -> None:
        log.append("notice", "one")
        for number in range(1, 1_000_001):
            log.bad_line(b"x", str(number))

    found = await written(logs, say)
    numbers = [
        int(text.removeprefix("a bad line: ")) for _, text in found if text.startswith("a bad")
    ]
    assert numbers[:FIRST] == list(range(1, FIRST + 1))
    assert numbers[FIRST:] == [FIRST * 2**power for power in range(1, 14)]
    left_out = 1_000_000 - len(numbers)
    last = f"of this server's 1000000 bad lines, {left_out} are not here"
    assert found[-1] == ("notice", last)
    assert ("notice", "one") in found


async def test_what_the_agent_does_is_never_left_out(logs: TaskLogs) -> None:
    def say(log: ServerLog) -> None:
        for number in range(FIRST * 5):
            log.append("command", str(number))
            log.append("error", str(number))

    found = await written(logs, say)
    assert [text for kind, text in found if kind == "command"] == [
        str(number) for number in range(FIRST * 5)
    ]
    assert len([kind for kind, _ in found if kind == "error"]) == FIRST + 2


async def test_the_next_server_is_heard_anew(logs: TaskLogs) -> None:
    def say(log: ServerLog) -> None:
        for _ in range(FIRST + 1):
            log.append("error", "again")

    await written(logs, say)
    found = await written(logs, say)
    assert len(found) == 2 * (FIRST + 1)
