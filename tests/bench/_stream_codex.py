"""An agent that streams, in codex's place: `_stream_codex.py ORDERS ARGUMENTS…`, on its stdio.

Runs alone, on the standard library. It answers a client's calls as far as one turn needs them, says
`turn/started`, waits for a file `go` in the folder ORDERS, and then says what the file `plan` there
tells: frames at a steady rate, in bunches of a few milliseconds. They have the shapes of real ones;
each hundred are four commands with their output in pieces, and one count of tokens.
"""

import json
import os
import sys
import time
import uuid
from pathlib import Path
from typing import Any

VERSION = "0.163.0"
BUNCH = 0.005
LINES = 8
"""Of a hundred frames: a task's log has a line for each of these."""
FACTS = 1
"""Of a hundred frames: the store has an event for each of these, and all followers get it."""

THREAD = str(uuid.uuid4())
TURN = str(uuid.uuid4())


def frame(method: str, **params: Any) -> bytes:
    params = {"threadId": THREAD, "turnId": TURN} | params
    return json.dumps({"method": method, "params": params}).encode() + b"\n"


def turn(status: str) -> dict[str, Any]:
    return {"id": TURN, "items": [], "status": status, "error": None}


def hundred() -> bytes:
    """Return a hundred frames."""
    frames = []
    for number in range(4):
        item = f"call_{number}"
        command = {
            "type": "commandExecution",
            "id": item,
            "command": "/bin/bash -lc 'pytest -q tests/test_door.py'",
            "cwd": "/work/tree",
            "processId": "4711",
            "source": "unifiedExecStartup",
            "status": "inProgress",
            "commandActions": [],
            "aggregatedOutput": None,
            "exitCode": None,
            "durationMs": None,
        }
        output = "a line of some output, as tests print it\n" * 8
        frames.append(frame("item/started", item=command))
        words = 7 if number == 3 else 28
        method = "item/agentMessage/delta" if number == 3 else "item/commandExecution/outputDelta"
        frames += [frame(method, itemId=item, delta=f"word {word} ") for word in range(words)]
        done = {"status": "completed", "aggregatedOutput": output, "exitCode": 0, "durationMs": 7}
        frames.append(frame("item/completed", item=command | done))
    totals = {
        "totalTokens": 1200,
        "inputTokens": 1000,
        "cachedInputTokens": 500,
        "outputTokens": 200,
        "reasoningOutputTokens": 50,
    }
    usage = {"total": totals, "last": totals, "modelContextWindow": 200_000}
    frames.append(frame("thread/tokenUsage/updated", tokenUsage=usage))
    assert len(frames) == 100, len(frames)
    return b"".join(frames)


def say(text: bytes) -> None:
    while text:
        text = text[os.write(1, text) :]


def stream(orders: Path) -> None:
    """Say a turn: `plan` holds frames a second and how many frames in all."""
    say(frame("turn/started", turn=turn("inProgress")))
    while not (orders / "go").exists():
        time.sleep(0.01)
    rate, total = json.loads((orders / "plan").read_text())
    lines = hundred().splitlines(keepends=True)
    # Agents do not speak in step.
    begun = time.monotonic() + uuid.UUID(THREAD).int % 1000 / 1000 * BUNCH
    said = 0
    while said < total:
        due = min(total, int((time.monotonic() - begun) * rate))
        if due > said:
            say(b"".join(lines[number % 100] for number in range(said, due)))
            said = due
        time.sleep(BUNCH)
    words = {"type": "agentMessage", "id": "msg", "text": "Done.", "phase": "final_answer"}
    say(frame("item/completed", item=words))
    say(frame("turn/completed", turn=turn("completed")))


def main() -> None:
    orders, *arguments = sys.argv[1:]
    if "--version" in arguments:
        print(f"codex-cli {VERSION}")
        return
    thread = {
        "thread": {
            "id": THREAD,
            "sessionId": THREAD,
            "cliVersion": VERSION,
            "createdAt": 0,
            "updatedAt": 0,
            "cwd": "/",
            "ephemeral": False,
            "historyMode": "legacy",
            "modelProvider": "bench",
            "preview": "",
            "projectId": None,
            "source": "appServer",
            "status": {"type": "idle"},
            "turns": [],
        },
        "model": "bench",
        "modelProvider": "bench",
        "cwd": "/",
        "approvalPolicy": "never",
        "approvalsReviewer": "user",
        "sandbox": {"type": "dangerFullAccess"},
    }
    client = {
        "userAgent": f"bench/{VERSION} (bench)",
        "codexHome": "/",
        "platformFamily": "unix",
        "platformOs": "linux",
    }
    answers = {
        "initialize": client,
        "thread/start": thread,
        "turn/start": {"turn": turn("inProgress")},
    }
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message:
            continue
        method = message.get("method")
        say(json.dumps({"id": message["id"], "result": answers.get(method, {})}).encode() + b"\n")
        if method == "turn/start":
            text = {"type": "userMessage", "id": "text", "content": message["params"]["input"]}
            text["clientId"] = message["params"]["clientUserMessageId"]
            say(frame("item/completed", item=text))
            stream(Path(orders))


if __name__ == "__main__":
    main()
