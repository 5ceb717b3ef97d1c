"""The table `identity`: which database this is, among all that there are."""

from byred.store.database import Transaction
from byred.store.queries import load


def get(transaction: Transaction) -> str:
    """Give the database's identity: 16 hexadecimal digits, the last ones differ most."""
    return str(transaction.connection.execute(load("identity")["get"]).fetchone()[0])
