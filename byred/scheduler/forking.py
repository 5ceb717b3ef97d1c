"""A new task that goes on from the end of another one's turn, with its files and its thread.

Owns what such a task takes over. Nothing is made here: worktree and thread are, when it runs.
"""

from pathlib import Path

import msgspec

from byred.agents.ground import forking
from byred.core.errors import InvalidError, NotFoundError
from byred.core.task import Task
from byred.scheduler.intake import LONGEST_PROMPT, IntakeOptions, Origin, new_task
from byred.store import grounds, inputs, tasks, turns
from byred.store.database import Database, Transaction
from byred.store.inputs import InputKind
from byred.workspace.repository import folder_name


class Fork(msgspec.Struct, frozen=True, kw_only=True):
    """What a person asks for.

    Without `turn` it is the last one that was kept; without `prompt` the new task is held until it
    is told something.
    """

    task_id: int
    owner: str
    turn: int | None = None
    prompt: str | None = None
    title: str | None = None


async def fork(database: Database, asked: Fork, options: IntakeOptions) -> Task:
    """Store a new task that begins at a turn of another one, and give it.

    Raises:
        InvalidError: the prompt or the title cannot be.
        NotFoundError: the task or the turn does not exist, or its thread's record is gone.
    """
    _check(asked)
    origin = await database.write(lambda tx: _origin(tx, asked))
    await forking.check_record(origin)
    return await database.write(lambda tx: _store(tx, asked, options, origin))


def _check(asked: Fork) -> None:
    if asked.prompt is not None and not asked.prompt.strip():
        raise InvalidError("cannot fork with an empty prompt; say what is to be done, or nothing")
    if asked.prompt is not None and len(asked.prompt) > LONGEST_PROMPT:
        raise InvalidError(
            f"cannot fork with a prompt of {len(asked.prompt):,} characters: codex takes "
            f"{LONGEST_PROMPT:,}; put the text into a file and name it"
        )
    if asked.title is not None and not asked.title.strip():
        raise InvalidError("title must not be empty; leave it out to take it from the prompt")


def _origin(transaction: Transaction, asked: Fork) -> forking.ForkPoint:
    source = tasks.get(transaction, asked.task_id)
    number = asked.turn
    if number is None:
        newest = turns.newest_kept(transaction, source.id)
        if newest is None:
            raise NotFoundError(
                f"task {source.id} cannot be forked: no turn of it has ended yet; byre submit "
                "starts a new one"
            )
        number = newest.number
    return forking.point(transaction, source.id, number)


def _store(
    transaction: Transaction, asked: Fork, options: IntakeOptions, origin: forking.ForkPoint
) -> Task:
    source = origin.task
    task = new_task(
        transaction,
        options,
        Origin(
            repo=source.repo,
            common_dir=source.common_dir,
            folder=folder_name(Path(source.common_dir)),
            base=source.base,
            base_commit=source.base_commit,
        ),
        title=asked.title or asked.prompt or source.title,
        prompt=asked.prompt or source.prompt,
        owner=asked.owner,
        priority=source.priority,
        labels=source.labels,
    )
    grounds.forked(transaction, task.id, of=source.id, turn=origin.turn)
    # Codex keeps the instructions that the thread began with, so the fork is told as one tells it.
    told = _where_it_is(origin)
    if asked.prompt is None:
        inputs.insert(transaction, task.id, InputKind.TELL, told, author="byred")
        return tasks.apply(transaction, task.id, lambda task: task.await_words())
    text = f"{told}\n\n{asked.prompt}"
    inputs.insert(transaction, task.id, InputKind.PROMPT, text, author=asked.owner)
    return task


def _where_it_is(origin: forking.ForkPoint) -> str:
    return (
        f"You are a fork: you know what task {origin.task.id} knew at the end of its turn "
        f"{origin.turn}, and your files are as they were then. But you have a worktree, a branch, "
        "an identity and ports of your own, and that task goes its own way. Paths in what was said "
        "before are of its worktree, not of yours: `pwd` says where you are."
    )
