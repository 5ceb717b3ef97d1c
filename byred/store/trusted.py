"""The table `trusted`: the repositories whose own settings may run commands."""

from datetime import datetime

import msgspec

from byred.core.event import NewEvent
from byred.store.database import Database, Transaction
from byred.store.queries import load
from byred.store.rows import columns, from_row


class Trust(msgspec.Struct, frozen=True, kw_only=True):
    """A repository that somebody trusts; all its checkouts share `common_dir`."""

    common_dir: str
    repo: str
    trusted_by: str
    trusted_at: datetime


def add(transaction: Transaction, common_dir: str, repo: str, *, by: str) -> Trust:
    """Trust a repository; one that is trusted already stays as it is."""
    trust = Trust(common_dir=common_dir, repo=repo, trusted_by=by, trusted_at=transaction.now)
    if transaction.connection.execute(load("trusted")["add"], columns(trust, ())).rowcount:
        data = {"repo": repo, "by": by}
        transaction.emit(NewEvent(kind="repo.trusted", data=data))
        return trust
    return get(transaction, common_dir) or trust


def remove(transaction: Transaction, common_dir: str, repo: str, *, by: str) -> None:
    """Trust a repository no more."""
    statement = load("trusted")["remove"]
    if transaction.connection.execute(statement, {"common_dir": common_dir}).rowcount:
        data = {"repo": repo, "by": by}
        transaction.emit(NewEvent(kind="repo.untrusted", data=data))


def get(transaction: Transaction, common_dir: str) -> Trust | None:
    """Give who trusts a repository, None when nobody does."""
    parameters = {"common_dir": common_dir}
    row = transaction.connection.execute(load("trusted")["get"], parameters).fetchone()
    return None if row is None else from_row(row, Trust, ())


async def listing(database: Database) -> list[Trust]:
    """Read all repositories that are trusted."""
    return [from_row(row, Trust, ()) for row in await database.rows(load("trusted")["all"], {})]
