"""Events: one row for each change of a task or a question, in one growing order."""

from datetime import datetime
from typing import Any

import msgspec


class NewEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A change that is about to be stored together with the state that it belongs to."""

    kind: str
    task_id: int | None = None
    question_id: int | None = None
    data: dict[str, Any] = msgspec.field(default_factory=dict)


class Event(NewEvent, frozen=True, kw_only=True):
    """A stored change: `seq` grows by commit order and never repeats."""

    seq: int
    at: datetime
