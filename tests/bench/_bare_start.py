"""The script that byred's start is timed against: only what must be done, and nothing of safety.

`_bare_start.py ROOT SOURCE COUNT CONFIG`: claim a worktree and a home that were made ahead below
ROOT, start the native server, initialize, start thread and turn. Prints a line with the seconds
since its own first line of work when the turn runs, then waits for the turn's end.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from byred.codex import Client, ClientInfo, StdioTransport, ThreadOptions, find_binary
from byred.codex.requests import Reply, ServerRequest
from byred.workspace import repository
from byred.workspace.home import environment, homes
from byred.workspace.home.environment import Identity
from byred.workspace.home.home import ensure_home
from byred.workspace.trees import pool, worktree


async def refuse(request: ServerRequest) -> Reply:
    raise AssertionError(request.method)


async def server(home: Path, tree: Path) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        str(find_binary(None).path),
        "app-server",
        env=environment.build(
            os.environ,
            home=home,
            worktree=tree,
            ports={},
            identity=Identity("bench", "bench@localhost"),
            task_id=1,
        ),
        stdin=pipe,
        stdout=pipe,
        stderr=asyncio.subprocess.DEVNULL,
    )


def client(process: asyncio.subprocess.Process) -> Any:
    assert process.stdout
    assert process.stdin
    return Client.open(
        StdioTransport(process.stdout, process.stdin),
        client_info=ClientInfo("bench", "0"),
        handler=refuse,
    )


async def run(root: Path, source: Path, count: int, config: dict[str, Any]) -> None:
    begun = time.monotonic()
    repo = await repository.inspect(source)
    base = await repository.resolve_base(repo, None)
    made = await worktree.ensure(
        repo,
        task_id=1,
        path=root / repo.name / f"plain-{count}",
        branch=f"plain-{count}",
        base_commit=base.commit,
        root=root,
        pool=pool.folder_of(root, repo),
    )
    home = root / f"home-{count}"
    assert homes.claim(root / "homes", home)
    await ensure_home(home, config=config, auth_file=None, trust=made.path)
    process = await server(home, made.path)
    async with client(process) as codex:
        options = ThreadOptions(
            cwd=made.path, sandbox="danger-full-access", approval_policy="never"
        )
        thread = await codex.start_thread(options)
        events = thread.events()
        turn = await thread.start_turn("Say hello")
        async for event in events:
            if event.method == "turn/started":
                break
        print(time.monotonic() - begun, flush=True)
        await turn.result()
    await process.wait()


def main(root: str, source: str, count: str, config: str) -> None:
    asyncio.run(run(Path(root), Path(source), int(count), json.loads(config)))


if __name__ == "__main__":
    main(*sys.argv[1:])
