"""A daemon of one server: daemon.py LAUNCHER HOME COMMAND...

Starts the server on a socket's terms, prints its identity, and lives until it is killed.
"""

import asyncio
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from byred.agents.launchers import choose
from byred.agents.launchers.contract import ServerSpec
from byred.agents.process import ProcessIdentity
from byred.agents.supervisor import Supervisor


async def main(name: str, folder: str, *argv: str) -> None:
    home = Path(folder)
    spec = ServerSpec(
        argv=argv,
        cwd=home.parent,
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
        home=home,
        task_id=17,
        stderr=home.parent / "stderr.log",
        socket=home / "server.sock",
    )

    async def record(identity: ProcessIdentity) -> None:
        print(json.dumps(asdict(identity)), flush=True)

    await Supervisor(await choose(name)).start(spec, record)
    await asyncio.Event().wait()


asyncio.run(main(*sys.argv[1:]))
