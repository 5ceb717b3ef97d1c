"""The tools of the namespace `byre` that every agent may call.

Owns what they are called, what they take and what they answer. How a call is checked and framed is
the codex client's; what becomes of a question is the queue's.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from byred.codex.approvals import Question as Decision
from byred.codex.tools import Namespace, Tool, ToolCall, ToolResult
from byred.core.question import Ask, Question, QuestionKind, reply_text

NAMESPACE = "byre"
ASK = "ask_human"
NOTIFY = "notify_human"
PROGRESS = "report_progress"

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d)")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_MOST_OPTIONS = 20
_MOST_TEXT = 20_000


class Asks(Protocol):
    """The question queue, as far as agents use it."""

    async def ask(self, ask: Ask) -> Question:
        """Store a question; the same call again is the same question."""

    async def wait(self, question_id: int) -> Question:
        """Wait until it is closed."""

    async def delivered(self, question_ids: Sequence[int]) -> None:
        """Note that the agent's thread holds the replies."""


class Desk:
    """Where one task's agent meets people: its questions and what it wants to tell."""

    def __init__(
        self,
        task_id: int,
        *,
        asks: Asks,
        asked: Callable[[Question], None],
        answered: Callable[[Question], None],
        notify: Callable[[str], Awaitable[None]],
        progress: Callable[[str], Awaitable[None]],
        clock: Callable[[], datetime],
    ) -> None:
        self._task_id = task_id
        self._asks = asks
        self._asked = asked
        self._answered = answered
        self._notify = notify
        self._progress = progress
        self._clock = clock

    async def ask_human(self, call: ToolCall) -> ToolResult | str:
        """Ask a person and wait, for as long as it takes."""
        arguments = call.arguments
        timeout: timedelta | None = None
        if "deadline" in arguments:
            timeout = read_deadline(arguments["deadline"], self._clock())
            if timeout is None:
                problem = (
                    f"deadline {arguments['deadline']!r} is neither a duration such as 30m nor a "
                    "moment that is still to come; call again with that mended, or without it"
                )
                return ToolResult((problem,), success=False)
        closed = await self.settle(
            Ask(
                task_id=self._task_id,
                thread_id=call.thread_id,
                turn_id=call.turn_id,
                call_id=call.call_id,
                text=arguments["text"],
                options=tuple(arguments.get("options", ())),
                context=arguments.get("context", ""),
                default=arguments.get("default"),
                timeout=timeout,
            )
        )
        return reply_text(closed)

    async def decide(self, question: Decision) -> str:
        """Ask a person for a decision that codex wants; a word that is no option declines."""
        request = question.request
        closed = await self.settle(
            Ask(
                task_id=self._task_id,
                thread_id=request.thread_id,
                turn_id=request.turn_id,
                call_id=request.call_id or str(request.id),
                kind=QuestionKind(question.kind),
                text=question.text,
                options=question.options,
            )
        )
        return closed.answer or "decline"

    async def settle(self, ask: Ask) -> Question:
        """Store a question and wait until it is closed."""
        question = await self._asks.ask(ask)
        self._asked(question)
        closed = await self._asks.wait(question.id)
        self._answered(closed)
        return closed

    async def notify_human(self, call: ToolCall) -> str:
        """Tell people something."""
        await self._notify(call.arguments["text"])
        return "People were told."

    async def report_progress(self, call: ToolCall) -> str:
        """Note how far the task is."""
        await self._progress(call.arguments["text"])
        return "Noted."


def namespace(desk: Desk) -> Namespace:
    """Give the byre tools, bound to a desk."""
    return Namespace(
        NAMESPACE,
        "Talk to the people who run this task. They may be away: a question waits as long as it "
        "takes, and the answer comes back as the call's output.",
        (
            Tool(
                name=ASK,
                description="Ask a person and wait for the answer. Use it when a decision is not "
                "yours to make or something only a person can know. Ask one thing at a time.",
                schema=_object(
                    ["text"],
                    text=_text("The question, understandable without reading your work."),
                    options={
                        "type": "array",
                        "items": _text("One possible answer.", 500),
                        "maxItems": _MOST_OPTIONS,
                        "description": "Answers to choose from; a person may answer otherwise.",
                    },
                    context=_text("What a person needs to know to answer."),
                    default=_text("What you will do when nobody answers by the deadline."),
                    deadline=_text(
                        "How long to wait: a duration such as 30m or 2h, or a moment such as "
                        "2030-01-31T12:00:00Z. Leave it out to wait as long as it takes.",
                        64,
                    ),
                ),
                run=desk.ask_human,
                timeout=None,
            ),
            Tool(
                name=NOTIFY,
                description="Tell people something that needs no answer. Returns at once.",
                schema=_object(["text"], text=_text("What they should know.")),
                run=desk.notify_human,
            ),
            Tool(
                name=PROGRESS,
                description="Say in a sentence how far the task is. Shown in the list of tasks. "
                "Returns at once.",
                schema=_object(["text"], text=_text("The sentence.", 500)),
                run=desk.report_progress,
            ),
        ),
    )


def read_deadline(text: str, now: datetime) -> timedelta | None:
    """Read a duration or a moment; None when it is neither, or has passed."""
    duration = _DURATION.fullmatch(text.strip())
    if duration is not None:
        seconds = float(duration[1]) * _UNITS[duration[2]]
        try:
            return timedelta(seconds=seconds) if seconds > 0 else None
        except OverflowError:
            return None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment - now if moment > now else None


def late_reply(question: Question) -> str:
    """Say an answer to an agent whose call is gone: it must know which question it was."""
    return f"{late_reply_start(question)}{question.text!r}): {reply_text(question)}"


def late_reply_start(question: Question) -> str:
    """Give the words by which a late reply is known again in a thread."""
    return f"The reply to your question {question.id} ("


def _text(description: str, most: int = _MOST_TEXT) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": most, "description": description}


def _object(required: Sequence[str], **properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
