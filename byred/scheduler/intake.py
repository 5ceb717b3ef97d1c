"""New tasks: everything is looked at before anything is stored, and nothing is made.

Owns what a submission may be and which names its task gets. The worktree is made when the task
runs.
"""

import sqlite3
from pathlib import Path

import msgspec

from byred.core import names
from byred.core.errors import ConflictError, InvalidError, NotFoundError
from byred.core.event import NewEvent
from byred.core.task import Identity, Task, TaskState
from byred.store import inputs, tasks
from byred.store.database import Database, Transaction
from byred.store.inputs import InputKind
from byred.workspace.errors import Kind as WorkspaceKind
from byred.workspace.errors import WorkspaceError
from byred.workspace.orders import repofile
from byred.workspace.repository import Base, Repository, inspect, resolve_base

# Codex takes no more text than this in one turn.
LONGEST_PROMPT = 1_048_576
LONGEST_LABEL = 64
MOST_LABELS = 32
MOST_DEPENDENCIES = 1000
PRIORITIES = range(-1000, 1001)


class IntakeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that a new task's names are made by; `first_id` is the lowest free number."""

    root: Path
    tasks_dir: Path
    first_id: int
    branch: str
    base: str | None
    name: str
    email: str


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a new task begins: the repository, the folder of its worktrees, and the commit."""

    repo: str
    common_dir: str
    folder: str
    base: str
    base_commit: str


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """What a person asks for. `owner` is who asks; the same `key` again is the same task."""

    repo: str
    prompt: str
    owner: str
    base: str | None = None
    title: str | None = None
    priority: int = 0
    depends_on: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    key: str | None = None


async def submit(database: Database, submission: Submission, options: IntakeOptions) -> Task:
    """Store a new task, `queued` or `blocked`, and give it; a known key gives the task it has.

    Raises:
        InvalidError: something about the submission cannot be right.
        NotFoundError: the repository or a task that it depends on does not exist.
        ConflictError: the key was used for something else.
    """
    _check(submission)
    if submission.key is not None:
        known = await database.write(lambda tx: _known(tx, submission))
        if known is not None:
            return known
    try:
        repository = await inspect(Path(submission.repo))
        base = await resolve_base(repository, submission.base or options.base)
        # A task that could only fail by what its repository says is not taken.
        await repofile.read(repository, base.commit)
    except WorkspaceError as error:
        if error.kind is WorkspaceKind.NOT_FOUND:
            raise NotFoundError(error.message) from error
        raise InvalidError(error.message) from error
    try:
        return await database.write(lambda tx: _store(tx, submission, options, repository, base))
    except sqlite3.IntegrityError as error:
        raise ConflictError(
            f"cannot store the task: another one has its branch or worktree already ({error}); "
            "put {id} into workspace.branch"
        ) from error


def _check(submission: Submission) -> None:
    if not submission.prompt.strip():
        raise InvalidError("cannot submit an empty prompt; say what is to be done")
    if len(submission.prompt) > LONGEST_PROMPT:
        raise InvalidError(
            f"cannot submit a prompt of {len(submission.prompt):,} characters: codex takes "
            f"{LONGEST_PROMPT:,}; put the text into a file of the repository and name it"
        )
    if "\0" in submission.prompt or "\0" in submission.repo:
        raise InvalidError("cannot submit a text with a NUL character; take it out")
    if not Path(submission.repo).is_absolute():
        raise InvalidError(f"repo must be an absolute path, not {submission.repo!r}")
    if submission.title is not None and not submission.title.strip():
        raise InvalidError("title must not be empty; leave it out to take it from the prompt")
    if submission.priority not in PRIORITIES:
        raise InvalidError(
            f"priority must be between {PRIORITIES.start} and {PRIORITIES.stop - 1}, "
            f"not {submission.priority}"
        )
    if len(submission.labels) > MOST_LABELS or any(
        not label.strip() or len(label) > LONGEST_LABEL for label in submission.labels
    ):
        raise InvalidError(
            f"labels must be at most {MOST_LABELS}, each of 1 to {LONGEST_LABEL} characters"
        )
    if len(submission.depends_on) > MOST_DEPENDENCIES:
        raise InvalidError(f"a task can depend on at most {MOST_DEPENDENCIES} others")
    if submission.key is not None and not submission.key.strip():
        raise InvalidError("key must not be empty; leave it out when you need none")


def _known(transaction: Transaction, submission: Submission) -> Task | None:
    task = None if submission.key is None else tasks.by_key(transaction, submission.key)
    if task is not None and task.prompt != submission.prompt:
        raise ConflictError(
            f"key {submission.key!r} belongs to task {task.id}, which has another prompt; "
            "choose another key"
        )
    return task


def _store(
    transaction: Transaction,
    submission: Submission,
    options: IntakeOptions,
    repository: Repository,
    base: Base,
) -> Task:
    known = _known(transaction, submission)
    if known is not None:
        return known
    unknown = tasks.unknown(transaction, submission.depends_on)
    if unknown:
        raise NotFoundError(f"there is no task {unknown[0]} to depend on; byre ls --all lists them")
    task = new_task(
        transaction,
        options,
        Origin(
            repo=str(repository.root),
            common_dir=str(repository.common_dir),
            folder=repository.name,
            base=base.ref,
            base_commit=base.commit,
        ),
        title=submission.title or submission.prompt,
        prompt=submission.prompt,
        owner=submission.owner,
        key=submission.key,
        priority=submission.priority,
        labels=submission.labels,
        depends_on=submission.depends_on,
    )
    inputs.insert(
        transaction, task.id, InputKind.PROMPT, submission.prompt, author=submission.owner
    )
    return task


def new_task(
    transaction: Transaction,
    options: IntakeOptions,
    origin: Origin,
    *,
    title: str,
    prompt: str,
    owner: str,
    key: str | None = None,
    priority: int = 0,
    labels: tuple[str, ...] = (),
    depends_on: tuple[int, ...] = (),
) -> Task:
    """Store a task under the next id, with the names that the settings give it.

    Raises:
        InvalidError: its branch could not be one.
    """
    next_id = tasks.next_id(transaction)
    task_id = max(next_id, options.first_id)
    title = names.title_of(title)
    slug = names.slug_of(title)
    waits = [str(other) for other, _ in tasks.unmet(transaction, depends_on)]

    def fill(template: str) -> str:
        return names.fill(template, task_id=task_id, slug=slug, owner=owner)

    branch = fill(options.branch)
    names.check_branch(branch)
    task = Task(
        id=task_id,
        key=key,
        title=title,
        slug=slug,
        prompt=prompt,
        repo=origin.repo,
        common_dir=origin.common_dir,
        base=origin.base,
        base_commit=origin.base_commit,
        branch=branch,
        worktree=str(options.root / origin.folder / f"{task_id}-{slug}"),
        home=str(options.tasks_dir / str(task_id) / "home"),
        identity=Identity(name=fill(options.name), email=fill(options.email)),
        owner=owner,
        state=TaskState.BLOCKED if waits else TaskState.QUEUED,
        reason=f"waits for task {', '.join(waits)}" if waits else None,
        priority=priority,
        labels=labels,
        depends_on=depends_on,
        created_at=transaction.now,
    )
    tasks.insert(transaction, task)
    if task_id > next_id:
        why = f"{options.tasks_dir} has folders of tasks that this database does not know"
        data = {"first": next_id, "last": task_id - 1, "why": why}
        transaction.emit(NewEvent(kind="task.numbers_skipped", task_id=task_id, data=data))
    return task
