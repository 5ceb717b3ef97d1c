"""What people do with a task's work: see it, take it along as patches, bring it home.

Owns what a merge means for the task. How git does it is the workspace's.
"""

import asyncio
import base64
import tempfile
from pathlib import Path

import msgspec

from byred.agents.ground import forking
from byred.agents.ground.naming import name_of
from byred.agents.rest.rest import Rest, check_there, in_their_words
from byred.agents.tasklog import TaskLogs
from byred.core.errors import FilesConflictError, LimitError
from byred.core.event import NewEvent
from byred.core.task import Result
from byred.store import grounds, inputs, tasks, turns
from byred.store.database import Database, Transaction
from byred.store.inputs import InputKind
from byred.store.tasks import TaskRow
from byred.workspace.git import ask_git
from byred.workspace.guard import At
from byred.workspace.home.environment import Identity
from byred.workspace.keeping import kept
from byred.workspace.repository import Repository, inspect
from byred.workspace.results import changes, merge
from byred.workspace.results.export import export
from byred.workspace.results.merge import How, MergeConflictError

LONGEST_EXPORT = 16 << 20
NAMED = 50
"""Uncommitted files that a result names; beyond that it counts."""


class Diff(msgspec.Struct, frozen=True, kw_only=True):
    """A patch of a task, and the commit that it is against."""

    id: int
    base: str
    turn: int | None
    diff: str


