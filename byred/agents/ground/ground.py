"""Everything that a task stands on, made or found again before its server starts.

Owns the order: worktree, ports, home, environment. Each step finds what an interrupted run left.
How each is made is the workspace's.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from byred.agents.ground import orders as orders_of
from byred.agents.ground.forking import ForkPoint, bring_record, point_of
from byred.agents.ground.furnishing import furnish
from byred.agents.ground.naming import name_of
from byred.agents.ground.orders import Orders, OwnersOrders
from byred.agents.tasklog import TaskLog
from byred.core.event import NewEvent
from byred.core.task import Task
from byred.store import grounds, leases, tasks, trusted
from byred.store.database import Database, Transaction
from byred.workspace.errors import Kind, WorkspaceError
from byred.workspace.git import ask_git, git
from byred.workspace.home import environment, homes, ports
from byred.workspace.home.environment import Identity
from byred.workspace.home.home import ensure_home
from byred.workspace.home.identity import write_co_author_hook
from byred.workspace.home.sandbox import protected_paths
from byred.workspace.keeping import checkpoint, kept
from byred.workspace.repository import Repository, inspect
from byred.workspace.trees.pool import folder_of
from byred.workspace.trees.worktree import Worktree, check, ensure

UNCONFINED = "danger-full-access"

# What git needs to reach the person's key, for those who want agents to sign with it.
_OF_SIGNING = ("SSH_AUTH_SOCK", "GNUPGHOME", "GPG_TTY", "GPG_AGENT_INFO")


class GroundOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that a task's ground is made by."""

    root: Path
    cache: Path
    pool: bool
    homes: Path
    owners: OwnersOrders
    port_range: range
    sandbox: str
    network: bool
    approval_policy: str
    co_author: bool
    sign: bool
    git_hooks: bool
    config: dict[str, Any]
    auth_file: Path | None
    base_environment: Mapping[str, str]


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """A task's ground as it is now."""

    worktree: Worktree
    home: Path
    environment: dict[str, str]
    ports: dict[str, int]
    orders: Orders
    forked: ForkPoint | None = None


async def prepare(task: Task, options: GroundOptions, database: Database, log: TaskLog) -> Ground:
    """Make or mend the task's worktree, ports, home and environment, and furnish what is new.

    Raises:
        WorkspaceError: one of them cannot be made; what was made stays for the next try.
    """
    repository = await inspect(Path(task.repo))
    known = await database.write(lambda tx: grounds.get(tx, task.id))
    forked = await database.write(lambda tx: point_of(tx, known))
    worktree = await _worktree(task, options, database, repository, known, forked)
    orders = await _orders(task, options, repository, database)
    await database.write(lambda tx: _placed(tx, task, worktree, orders))
    leased = await database.write(lambda tx: _lease(tx, task.id, orders.ports, options.port_range))
    home = await _home(task, options, worktree, repository, orders)
    if forked is not None:
        await bring_record(forked, home)
    ground = Ground(
        worktree=worktree,
        home=home,
        environment=await _environment(task, options, repository, home, leased, orders),
        ports=leased,
        orders=orders,
        forked=forked,
    )
    if worktree.created and orders.withheld:
        log.append(
            "notice",
            f"not done, since nobody trusts {task.repo}: {'; '.join(orders.withheld)}. byre trust "
            f"{task.repo} lets it",
        )
    await furnish(
        orders,
        repository=repository,
        commit=task.base_commit,
        worktree=worktree,
        env=ground.environment,
        folder=home.parent / "hooks",
        cache=options.cache / repository.name,
        log=log,
    )
    return ground


async def regain(task: Task, options: GroundOptions, database: Database) -> Ground:
    """Give the ground of a task whose server still works on it; nothing is changed.

    Its ports are its own even if something listens there: that may be what the agent started.

    Raises:
        WorkspaceError: the worktree is not what it was.
    """
    repository = await inspect(Path(task.repo))
    path = Path(task.worktree)
    await check(repository, path)
    git_dir = Path(await git("rev-parse", "--path-format=absolute", "--git-dir", cwd=path))
    worktree = Worktree(path, git_dir, task.branch, created=False)
    leased = await database.write(lambda tx: leases.ports_of(tx, task.id))
    orders = await _orders(task, options, repository, database)
    home = Path(task.home)
    return Ground(
        worktree=worktree,
        home=home,
        environment=await _environment(task, options, repository, home, leased, orders),
        ports=leased,
        orders=orders,
    )


async def farewell(
    task: Task, options: GroundOptions, database: Database
) -> tuple[Orders, dict[str, str]]:
    """Give the orders and the environment for the commands before a worktree goes.

    Raises:
        WorkspaceError: the repository is gone, or its file cannot be used.
    """
    repository = await inspect(Path(task.repo))
    orders = await _orders(task, options, repository, database)
    env = await _environment(task, options, repository, Path(task.home), {}, orders)
    return orders, env


