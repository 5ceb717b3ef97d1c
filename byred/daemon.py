"""The daemon: settings to parts, parts started and stopped in order, signals, reload.

Composition only: what a part does is in its own room, and no room below knows this one.
"""

import argparse
import asyncio
import errno
import os
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Never

import msgspec
import structlog

import byred
from byred import log, sdnotify, translation, upkeep
from byred.agents.launchers import choose
from byred.agents.launchers.census import homes_in_use
from byred.agents.locks import TaskLocks
from byred.agents.process import raise_file_limit
from byred.agents.records import Records, known_secrets
from byred.agents.rest.clearing import Clearer
from byred.agents.rest.housekeeping import Housekeeping
from byred.agents.rest.removal import Removal
from byred.agents.rest.rest import Rest
from byred.agents.rest.results import Results
from byred.agents.runner import Runner
from byred.agents.supervisor import Supervisor
from byred.agents.talk.talk import RunnerOptions
from byred.agents.tasklog import TaskLogs
from byred.agents.warming import Warmer
from byred.api.commands import table
from byred.api.errors import ApiError
from byred.api.lock import StateLock
from byred.api.parts import Parts, Status
from byred.api.socket import serve
from byred.codex.binary import Binary, Version, check_version, find_binary, read_version
from byred.codex.errors import CodexError
from byred.core.errors import ByredError, InvalidError
from byred.humans.notify import Notifier
from byred.humans.queue import QuestionQueue
from byred.scheduler.numbering import first_free
from byred.scheduler.recovery import Recovered, recover
from byred.scheduler.scheduler import Scheduler
from byred.settings import Settings, SettingsError, diff, find_config, load, watch
from byred.store.database import Database, open_database, utc_now
from byred.store.errors import StoreBusyError
from byred.store.patience import PatientDatabase

SYSTEMD = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
BAD_SETTINGS = 2
CANNOT_START = 1
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})

_log = structlog.get_logger("byred.daemon")


class Codex(msgspec.Struct, frozen=True):
    """The codex program in use."""

    binary: Binary
    version: Version