class Patch(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a series of patches; `content` is base64, since a patch may hold any bytes."""

    name: str
    content: str


class Results:
    """The work of all tasks; raises ByredErrors. `by` is the person who asks."""

    def __init__(self, database: Database, rest: Rest, logs: TaskLogs) -> None:
        self._database = database
        self._rest = rest
        self._logs = logs

    async def diff(self, task_id: int, turn: int | None = None) -> Diff:
        """Say what a task changed against its base, or what one of its turns changed."""
        task = await tasks.read(self._database, task_id)
        with in_their_words():
            if turn is not None:
                return await self._diff_of_turn(task, turn)
            if task.removed_at is None:
                text = await changes.diff(Path(task.worktree), task.base_commit)
            else:
                repo = await inspect(Path(task.repo))
                found = await self._kept(repo, task)
                text = await changes.patch(At(repo.common_dir), task.base_commit, found.commit)
        return Diff(id=task.id, base=task.base_commit, turn=None, diff=text)

    async def _kept(self, repo: Repository, task: TaskRow) -> kept.Kept:
        return await kept.find(repo, await name_of(self._database, task), Path(task.worktree))

    async def _diff_of_turn(self, task: TaskRow, number: int) -> Diff:
        turn = await self._database.write(lambda tx: turns.with_checkpoint(tx, task.id, number))
        before = await self._database.write(
            lambda tx: turns.newest_kept(tx, task.id, before=number)
        )
        base = task.base_commit
        if before is not None:
            base = str(before.checkpoint)
        elif (forked := await forking.of_task(self._database, task.id)) is not None:
            base = forked.checkpoint
        text = await changes.patch(At(Path(task.common_dir)), base, str(turn.checkpoint))
        return Diff(id=task.id, base=base, turn=number, diff=text)

    async def patches(self, task_id: int) -> list[Patch]:
        """Give a patch for each commit, and one for what is not committed, in their order."""
        task = await tasks.read(self._database, task_id)
        check_there(task, "exported")
        with in_their_words(), tempfile.TemporaryDirectory(prefix="byre-export-") as folder:
            files = await export(Path(task.worktree), task.base_commit, Path(folder))
            return await asyncio.to_thread(_patches, task, files)

    async def merge(
        self, task_id: int, *, into: str | None, how: How, tell_conflicts: bool, by: str
    ) -> None:
        """Bring the task's commits into a branch, by default the one that it started from.

        With `tell_conflicts` the agent is told to resolve them instead of the refusal.

        Raises:
            FilesConflictError: both sides changed the same files; nothing was changed.
        """
        async with self._rest.of(task_id, "merged") as task:
            repo = await inspect(Path(task.repo))
            target = into or await _base_branch(repo, task.base)
            source = task.branch
            if task.removed_at is not None:
                source = (await self._kept(repo, task)).tip or source
            try:
                done = await merge.merge(
                    repo,
                    source=source,
                    into=target,
                    how=how,
                    message=f"Merge {task.branch}\n\n{task.title}" if how is How.MERGE else None,
                    committer=await _committer(repo, by),
                )
            except MergeConflictError as error:
                if not tell_conflicts:
                    raise _conflict(task, target, error) from error
                files = error.files
                await self._database.write(lambda tx: _hand_back(tx, task, target, files, by))
            else:
                await self._database.write(lambda tx: _merged(tx, task.id, done, how, by))
                text = f"merged into {done.into} by {by}: {done.before[:12]}..{done.after[:12]}"
                await self._logs.note(task.id, "state", text)


def result_of(summary: str, found: changes.Result) -> Result:
    """Say what git found, with the agent's words beside it."""
    return Result(
        summary=summary,
        commits=tuple(commit.sha for commit in found.commits),
        files_changed=found.files_changed,
        insertions=found.insertions,
        deletions=found.deletions,
        dirty=found.dirty,
        uncommitted=found.uncommitted[:NAMED],
        uncommitted_count=found.uncommitted_count,
    )


def _patches(task: TaskRow, files: list[Path]) -> list[Patch]:
    size = sum(file.stat().st_size for file in files)
    if size > LONGEST_EXPORT:
        raise LimitError(
            f"cannot export {size:,} bytes of patches of task {task.id} through the socket: it "
            f"takes {LONGEST_EXPORT:,}; run git format-patch {task.base_commit[:12]} in "
            f"{task.worktree}"
        )
    return [
        Patch(name=file.name, content=base64.b64encode(file.read_bytes()).decode())
        for file in files
    ]


def _merged(transaction: Transaction, task_id: int, done: merge.Merged, how: How, by: str) -> None:
    merged = grounds.Merged(
        into=done.into,
        how=how,
        before=done.before,
        after=done.after,
        path=None if done.path is None else str(done.path),
        merged_by=by,
        merged_at=transaction.now,
    )
    grounds.merged(transaction, task_id, merged)
    data = msgspec.to_builtins(merged)
    transaction.emit(NewEvent(kind="task.merged", task_id=task_id, data=data))


def _conflict(task: TaskRow, into: str | None, error: MergeConflictError) -> FilesConflictError:
    return FilesConflictError(
        f"cannot merge task {task.id} into {into or 'the target branch'}: both sides changed "
        f"{', '.join(error.files)}; nothing was changed. Hand them back to its agent with: "
        f"byre merge {task.id} --tell, or resolve them by hand",
        error.files,
    )


def _hand_back(
    transaction: Transaction, task: TaskRow, into: str | None, files: tuple[str, ...], by: str
) -> None:
    """Let the agent resolve what conflicts, on its own branch."""
    target = into or "the target branch"
    text = (
        f"Your branch is to be merged into {target}, but both sides changed "
        f"{', '.join(files)}. Run `git merge {target}` in your worktree, resolve the "
        "conflicts so that what both sides meant holds, check that everything works, and commit "
        "the merge."
    )
    tasks.apply(transaction, task.id, lambda task: task.told(by=by))
    inputs.insert(transaction, task.id, InputKind.TELL, text, author=by)


async def _base_branch(repo: Repository, base: str) -> str | None:
    """Give the branch that a task started from, or the repository's own if it was none."""
    name = base.removeprefix("refs/heads/")
    ref = f"refs/heads/{name}"
    found = await ask_git("rev-parse", "--quiet", "--verify", ref, cwd=repo.common_dir)
    return repo.default_branch if found is None else name


async def _committer(repo: Repository, by: str) -> Identity | None:
    """Give who merges: whom git's configuration names (None), or else the person who asked."""
    if await ask_git("config", "--get", "user.email", cwd=repo.root) is not None:
        return None
    return Identity(by, f"{by}@localhost")