async def _orders(
    task: Task, options: GroundOptions, repository: Repository, database: Database
) -> Orders:
    trust = await database.write(lambda tx: trusted.get(tx, task.common_dir))
    return await orders_of.read(
        repository, task.base_commit, options.owners, trusted=trust is not None
    )


async def _worktree(
    task: Task,
    options: GroundOptions,
    database: Database,
    repository: Repository,
    known: grounds.Ground,
    forked: ForkPoint | None,
) -> Worktree:
    path = Path(task.worktree)
    name = await name_of(database, task)
    pool = folder_of(options.root, repository) if options.pool else None
    if known.removed_at is not None:
        try:
            return await kept.undelete(repository, task_id=name, path=path, root=options.root)
        except WorkspaceError as error:
            if error.kind is not Kind.NOT_FOUND:
                raise
    # What is there is the agent's already, and its checkpoint may be gone by now.
    if forked is not None and not await asyncio.to_thread(path.exists):
        return await checkpoint.fork(
            repository,
            task_id=await name_of(database, forked.task),
            number=forked.turn,
            commit=forked.checkpoint,
            source=Path(forked.task.worktree),
            to=name,
            path=path,
            branch=task.branch,
            root=options.root,
            pool=pool,
        )
    return await ensure(
        repository,
        task_id=name,
        path=path,
        branch=task.branch,
        base_commit=task.base_commit,
        root=options.root,
        pool=pool,
    )


async def _home(
    task: Task,
    options: GroundOptions,
    worktree: Worktree,
    repository: Repository,
    wanted: Orders,
) -> Path:
    home = Path(task.home)
    await asyncio.to_thread(homes.claim, options.homes, home)
    return await ensure_home(
        home,
        config=options.config,
        auth_file=options.auth_file,
        trust=worktree.path,
        # Without a sandbox nothing would be won by keeping from codex what the agent may run.
        trusted=wanted.trusted or options.sandbox == UNCONFINED,
        sandbox=options.sandbox,
        network=options.network,
        writable_roots=(worktree.git_dir, repository.common_dir),
        protected=await asyncio.to_thread(protected_paths, repository.common_dir),
        approval_policy=options.approval_policy,
    )


async def _environment(
    task: Task,
    options: GroundOptions,
    repository: Repository,
    home: Path,
    leased: dict[str, int],
    wanted: Orders,
) -> dict[str, str]:
    person = await _person(repository) if options.co_author else None
    hooks = None
    if person is not None:
        folder = home.parent / "git-hooks"
        hooks = await asyncio.to_thread(write_co_author_hook, folder, person)
    return environment.build(
        options.base_environment,
        allow=_OF_SIGNING if options.sign else (),
        home=home,
        worktree=Path(task.worktree),
        ports=leased,
        identity=Identity(task.identity.name, task.identity.email),
        task_id=task.id,
        extra=wanted.env,
        owner_hooks=options.git_hooks,
        hooks=hooks,
        signing=options.sign,
    )


async def _person(repository: Repository) -> Identity | None:
    """Give whom git's configuration names in a repository, None when it names nobody."""
    said = [
        await ask_git("config", "--get", key, cwd=repository.root)
        for key in ("user.name", "user.email")
    ]
    return Identity(said[0], said[1]) if said[0] and said[1] else None


def _placed(transaction: Transaction, task: Task, worktree: Worktree, wanted: Orders) -> None:
    if worktree.created and wanted.withheld:
        data = {"repo": task.repo, "asks": list(wanted.withheld)}
        transaction.emit(NewEvent(kind="task.untrusted", task_id=task.id, data=data))
    grounds.brought_back(transaction, task.id)
    if worktree.mended:
        data = {"mended": list(worktree.mended)}
        transaction.emit(NewEvent(kind="task.mended", task_id=task.id, data=data))
    if worktree.created or worktree.branch != task.branch or str(worktree.path) != task.worktree:
        path = str(worktree.path)
        tasks.apply(transaction, task.id, lambda task: task.placed(worktree.branch, path))


def _lease(
    transaction: Transaction, task_id: int, names: Sequence[str], port_range: range
) -> dict[str, int]:
    """Keep the ports that the task has and that are free; lease others for the rest.

    The binding is tried on the writer's thread, so that nobody leases in between; it takes
    microseconds a port.
    """
    held = leases.ports_of(transaction, task_id)
    lost = {name: port for name, port in held.items() if not ports.is_free(port)}
    for port in lost.values():
        leases.give_back_port(transaction, task_id, port)
    kept = {name: port for name, port in held.items() if name not in lost}
    missing = [name for name in names if name not in kept]
    taken = leases.taken_ports(transaction) | set(lost.values())
    new = ports.choose(missing, port_range, taken)
    leases.take_ports(transaction, task_id, new)
    for name, port in lost.items():
        why = "another program listens on it"
        data = {"name": name, "port": port, "instead": new.get(name), "why": why}
        transaction.emit(NewEvent(kind="task.port_lost", task_id=task_id, data=data))
    everything = kept | new
    ordered = {name: everything[name] for name in names}
    return ordered | everything
