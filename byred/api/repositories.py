"""The commands `repo.*`: which repositories may say what runs in their worktrees."""

from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from byred.agents.ground import orders
from byred.agents.rest.rest import in_their_words
from byred.api.contract import Command, Context
from byred.api.parts import Parts
from byred.core.errors import InvalidError
from byred.store import trusted
from byred.store.database import Transaction
from byred.workspace.orders import repofile
from byred.workspace.repository import Repository, inspect


class One(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command on one repository, named by any path in it."""

    repo: str


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`repo.list`."""


class RepoView(msgspec.Struct, frozen=True, kw_only=True):
    """A repository: whether somebody trusts it, and what it asks for now, a phrase for each."""

    repo: str
    trusted: bool
    trusted_by: str | None
    trusted_at: datetime | None
    asks: tuple[str, ...]


def commands(parts: Parts) -> list[Command[Any]]:
    """Give the commands on repositories."""
    return [
        Command("repo.trust", One, partial(_trust, parts)),
        Command("repo.untrust", One, partial(_untrust, parts)),
        Command("repo.get", One, partial(_get, parts)),
        Command("repo.list", Nothing, partial(_list, parts)),
    ]


async def _trust(parts: Parts, context: Context, request: One) -> RepoView:
    repository = await _inspect(request.repo)

    def add(transaction: Transaction) -> None:
        common = str(repository.common_dir)
        trusted.add(transaction, common, str(repository.root), by=context.peer.user)

    await parts.database.write(add)
    return await _view(parts, repository)


async def _untrust(parts: Parts, context: Context, request: One) -> RepoView:
    repository = await _inspect(request.repo)

    def remove(transaction: Transaction) -> None:
        common = str(repository.common_dir)
        trusted.remove(transaction, common, str(repository.root), by=context.peer.user)

    await parts.database.write(remove)
    return await _view(parts, repository)


async def _get(parts: Parts, _context: Context, request: One) -> RepoView:
    return await _view(parts, await _inspect(request.repo))


async def _list(parts: Parts, _context: Context, _request: Nothing) -> dict[str, Any]:
    return {"repos": await trusted.listing(parts.database)}


async def _inspect(path: str) -> Repository:
    if not Path(path).is_absolute() or "\0" in path:
        raise InvalidError(f"repo must be an absolute path, not {path!r}")
    with in_their_words():
        return await inspect(Path(path))


async def _view(parts: Parts, repository: Repository) -> RepoView:
    common = str(repository.common_dir)
    trust = await parts.database.write(lambda tx: trusted.get(tx, common))
    with in_their_words():
        head = repository.head
        said = repofile.RepoFile() if head is None else await repofile.read(repository, head)
    return RepoView(
        repo=str(repository.root),
        trusted=trust is not None,
        trusted_by=None if trust is None else trust.trusted_by,
        trusted_at=None if trust is None else trust.trusted_at,
        asks=tuple(orders.asks(said)),
    )
