"""Tasks and questions as clients see them: the JSON that is promised to stay."""

from datetime import datetime

import msgspec

from byred.core.question import Question, QuestionKind, QuestionState
from byred.core.task import Identity, Result, TaskError, TaskState, Tokens
from byred.store.grounds import Merged
from byred.store.tasks import Disk, ForkedFrom, TaskRow


class TaskView(msgspec.Struct, frozen=True, kw_only=True):
    """One task as JSON; times are RFC 3339 in UTC."""

    id: int
    title: str
    prompt: str
    repo: str
    base: str
    branch: str
    worktree: str
    home: str
    ports: dict[str, int]
    identity: Identity
    owner: str
    state: TaskState
    reason: str | None
    parked: bool
    priority: int
    labels: tuple[str, ...]
    depends_on: tuple[int, ...]
    attempt: int
    thread_id: str | None
    turn_id: str | None
    turns: int
    pid: int | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    retry_at: datetime | None
    held_until: datetime | None
    tokens: Tokens
    questions: tuple[int, ...]
    result: Result | None
    forked_from: ForkedFrom | None
    merged: Merged | None
    removed_at: datetime | None
    disk: Disk | None
    error: TaskError | None


class QuestionView(msgspec.Struct, frozen=True, kw_only=True):
    """One question as JSON."""

    id: int
    task_id: int
    kind: QuestionKind
    text: str
    options: tuple[str, ...]
    context: str
    default: str | None
    deadline: datetime | None
    state: QuestionState
    answer: str | None
    answered_by: str | None
    asked_at: datetime
    answered_at: datetime | None
    delivered_at: datetime | None


class TaskPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some tasks, and the id to list on from when there are more."""

    tasks: list[TaskView]
    next: int | None


class QuestionPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some questions, and the id to list on from when there are more."""

    questions: list[QuestionView]
    next: int | None


def task_view(row: TaskRow) -> TaskView:
    """Show a task."""
    return msgspec.convert(row, TaskView, from_attributes=True)


def question_view(question: Question) -> QuestionView:
    """Show a question."""
    return msgspec.convert(question, QuestionView, from_attributes=True)
