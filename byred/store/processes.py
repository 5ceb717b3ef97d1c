"""The table `processes`: the identity of each server, stored before a word is said to it."""

import sqlite3
from collections.abc import Mapping
from datetime import datetime

import msgspec

from byred.store.database import Transaction
from byred.store.queries import load
from byred.store.rows import from_row, stamp


class ProcessRow(msgspec.Struct, frozen=True, kw_only=True):
    """One server process of a task; `start_time` is in clock ticks since boot."""

    id: int
    task_id: int
    pid: int
    start_time: int
    boot_id: str
    launcher: str
    socket: str | None
    started_at: datetime
    ended_at: datetime | None = None
    outcome: str | None = None


def insert(
    transaction: Transaction,
    *,
    task_id: int,
    pid: int,
    start_time: int,
    boot_id: str,
    launcher: str,
    socket: str | None,
) -> None:
    """Store the identity of a server that was just started.

    Raises:
        sqlite3.IntegrityError: the task has a living server already.
    """
    parameters = {
        "task_id": task_id,
        "pid": pid,
        "start_time": start_time,
        "boot_id": boot_id,
        "launcher": launcher,
        "socket": socket,
        "started_at": stamp(transaction.now),
    }
    transaction.connection.execute(load("processes")["insert"], parameters)


def ended(
    transaction: Transaction, task_id: int, outcome: str, usage: Mapping[str, float] | None = None
) -> None:
    """Note that the task's server is gone, why, and what it used."""
    parameters = {
        "task_id": task_id,
        "at": stamp(transaction.now),
        "outcome": outcome,
        "usage": None if usage is None else msgspec.json.encode(usage).decode(),
    }
    transaction.connection.execute(load("processes")["ended"], parameters)


def alive(transaction: Transaction) -> list[ProcessRow]:
    """Give the servers that are not known to have ended."""
    return [_process(row) for row in transaction.connection.execute(load("processes")["alive"])]


def alive_of(transaction: Transaction, task_id: int) -> ProcessRow | None:
    """Give the server of a task that is not known to have ended."""
    query = load("processes")["alive_of_task"]
    row = transaction.connection.execute(query, {"task_id": task_id}).fetchone()
    return None if row is None else _process(row)


def _process(row: sqlite3.Row) -> ProcessRow:
    return from_row(row, ProcessRow, ())
