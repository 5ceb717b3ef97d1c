"""What byred says to a task's agent and hears from it, from the first word to the end of a turn.

Owns exactly-once: what is still to be said is what the thread's own record does not hold, whatever
the store believes was sent. Inputs are known by a client id; replies to questions by their call, or
by the words in which a late one is given.
"""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from byred.agents.talk import known, tools
from byred.agents.talk.comparison import compare
from byred.agents.talk.narrator import PIECES, describe
from byred.agents.talk.reconcile import ThreadRecord
from byred.agents.talk.sparing import ServerLog
from byred.agents.talk.throttle import Throttle
from byred.agents.talk.watchdog import Due, Limits, Watch, find_end
from byred.codex.errors import (
    CodexError,
    ConsumerTooSlow,
    FailureKind,
    InputUnsettled,
    TransportClosed,
    TurnFailed,
)
from byred.codex.events import Event, EventStream
from byred.codex.failures import turn_failed
from byred.codex.options import ToolOutput
from byred.codex.session import Client
from byred.codex.thread import Thread
from byred.codex.turn import Turn, TurnResult
from byred.core.event import NewEvent
from byred.core.question import Question, QuestionKind
from byred.core.retry import FailureClass
from byred.core.task import Intent, Task, TaskState, Tokens
from byred.store import inputs, questions, tasks, turns
from byred.store.database import Database, Transaction
from byred.store.inputs import Input

# A turn that a person interrupts ends in milliseconds; one that does not is ended with its server.
INTERRUPT_SECONDS = 5.0
# The events before a turn's end are written by then, unless the listener fell too far behind.
STORED_SECONDS = 10.0
# A person who sits there answers by then; a stop and a start of a server take a second or two.
MAKE_ROOM_SECONDS = 5.0


class Wanted(msgspec.Struct, frozen=True):
    """What the store says now: the task, what is still to be said and what people are asked.

    `parkable` is whether all of these questions can be answered without this server.
    """

    task: Task
    inputs: list[Input]
    open_questions: int
    parkable: bool


class Stop(msgspec.Struct, frozen=True):
    """Why a conversation ends before its turn does."""

    why: str
    failure: FailureClass | None = None
    parked: bool = False


