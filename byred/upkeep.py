"""`byred backup`, `byred restore` and `byred set-aside`: what is done with the database by hand."""

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from byred.api.lock import StateLock
from byred.settings import Settings
from byred.store import backup


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Add the commands to `byred`'s own; without one of them it runs the daemon."""
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    copy = commands.add_parser(
        "backup", help="copy the database to a new file, also while the daemon runs"
    )
    copy.add_argument("file", type=Path, metavar="FILE")
    put = commands.add_parser(
        "restore", help="put a backup in place, where no daemon runs and no database is"
    )
    put.add_argument("file", type=Path, metavar="FILE")
    commands.add_parser(
        "set-aside", help="rename a database that cannot be used, so that the next start is empty"
    )


async def carry_out(options: argparse.Namespace, settings: Settings) -> str:
    """Do what was asked and say what was done.

    Raises:
        ByredError: it cannot be done; nothing was changed.
        LockedError: a daemon runs.
    """
    database = settings.daemon.state_dir / "byred.sqlite3"
    lock = StateLock(settings.daemon.state_dir)
    commands: dict[str, Any] = {
        "backup": _backup,
        "restore": _restore,
        "set-aside": _set_aside,
    }
    said: str = await commands[options.command](options, database, lock)
    return said


async def _backup(options: argparse.Namespace, database: Path, _lock: StateLock) -> str:
    await backup.backup(database, options.file)
    return f"{database} is copied to {options.file}"


async def _restore(options: argparse.Namespace, database: Path, lock: StateLock) -> str:
    await backup.restore(options.file, database, lock=lock)
    return f"{options.file} is in place as {database}"


async def _set_aside(_options: argparse.Namespace, database: Path, lock: StateLock) -> str:
    renamed = await backup.set_aside(database, lock=lock, now=datetime.now(UTC))
    return f"{database} is now {renamed}"
