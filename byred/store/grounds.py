"""The table `grounds`: what became of the places that tasks had, and of their work."""

from datetime import datetime
from typing import Any

import msgspec

from byred.store.database import Transaction
from byred.store.queries import load
from byred.store.rows import from_row, stamp


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """A merge that was done: `into` went from the commit `before` to `after`.

    `how` is ff, merge, squash or rebase; `path` is the checkout whose files went along, if any.
    """

    into: str
    how: str
    before: str
    after: str
    path: str | None
    merged_by: str
    merged_at: datetime


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one task's.

    `forked_task` and `forked_turn` say at whose turn it began; `removed_at` since when its
    worktree is gone, but kept.
    """

    forked_task: int | None = None
    forked_turn: int | None = None
    merged: Merged | None = None
    removed_at: datetime | None = None


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """A removal of a task's worktree: what its first event said, and whether it came to its end."""

    task_id: int
    worktree: str
    done: bool
    said: dict[str, Any]


def get(transaction: Transaction, task_id: int) -> Ground:
    """Give what is known; nothing, for a task of which nothing was ever noted."""
    parameters = {"task_id": task_id}
    row = transaction.connection.execute(load("grounds")["get"], parameters).fetchone()
    return Ground() if row is None else from_row(row, Ground, ("merged",))


def forked(transaction: Transaction, task_id: int, *, of: int, turn: int) -> None:
    """Note that a new task begins at the end of another one's turn."""
    parameters = {"task_id": task_id, "of": of, "turn": turn}
    transaction.connection.execute(load("grounds")["forked"], parameters)


def merged(transaction: Transaction, task_id: int, done: Merged) -> None:
    """Note that a task's work was merged; the newest merge is what is known."""
    parameters = {"task_id": task_id, "merged": msgspec.json.encode(done).decode()}
    transaction.connection.execute(load("grounds")["merged"], parameters)


def removed(transaction: Transaction, task_id: int) -> None:
    """Note that the worktree goes, before it does: so a removal that is cut off is finished."""
    parameters = {"task_id": task_id, "at": stamp(transaction.now)}
    transaction.connection.execute(load("grounds")["removed"], parameters)


def removals(transaction: Transaction, task_id: int | None = None) -> list[Removed]:
    """Give the newest removal of each task that has no worktree, or of one of them."""
    rows = transaction.connection.execute(load("grounds")["removals"], {"task_id": task_id})
    return [
        Removed(
            task_id=int(row["task_id"]),
            worktree=row["worktree"],
            done=bool(row["done"]),
            said=msgspec.json.decode(row["data"]),
        )
        for row in rows.fetchall()
    ]


def brought_back(transaction: Transaction, task_id: int) -> None:
    """Note that the worktree is there again."""
    transaction.connection.execute(load("grounds")["brought_back"], {"task_id": task_id})


def measured(transaction: Transaction, task_id: int, *, worktree: int, home: int) -> None:
    """Note how many bytes a task takes; a figure that is looked at again, and no event."""
    parameters = {"task_id": task_id, "worktree": worktree, "home": home}
    transaction.connection.execute(load("grounds")["measured"], parameters)
