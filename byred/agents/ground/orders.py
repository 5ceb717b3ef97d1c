"""What a task's ground is furnished with, and what runs there: whose orders count.

The owner's settings hold for all repositories; `.byre.toml` adds what its own repository says.

Owns which of the repository's words count: names and guidance always, all else only when somebody
trusts the repository. The file is read from the commit that the task started at, so that no agent
can give itself orders.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum

import msgspec

from byred.workspace.orders import repofile
from byred.workspace.orders.repofile import Command, RepoFile, Setup
from byred.workspace.repository import Repository


class HookName(StrEnum):
    """The turning points at which commands run."""

    AFTER_CREATE = "after_create"
    BEFORE_RUN = "before_run"
    AFTER_TURN = "after_turn"
    BEFORE_REMOVE = "before_remove"


class OwnersOrders(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of the daemon that are orders for each task; a hook is a shell command."""

    copy: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    hooks: Mapping[HookName, str] = msgspec.field(default_factory=dict)


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    """All that holds for one task.

    `trusted` says whether somebody trusts the repository, `withheld` what it asked for in vain.
    """

    copy: tuple[str, ...]
    ports: tuple[str, ...]
    env: Mapping[str, str]
    hooks: Mapping[HookName, tuple[Command, ...]]
    checks: tuple[Command, ...]
    rounds: int
    setup: Setup | None
    guidance: str
    trusted: bool
    withheld: tuple[str, ...]


async def read(
    repository: Repository, commit: str, owners: OwnersOrders, *, trusted: bool
) -> Orders:
    """Give the orders for a task that started at `commit`.

    Raises:
        WorkspaceError: `invalid`, when the repository's file cannot be used.
    """
    said = await repofile.read(repository, commit)
    return combine(owners, said, trusted=trusted)


def combine(owners: OwnersOrders, said: RepoFile, *, trusted: bool) -> Orders:
    """Put both together: the owner's hooks run before the repository's."""
    heard = said if trusted else said.harmless()
    hooks: dict[HookName, tuple[Command, ...]] = {}
    for name in HookName:
        of_owner = owners.hooks.get(name, "").strip()
        of_repo = heard.hook(name)
        hooks[name] = tuple(
            command
            for command in (Command(of_owner) if of_owner else None, of_repo)
            if command is not None
        )
    return Orders(
        copy=(*owners.copy, *heard.copy),
        ports=tuple(dict.fromkeys((*owners.ports, *heard.ports))),
        env=heard.env,
        hooks=hooks,
        checks=heard.checks(),
        rounds=heard.verify_rounds,
        setup=heard.setup,
        guidance=heard.guidance,
        trusted=trusted,
        withheld=() if trusted else tuple(asks(said)),
    )


def asks(said: RepoFile) -> Iterator[str]:
    """Say what a repository asks for that takes somebody's trust, a phrase for each."""
    if said.copy:
        yield f"copy {', '.join(said.copy)} from your checkout"
    if said.env:
        yield f"set {', '.join(sorted(said.env))}"
    if said.setup is not None:
        yield f"run `{said.setup.run}` once for its dependencies"
    for name in HookName:
        if (command := said.hook(name)) is not None:
            yield f"run `{command.run}` as {name}"
    for command in said.checks():
        yield f"run `{command.run}` to verify"
