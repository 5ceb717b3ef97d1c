"""A task and its machine: every event that can happen to it, with an answer for every state.

The machine is the only place where a task's state changes. Each event is a pure method of `Task`
that returns a `Step`: the task as it becomes and the event to store beside it, in one transaction.
An event that a state does not allow raises `WrongStateError` with what to do instead. A live task
(one that a runner works on) cannot simply be cancelled or held: its server must be gone first, so
these are kept as an intent that `stopped` carries out.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from byred.core.errors import WrongStateError
from byred.core.event import NewEvent
from byred.core.retry import FailureClass, RetryPolicy, delay


class TaskState(StrEnum):
    """Where a task stands."""

    QUEUED = "queued"
    BLOCKED = "blocked"
    PREPARING = "preparing"
    RUNNING = "running"
    WAITING = "waiting"
    VERIFYING = "verifying"
    BACKING_OFF = "backing_off"
    HELD = "held"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


LIVE = frozenset({TaskState.PREPARING, TaskState.RUNNING, TaskState.WAITING, TaskState.VERIFYING})
RESTING = frozenset({TaskState.QUEUED, TaskState.BLOCKED, TaskState.BACKING_OFF, TaskState.HELD})
ENDED = frozenset({TaskState.SUCCEEDED, TaskState.FAILED, TaskState.CANCELLED})
ENDINGS = frozenset(f"task.{state}" for state in ENDED)
"""The kinds of the events that say that a task has ended."""


class Intent(StrEnum):
    """What a person wants of a live task; carried out once its server is gone."""

    CANCEL = "cancel"
    HOLD = "hold"
    INTERRUPT = "interrupt"


class Hold(StrEnum):
    """Why a task is held, which decides what lets it go on."""

    PERSON = "person"
    INTERRUPTED = "interrupted"
    ACCOUNT = "account"
    REPAIR = "repair"


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Under whose name a task commits."""

    name: str
    email: str


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """Absolute totals of a task's thread, as codex counts them."""

    input: int = 0
    cached_input: int = 0
    output: int = 0
    reasoning: int = 0
    total: int = 0


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a task left, read from git and not from the agent's words.

    `files_changed`, `insertions` and `deletions` are between base and HEAD; `uncommitted` names the
    first files that differ from HEAD, untracked ones too, `uncommitted_count` counts all.
    """

    summary: str
    commits: tuple[str, ...]
    files_changed: int
    dirty: bool
    insertions: int = 0
    deletions: int = 0
    uncommitted: tuple[str, ...] = ()
    uncommitted_count: int = 0


class TaskError(msgspec.Struct, frozen=True, kw_only=True):
    """Why the last attempt ended badly."""

    kind: str
    message: str


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One task as it is stored. `attempt` counts from 1, `failures` the attempts that failed."""

    id: int
    key: str | None = None
    title: str
    slug: str
    prompt: str
    repo: str
    common_dir: str
    base: str
    base_commit: str
    branch: str
    worktree: str
    home: str
    identity: Identity
    owner: str
    state: TaskState = TaskState.QUEUED
    reason: str | None = None
    parked: bool = False
    intent: Intent | None = None
    hold: Hold | None = None
    priority: int = 0
    labels: tuple[str, ...] = ()
    depends_on: tuple[int, ...] = ()
    attempt: int = 0
    failures: int = 0
    thread_id: str | None = None
    turn_id: str | None = None
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    retry_at: datetime | None = None
    held_until: datetime | None = None
    tokens: Tokens = Tokens()
    result: Result | None = None
    error: TaskError | None = None

    @property
    def live(self) -> bool:
        """Whether a runner owns this task now. A parked task has no runner."""
        return self.state in LIVE and not self.parked

    def submitted(self) -> "Step":
        """Say that the task was stored, `queued` or `blocked` as it was built."""
        match self.state:
            case TaskState.QUEUED | TaskState.BLOCKED:
                return self._to(self.state, self.reason, title=self.title)
            case _:
                raise self._refused("submitted", "a new task is queued or blocked")

    def await_words(self) -> "Step":
        """A new task has nothing to say to its agent yet: it waits for what a person tells it."""
        match self.state:
            case TaskState.QUEUED:
                return self._held(Hold.INTERRUPTED, f"says nothing yet; byre tell {self.id} TEXT")
            case _:
                raise self._refused("kept waiting for words", "only a new task has none")

    def unblocked(self) -> "Step":
        """All tasks that this one depends on have succeeded."""
        match self.state:
            case TaskState.BLOCKED:
                return self._to(TaskState.QUEUED, None)
            case _:
                raise self._refused("unblocked", "only a blocked task waits for others")

    def claim(self, *, now: datetime) -> "Step":
        """A runner takes the task. The attempt number moves only after a failure."""
        match self.state:
            case TaskState.QUEUED:
                return self._to(
                    TaskState.PREPARING,
                    None,
                    {
                        "attempt": self.failures + 1,
                        "started_at": self.started_at or now,
                        "error": None,
                    },
                    attempt=self.failures + 1,
                )
            case _:
                raise self._refused("claimed", "only a queued task can start")

    def thread_started(self, thread_id: str) -> "Step":
        """Codex opened a thread for the task; it is resumable after its first turn."""
        match self.state:
            case TaskState.PREPARING:
                return self._stay("task.thread", {"thread_id": thread_id}, thread_id=thread_id)
            case _:
                raise self._refused("given a thread", "only a task in preparation opens one")

    def turn_started(self, turn_id: str) -> "Step":
        """A turn runs; the first one ends the preparation, a later one a verification."""
        match self.state:
            case TaskState.PREPARING | TaskState.VERIFYING | TaskState.RUNNING:
                return self._to(TaskState.RUNNING, None, {"turn_id": turn_id}, turn_id=turn_id)
            case TaskState.WAITING if not self.parked:
                return self._stay("task.turn", {"turn_id": turn_id}, turn_id=turn_id)
            case _:
                raise self._refused("in a turn", "only a claimed task runs turns")

    def asked(self) -> "Step":
        """The agent asked a person something: the task waits."""
        match self.state:
            case TaskState.RUNNING | TaskState.WAITING if not self.parked:
                return self._to(TaskState.WAITING, "waits for an answer")
            case _:
                raise self._refused("asking", "only a running task can ask")

    def answered(self) -> "Step":
        """No question is open any more. A parked task queues for a server to go on."""
        match self.state:
            case TaskState.WAITING if self.parked:
                return self._to(TaskState.QUEUED, "answered", {"parked": False})
            case TaskState.WAITING:
                return self._to(TaskState.RUNNING, None)
            case TaskState.HELD:
                return self._stay("task.answered", {})
            case _:
                raise self._refused("answered", "only a waiting task has open questions")

    def placed(self, branch: str, worktree: str) -> "Step":
        """The ground is made; the branch is another than planned when that one was taken."""
        match self.state:
            case TaskState.PREPARING:
                data = {"branch": branch, "worktree": worktree}
                return self._stay("task.placed", data, branch=branch, worktree=worktree)
            case _:
                raise self._refused("placed", "only a task in preparation gets its ground")

    def verify(self) -> "Step":
        """The agent says it is done: look at what it left."""
        match self.state:
            case TaskState.RUNNING | TaskState.PREPARING | TaskState.VERIFYING:
                return self._to(TaskState.VERIFYING, None, {"turn_id": None})
            case _:
                raise self._refused("verified", "only a task with an agent can be done")

    def succeed(self, result: Result, *, now: datetime) -> "Step":
        """The task is done and what it left is kept."""
        match self.state:
            case TaskState.VERIFYING:
                return self._end(TaskState.SUCCEEDED, now, {"result": result, "error": None})
            case _:
                raise self._refused("successful", "only a verified task succeeds")

    def attempt_failed(
        self,
        failure: FailureClass,
        message: str,
        *,
        policy: RetryPolicy,
        now: datetime,
        retry_at: datetime | None,
        of_class: int | None = None,
    ) -> "Step":
        """An attempt ended badly: rest until `retry_at`, or fail when the policy has no more.

        A task that a person wants stopped does not fail: what they wanted is carried out instead.
        `retry_at` is None when the limit is reached (see `next_retry`); `of_class` counts the
        failures of this class, this one included, where others were of another.
        """
        match self.state:
            case _ if not self.live:
                raise self._refused("failing", "only a task with a runner can fail")
            case _ if self.intent is not None:
                return self.stopped(now=now)
            case _:
                failures = self.failures + 1
                error = TaskError(kind=failure, message=message)
                more: dict[str, Any] = {"failures": failures, "error": error, "turn_id": None}
                if retry_at is None:
                    spent = failures if of_class is None else of_class
                    tried = f"attempt {failures} of {policy.attempts}"
                    if spent != failures:
                        tried = f"attempt {failures}, {failure} {spent} of {policy.attempts},"
                    reason = f"{tried} failed: {message}"
                    return self._end(TaskState.FAILED, now, {**more, "reason": reason})
                more["retry_at"] = retry_at
                reason = f"{failure}: {message}"
                return self._to(
                    TaskState.BACKING_OFF, reason, more, failure=failure, retry_at=retry_at
                )

    def give_up(self, error: TaskError, *, now: datetime) -> "Step":
        """The task cannot succeed by another try: it fails at once, with its story."""
        match self.state:
            case _ if self.state in ENDED:
                raise self._refused("given up", "it has ended already")
            case _:
                reason = error.message.partition("\n")[0]
                more = {"error": error, "reason": reason, "turn_id": None}
                return self._end(TaskState.FAILED, now, more)

    def due(self) -> "Step":
        """The rest after a failed attempt is over."""
        match self.state:
            case TaskState.BACKING_OFF:
                return self._to(TaskState.QUEUED, self.reason, {"retry_at": None})
            case _:
                raise self._refused("due", "only a task that backs off becomes due")

    def cancel(self, *, by: str, now: datetime) -> "Step":
        """A person wants it ended: at once without a server, else as soon as that is gone."""
        match self.state:
            case _ if self.state in ENDED:
                raise self._refused("cancelled", "it has ended already")
            case _ if self.live:
                data = {"by": by}
                return self._stay("task.cancelling", data, intent=Intent.CANCEL)
            case _:
                return self._end(TaskState.CANCELLED, now, {"reason": f"cancelled by {by}"})

    def hold_back(self, *, by: str) -> "Step":
        """A person wants it not to run for now; nothing of it is lost."""
        match self.state:
            case _ if self.state in ENDED:
                raise self._refused("held", "it has ended already; byre retry starts it again")
            case _ if self.intent is Intent.CANCEL:
                raise self._refused("held", "it is being cancelled; byre retry starts it again")
            case _ if self.live:
                return self._stay("task.holding", {"by": by}, intent=Intent.HOLD)
            case TaskState.WAITING:
                raise self._refused("held", "it is parked and does not run; answer or withdraw it")
            case _:
                return self._held(Hold.PERSON, f"held by {by}")

    def hold_for_account(self, reason: str, *, until: datetime | None) -> "Step":
        """The account cannot work now (usage limit, login). Costs no attempt."""
        match self.state:
            case _ if self.intent is not None:
                raise self._refused("held for its account", f"a person asked to {self.intent} it")
            case _ if self.live or self.state is TaskState.QUEUED:
                return self._held(Hold.ACCOUNT, reason, until)
            case _:
                raise self._refused("held for its account", "it does not need the account now")

    def hold_for_repair(self, reason: str) -> "Step":
        """Something of the task's cannot be mended by byred; a person has to look."""
        match self.state:
            case _ if self.state in ENDED:
                raise self._refused("held for repair", "it has ended already")
            case _:
                return self._held(Hold.REPAIR, reason)

    def release(self, *, by: str, open_questions: int) -> "Step":
        """Let a held task run again; with open questions it waits for their answers first."""
        match self.state:
            case TaskState.HELD if open_questions:
                return self._to(TaskState.WAITING, _PARKED, {"parked": True, **_FREE})
            case TaskState.HELD:
                return self._to(self._ready, f"released by {by}", _FREE)
            case _ if self.live and self.intent is Intent.HOLD:
                return self._stay("task.released", {"by": by}, intent=None)
            case _:
                raise self._refused("released", "it is not held")

    def interrupt(self, *, by: str) -> "Step":
        """A person wants the running turn ended and the task kept for what they say next."""
        match self.state:
            case _ if self.intent is Intent.CANCEL:
                raise self._refused("interrupted", "it is being cancelled")
            case TaskState.RUNNING | TaskState.WAITING if not self.parked:
                return self._stay("task.interrupting", {"by": by}, intent=Intent.INTERRUPT)
            case _:
                raise self._refused("interrupted", "no turn of it runs; byre explain says why")

    def told(self, *, by: str) -> "Step":
        """A person said something to the agent. An ended or interrupted task goes on with it."""
        match self.state:
            case _ if self.state in ENDED:
                more = {"ended_at": None, "failures": 0, "error": None, "result": None, **_FREE}
                return self._to(self._ready, f"told by {by}", more)
            case TaskState.HELD if self.hold is Hold.INTERRUPTED:
                return self._to(TaskState.QUEUED, f"told by {by}", _FREE)
            case _:
                return self._stay("task.told", {"by": by})

    def retry(self, *, by: str) -> "Step":
        """Start a task again that failed or was cancelled, or do not wait for its next attempt."""
        match self.state:
            case TaskState.FAILED | TaskState.CANCELLED:
                more = {"ended_at": None, "failures": 0, "error": None, "result": None, **_FREE}
                return self._to(self._ready, f"retried by {by}", more)
            case TaskState.BACKING_OFF:
                return self._to(TaskState.QUEUED, f"retried by {by}", {"retry_at": None})
            case TaskState.SUCCEEDED:
                raise self._refused(
                    "retried", f"it succeeded; byre tell {self.id} TEXT goes on with it"
                )
            case _:
                raise self._refused(
                    "retried", "it has not ended; byre explain says what it waits for"
                )

    def stopped(self, *, now: datetime) -> "Step":
        """The server is gone because byred ended it: carry out the intent, else go on later."""
        match self.state:
            case _ if not self.live:
                raise self._refused("stopped", "it has no runner")
            case _ if self.intent is Intent.CANCEL:
                return self._end(TaskState.CANCELLED, now, {"reason": "cancelled", "turn_id": None})
            case _ if self.intent is Intent.HOLD:
                return self._held(Hold.PERSON, "held by a person")
            case _ if self.intent is Intent.INTERRUPT:
                reason = f"interrupted; byre tell {self.id} TEXT or byre release {self.id} goes on"
                return self._held(Hold.INTERRUPTED, reason)
            case TaskState.WAITING:
                return self._to(TaskState.WAITING, _PARKED, {"parked": True, "turn_id": None})
            case _:
                return self._to(TaskState.QUEUED, "stopped with the daemon", {"turn_id": None})

    def recovered(self, *, now: datetime, open_questions: int, reason: str | None = None) -> "Step":
        """The task has no runner any more and no verdict: nothing of it is lost.

        So after a restart of the daemon, or when its server is given back or died in a wait. Open
        questions stay open and the task waits for them, parked; any other task queues to go on
        with its thread. An intent of a person is carried out first.
        """
        match self.state:
            case _ if not self.live:
                raise self._refused("recovered", "no runner was lost")
            case _ if self.intent is not None:
                return self.stopped(now=now)
            case TaskState.WAITING if open_questions:
                more = {"parked": True, "turn_id": None, "intent": None}
                return self._to(TaskState.WAITING, reason or _PARKED, more)
            case _:
                more = {"turn_id": None, "parked": False}
                return self._to(TaskState.QUEUED, reason or _RESTARTED, more)

    def restored(self, turn: int, kept: str, result: Result | None, *, by: str) -> "Step":
        """A person put the files back to the end of a turn; what they were is under `kept`."""
        match self.state:
            case _ if self.live:
                raise self._refused("put back", f"its agent is at work; byre hold {self.id} first")
            case _:
                data = {"turn": turn, "kept": kept, "by": by}
                result = result if self.result is not None else None
                return self._stay("task.restored", data, result=result)

    def brought_back(self, branch: str, worktree: str, *, by: str) -> "Step":
        """A worktree that was taken away is there again, on another branch if its own was taken."""
        match self.state:
            case _ if self.live:
                raise self._refused("brought back", "a run of it does so by itself")
            case _:
                data = {"branch": branch, "worktree": worktree, "by": by}
                return self._stay("task.undeleted", data, branch=branch, worktree=worktree)

    def counted(self, tokens: Tokens) -> "Step":
        """Codex reported new totals for the thread."""
        return self._stay("task.tokens", {"total": tokens.total}, tokens=tokens)

    @property
    def _ready(self) -> TaskState:
        """Where a task starts that may run: one that never ran waits for what it depends on."""
        return TaskState.BLOCKED if self.depends_on and not self.attempt else TaskState.QUEUED

    def _to(
        self, state: TaskState, reason: str | None, more: dict[str, Any] | None = None, **data: Any
    ) -> "Step":
        changes: dict[str, Any] = {"intent": self.intent, **(more or {})}
        if state not in LIVE:
            changes["intent"] = None
        task = msgspec.structs.replace(self, state=state, reason=reason, **changes)
        event = NewEvent(
            kind=f"task.{state}",
            task_id=self.id,
            data={"was": self.state, "reason": reason, **data},
        )
        return Step(task=task, event=event)

    def _end(self, state: TaskState, now: datetime, more: dict[str, Any]) -> "Step":
        reason = more.pop("reason", None)
        return self._to(
            state, reason, {"ended_at": now, "retry_at": None, "parked": False, **_FREE, **more}
        )

    def _held(self, hold: Hold, reason: str, until: datetime | None = None) -> "Step":
        more = {
            "hold": hold,
            "held_until": until,
            "retry_at": None,
            "turn_id": None,
            "parked": False,
        }
        return self._to(TaskState.HELD, reason, more, until=until)

    def _stay(self, kind: str, data: dict[str, Any], **changes: Any) -> "Step":
        task = msgspec.structs.replace(self, **changes)
        return Step(task=task, event=NewEvent(kind=kind, task_id=self.id, data=data))

    def _refused(self, what: str, why: str) -> WrongStateError:
        return WrongStateError(f"task {self.id} is {self.state} and cannot be {what}: {why}")


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What a task becomes, and the event that says so."""

    task: Task
    event: NewEvent


def next_retry(policy: RetryPolicy, failures: int, *, roll: float) -> float | None:
    """Seconds until the attempt after this failure, or None when the policy has no more.

    `failures` are those before it that count against the policy.
    """
    return delay(policy, failures + 1, roll)


_FREE: dict[str, Any] = {"hold": None, "held_until": None}
_PARKED = "waits for an answer, without a server"
_RESTARTED = "goes on after a restart of the daemon"