class Conversation:
    """One thread of one task, while one server has it.

    `events` are the client's from before the thread was opened: one that is taken over speaks at
    once.
    """

    def __init__(
        self,
        task: Task,
        thread: Thread,
        *,
        client: Client,
        events: EventStream,
        database: Database,
        log: ServerLog,
        asks: tools.Asks,
        wake: asyncio.Event,
        wanted_back: Callable[[], bool],
        reminder: str,
        limits: Limits,
        throttle: Throttle,
        late_answers_as_output: bool,
    ) -> None:
        self._task = task
        self._thread = thread
        self._client = client
        self._events = events
        self._database = database
        self._log = log
        self._asks = asks
        self._wake = wake
        self._wanted_back = wanted_back
        self._reminder = reminder
        self._watch = Watch(limits, asyncio.get_running_loop().time)
        self.throttle = throttle
        self._late_answers_as_output = late_answers_as_output
        self.unsettled = False
        """Whether the running turn may have something that its thread's record does not show."""
        self._sent: set[int] = set()
        self._calls: dict[str, int] = {}
        self._started: dict[str, asyncio.Event] = {}
        self._ended: dict[str, asyncio.Event] = {}

    # Hearing

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Record what the thread says, for as long as the block runs."""
        events = self._events
        listener = asyncio.create_task(self._listen(events), name=f"events of task {self._task.id}")
        try:
            yield
        finally:
            listener.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await listener

    async def _listen(self, events: EventStream) -> None:
        while True:
            try:
                async for event in events:
                    if event.thread_id == self._thread.id:
                        await self._hear(event)
            except ConsumerTooSlow as error:
                self._log.append("notice", str(error))
                self._events = events = self._client.events(without=PIECES)
            except TransportClosed:
                return
            else:
                return

    async def _hear(self, event: Event) -> None:
        self._watch.heard()
        line = describe(event)
        if line is not None:
            self._log.append(line.kind, line.text, **line.data)
        match event.method:
            case "turn/started":
                await self._database.write(lambda tx: self._turn_started(tx, event.turn_id))
                _signal(self._started, event.turn_id).set()
            case "turn/completed":
                turn = event.data.get("turn", {})
                await self._database.write(lambda tx: self._turn_ended(tx, turn))
                if turn.get("status") == "completed":
                    self.throttle.worked()
                else:
                    self._take_refusal(turn.get("error"))
                _signal(self._ended, event.turn_id).set()
            case "error":
                self._take_refusal(event.data.get("error"))
            case "thread/tokenUsage/updated":
                tokens = _tokens(event.data.get("tokenUsage", {}).get("total", {}))
                await self._database.write(
                    lambda tx: tasks.apply(tx, self._task.id, lambda task: task.counted(tokens))
                )
            case "item/completed":
                await self._item_completed(event)
            case _:
                pass

    def _take_refusal(self, error: Any) -> None:
        """Let turns of all tasks start farther apart when this one was one too many."""
        if isinstance(error, dict) and _too_many(turn_failed(error, now=datetime.now(UTC))):
            self.throttle.refused()

    async def _item_completed(self, event: Event) -> None:
        item = event.data.get("item", {})
        match item.get("type"):
            case "userMessage" if (number := known.input_number(item.get("clientId"))) is not None:
                await self._database.write(lambda tx: inputs.taken(tx, [number], event.turn_id))
            # A call that was cut off completes, too, without success.
            case "dynamicToolCall" if item.get("success") and item.get("id") in self._calls:
                await self._asks.delivered([self._calls[item["id"]]])
            case _:
                pass

    def _turn_started(self, transaction: Transaction, turn_id: str) -> None:
        task = tasks.apply(transaction, self._task.id, lambda task: task.turn_started(turn_id))
        turns.start(transaction, task.id, turn_id, thread_id=self._thread.id, attempt=task.attempt)

    def _turn_ended(self, transaction: Transaction, turn: dict[str, Any]) -> None:
        error = turn.get("error")
        message = str(error.get("message")) if isinstance(error, dict) else None
        status = str(turn.get("status"))
        turns.end(transaction, self._task.id, str(turn.get("id")), status, message)

    async def turn_is_stored(self, turn_id: str) -> None:
        """Wait until the store knows that a turn runs: a question must not come before it."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STORED_SECONDS):
                await _signal(self._started, turn_id).wait()

    def asked(self, question: Question) -> None:
        """Remember which call asked a question, to see its reply arrive."""
        self._calls[question.call_id] = question.id
        self._log.append("question", question.text, question_id=question.id)

    def answered(self, question: Question) -> None:
        """Let silence count again once a question is closed."""
        self._watch.heard()
        self._log.append("answer", question.answer or str(question.state), question_id=question.id)

    # Saying

    async def reconcile(self, record: ThreadRecord | None) -> list[Question]:
        """Bring the store to what the thread holds; give the replies that it lacks."""
        task_id, thread_id = self._task.id, self._thread.id
        return await self._database.write(lambda tx: compare(tx, task_id, thread_id, record))

    async def wanted(self) -> Wanted:
        """Read what a person wants and what is still to be said."""
        return await self._database.write(self._wanted)

    def _wanted(self, transaction: Transaction) -> Wanted:
        pending = inputs.pending(transaction, self._task.id)
        asked = questions.open_of_task(transaction, self._task.id)
        return Wanted(
            task=tasks.get(transaction, self._task.id),
            inputs=[text for text in pending if text.id not in self._sent],
            open_questions=len(asked),
            parkable=all(question.kind is QuestionKind.QUESTION for question in asked),
        )

    async def say(self, text: Input) -> Turn:
        """Give a text to the agent, in the running turn if there is one."""
        await self._may_start()
        self._sent.add(text.id)
        await self._database.write(lambda tx: inputs.sent(tx, [text.id]))
        try:
            return await self._thread.start_turn(
                text.text, reminder=self._reminder, client_id=known.client_id(text)
            )
        except InputUnsettled as error:
            return self._unsettled(error)

    async def reply_late(self, question: Question) -> Turn:
        """Give the reply to a question whose call is gone."""
        await self._may_start()
        if question.thread_id != self._thread.id:
            # From now on the record of this thread says whether the agent has it.
            await self._database.write(lambda tx: questions.move(tx, question, self._thread.id))
        words = tools.late_reply(question)
        self._log.append("answer", question.answer or str(question.state), question_id=question.id)
        try:
            if self._late_answers_as_output:
                output = ToolOutput(name=tools.ASK, namespace=tools.NAMESPACE, output=words)
                turn = await self._thread.start_turn(tool_output=output, reminder=self._reminder)
            else:
                turn = await self._thread.start_turn(
                    words, reminder=self._reminder, client_id=known.answer_id(question)
                )
        except InputUnsettled as error:
            return self._unsettled(error)
        await self._asks.delivered([question.id])
        return turn

    def _unsettled(self, error: InputUnsettled) -> Turn:
        """Leave it to the record at the end of the turn whether something is to be said again."""
        self._log.append("notice", str(error))
        self.unsettled = True
        return error.turn

    async def _may_start(self) -> None:
        """Wait for this task's place among those that start turns, unless one of it runs.

        Whoever is to stop goes on at once: what follows ends the turn.
        """
        active = self._thread.active_turn
        if not self.throttle.gap or (active is not None and not active.done):
            return
        self._log.append("state", "waits to start its turn: the model asked for fewer at once")
        place = asyncio.create_task(self.throttle.start())
        try:
            while not place.done():
                self._wake.clear()
                if (await self.wanted()).task.intent is not None:
                    return
                wake = asyncio.create_task(self._wake.wait())
                await asyncio.wait((place, wake), return_when=asyncio.FIRST_COMPLETED)
                wake.cancel()
        finally:
            # It may have asked for a look that was not had.
            self._wake.set()
            place.cancel()
            await asyncio.gather(place, return_exceptions=True)

    # Following

    async def take_over(self, turn: Turn) -> None:
        """Follow a turn that began before this connection: the store may not know of it.

        What was sent to this server may still wait inside it for the model's next step, and is in
        no record before that; so it is not sent again while the turn runs.
        """
        self._sent |= await self._database.write(self._in_flight)
        task = await self._database.write(lambda tx: tasks.get(tx, self._task.id))
        if task.turn_id != turn.id:
            await self._database.write(lambda tx: self._turn_started(tx, turn.id))
        _signal(self._started, turn.id).set()

    async def follow(self, turn: Turn) -> TurnResult | Stop:
        """Wait for the end of a turn, saying what people say meanwhile and doing what they want.

        Raises:
            TransportClosed: the server or the connection is gone.
        """
        self._watch.begin()
        while True:
            self._wake.clear()
            wanted = await self.wanted()
            if wanted.task.intent is not None:
                return await self._stop(turn, wanted.task.intent)
            for text in wanted.inputs:
                turn = await self.say(text)
            self._watch.waiting(self._patience(wanted))
            seconds = self._due(turn)[1]
            if turn.at_work:
                # Its end brings the limit of those who are not at work, and wakes nobody here.
                seconds = min(seconds, self._watch.limits.stall)
            if await self._next(turn, seconds):
                return await self._result(turn)
            due, left = self._due(turn)
            if left > 0 or self._wake.is_set():
                continue
            match due:
                case Due.PARK:
                    return Stop("gave its server back while it waits for an answer", parked=True)
                case Due.OVERTIME:
                    why = f"the turn took longer than {self._watch.limits.turn:g} s"
                    return await self._break_off(turn, FailureClass.AGENT, why)
                case Due.STALL:
                    return await self._suspect(turn)

    def _due(self, turn: Turn) -> tuple[Due, float]:
        self._watch.heard(self._events.heard)
        return self._watch.next(at_work=turn.at_work)

    def _patience(self, wanted: Wanted) -> float | None:
        """Say for how many seconds the task may wait for a person with its server, if it waits."""
        if not wanted.open_questions:
            return None
        if not wanted.parkable:
            # Codex would ask again for what it is to be allowed, as soon as it is started again.
            return math.inf
        park = self._watch.limits.park
        return min(park, MAKE_ROOM_SECONDS) if self._wanted_back() else park

    async def _result(self, turn: Turn) -> TurnResult:
        """Give a turn's result once its last event is stored, if that was heard at all."""
        result = await turn.result()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STORED_SECONDS):
                await _signal(self._ended, turn.id).wait()
        return result

    async def _suspect(self, turn: Turn) -> TurnResult | Stop:
        """Look at a turn that fell silent before it is touched: its end may have been lost."""
        why = f"nothing was heard of the turn for {self._watch.patience(at_work=turn.at_work):g} s"
        if turn.at_work:
            why += ", in which a command or another tool ran"
        found = await find_end(self._thread, turn)
        data = {"turn_id": turn.id, "why": why, "found": found}
        event = NewEvent(kind="task.suspect", task_id=self._task.id, data=data)
        await self._database.write(lambda tx: tx.emit(event))
        if found is None:
            return await self._break_off(turn, FailureClass.STALL, why)
        self._log.append("notice", f"{why}; it has ended: {found}")
        result = await turn.result()
        ended = {"id": turn.id, "status": result.status}
        await self._database.write(lambda tx: self._turn_ended(tx, ended))
        return result

    async def _break_off(self, turn: Turn, failure: FailureClass, why: str) -> TurnResult | Stop:
        """Interrupt a turn for a reason of byred's; one that ends well meanwhile has ended well."""
        try:
            result = await turn.interrupt(INTERRUPT_SECONDS)
        except TransportClosed:
            raise
        except (CodexError, TimeoutError):
            return Stop(f"{why}, and it could not be interrupted", failure)
        return result if result.status == "completed" else Stop(why, failure)

    async def _next(self, turn: Turn, seconds: float) -> bool:
        """Wait for the turn's end (true), a wake or the time (false)."""
        result = asyncio.create_task(turn.result())
        wake = asyncio.create_task(self._wake.wait())
        try:
            await asyncio.wait(
                (result, wake), timeout=max(seconds, 0), return_when=asyncio.FIRST_COMPLETED
            )
            return result.done()
        finally:
            for task in (result, wake):
                task.cancel()
            await asyncio.gather(result, wake, return_exceptions=True)

    async def _stop(self, turn: Turn, intent: Intent) -> Stop:
        with contextlib.suppress(TimeoutError):
            await turn.interrupt(INTERRUPT_SECONDS)
        return Stop(f"a person wanted it: {intent}")

    def _in_flight(self, transaction: Transaction) -> set[int]:
        pending = inputs.pending(transaction, self._task.id)
        return {text.id for text in pending if text.sent_at is not None}

    async def after_all(self, record: ThreadRecord | None) -> list[Question]:
        """Now that the turn has ended its record is whole: give the replies that it lacks.

        The texts that it lacks are in flight no more.
        """
        self._sent.clear()
        self.unsettled = False
        return await self.reconcile(record)

    async def to_verification(self) -> None:
        """Say that the agent is done. A question that it left open waits for nobody any more."""
        await self._database.write(self._verify)

    def _verify(self, transaction: Transaction) -> None:
        task = tasks.get(transaction, self._task.id)
        if task.state is TaskState.WAITING:
            questions.withdraw_all(transaction, task.id, by="the end of its turn")
            tasks.apply(transaction, task.id, lambda task: task.answered())
        tasks.apply(transaction, task.id, lambda task: task.verify())


def goes_on(reason: str) -> str:
    """Say to an agent that was cut off how it is to go on."""
    return (
        f"You were interrupted: {reason}. Commands that were running have been ended. Look at the "
        "state of the worktree, then go on with the task where you were."
    )


def _too_many(error: TurnFailed) -> bool:
    return error.kind in (FailureKind.RATE_LIMIT, FailureKind.OVERLOADED)


def _tokens(total: dict[str, Any]) -> Tokens:
    return Tokens(
        input=total.get("inputTokens", 0),
        cached_input=total.get("cachedInputTokens", 0),
        output=total.get("outputTokens", 0),
        reasoning=total.get("reasoningOutputTokens", 0),
        total=total.get("totalTokens", 0),
    )


def _signal(signals: dict[str, asyncio.Event], key: str) -> asyncio.Event:
    return signals.setdefault(key, asyncio.Event())
