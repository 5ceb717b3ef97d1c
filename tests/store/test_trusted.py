"""Who trusts which repository."""

import pytest

from byred.store import trusted
from byred.store.database import Database


async def test_the_first_who_trusts_a_repository_is_known(database: Database) -> None:
    first = await database.write(lambda tx: trusted.add(tx, "/r/.git", "/r", by="ada"))
    again = await database.write(lambda tx: trusted.add(tx, "/r/.git", "/r/other", by="bob"))
    assert again == first
    await database.write(lambda tx: trusted.add(tx, "/a/.git", "/a", by="bob"))
    assert [trust.repo for trust in await trusted.listing(database)] == ["/a", "/r"]


@pytest.mark.promise("state_with_its_event")
async def test_trust_and_its_end_are_events_once_each(database: Database) -> None:
    for _ in range(2):
        await database.write(lambda tx: trusted.add(tx, "/r/.git", "/r", by="ada"))
    for _ in range(2):
        await database.write(lambda tx: trusted.remove(tx, "/r/.git", "/r", by="bob"))
    assert await database.write(lambda tx: trusted.get(tx, "/r/.git")) is None
    rows = await database.rows("SELECT kind, data FROM events", {})
    assert [tuple(row) for row in rows] == [
        ("repo.trusted", '{"repo":"/r","by":"ada"}'),
        ("repo.untrusted", '{"repo":"/r","by":"bob"}'),
    ]
