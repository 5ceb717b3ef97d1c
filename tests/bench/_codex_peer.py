#!/usr/bin/env python3
"""A server for the benchmark: answers a client's first calls, then says a recorded stream at once.

Runs alone, on the standard library: `_codex_peer.py … STREAM`, whatever stands before the stream.
It writes as fast as the client reads.
"""

import json
import os
import sys
from pathlib import Path

THREAD = "00000000-0000-7000-8000-000000000001"
TURN = {
    "id": "00000000-0000-7000-8000-000000000002",
    "items": [],
    "status": "inProgress",
    "error": None,
}
THREAD_ANSWER = {
    "thread": {
        "id": THREAD,
        "sessionId": THREAD,
        "cliVersion": "0.163.0",
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
ANSWERS = {
    "initialize": {
        "userAgent": "bench/0.163.0 (bench)",
        "codexHome": "/",
        "platformFamily": "unix",
        "platformOs": "linux",
    },
    "thread/start": THREAD_ANSWER,
    "turn/start": {"turn": TURN},
}


def main() -> None:
    """Answer until the turn starts, stream, and stay until the client closes stdin."""
    stream = Path(sys.argv[-1])
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message:
            continue
        answer = {"id": message["id"], "result": ANSWERS.get(message.get("method"), {})}
        os.write(1, json.dumps(answer).encode() + b"\n")
        if message.get("method") == "turn/start":
            with stream.open("rb") as file:
                while chunk := file.read(1 << 20):
                    while chunk:
                        chunk = chunk[os.write(1, chunk) :]


if __name__ == "__main__":
    main()
