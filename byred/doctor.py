"""What this machine gives byred, and how to mend what is missing: behind `byre doctor`.

With `--rollouts` it looks at what codex recorded of the tasks instead, and says what is broken.
Looks, and changes nothing. It uses the same code as the daemon, so that what it finds is what the
daemon will find; it needs no daemon.
"""

import argparse
import asyncio
import os
import shutil
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Never

import msgspec

from byred.agents.launchers import choose, survey
from byred.agents.launchers.contract import LaunchError
from byred.codex.binary import check_version, find_binary, read_version
from byred.codex.errors import BinaryError
from byred.codex.rollout import doctor as rollouts
from byred.core.errors import ByredError
from byred.settings import Settings, SettingsError, find_config, load
from byred.store import backup
from byred.workspace.errors import WorkspaceError
from byred.workspace.git import git
from byred.workspace.home.ports import is_free
from byred.workspace.home.sandbox import self_test

# `git merge-tree --write-tree`, with which byred merges, is there from this version on.
GIT_NEEDED = (2, 38)
DISK_NEEDED = 2 << 30
PORTS_TRIED = 64
BAD_SETTINGS = 2


class Grade(StrEnum):
    """How a check went."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at: what was found, and what to do when that is not enough."""

    name: str
    status: Grade
    found: str
    mend: str = ""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the checks; ends with 1 when one fails, 2 for bad settings."""
    parser = argparse.ArgumentParser(prog="python -m byred.doctor", description=__doc__)
    parser.add_argument("--config", type=Path, metavar="FILE")
    parser.add_argument("--db", action="store_true", help="look through the whole database, too")
    parser.add_argument("--json", action="store_true", help="print JSON (the only form there is)")
    parser.add_argument("--rollouts", action="store_true", help="look at codex's records instead")
    options = parser.parse_args(arguments)
    path = options.config or find_config()
    if options.rollouts:
        _rollouts(path)
    checks: list[Check] = []
    try:
        settings = load(path)
    except SettingsError as error:
        checks.append(Check("settings", Grade.FAIL, str(error), "mend that key in that file"))
    else:
        found = "the defaults" if path is None else str(path)
        checks.append(Check("settings", Grade.OK, found))
        checks += asyncio.run(_examine(settings))
        if options.db:
            checks.append(asyncio.run(_database(settings)))
    sys.stdout.write(msgspec.json.encode({"checks": checks}).decode() + "\n")
    raise SystemExit(any(check.status is Grade.FAIL for check in checks))


def _rollouts(config: Path | None) -> Never:
    """Report on every record of every task; ends with 1 when one is broken."""
    try:
        tasks = load(config).daemon.state_dir / "tasks"
        homes = sorted((int(p.name), p / "home") for p in tasks.iterdir() if p.name.isdecimal())
    except FileNotFoundError:
        homes = []
    except (SettingsError, OSError) as error:
        sys.stdout.write(msgspec.json.encode({"error": str(error)}).decode() + "\n")
        raise SystemExit(BAD_SETTINGS) from error
    broken = False
    report: list[dict[str, Any]] = []
    for number, home in homes:
        for finding in rollouts.examine_home(home):
            broken = broken or not finding.healthy
            about = {"healthy": finding.healthy, "lost": finding.lost}
            report.append({"task_id": number, **msgspec.structs.asdict(finding), **about})
    sys.stdout.write(msgspec.json.encode({"rollouts": report}).decode() + "\n")
    raise SystemExit(broken)


async def _examine(settings: Settings) -> list[Check]:
    looks: list[Callable[[Settings], Awaitable[list[Check]]]] = [
        _codex,
        _git,
        _state,
        _socket,
        _ports,
        _login,
        _launchers,
        _sandbox,
    ]
    return [check for look in looks for check in await look(settings)]


async def _codex(settings: Settings) -> list[Check]:
    configured = settings.codex.bin
    try:
        binary = await asyncio.to_thread(
            find_binary, None if configured is None else str(configured)
        )
        version = await read_version(binary.path)
        warning = check_version(version)
    except BinaryError as error:
        mend = "pip install 'byred[codex]', or set codex.bin to a codex program"
        return [Check("codex", Grade.FAIL, str(error), mend)]
    found = f"{version} from {binary.source}: {binary.path}"
    if warning is not None:
        return [Check("codex", Grade.WARN, f"{found}; {warning}", "report what breaks, if it does")]
    return [Check("codex", Grade.OK, found)]


async def _git(_settings: Settings) -> list[Check]:
    needed = ".".join(map(str, GIT_NEEDED))
    mend = f"install git {needed} or newer"
    try:
        said = await git("--version", cwd=Path("/"))
    except (WorkspaceError, OSError) as error:
        return [Check("git", Grade.FAIL, str(error), mend)]
    numbers = said.split()[2].split(".")[:2]
    if tuple(map(int, numbers)) < GIT_NEEDED:
        return [Check("git", Grade.FAIL, f"{said} is too old", mend)]
    return [Check("git", Grade.OK, said)]


async def _state(settings: Settings) -> list[Check]:
    return await asyncio.to_thread(
        lambda: [
            _folder("state directory", settings.daemon.state_dir),
            _folder("worktrees", settings.worktrees),
            _disk(settings.worktrees),
        ]
    )


def _folder(name: str, path: Path) -> Check:
    existing = _existing(path)
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return Check(name, Grade.OK, str(path) if path.exists() else f"{path} (will be made)")
    mend = f"make it and give it to this user: install -d -o {os.geteuid()} {path}"
    return Check(name, Grade.FAIL, f"{path}: {existing} cannot be written", mend)


def _disk(path: Path) -> Check:
    free = shutil.disk_usage(_existing(path)).free
    found = f"{free / (1 << 30):.1f} GiB free where the worktrees are"
    if free < DISK_NEEDED:
        mend = "free some space, or put workspace.root on a larger disk"
        return Check("disk", Grade.WARN, found, mend)
    return Check("disk", Grade.OK, found)


def _existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.exists())


async def _database(settings: Settings) -> Check:
    path = settings.daemon.state_dir / "byred.sqlite3"
    try:
        faults = await backup.check(path)
    except ByredError as error:
        return Check("database", Grade.FAIL, str(error), "restore a backup: byred restore FILE")
    if faults:
        mend = "byred set-aside, then byred restore FILE, or: sqlite3 FILE .recover"
        return Check("database", Grade.FAIL, f"{path}: {'; '.join(faults[:5])}", mend)
    return Check("database", Grade.OK, f"{path} is sound")


async def _socket(settings: Settings) -> list[Check]:
    return [await asyncio.to_thread(_probe, settings.daemon.socket)]


def _probe(path: Path) -> Check:
    if not path.exists():
        folder = _folder("socket", path.parent)
        if folder.status is not Grade.OK:
            return folder
        mend = "systemctl start byred, or: byred"
        return Check("socket", Grade.WARN, f"{path}: no daemon runs", mend)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(2.0)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            mend = "start the daemon: it replaces the file"
            return Check("socket", Grade.WARN, f"{path}: left by a daemon that is gone", mend)
        except OSError as error:
            mend = "join the socket's group, or set daemon.socket_group and daemon.socket_mode"
            return Check("socket", Grade.FAIL, f"{path}: {error}", mend)
    return Check("socket", Grade.OK, f"{path}: a daemon answers")


async def _ports(settings: Settings) -> list[Check]:
    wanted = settings.workspace.port_range
    tried = range(wanted.first, min(wanted.last, wanted.first + PORTS_TRIED - 1) + 1)
    free = await asyncio.to_thread(lambda: sum(map(is_free, tried)))
    needed = len(settings.workspace.ports) * settings.scheduler.max_running
    found = f"{free} of the first {len(tried)} of {wanted} are free; {needed} are needed at most"
    if free < min(needed, len(tried)):
        mend = "end what listens there, or move workspace.port_range"
        return [Check("ports", Grade.WARN, found, mend)]
    return [Check("ports", Grade.OK, found)]


async def _login(settings: Settings) -> list[Check]:
    if settings.codex.config.get("model_provider"):
        provider = settings.codex.config["model_provider"]
        return [Check("login", Grade.OK, f"not needed: codex.config uses the provider {provider}")]
    path = settings.auth_file
    if settings.codex.auth_file is None:
        mend = "set codex.auth_file, unless codex.config names a provider that needs none"
        return [Check("login", Grade.WARN, "codex.auth_file is empty", mend)]
    if path is None:
        mend = "codex login, then set codex.auth_file if the login is elsewhere"
        return [Check("login", Grade.FAIL, f"no file {settings.codex.auth_file}", mend)]
    if not os.access(path, os.R_OK | os.W_OK):
        mend = f"let this user read and write it: chown {os.geteuid()} {path}"
        return [Check("login", Grade.FAIL, f"{path} cannot be read and written", mend)]
    return [Check("login", Grade.OK, str(path))]


async def _sandbox(settings: Settings) -> list[Check]:
    """Try what the sandbox of this machine does; it matters when one is to be used."""
    wanted = settings.codex.sandbox
    grade = Grade.WARN if wanted == "danger-full-access" else Grade.FAIL
    mend = "install bubblewrap and allow user namespaces"
    if grade is Grade.FAIL:
        mend += ', or set codex.sandbox to "danger-full-access"'
    configured = settings.codex.bin
    try:
        binary = await asyncio.to_thread(
            find_binary, None if configured is None else str(configured)
        )
        report = await self_test(binary.path, path=os.environ.get("PATH", os.defpath))
    except (BinaryError, WorkspaceError, OSError) as error:
        return [Check("sandbox", grade, f"not tried: {error}", mend)]
    does = {
        "runs commands": report.works,
        "lets commits through": report.commits,
        "keeps the rest from being written": report.contains,
        "cuts the network off": report.cuts_network,
    }
    lacking = [what for what, done in does.items() if not done]
    if lacking:
        said = f": {report.said}" if report.said else ""
        return [Check("sandbox", grade, f"{wanted}; it fails where it {lacking[0]}{said}", mend)]
    return [Check("sandbox", Grade.OK, f"{wanted}; workspace-write {', '.join(does)}")]


async def _launchers(settings: Settings) -> list[Check]:
    wanted = settings.codex.launcher
    try:
        used = (await choose(wanted)).name
    except LaunchError:
        used = wanted
    checks: list[Check] = []
    for each in await survey():
        chosen = each.name == used
        grade = Grade.FAIL if chosen and not each.usable else Grade.OK
        prefix = "used: " if chosen else ("usable: " if each.usable else "not here: ")
        mend = "set codex.launcher to auto" if grade is Grade.FAIL else ""
        checks.append(Check(f"launcher {each.name}", grade, prefix + each.why, mend))
    return checks


if __name__ == "__main__":
    main()
