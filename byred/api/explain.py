"""Why a task is where it is, and what a person can do: `task.explain`."""

import msgspec

from byred.api.parts import Parts, Status
from byred.core.task import Hold, TaskState
from byred.store import attempts, tasks
from byred.store.tasks import TaskRow


class Fact(msgspec.Struct, frozen=True):
    """Something worth knowing about a task."""

    name: str
    value: str


class Next(msgspec.Struct, frozen=True):
    """A command that helps now, and what it does."""

    command: str
    what: str


class Explanation(msgspec.Struct, frozen=True):
    """A sentence that says why, facts, and commands."""

    id: int
    state: TaskState
    why: str
    facts: list[Fact]
    next: list[Next]


async def explain(parts: Parts, task_id: int) -> Explanation:
    """Explain one task.

    Raises:
        NotFoundError: there is none with this id.
    """
    row = await tasks.read(parts.database, task_id)
    status = parts.status()
    tries = await attempts.of_task(parts.database, task_id)
    facts = [Fact(f"attempt {each.number}", _attempt(each)) for each in tries]
    if row.error is not None:
        facts.append(Fact("last error", f"{row.error.kind}: {row.error.message}"))
    facts.append(Fact("worktree", row.worktree))
    facts.append(Fact("branch", row.branch))
    if row.pid is not None:
        facts.append(Fact("server", f"pid {row.pid}"))
    why = _why(row, status)
    return Explanation(row.id, row.state, why, facts, _next(row))


def _attempt(attempt: attempts.Attempt) -> str:
    started = attempt.started_at.isoformat(timespec="seconds")
    if attempt.ended_at is None:
        return f"runs since {started}"
    lasted = (attempt.ended_at - attempt.started_at).total_seconds()
    return f"{attempt.outcome} after {lasted:.1f} s (from {started}): {attempt.message}"


def _why(row: TaskRow, status: Status) -> str:  # noqa: C901, PLR0911, PLR0912 - one state, one sentence
    match row.state:
        case TaskState.QUEUED if status.paused is not None:
            return f"It is queued, and the account lets nothing start: {status.paused}."
        case TaskState.QUEUED if status.draining:
            return "It is queued, and the daemon drains: it starts nothing until it is restarted."
        case TaskState.QUEUED if status.full is not None:
            return f"It is queued, and nothing new starts: {status.full}."
        case TaskState.QUEUED if status.running >= status.max_running:
            taken = f"{status.running} of {status.max_running}"
            return f"It is queued: {taken} places are taken (scheduler.max_running)."
        case TaskState.QUEUED:
            return "It is queued and starts as soon as its repository has a free place."
        case TaskState.BLOCKED:
            waits = ", ".join(map(str, row.depends_on))
            return f"It waits until the tasks that it depends on have succeeded ({waits})."
        case TaskState.PREPARING:
            return "Its worktree, ports and home are being made, then its server starts."
        case TaskState.RUNNING:
            return "Its agent is at work."
        case TaskState.WAITING if row.parked:
            return "It waits for an answer; its server was given back and returns with the answer."
        case TaskState.WAITING:
            return "Its agent asked a question and waits for the answer."
        case TaskState.VERIFYING:
            return "The agent is done; what it left is being looked at."
        case TaskState.BACKING_OFF:
            due = "soon" if row.retry_at is None else row.retry_at.isoformat(timespec="seconds")
            return f"Attempt {row.attempt} failed ({row.reason}); the next one starts at {due}."
        case TaskState.HELD:
            return f"It is held: {row.reason}."
        case TaskState.SUCCEEDED if row.removed_at is not None:
            return "It is done; its worktree was taken away, and all that it held is kept."
        case TaskState.SUCCEEDED:
            return "It is done; its branch and worktree are kept."
        case TaskState.FAILED:
            return f"It failed: {row.reason}. Its branch and worktree are kept."
        case TaskState.CANCELLED:
            return f"It was ended: {row.reason}. Its branch and worktree are kept."


def _next(row: TaskRow) -> list[Next]:  # noqa: PLR0911 - one state, one list
    task = str(row.id)
    answer = [Next(f"byre answer {number} TEXT", "answer its question") for number in row.questions]
    match row.state:
        case _ if row.removed_at is not None:
            return [
                Next(f"byre undelete {task}", "bring its worktree back"),
                Next(f"byre tell {task} TEXT", "go on with it, which brings it back as well"),
            ]
        case TaskState.WAITING:
            return [*answer, Next(f"byre cancel {task}", "end it")]
        case TaskState.RUNNING:
            return [
                Next(f"byre logs -f {task}", "see what it does"),
                Next(f"byre tell {task} TEXT", "say something to it"),
                Next(f"byre interrupt {task}", "end its turn and keep it for what you say next"),
            ]
        case TaskState.HELD if row.hold is Hold.INTERRUPTED:
            return [Next(f"byre tell {task} TEXT", "go on with what you say"), _release(task)]
        case TaskState.HELD:
            return [_release(task), Next(f"byre cancel {task}", "end it")]
        case TaskState.BACKING_OFF:
            return [
                Next(f"byre retry {task}", "do not wait"),
                Next(f"byre cancel {task}", "end it"),
            ]
        case TaskState.SUCCEEDED:
            return [
                Next(f"byre diff {task}", "see what it changed"),
                Next(f"byre merge {task}", "bring it into its base"),
                Next(f"byre tell {task} TEXT", "go on with it"),
                Next(f"byre discard {task}", "take its worktree away"),
            ]
        case TaskState.FAILED | TaskState.CANCELLED:
            return [
                Next(f"byre logs {task}", "see what happened"),
                Next(f"byre retry {task}", "start it again on its thread and worktree"),
                Next(f"byre discard {task}", "take its worktree away"),
            ]
        case _:
            return [
                Next(f"byre cancel {task}", "end it"),
                Next(f"byre hold {task}", "keep it back"),
            ]


def _release(task: str) -> Next:
    return Next(f"byre release {task}", "let it run again")
