"""A text for an agent at work whose answer is lost: the agent gets it once, whoever lost it."""

import sys
from pathlib import Path

import pytest

from byred.codex.binary import find_binary
from byred.testing.model import ScriptedModel
from byred.testing.script import Script, Step
from tests.e2e.conftest import COMMIT, SCRIPTS, Daemon, command_runs

BETWEEN = """#!{python}
import os, subprocess, sys, threading, json

if "--version" in sys.argv:
    os.execv({codex!r}, [{codex!r}, *sys.argv[1:]])
server = subprocess.Popen(
    [{codex!r}, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE
)
unanswered = set()

def down():
    for line in sys.stdin.buffer:
        message = json.loads(line)
        said = json.dumps(message.get("params", {{}}).get("input", ""))
        if message.get("method") == "turn/start" and "Mind the gap" in said and not unanswered:
            unanswered.add(message["id"])
            if {lost!r} == "request":
                continue
        server.stdin.write(line)
        server.stdin.flush()
    server.stdin.close()

threading.Thread(target=down, daemon=True).start()
for line in server.stdout:
    message = json.loads(line)
    if "method" not in message and message.get("id") in unanswered:
        continue
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
"""


@pytest.fixture
def scripts() -> tuple[Script, ...]:
    waits = Script(
        name="waits",
        match="(?i)wait",
        steps=(
            Step(shell="echo $$ > command.pid; until [ -e go ]; do sleep 0.05; done"),
            Step(shell="rm go command.pid; echo done > done.txt && " + COMMIT),
            *(Step(say="Done.") for _ in range(4)),
        ),
    )
    return (waits, *SCRIPTS)


@pytest.mark.parametrize("lost", ["answer", "request"])
async def test_a_text_whose_answer_is_lost_reaches_the_agent_once(
    down: Daemon, repo: Path, model: ScriptedModel, lost: str
) -> None:
    codex = down.folder / "codex"
    between = BETWEEN.format(python=sys.executable, codex=str(find_binary().path), lost=lost)
    codex.write_text(between)
    codex.chmod(0o755)
    down.settings["codex"] |= {"bin": str(codex), "request_timeout": "6s"}
    await down.start()
    task = await down.submit(repo, "Wait for me")
    await down.wait(task["id"], "running")
    task = await down.call("task.get", id=task["id"])
    await command_runs(down, task)
    await down.call("task.tell", id=task["id"], text="Mind the gap")

    async def given_up() -> bool:
        log = await down.call("task.log", id=task["id"])
        return any("may have it" in line["text"] for line in log["lines"])

    await down.until(given_up)
    (Path(task["worktree"]) / "go").touch()
    done = await down.wait(task["id"], "succeeded", "failed", "held")
    assert done["state"] == "succeeded", done
    texts = [
        part["text"]
        for item in model.requests[-1].input
        if item.get("role") == "user"
        for part in item["content"]
    ]
    assert texts.count("Mind the gap") == 1
