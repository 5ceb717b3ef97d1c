"""A number that a task of the state directory ever had is never given again."""

from pathlib import Path

from byred.scheduler.numbering import first_free
from byred.store.database import open_database


async def test_numbers_go_on_above_every_folder_of_a_task(tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    async with open_database(tmp_path / "byred.sqlite3") as database:
        assert await first_free(database, folder) == 1
        for name in ("3", "12", "notes", "1e9", "١٢٣", "20261201120000000"):
            (folder / name).mkdir(parents=True)
        assert await first_free(database, folder) == 13
