"""A codex that says what is no message, over and over: the task goes on, the disk does not fill."""

from pathlib import Path

from byred.codex.binary import find_binary
from tests.e2e.conftest import Daemon

SPEWS = """#!/bin/sh
[ "$1" = --version ] || yes '{{"garbage": ' | head -n {lines}
exec {codex} "$@"
"""


async def test_a_servers_garbage_is_counted_and_not_kept(down: Daemon, repo: Path) -> None:
    lines = 50_000
    codex = down.folder / "codex"
    codex.write_text(SPEWS.format(lines=lines, codex=find_binary().path))
    codex.chmod(0o755)
    down.settings["codex"]["bin"] = str(codex)
    await down.start()
    task = await down.submit(repo, "Say hello")
    done = await down.wait(task["id"], "succeeded", "failed", "held")
    assert (done["state"], done["attempt"]) == ("succeeded", 1)
    log = await down.call("task.log", id=task["id"])
    texts = [line["text"] for line in log["lines"]]
    assert 100 <= len([text for text in texts if text.startswith("a bad line: ")]) < 120
    (last,) = [text for text in texts if "are not here" in text]
    assert last.startswith(f"of this server's {lines} bad lines, ")
    assert (down.state / "tasks" / str(task["id"]) / "events.jsonl").stat().st_size < 100_000
