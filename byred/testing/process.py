"""The scripted model as a process: `python -m byred.testing.model --scripts FILE`.

Prints one line of JSON when it listens (`base_url`, and `config` for CODEX_HOME/config.toml), and
ends with 0 on SIGTERM or SIGINT; with `--with-parent` also when the process that started it is
gone, or closes the pipe that is this one's stdin (the surer way: a parent that dies while this
process starts is noticed by its pipe alone). A script that can't be used, or a port that is taken,
ends it with 2 and a sentence.
"""

import argparse
import asyncio
import os
import signal
import stat
import sys
from pathlib import Path

import msgspec

from byred.testing.model import ScriptedModel
from byred.testing.script import Script, ScriptError, builtin, load


def main(arguments: list[str] | None = None) -> int:
    """Run the process; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m byred.testing.model", description=__doc__)
    parser.add_argument(
        "--scripts",
        default="default",
        help="a file of scripts (TOML or JSON), or the name of a built-in one: default, demo",
    )
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument(
        "--record", type=Path, help="append what was sent to this file (JSON lines)"
    )
    parser.add_argument(
        "--with-parent", action="store_true", help="end when the parent or its pipe is gone"
    )
    options = parser.parse_args(arguments)
    # First of all: whoever is told that this process is ready may be killed the moment after.
    parent = os.pidfd_open(os.getppid()) if options.with_parent else None
    try:
        asyncio.run(_serve(_scripts(options.scripts), options.port, options.record, parent))
    except (ScriptError, OSError, OverflowError) as error:
        sys.stderr.write(f"byred.testing.model: {error}\n")
        return 2
    finally:
        if parent is not None:
            os.close(parent)
    return 0


def _scripts(given: str) -> tuple[Script, ...]:
    """A name without a dot or a slash is a built-in one."""
    return load(Path(given)) if "." in given or os.sep in given else builtin(given)


async def _serve(
    scripts: tuple[Script, ...], port: int, record: Path | None, parent: int | None
) -> None:
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, over.set)
    async with ScriptedModel(scripts, port=port, record=record) as model:
        ready = {"base_url": model.base_url, "config": model.codex_config()}
        sys.stdout.write(msgspec.json.encode(ready).decode() + "\n")
        sys.stdout.flush()
        told = asyncio.create_task(over.wait() if parent is None else _until_orphaned(over, parent))
        broken = asyncio.create_task(model.broken())
        await asyncio.wait({told, broken}, return_when=asyncio.FIRST_COMPLETED)
        for task in (told, broken):
            task.cancel()
        await asyncio.gather(told, broken, return_exceptions=True)


async def _until_orphaned(over: asyncio.Event, parent: int) -> bool:
    """Wait for `over`, which the end of `parent` (a pidfd) or of a piped stdin sets as well."""
    loop = asyncio.get_running_loop()
    loop.add_reader(parent, over.set)
    # A terminal or /dev/null says nothing about the parent.
    mode = os.fstat(0).st_mode
    piped = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)

    def read() -> None:
        if not os.read(0, 4096):
            over.set()
            loop.remove_reader(0)

    try:
        if piped:
            loop.add_reader(0, read)
        return await over.wait()
    finally:
        loop.remove_reader(parent)
        if piped:
            loop.remove_reader(0)
