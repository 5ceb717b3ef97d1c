"""The table `leases`: the ports that tasks hold. A number has one holder, ever."""

from collections.abc import Mapping

from byred.store.database import Transaction
from byred.store.queries import load
from byred.store.rows import stamp

_PORT = "port"


def ports_of(transaction: Transaction, task_id: int) -> dict[str, int]:
    """Give a task's ports by name, lowest first."""
    parameters = {"task_id": task_id, "kind": _PORT}
    rows = transaction.connection.execute(load("leases")["of_task"], parameters)
    return {row["name"]: row["number"] for row in rows}


def taken_ports(transaction: Transaction) -> set[int]:
    """Give every leased port."""
    rows = transaction.connection.execute(load("leases")["taken"], {"kind": _PORT})
    return {row["number"] for row in rows}


def take_ports(transaction: Transaction, task_id: int, ports: Mapping[str, int]) -> None:
    """Lease ports to a task, by name.

    Raises:
        sqlite3.IntegrityError: another task holds one of them.
    """
    for name, number in ports.items():
        parameters = {
            "kind": _PORT,
            "number": number,
            "task_id": task_id,
            "name": name,
            "leased_at": stamp(transaction.now),
        }
        transaction.connection.execute(load("leases")["take"], parameters)


def give_back_port(transaction: Transaction, task_id: int, number: int) -> None:
    """End one lease."""
    parameters = {"kind": _PORT, "number": number, "task_id": task_id}
    transaction.connection.execute(load("leases")["give_back_one"], parameters)


def give_back(transaction: Transaction, task_id: int) -> None:
    """End all leases of a task."""
    transaction.connection.execute(load("leases")["give_back"], {"task_id": task_id})


def held_by_ended(transaction: Transaction) -> list[int]:
    """Give the ended tasks that still hold something."""
    rows = transaction.connection.execute(load("leases")["of_ended"])
    return [row["task_id"] for row in rows]
