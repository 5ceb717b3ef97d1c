"""Commands on a task's ground, and what a new worktree is given before its first run.

Owns that a worktree is furnished once: a mark beside its HEAD goes with it, so that one that is
made again is furnished again. What the commands are was decided before.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from byred.agents.ground.orders import HookName, Orders
from byred.agents.tasklog import TaskLog
from byred.core.event import NewEvent
from byred.store.database import Database
from byred.workspace.errors import WorkspaceError
from byred.workspace.orders import copying, setup
from byred.workspace.orders.hooks import Ran, run_command
from byred.workspace.repository import Repository
from byred.workspace.trees.worktree import Worktree

_MARK = "byre-furnished"
SHOWN = 2000
"""Characters of a command's output that an event and a failure carry; the log has all of it."""


async def furnish(
    orders: Orders,
    *,
    repository: Repository,
    commit: str,
    worktree: Worktree,
    env: Mapping[str, str],
    folder: Path,
    cache: Path,
    log: TaskLog,
) -> None:
    """Copy, install and run what a new worktree needs, unless that was done.

    `folder` is for the commands' output, `cache` for what tasks of the repository share.

    Raises:
        WorkspaceError: something of it failed; the next try begins anew.
    """
    mark = worktree.git_dir / _MARK
    if await asyncio.to_thread(mark.exists):
        return
    brought = await copying.bring(repository, worktree.path, orders.copy)
    if brought:
        log.append("state", f"copied from the checkout: {', '.join(brought)}")
    if orders.setup is not None:
        installed = await setup.install(
            orders.setup,
            repo=repository,
            commit=commit,
            worktree=worktree.path,
            env=env,
            cache=cache,
            log=folder / "setup.log",
        )
        if installed.ran is None:
            log.append("state", "dependencies as an earlier task installed them")
        else:
            _told(log, "setup", installed.ran)
            if not installed.ran.passed:
                raise _failure("setup", installed.ran)
    await run_hooks(
        HookName.AFTER_CREATE, orders, cwd=worktree.path, env=env, folder=folder, log=log
    )
    await asyncio.to_thread(mark.touch)


async def run_hooks(
    name: HookName,
    orders: Orders,
    *,
    cwd: Path,
    env: Mapping[str, str],
    folder: Path,
    log: TaskLog,
) -> None:
    """Run the commands of a turning point, the owner's before the repository's.

    Raises:
        WorkspaceError: one failed or took too long; those after it did not run.
    """
    for number, command in enumerate(orders.hooks[name], 1):
        ran = await run_command(command, cwd=cwd, env=env, log=folder / f"{name}-{number}.log")
        _told(log, name, ran)
        if not ran.passed:
            raise _failure(name, ran)


async def try_hooks(
    name: HookName,
    orders: Orders,
    *,
    cwd: Path,
    env: Mapping[str, str],
    folder: Path,
    log: TaskLog,
    database: Database,
    task_id: int,
) -> None:
    """Run the commands of a turning point at which a failure holds up nothing: it is an event."""
    try:
        await run_hooks(name, orders, cwd=cwd, env=env, folder=folder, log=log)
    except WorkspaceError as error:
        data = {"hook": name, "why": error.message}
        event = NewEvent(kind="task.hook_failed", task_id=task_id, data=data)
        await database.write(lambda tx: tx.emit(event))


def last_words(ran: Ran) -> str:
    """Give the end of what a command said, as much as a person wants to see at once."""
    return ran.output.strip()[-SHOWN:]


def _told(log: TaskLog, what: str, ran: Ran) -> None:
    how = "passed" if ran.passed else ("took too long" if ran.status is None else "failed")
    log.append(
        "hook",
        f"{what}: `{ran.command}` {how} after {ran.seconds:.1f} s",
        status=ran.status,
        output=last_words(ran),
    )


def _failure(what: str, ran: Ran) -> WorkspaceError:
    how = "took too long" if ran.status is None else f"ended with status {ran.status}"
    return WorkspaceError(
        f"cannot furnish the worktree: {what}, `{ran.command}`, {how}; its output is in {ran.log}"
        f" and ends: {last_words(ran) or '(nothing)'}"
    )
