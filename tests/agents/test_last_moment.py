"""What is said in the very moment in which a task ends is not lost."""

from pathlib import Path

import msgspec
import pytest

from byred.agents import verdict
from byred.agents.runner import settle
from byred.core.task import Result, TaskState
from byred.store import inputs, tasks
from byred.store.database import Transaction, open_database
from byred.store.inputs import InputKind
from tests.tasks import a_task


@pytest.mark.parametrize(
    ("told", "state"), [(True, TaskState.QUEUED), (False, TaskState.SUCCEEDED)]
)
async def test_a_text_told_while_the_verdict_is_stored_goes_on_with_the_task(
    tmp_path: Path, told: bool, state: TaskState
) -> None:
    async with open_database(tmp_path / "db") as database:

        def live(transaction: Transaction) -> None:
            tasks.insert(transaction, a_task())
            tasks.apply(transaction, 1, lambda task: task.claim(now=transaction.now))
            tasks.apply(transaction, 1, lambda task: task.verify())
            if told:
                tasks.apply(transaction, 1, lambda task: task.told(by="ann"))
                inputs.insert(transaction, 1, InputKind.TELL, "One more.", author="ann")

        await database.write(live)
        result = Result(summary="Done.", commits=(), files_changed=0, dirty=False)
        ending = verdict.succeeded(result)
        task = await database.write(lambda tx: settle(tx, 1, ending))
        assert task.state is state
        pending = await database.write(lambda tx: inputs.pending(tx, 1))
        assert [text.text for text in pending] == (["One more."] if told else [])
        assert msgspec.structs.asdict(task)["intent"] is None
