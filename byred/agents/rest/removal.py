"""Taking a task's worktree away without loss, bringing it back, and putting it back to a turn.

Owns the order of store and disk: that a worktree goes is noted before it does, so that a removal
that was cut off is known as one. How everything is kept is the workspace's.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from byred.agents.ground.furnishing import try_hooks
from byred.agents.ground.ground import GroundOptions, farewell
from byred.agents.ground.naming import name_of
from byred.agents.ground.orders import HookName
from byred.agents.rest.rest import Rest, check_there
from byred.agents.rest.results import result_of
from byred.agents.tasklog import TaskLogs
from byred.core.errors import ByredError, WrongStateError
from byred.core.event import NewEvent
from byred.core.task import ENDED
from byred.store import grounds, inputs, tasks, turns
from byred.store.database import Database, Transaction
from byred.store.inputs import InputKind
from byred.store.tasks import TaskRow
from byred.workspace.errors import Kind, WorkspaceError
from byred.workspace.git import run_git
from byred.workspace.keeping import checkpoint, kept
from byred.workspace.repository import inspect
from byred.workspace.results import changes
from byred.workspace.trees.pool import folder_of
from byred.workspace.trees.registration import remove_tree

# What of a home is not codex's to make again: a thread can be resumed from its record alone.
KEPT_OF_HOME = ("sessions", "archived_sessions")


class Removal:
    """The worktrees of all tasks; raises ByredErrors. `by` is the person who asks."""

    def __init__(
        self,
        database: Database,
        rest: Rest,
        logs: TaskLogs,
        *,
        options: Callable[[], GroundOptions],
        end_leftovers: Callable[[Path], Awaitable[object]],
    ) -> None:
        self._database = database
        self._rest = rest
        self._logs = logs
        self._options = options
        self._end_leftovers = end_leftovers

    async def discard(self, task_id: int, *, by: str) -> None:
        """Take an ended task's worktree and branch away, once everything in them is kept."""
        async with self._rest.of(task_id, "discarded") as task:
            if task.state not in ENDED:
                raise WrongStateError(
                    f"task {task.id} is {task.state} and cannot be discarded: it has not ended; "
                    f"byre cancel {task.id} ends it"
                )
            await self._remove(task, why=f"discarded by {by}")

    async def finish(self) -> None:
        """Finish the removals that were cut off, and undo what of a coming back was cut off.

        Either leaves a worktree of a task that has none by what is stored.

        Raises:
            ByredError: one could not be finished, the others were; the next call tries it again.
        """
        failed: list[ByredError] = []
        removals = await self._database.write(grounds.removals)
        for removed in await asyncio.to_thread(_cut_off, removals):
            try:
                await self._finish(removed.task_id)
            except ByredError as error:
                failed.append(error)
        if failed:
            raise failed[0]

    async def _finish(self, task_id: int) -> None:
        async with self._rest.of(task_id, "taken away") as task:
            # Whoever held it may just have finished it.
            again = await self._database.write(lambda tx: grounds.removals(tx, task_id))
            for removed in await asyncio.to_thread(_cut_off, again):
                if removed.said.get("discarded"):
                    await self._remove(task, why=removed.said["why"])
                else:
                    await self._clear(task, why=removed.said["why"])

    async def clear(self, task_id: int, *, why: str) -> None:
        """Take an ended task's worktree away, and of its home what codex makes again.

        The branch stays while it has something that its base has not.
        """
        async with self._rest.of(task_id, "cleared") as task:
            if task.state not in ENDED or task.removed_at is not None:
                return
            await self._clear(task, why=why)

    async def _clear(self, task: TaskRow, *, why: str) -> None:
        merged = await _is_merged(task)
        await self._remove(task, why=why, discarded=False, delete_branch=merged)
        await asyncio.to_thread(_empty, Path(task.home))

    async def undelete(self, task_id: int, *, by: str) -> None:
        """Bring back the worktree of a task as it was when it was taken away."""
        async with self._rest.of(task_id, "brought back") as task:
            if task.removed_at is None:
                raise WrongStateError(
                    f"task {task.id} cannot be brought back: its worktree was not taken away; "
                    f"byre open {task.id} says where it is"
                )
            repo = await inspect(Path(task.repo))
            path = Path(task.worktree)
            root = self._options().root
            name = await name_of(self._database, task)
            made = await kept.undelete(repo, task_id=name, path=path, root=root)

            def there(transaction: Transaction) -> None:
                grounds.brought_back(transaction, task.id)
                place = str(made.path)
                tasks.apply(
                    transaction, task.id, lambda task: task.brought_back(made.branch, place, by=by)
                )

            await self._database.write(there)
            await self._logs.note(task_id, "state", f"its worktree is back, as {by} asked")

    async def restore(self, task_id: int, turn: int, *, by: str) -> None:
        """Put files, index and branch back to the end of a turn; what was there before is kept."""
        async with self._rest.of(task_id, "put back") as task:
            check_there(task, "put back")
            asked = await self._database.write(lambda tx: turns.with_checkpoint(tx, task.id, turn))
            repo = await inspect(Path(task.repo))
            path = Path(task.worktree)
            name = await name_of(self._database, task)
            before = await checkpoint.restore(
                repo, path, task_id=name, number=turn, commit=asked.checkpoint
            )
            found = await changes.status(path, task.base_commit)
            result = result_of("" if task.result is None else task.result.summary, found)
            note = (
                f"A person put the files of your worktree, your branch included, back to how they "
                f"were at the end of turn {turn} of this task. What you did since is not there."
            )

            def restored(transaction: Transaction) -> None:
                tasks.apply(
                    transaction,
                    task.id,
                    lambda task: task.restored(turn, before.ref, result, by=by),
                )
                # Said with whatever makes the agent go on, if anything does.
                inputs.insert(transaction, task.id, InputKind.TELL, note, author=by)

            await self._database.write(restored)
            text = f"its files are those of turn {turn} again; what was there is {before.ref}"
            await self._logs.note(task_id, "state", text)

    async def _remove(
        self, task: TaskRow, *, why: str, discarded: bool = True, delete_branch: bool = True
    ) -> None:
        repo = await inspect(Path(task.repo))
        name = await name_of(self._database, task)
        options = self._options()
        if task.removed_at is None:
            await self._say_farewell(task)

        def going(transaction: Transaction) -> None:
            grounds.removed(transaction, task.id)
            data = {"why": why, "discarded": discarded}
            event = NewEvent(kind="task.removing", task_id=task.id, data=data)
            transaction.emit(event)

        await self._database.write(going)
        try:
            found = await kept.remove(
                repo,
                path=Path(task.worktree),
                root=options.root,
                task_id=name,
                branch=task.branch,
                now=await self._database.write(lambda tx: tx.now),
                delete_branch=delete_branch,
                pool=folder_of(options.root, repo) if options.pool else None,
            )
        except WorkspaceError as error:
            there = await asyncio.to_thread(Path(task.worktree).exists)
            # Of a task that never ran there is nothing to take away, and nothing that goes on.
            if error.kind is Kind.NOT_FOUND or (task.removed_at is None and there):
                await self._database.write(lambda tx: grounds.brought_back(tx, task.id))
            raise
        data = {"ref": found.ref, "commit": found.commit, "why": why}
        event = NewEvent(kind="task.removed", task_id=task.id, data=data)
        await self._database.write(lambda tx: tx.emit(event))
        await self._logs.note(task.id, "state", f"its worktree is kept as {found.ref}: {why}")

    async def _say_farewell(self, task: TaskRow) -> None:
        """Run the commands before a worktree goes; one that fails holds up nothing."""
        home, path = Path(task.home), Path(task.worktree)
        if not await asyncio.to_thread(path.exists):
            return
        try:
            orders, env = await farewell(task, self._options(), self._database)
        except WorkspaceError as error:
            await self._logs.note(task.id, "notice", f"before_remove did not run: {error.message}")
            return
        if not orders.hooks[HookName.BEFORE_REMOVE]:
            return
        try:
            async with self._logs.open(task.id) as log:
                await try_hooks(
                    HookName.BEFORE_REMOVE,
                    orders,
                    cwd=path,
                    env=env,
                    folder=home.parent / "hooks",
                    log=log,
                    database=self._database,
                    task_id=task.id,
                )
        finally:
            await self._end_leftovers(home)


def _cut_off(removals: Sequence[grounds.Removed]) -> list[grounds.Removed]:
    return [each for each in removals if not each.done or Path(each.worktree).exists()]


async def _is_merged(task: TaskRow) -> bool:
    """Say whether the base has all that the task's branch has."""
    names = (f"refs/heads/{task.branch}", task.base)
    done = await run_git("merge-base", "--is-ancestor", *names, cwd=Path(task.common_dir))
    return done.status == 0


def _empty(home: Path) -> None:
    """Leave of a home what only it knows."""
    entries = list(home.iterdir()) if home.is_dir() else []
    for entry in entries:
        if entry.name in KEPT_OF_HOME:
            continue
        if entry.is_dir() and not entry.is_symlink():
            remove_tree(entry)
        else:
            entry.unlink(missing_ok=True)
