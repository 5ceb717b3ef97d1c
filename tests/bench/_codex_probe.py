"""One measurement in a process of its own: `_codex_probe.py WHICH WHAT [STREAM PEER]`.

WHICH is ours, sdk or bare; WHAT is import, stream or sessions. Prints one JSON object. Runs under
either interpreter: the one with byred, or the one with OpenAI's SDK.
"""

# ruff: noqa: PLC0415 - each measurement imports its own side only

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

SESSIONS = 20
CHUNK = 256 * 1024


def resident() -> float:
    """Return this process's own resident memory in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no VmRSS")


def measure_import(which: str) -> dict[str, Any]:
    begun = time.perf_counter()
    if which == "ours":
        import byred.codex

        _ = byred.codex.Client, byred.codex.StdioTransport, byred.codex.ThreadOptions
    else:
        import openai_codex  # noqa: F401
    return {"seconds": time.perf_counter() - begun, "mb": resident()}


def stream_bare(stream: str, peer: str) -> dict[str, Any]:
    """Split and decode, with the fastest decoder there is here and with the standard one."""
    import msgspec

    figures = {}
    for name, decode in (("seconds", msgspec.json.decode), ("json_seconds", json.loads)):
        with subprocess.Popen(
            [sys.executable, peer, stream], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            assert process.stdin
            assert process.stdout
            process.stdin.write(b'{"id":1,"method":"turn/start"}\n')
            process.stdin.flush()
            descriptor = process.stdout.fileno()
            rest, going = b"", True
            begun = time.process_time()
            while going:
                lines = (rest + os.read(descriptor, CHUNK)).split(b"\n")
                rest = lines.pop()
                for line in lines:
                    if decode(line).get("method") == "turn/completed":
                        going = False
            figures[name] = time.process_time() - begun
            process.stdin.close()
    return figures


async def open_ours(stack: AsyncExitStack, transport: Any) -> Any:
    from byred.codex import Client, ClientInfo
    from byred.codex.approvals import auto

    return await stack.enter_async_context(
        Client.open(
            await stack.enter_async_context(transport),
            client_info=ClientInfo("bench", "0"),
            handler=auto,
        )
    )


async def stream_ours(stream: str, peer: str) -> dict[str, Any]:
    from byred.codex import serve
    from byred.codex.protocol.types import (
        AgentMessageDeltaNotification,
        CommandExecutionOutputDeltaNotification,
        ItemCompletedNotification,
    )

    async with AsyncExitStack() as stack:
        # The peer takes the stream where codex takes `app-server`'s arguments.
        client = await open_ours(stack, serve("/", binary=peer, arguments=[stream]))
        thread = await client.start_thread()
        turn = await thread.start_turn("go")
        events = read = 0
        begun = time.process_time()
        async for event in turn:
            events += 1
            match event.params:
                case AgentMessageDeltaNotification(delta=text):
                    read += len(text)
                case CommandExecutionOutputDeltaNotification(delta=text):
                    read += len(text)
                case ItemCompletedNotification(item=item):
                    read += len(item.type)
        return {"seconds": time.process_time() - begun, "events": events, "read": read}


def stream_sdk(stream: str, peer: str) -> dict[str, Any]:
    """Its synchronous face, which is the faster of its two."""
    from openai_codex import Codex, CodexConfig

    with Codex(CodexConfig(launch_args_override=(sys.executable, peer, stream))) as codex:
        turn = codex.thread_start().turn("go")
        events = read = 0
        begun = time.process_time()
        for event in turn.stream():
            events += 1
            payload = event.payload
            if event.method.endswith("elta"):
                read += len(payload.delta)
            elif event.method == "item/completed":
                read += len(payload.item.root.type)
        return {"seconds": time.process_time() - begun, "events": events, "read": read}


async def sessions_ours(codex: str, homes: str) -> dict[str, Any]:
    from byred.codex import serve

    async with AsyncExitStack() as stack:
        for number in range(SESSIONS):
            home = f"{homes}/ours-{number}"
            client = await open_ours(stack, serve(home, binary=codex))
            await client.start_thread()
        return {"threads": threading.active_count(), "mb": resident()}


def sessions_sdk(codex: str, homes: str) -> dict[str, Any]:
    from openai_codex import Codex, CodexConfig

    opened = []
    try:
        for number in range(SESSIONS):
            environment = {"CODEX_HOME": f"{homes}/sdk-{number}"}
            opened.append(Codex(CodexConfig(codex_bin=codex, env=environment)))
            opened[-1].thread_start()
        return {"threads": threading.active_count(), "mb": resident()}
    finally:
        for each in opened:
            each.close()


def main() -> None:
    which, what, *rest = sys.argv[1:]
    figures: Any
    if what == "import":
        figures = measure_import(which)
    elif which == "bare":
        figures = stream_bare(*rest)
    else:
        figures = globals()[f"{what}_{which}"](*rest)
        if which == "ours":
            figures = asyncio.run(figures)
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
