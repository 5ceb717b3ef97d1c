"""What follows when an agent's turn is over, and when it says that it is done.

Owns the order after a turn (the hooks, then the checkpoint, which has their changes in it) and the
checks that a task must pass. How often its agent may try again is counted in the store.
"""

from pathlib import Path

import msgspec

from byred.agents.ground.furnishing import last_words, try_hooks
from byred.agents.ground.ground import Ground
from byred.agents.ground.keeping import keep
from byred.agents.ground.orders import HookName
from byred.agents.tasklog import TaskLog
from byred.core.event import NewEvent
from byred.core.task import Task
from byred.store import inputs
from byred.store.database import Database, Transaction
from byred.store.inputs import InputKind
from byred.workspace.orders.hooks import Ran, verify


class Unverified(msgspec.Struct, frozen=True):
    """A check that failed: what to tell the agent, or, when it may not try again, a person."""

    again: bool
    text: str


class Aftermath:
    """One task's, for one run."""

    def __init__(self, task: Task, ground: Ground, database: Database, log: TaskLog) -> None:
        self._task = task
        self._ground = ground
        self._database = database
        self._log = log

    @property
    def _folder(self) -> Path:
        return self._ground.home.parent / "hooks"

    async def keep(self) -> None:
        """Keep the files of the newest turn, if that is not done."""
        await keep(self._database, self._task, self._ground.worktree.path, self._log)

    async def turn_ended(self) -> None:
        """Do what is due after a turn."""
        await try_hooks(
            HookName.AFTER_TURN,
            self._ground.orders,
            cwd=self._ground.worktree.path,
            env=self._ground.environment,
            folder=self._folder,
            log=self._log,
            database=self._database,
            task_id=self._task.id,
        )
        await self.keep()

    async def verify(self) -> Ran | None:
        """Run the checks of the repository; give the first that failed."""
        orders = self._ground.orders
        if not orders.checks:
            return None
        failed = await verify(
            orders.checks,
            cwd=self._ground.worktree.path,
            env=self._ground.environment,
            logs=self._folder,
        )
        if failed is None:
            self._log.append("hook", f"verify: all {len(orders.checks)} passed")
        return failed

    async def unverified(self, failed: Ran) -> Unverified:
        """Note that a check failed; what the agent is to hear is stored for it, if it may go on."""
        self._log.append("hook", f"verify: {failed.report()}", status=failed.status)
        return await self._database.write(lambda tx: self._unverified(tx, failed))

    def _unverified(self, transaction: Transaction, failed: Ran) -> Unverified:
        rounds = self._ground.orders.rounds
        before = inputs.verify_rounds(transaction, self._task.id)
        data = {
            "command": failed.command,
            "status": failed.status,
            "output": last_words(failed),
            "round": before + 1,
            "rounds": rounds + 1,
        }
        event = NewEvent(kind="task.verify_failed", task_id=self._task.id, data=data)
        transaction.emit(event)
        if before >= rounds:
            times = "once" if not before else f"{before + 1} times"
            text = f"its checks failed {times}; its work is kept\n{failed.report()}"
            return Unverified(again=False, text=text)
        text = (
            "The work is not done yet: this repository's checks have to pass, and one does not. "
            f"{failed.report()}\n\nMend what is wrong and commit that."
        )
        inputs.insert(transaction, self._task.id, InputKind.VERIFY, text, author="byred")
        return Unverified(again=True, text=text)
