"""Record what the real codex says in a turn, and repeat it to a stream of any size.

The lines are codex's own (a streamed message, a command's output, whole items); only the ids of
thread and turn are replaced, and the body of the turn is repeated.
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

import msgspec
import tomli_w

from byred.codex import Client, ClientInfo, StdioTransport, ThreadOptions, find_binary
from byred.codex.approvals import auto
from byred.testing.model import ScriptedModel
from byred.testing.script import Script, Step

THREAD = "00000000-0000-7000-8000-000000000001"
TURN = "00000000-0000-7000-8000-000000000002"
WORDS = [
    "The",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "the",
    "lazy",
    "dog",
    "and",
    "looks",
    "at",
    "the",
    "code",
    "again.",
]


class Tap:
    """Keeps the lines of the server, in the place of a transcript."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def record(self, direction: str, line: bytes) -> None:
        if direction == "recv":
            self.lines.append(bytes(line))


async def record() -> list[bytes]:
    """Run one turn on the real binary and return its lines from turn/started to turn/completed."""
    steps = (
        Step(stream=tuple(f"{word} " for word in WORDS * 20), reasoning="Let me look."),
        Step(shell="for i in $(seq 300); do echo line $i of some output, as tests print it; done"),
        Step(shell="seq 2000"),
        Step(stream=tuple(f"{word} " for word in WORDS * 20)),
    )
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        # A step ends a turn when it only speaks, so that each is one of the turns recorded here.
        async with ScriptedModel([Script("bench", steps=steps)]) as model:
            config = model.codex_config() | {"features": {"plugins": False, "apps": False}}
            (home / "config.toml").write_text(tomli_w.dumps(config))
            pipe = asyncio.subprocess.PIPE
            process = await asyncio.create_subprocess_exec(
                find_binary().path,
                "app-server",
                stdin=pipe,
                stdout=pipe,
                stderr=asyncio.subprocess.DEVNULL,
                env={**os.environ, "CODEX_HOME": folder},
            )
            assert process.stdin
            assert process.stdout
            tap = Tap()
            async with Client.open(
                StdioTransport(process.stdout, process.stdin),
                client_info=ClientInfo("bench", "0"),
                handler=auto,
                transcript=tap,  # type: ignore[arg-type]
            ) as client:
                thread = await client.start_thread(
                    ThreadOptions(cwd=home, sandbox="danger-full-access", approval_policy="never")
                )
                ids = [thread.id]
                for text in ("one", "two"):
                    turn = await thread.start_turn(text)
                    ids.append(turn.id)
                    await turn.result()
            await process.wait()
    wanted = []
    for line in tap.lines:
        message = msgspec.json.decode(line)
        if message.get("params", {}).get("turnId") in ids:
            for old in ids:
                new = THREAD if old == ids[0] else TURN
                line = line.replace(old.encode(), new.encode())  # noqa: PLW2901
            wanted.append(line)
    return wanted


def write(path: Path, size: int) -> None:
    """Write a turn's stream of at least `size` bytes to `path`."""
    body = b"".join(line + b"\n" for line in asyncio.run(record()))
    turn = {"id": TURN, "items": [], "status": "inProgress", "error": None}
    with path.open("wb") as file:
        for method, status in (("turn/started", "inProgress"), ("turn/completed", "completed")):
            params = {"threadId": THREAD, "turn": turn | {"status": status}}
            if method == "turn/completed":
                for _ in range(size // len(body) + 1):
                    file.write(body)
            file.write(msgspec.json.encode({"method": method, "params": params}) + b"\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