class Reloadable:
    """The settings in force, and the codex program that they name."""

    def __init__(self, path: Path | None, settings: Settings, codex: Codex) -> None:
        self.path = path
        self.settings = settings
        self.codex = codex

    def runs(self, model: dict[str, Any]) -> RunnerOptions:
        """Give what a run is made by now."""
        return translation.runs(self.settings, self.codex.binary, self.codex.version, model)

    async def reload(self) -> dict[str, Any]:
        """Read the settings again; say what applies now and what needs a restart.

        Raises:
            SettingsError: the file is bad; the settings in force stay.
            CodexError: the codex that it names cannot be used; likewise.
        """
        path = self.path or find_config()
        new = await asyncio.to_thread(load, path)
        changes = diff(self.settings, new)
        if "codex.bin" in changes.applies_now:
            self.codex = await find_codex(new)
        self.settings = new
        log.configure(level=new.log.level, form=new.log.format)
        return {"applied": changes.applies_now, "needs_restart": changes.needs_restart}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `byred`; ends with 0, 1 when it cannot start, 2 for bad settings or usage."""
    options = _parser().parse_args(arguments)
    path = options.config or find_config()
    try:
        settings = load(path)
    except SettingsError as error:
        _fail(str(error), BAD_SETTINGS)
    log.configure(level=settings.log.level, form=settings.log.format)
    try:
        if options.command is not None:
            sys.stdout.write(asyncio.run(upkeep.carry_out(options, settings)) + "\n")
            return
        with StateLock(settings.daemon.state_dir):
            # Its own, so that what a daemon that was killed left behind goes with the next start.
            tempfile.tempdir = str(_empty_folder(settings.daemon.state_dir / "tmp"))
            asyncio.run(_serve(path, settings, options.scripted))
    except (ApiError, ByredError, CodexError) as error:
        _fail(str(error), CANNOT_START)
    except OSError as error:
        _fail(_start_failed(error), CANNOT_START)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="byred",
        description="Run many codex agents on this machine and lose nothing. "
        "Talk to it with: byre.",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="the settings (TOML)")
    parser.add_argument(
        "--scripted",
        nargs="?",
        const="default",
        metavar="SCRIPTS",
        help="let a script play the model instead of an account: a built-in name "
        "(default, demo) or a file",
    )
    parser.add_argument("--version", action="version", version=f"byred {byred.__version__}")
    upkeep.add_commands(parser)
    return parser


def _empty_folder(path: Path) -> Path:
    """Give an empty folder; one that is there stays, since a full disk has no room for another."""
    if path.is_symlink():
        raise NotADirectoryError(errno.ENOTDIR, "it is a link to a folder of others", str(path))
    path.mkdir(mode=0o700, exist_ok=True)
    for entry in path.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    return path


def _start_failed(error: OSError) -> str:
    if error.errno in FULL:
        return f"cannot start: {error}; free some space and start it again"
    return f"cannot start: {error}; check daemon.state_dir and its owner"


def _fail(message: str, status: int) -> Never:
    sys.stderr.write(f"byred: {message}\n")
    raise SystemExit(status)


async def _serve(path: Path | None, settings: Settings, scripted: str | None) -> None:
    raise_file_limit()
    # A child that had them would speak to systemd in the daemon's name.
    systemd = {name: os.environ.pop(name) for name in SYSTEMD if name in os.environ}
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    current = Reloadable(path, settings, await find_codex(settings))
    async with AsyncExitStack() as stack:
        model = {} if scripted is None else await stack.enter_async_context(_scripted(scripted))
        database = await stack.enter_async_context(
            open_database(settings.daemon.state_dir / "byred.sqlite3")
        )
        await _run(current, database, model, stop, systemd)
    _log.info("stopped", action="daemon.stopped")


async def _run(
    current: Reloadable,
    database: Database,
    model: dict[str, Any],
    stop: asyncio.Event,
    systemd: Mapping[str, str],
) -> None:
    """Start the parts, serve until told to stop, end the parts."""
    settings = current.settings
    launcher = await choose(settings.codex.launcher)
    supervisor = Supervisor(launcher)
    notifier = Notifier(settings.human.notify)
    patient = PatientDatabase(database)
    asks = QuestionQueue(patient, asked=notifier.question, people=database)
    tasks_dir = settings.daemon.state_dir / "tasks"
    first_id = await first_free(database, tasks_dir)
    logs = TaskLogs(lambda task_id: tasks_dir / str(task_id) / "events.jsonl", clock=utc_now)
    records = Records(
        tasks_dir, secrets=lambda: known_secrets(current.settings.auth_file, os.environ)
    )
    locks = TaskLocks()
    rest = Rest(database, locks)
    removal = Removal(
        database,
        rest,
        logs,
        options=lambda: current.runs(model).ground,
        end_leftovers=lambda home: supervisor.recover(home, None),
    )
    clearer = Clearer(
        database,
        removal,
        cache=settings.daemon.state_dir / "cache",
        bounds=lambda: translation.bounds(current.settings),
    )
    housekeeping = Housekeeping(
        database,
        clearer,
        bounds=lambda: translation.bounds(current.settings),
        root=lambda: current.settings.worktrees,
    )
    warmer = Warmer(
        database,
        supervisor,
        options=lambda: translation.warmth(current.settings),
        runs=lambda: current.runs(model),
    )
    runner = Runner(
        patient,
        supervisor=supervisor,
        launcher=launcher.name,
        locks=locks,
        asks=asks,
        logs=logs,
        notify=notifier.send,
        tend=clearer.tend,
        options=lambda: current.runs(model),
        clock=utc_now,
        roll=random.random,
    )
    scheduler = Scheduler(
        database,
        runner.run,
        translation.limits(settings),
        adopt=lambda task: runner.run(task, adopt=True),
        want_back=runner.want_back,
        tell=notifier.send,
        room=lambda: translation.no_room(current.settings),
    )
    started_at = datetime.now(UTC)

    async def reload() -> dict[str, Any]:
        try:
            changes = await current.reload()
        except (SettingsError, CodexError) as error:
            raise InvalidError(f"{error}; the settings in force stay") from error
        scheduler.configure(translation.limits(current.settings))
        housekeeping.look()
        warmer.look()
        notifier.targets = current.settings.human.notify
        if any(changes.values()):
            _log.info("settings read again", action="daemon.reload", **changes)
        return changes

    parts = Parts(
        database=database,
        questions=asks,
        logs=logs,
        records=records,
        intake=lambda: translation.intake(current.settings, first_id),
        results=Results(database, rest, logs),
        removal=removal,
        clearer=clearer,
        status=lambda: _status(current, scheduler, warmer, started_at),
        reload=reload,
        drain=scheduler.drain,
    )

    adopt = settings.codex.transport == "unix"
    mend = partial(_mend, supervisor=supervisor, launcher=launcher.name, adopt=adopt)
    try:
        found = await _mend_now(mend, database, scheduler)
        async with serve(
            settings.daemon.socket,
            table(parts),
            mode=settings.daemon.socket_mode,
            group=settings.daemon.socket_group,
        ):
            background = [
                lambda: _work(scheduler, found, lambda: mend(patient)),
                asks.run,
                notifier.run,
                supervisor.run,
                housekeeping.run,
                warmer.run,
                lambda: sdnotify.watchdog(environ=systemd),
            ]
            async with (
                _running(background, settings.daemon.stop_timeout),
                _reloading(current.path, reload, systemd),
            ):
                sdnotify.notify("READY=1", environ=systemd)
                _log.info("ready", action="daemon.ready", socket=str(settings.daemon.socket))
                await stop.wait()
                sdnotify.notify("STOPPING=1", environ=systemd)
                patient.hurry()
                _log.info("stopping", action="daemon.stopping")
    finally:
        # Servers on sockets go on without this daemon.
        await supervisor.release()
        runner.close()
        asks.close()


async def _mend(
    database: Database, *, supervisor: Supervisor, launcher: str, adopt: bool
) -> Recovered:
    found = await recover(
        database, supervisor.recover, homes_in_use=homes_in_use, launcher=launcher, adopt=adopt
    )
    _log.info(
        "recovered",
        action="daemon.recovered",
        tasks=found.tasks,
        stuck=found.stuck,
        at_work=[task.id for task in found.at_work],
    )
    return found


async def _mend_now(
    mend: Callable[[Database], Awaitable[Recovered]], database: Database, scheduler: Scheduler
) -> Recovered | None:
    """Recover what the last daemon left; None on a full disk, which is no reason not to serve."""
    try:
        return await mend(database)
    except StoreBusyError as error:
        scheduler.no_room(str(error))
        return None


async def _work(
    scheduler: Scheduler, found: Recovered | None, mend: Callable[[], Awaitable[Recovered]]
) -> None:
    """Run tasks, after a recovery that waits for the disk if there was none yet."""
    try:
        await scheduler.run((found or await mend()).at_work)
    except StoreBusyError as error:
        # It waits until the daemon stops; then the next one recovers what this one could not.
        _log.warning("not recovered", action="daemon.not_recovered", why=str(error))


@asynccontextmanager
async def _running(
    background: Sequence[Callable[[], Any]], stop_timeout: float
) -> AsyncIterator[None]:
    """Run the parts beside the block; at its end they are cancelled and waited for.

    A part that fails ends the daemon: systemd starts it again, and recovery mends the rest.
    """
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(part()) for part in background]
        yield
        for task in running:
            task.cancel()
        _, late = await asyncio.wait(running, timeout=stop_timeout)
        if late:
            _log.error("parts did not end in time", action="daemon.late", seconds=stop_timeout)


@asynccontextmanager
async def _reloading(
    path: Path | None, reload: Callable[[], Any], systemd: Mapping[str, str]
) -> AsyncIterator[None]:
    """Reload on SIGHUP and when the file changes, while the block runs."""
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, asked.set)

    async def on_request() -> None:
        while True:
            await asked.wait()
            asked.clear()
            sdnotify.reloading(environ=systemd)
            await on_change()
            sdnotify.notify("READY=1", environ=systemd)

    async def on_change() -> None:
        try:
            await reload()
        except InvalidError as error:
            _log.error(str(error), action="daemon.reload_failed")

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(on_request())]
        if path is not None:
            tasks.append(group.create_task(watch(path, on_change)))
        yield
        for task in tasks:
            task.cancel()


@asynccontextmanager
async def _scripted(name: str) -> AsyncIterator[dict[str, Any]]:
    """Serve a scripted model and give the codex configuration that uses it."""
    # Only who asks for a scripted model pays for its code.
    from byred.testing import script  # noqa: PLC0415
    from byred.testing.model import ScriptedModel  # noqa: PLC0415

    path = Path(name)
    try:
        scripts = await asyncio.to_thread(
            lambda: script.load(path) if path.suffix else script.builtin(name)
        )
    except script.ScriptError as error:
        raise InvalidError(f"cannot use --scripted {name}: {error}") from error
    async with ScriptedModel(scripts) as model:
        yield model.codex_config()


async def find_codex(settings: Settings) -> Codex:
    """Find the codex program that the settings mean, and judge its version.

    Raises:
        CodexError: there is none, or it is too old.
    """
    configured = settings.codex.bin
    binary = await asyncio.to_thread(find_binary, None if configured is None else str(configured))
    version = await read_version(binary.path)
    warning = check_version(version)
    if warning is not None:
        _log.warning(warning, action="daemon.codex")
    return Codex(binary, version)


def _status(
    current: Reloadable, scheduler: Scheduler, warmer: Warmer, started_at: datetime
) -> Status:
    settings = current.settings
    return Status(
        version=byred.__version__,
        pid=os.getpid(),
        started_at=started_at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        socket=str(settings.daemon.socket),
        state_dir=str(settings.daemon.state_dir),
        codex={
            "path": str(current.codex.binary.path),
            "version": str(current.codex.version),
            "source": current.codex.binary.source,
        },
        running=scheduler.running,
        max_running=scheduler.limits.max_running,
        draining=scheduler.draining,
        paused=scheduler.paused,
        full=scheduler.full,
        warm=warmer.ready,
    )


if __name__ == "__main__":
    main()
