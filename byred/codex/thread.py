"""One thread: its turns, its status, its tokens, and what can be done with it as a whole.

Owns starting turns (also when the answer is lost) and routing the thread's events to its turns. A
turn's own life is in `turn.py`.
"""

import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

from byred.codex.binary import JOINS_RUNNING, TOOL_OUTPUT, Version
from byred.codex.connection import Connection
from byred.codex.errors import (
    CallError,
    CallTimeout,
    CodexError,
    InputUnsettled,
    MalformedError,
    TransportClosed,
    VersionError,
)
from byred.codex.events import MAX_UNREAD_BYTES, Event, EventStream
from byred.codex.options import Inputs, ToolOutput, inputs_wire, reminder_wire
from byred.codex.protocol import types
from byred.codex.turn import Turn

_REMEMBERED_TURNS: Final = 16
"""Turns that ended and are still found by id: an end can overtake the answer that names it."""
_MOST_TURNS: Final = 64
"""Turns without an end that a thread keeps; codex runs one at a time."""


class Thread:
    """A thread of this client; made by `Client.start_thread`, `resume_thread` or `fork_thread`."""

    def __init__(
        self,
        thread_id: str,
        connection: Connection,
        registry: dict[str, Turn],
        version: Version,
        now: Callable[[], datetime],
        *,
        unread: int = MAX_UNREAD_BYTES,
    ) -> None:
        self.id = thread_id
        self.status = "notLoaded"
        """notLoaded, idle, active or systemError (after a failed turn; the next turn works)."""
        self.status_changes = 0
        """How often the server told of a new status."""
        self.model: str | None = None
        self.usage: types.ThreadTokenUsage | None = None
        """Tokens of the whole thread so far (absolute), or None before the first."""
        self.info: types.Thread | None = None
        """The server's description of the thread when it was started, resumed or forked."""
        self.active_turn: Turn | None = None
        self._connection = connection
        self._version = version
        self._now = now
        self._unread = unread
        self._turns: dict[str, Turn] = {}
        self._registry = registry
        self.streams: list[EventStream] = []
        """Who listens to the thread; see `events`."""

    # Turns

    async def start_turn(
        self,
        inputs: Inputs = (),
        *,
        reminder: str | None = None,
        tool_output: ToolOutput | None = None,
        model: str | None = None,
        effort: str | None = None,
        output_schema: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
        client_id: str | None = None,
    ) -> Turn:
        """Send input and return the turn that has it: a new one, or the one that is running.

        `reminder` reaches the model beside the input; `tool_output` answers a tool call that is
        gone, and goes without input; `model` counts for this turn and the later ones. When the
        answer is lost, the thread is searched for what was sent before it is sent again; an output
        is known by its words, so they should say what they answer. Raises `InputUnsettled` when it
        was sent while a turn ran that may have it unseen, `InputTooLarge` with nothing sent, and
        `VersionError` for a `tool_output` that this server would drop in
        silence: there the answer goes as text.
        """
        if tool_output is not None and not self._version.supports_tool_output:
            raise VersionError(
                f"cannot give a tool's output to codex {self._version}: below {TOOL_OUTPUT} it"
                " never reaches the model; send it as text"
            )
        running = self._running()
        if running is not None and self._version < JOINS_RUNNING:
            return await running.steer(inputs, reminder=reminder, client_id=client_id)
        message_id = client_id or str(uuid.uuid4())
        settings = {
            "additionalContext": None if reminder is None else reminder_wire(reminder),
            "toolOutput": None if tool_output is None else tool_output.wire(),
            "model": model,
            "effort": effort,
            "outputSchema": output_schema,
        }
        params = {
            "threadId": self.id,
            "input": inputs_wire(inputs),
            "clientUserMessageId": message_id,
            **{name: value for name, value in settings.items() if value is not None},
            **(extra or {}),
        }
        over = {turn.id for turn in self._turns.values() if turn.done}
        try:
            answer = await self._connection.call("turn/start", params)
        except CallTimeout as error:
            if tool_output is None:
                found = await self.settle(partial(self.find_input, message_id), error)
            else:
                found = await self.settle(partial(self._find_output, tool_output, over), error)
            if found is not None:
                return found
            answer = await self._connection.call("turn/start", params)
        if model is not None:
            self.model = model
        return self.turn(answer["turn"]["id"])

    async def settle(
        self, look: Callable[[], Awaitable[Turn | None]], error: CallTimeout
    ) -> Turn | None:
        """Give the turn that has what was sent and not answered; None when it was not taken.

        Raises:
            InputUnsettled: a turn runs that may have it, unseen until its model's next step.
            CallTimeout: the thread cannot be looked at (it has no record yet): nobody knows.
        """
        while True:
            running = self._running()
            try:
                found = await look()
            except CallError:
                if running is None:
                    raise error from None
                found = None
            if found is not None or running is None:
                return found
            if not running.done:
                raise InputUnsettled(
                    f"{error}; turn {running.id}, which runs, may have it, so it is not sent again"
                    " before that has ended",
                    running,
                ) from error

    async def find_input(self, client_id: str) -> Turn | None:
        """Return the turn that has the input sent with `client_id`, if the thread has it."""
        return self._holder(
            await self._read_turns(), {"type": "userMessage", "clientId": client_id}
        )

    async def _find_output(self, output: ToolOutput, over: Collection[str]) -> Turn | None:
        """Return the turn that has the output, after the last one that is known to be `over`."""
        turns = await self._read_turns()
        first = max((at + 1 for at, turn in enumerate(turns) if turn["id"] in over), default=0)
        sent = {"name": output.name, "namespace": output.namespace, "output": output.output}
        return self._holder(turns[first:], {"type": "functionCallOutput"} | sent)

    async def _read_turns(self) -> list[dict[str, Any]]:
        params = {"threadId": self.id, "includeTurns": True}
        answer = await self._connection.call("thread/read", params)
        turns: list[dict[str, Any]] = answer["thread"]["turns"]
        return turns

    def _holder(self, turns: Sequence[dict[str, Any]], part: dict[str, Any]) -> Turn | None:
        """Return the turn with an item that has all of `part`."""
        for turn in turns:
            for item in turn["items"]:
                if all(item.get(name) == value for name, value in part.items()):
                    found = self.turn(turn["id"])
                    found.take_ended(turn)
                    return found
        return None

    async def look(self, turn: Turn) -> bool:
        """Ask the server how a turn stands and say whether it is over: then its end is taken."""
        for told in await self._read_turns():
            if told["id"] == turn.id and told["status"] != "inProgress":
                turn.take_ended(told)
        return turn.done

    async def find_active_turn(self) -> Turn | None:
        """Ask the server which turn is running; None when none is."""
        params = {"threadId": self.id, "limit": 1, "sortDirection": "desc"}
        answer = await self._connection.call("thread/turns/list", params)
        for told in answer["data"]:
            turn = self.turn(told["id"])
            # Its end may have been heard since the server wrote this answer.
            if told["status"] == "inProgress" and not turn.done:
                turn.take_running(told)
                self.active_turn = turn
        return self.active_turn

    def turn(self, turn_id: str) -> Turn:
        """Return the turn of that id, as far as this client has seen it."""
        turn = self._turns.get(turn_id)
        if turn is None:
            turn = Turn(turn_id, self, self._connection, self._now, unread=self._unread)
            self._turns[turn_id] = self._registry[turn_id] = turn
            self._forget()
            if self._connection.closed.done():
                turn.end(self._connection.closed.result())
        return turn

    def _running(self) -> Turn | None:
        newest = next(reversed(self._turns.values()), None)
        return None if newest is None or newest.done else newest

    def _forget(self) -> None:
        if len(self._turns) <= _REMEMBERED_TURNS:
            return
        old = next((turn for turn in self._turns.values() if turn.done), None)
        if old is None and len(self._turns) > _MOST_TURNS:
            old = next(iter(self._turns.values()))
            old.end(MalformedError(f"{_MOST_TURNS} newer turns began before it ended"))
        if old is not None:
            del self._turns[old.id]
            self._registry.pop(old.id, None)

    async def compact(self) -> Turn:
        """Start a compaction, which is a turn of its own, and return that turn."""
        stream = self.events()
        try:
            await self._connection.call("thread/compact/start", {"threadId": self.id})
            async for event in stream:
                if event.method == "turn/started":
                    return self.turn(event.turn_id)
        finally:
            stream.end()
        raise TransportClosed("the connection ended before the compaction started")

    async def clean_terminals(self) -> None:
        """End the commands that turns left running in the background."""
        await self._connection.call("thread/backgroundTerminals/clean", {"threadId": self.id})

    async def get_goal(self) -> types.ThreadGoal | None:
        """Return the thread's goal, if it has one."""
        answer = await self._connection.call("thread/goal/get", {"threadId": self.id})
        return types.ThreadGoalGetResponse.wrap(answer).goal

    async def set_goal(
        self,
        objective: str | None = None,
        *,
        status: str | None = None,
        token_budget: int | None = None,
    ) -> types.ThreadGoal:
        """Set the thread's goal, or change what is given of it.

        `status` is active (codex goes on by itself until it is reached), paused, blocked,
        usageLimited, budgetLimited or complete.
        """
        params = types.ThreadGoalSetParams(
            thread_id=self.id, objective=objective, status=status, token_budget=token_budget
        )
        answer = await self._connection.call("thread/goal/set", params)
        return types.ThreadGoalSetResponse.wrap(answer).goal

    async def clear_goal(self) -> None:
        """Take the thread's goal away."""
        await self._connection.call("thread/goal/clear", {"threadId": self.id})

    # Events

    def events(self) -> EventStream:
        """Return a stream of the thread's events from now on."""
        stream = EventStream()
        if self._connection.closed.done():
            stream.end(self._connection.closed.result())
        self.streams = [each for each in self.streams if not each.ended] + [stream]
        return stream

    def adopt(self, answer: Mapping[str, Any], *, heard: int = 0) -> None:
        """Take over what the server says of the thread.

        `heard` is `status_changes` from before the server was asked: news since then are newer
        than its answer.
        """
        self.info = types.Thread.wrap(answer["thread"])
        self.model = answer.get("model")
        if self.status_changes == heard:
            self.status = answer["thread"]["status"]["type"]

    def take(self, event: Event, size: int) -> None:
        """Take an event of this thread, in order."""
        data = event.data
        if event.method == "thread/status/changed":
            self.status = data.get("status", {}).get("type", self.status)
            self.status_changes += 1
        elif event.method == "thread/tokenUsage/updated":
            self.usage = types.ThreadTokenUsage.wrap(data["tokenUsage"])
        if event.turn_id:
            turn = self.turn(event.turn_id)
            if event.method == "turn/started":
                self.active_turn = turn
            elif event.method == "turn/completed" and self.active_turn is turn:
                self.active_turn = None
            turn.take(event, size)
        self.tell(event, size)

    def tell(self, event: Event, size: int) -> None:
        """Give an event to those who listen to the thread."""
        for stream in self.streams:
            stream.put(event, size)

    def end(self, cause: CodexError) -> None:
        """Nothing more will be heard of the thread: everything that waits here ends."""
        for turn in self._turns.values():
            turn.end(cause)
            self._registry.pop(turn.id, None)
        for stream in self.streams:
            stream.end(cause)
