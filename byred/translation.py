"""From the settings to what each part takes: no part below knows the settings themselves."""

import os
from typing import Any

from byred.agents.ground.ground import GroundOptions
from byred.agents.ground.orders import HookName, OwnersOrders
from byred.agents.launchers.contract import Limits as TaskLimits
from byred.agents.rest.clearing import Bounds
from byred.agents.talk import watchdog
from byred.agents.talk.talk import RunnerOptions
from byred.agents.warming import WarmOptions
from byred.codex.binary import Binary, Version
from byred.core.retry import FailureClass, Retries, RetryPolicy
from byred.scheduler.dispatch import Limits
from byred.scheduler.intake import IntakeOptions
from byred.settings import Settings
from byred.workspace.errors import WorkspaceError
from byred.workspace.keeping.retention import check_floor


def limits(settings: Settings) -> Limits:
    """Give how many tasks may run."""
    policies = retries(settings)
    return Limits(
        max_running=settings.scheduler.max_running,
        max_per_repo=settings.scheduler.max_per_repo,
        longest_retry=max(each.cap * (1 + each.jitter) for each in map(policies.of, FailureClass)),
    )


def intake(settings: Settings, first_id: int) -> IntakeOptions:
    """Give what new tasks are named and placed by."""
    return IntakeOptions(
        root=settings.worktrees,
        tasks_dir=settings.daemon.state_dir / "tasks",
        first_id=first_id,
        branch=settings.workspace.branch,
        base=settings.workspace.base or None,
        name=settings.identity.name,
        email=settings.identity.email,
    )


def runs(
    settings: Settings, binary: Binary, version: Version, model: dict[str, Any]
) -> RunnerOptions:
    """Give what a run is made by; `model` is a scripted model's configuration, empty for none."""
    port_range = settings.workspace.port_range
    return RunnerOptions(
        codex=binary.path,
        version=version,
        model=None if model else settings.codex.model or None,
        ground=GroundOptions(
            root=settings.worktrees,
            cache=settings.daemon.state_dir / "cache",
            pool=settings.workspace.pool.trees > 0,
            homes=settings.daemon.state_dir / "homes",
            owners=OwnersOrders(
                copy=settings.workspace.copy_files,
                ports=settings.workspace.ports,
                hooks={name: getattr(settings.workspace.hooks, name) for name in HookName},
            ),
            port_range=range(port_range.first, port_range.last + 1),
            sandbox=settings.codex.sandbox,
            network=settings.codex.network,
            approval_policy="on-request" if settings.codex.approvals == "ask" else "never",
            co_author=settings.identity.co_author,
            sign=settings.identity.sign,
            git_hooks=settings.identity.git_hooks,
            config=settings.codex.config | model,
            auth_file=None if model else settings.auth_file,
            base_environment=dict(os.environ),
        ),
        retry=retries(settings),
        start_timeout=settings.codex.start_timeout,
        request_timeout=settings.codex.request_timeout,
        limits=watchdog.Limits(
            stall=settings.codex.stall_timeout,
            tool_stall=settings.codex.tool_stall_timeout,
            turn=settings.codex.turn_timeout,
            park=settings.human.park_after,
        ),
        ask_approvals=settings.codex.approvals == "ask",
        sockets=settings.codex.transport == "unix",
        end_agents=settings.daemon.end_agents,
        resources=_resources(settings),
        servers_dir=settings.daemon.state_dir,
    )


def _resources(settings: Settings) -> TaskLimits:
    own = settings.codex.limits
    return TaskLimits(
        memory_max=own.memory, pids_max=own.processes or None, cpu_weight=own.cpu_weight or None
    )


def retries(settings: Settings) -> Retries:
    """Give how often a task is tried, by whose failure it was."""
    general = settings.scheduler.retry
    policies: dict[str, RetryPolicy] = {}
    for failure in FailureClass:
        own = getattr(general, failure)
        first = general.first if own.first is None else own.first
        policies[failure] = RetryPolicy(
            attempts=own.attempts or general.attempts,
            first=first,
            # A longer first wait of its own is not to be cut by the bound for all.
            cap=max(general.cap, first) if own.cap is None else own.cap,
            jitter=general.jitter,
        )
    return Retries(**policies)


def bounds(settings: Settings) -> Bounds:
    """Give what may stay on the disk."""
    retention = settings.workspace.retention
    return Bounds(
        age=retention.age,
        count=retention.count or None,
        size=retention.size,
        home=retention.home,
        cache=retention.cache,
    )


def warmth(settings: Settings) -> WarmOptions:
    """Give what is made ahead."""
    pool = settings.workspace.pool
    return WarmOptions(
        trees=pool.trees,
        homes=pool.homes,
        size=pool.size,
        load=pool.load or None,
        floor=settings.workspace.min_free or 0,
        base=settings.workspace.base or None,
        homes_folder=settings.daemon.state_dir / "homes",
    )


def no_room(settings: Settings) -> str | None:
    """Say which disk is nearly full; blocks."""
    floor = settings.workspace.min_free
    for path in (settings.worktrees, settings.daemon.state_dir):
        try:
            check_floor(path, floor or 0)
        except WorkspaceError as error:
            return error.message
    return None
