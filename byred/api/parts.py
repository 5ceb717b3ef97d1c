"""What the commands act on, handed in by the daemon: this room starts and owns nothing."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import msgspec

from byred.agents.records import Records
from byred.agents.rest.clearing import Clearer
from byred.agents.rest.removal import Removal
from byred.agents.rest.results import Results
from byred.agents.tasklog import TaskLogs
from byred.humans.queue import QuestionQueue
from byred.scheduler.intake import IntakeOptions
from byred.store.database import Database

# What SQLite can hold; a larger number names nothing.
Id = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """What only the daemon's composition knows of itself."""

    version: str
    pid: int
    started_at: str
    socket: str
    state_dir: str
    codex: dict[str, str]
    running: int
    max_running: int
    draining: bool
    paused: str | None
    full: str | None
    warm: dict[str, int]


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """The daemon's parts, as far as commands use them."""

    database: Database
    questions: QuestionQueue
    logs: TaskLogs
    records: Records
    intake: Callable[[], IntakeOptions]
    results: Results
    removal: Removal
    clearer: Clearer
    status: Callable[[], Status]
    reload: Callable[[], Awaitable[dict[str, Any]]]
    drain: Callable[[], None]
