"""One turn: its events as they come, and how it ended.

Owns the turn's result and the calls that need a running turn (steer, interrupt). Starting one is
the thread's.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from byred.codex.connection import Connection
from byred.codex.errors import CallTimeout, CodexError, NoActiveTurn, TransportClosed, TurnFailed
from byred.codex.events import MAX_UNREAD_BYTES, Event, EventStream
from byred.codex.failures import turn_failed
from byred.codex.options import Inputs, inputs_wire, reminder_wire
from byred.codex.protocol import types

if TYPE_CHECKING:
    from byred.codex.thread import Thread

TurnStatus = Literal["completed", "interrupted", "failed"]

_WORK: Final = frozenset(
    {
        types.ThreadItemType.COMMAND_EXECUTION,
        types.ThreadItemType.FILE_CHANGE,
        types.ThreadItemType.MCP_TOOL_CALL,
        types.ThreadItemType.COLLAB_AGENT_TOOL_CALL,
        types.ThreadItemType.WEB_SEARCH,
        types.ThreadItemType.SLEEP,
    }
)
"""Items whose end codex waits for outside of the model. Calls of this client's tools are not among
them: whoever answers those knows better."""
_RETRY_DELAY: Final = 0.05
"""Seconds before an interrupt that came too early is tried again."""


@dataclass(frozen=True, slots=True)
class TurnResult:
    """How a turn ended.

    `error` is set when `status` is failed. `items` are those that completed, in order;
    `final_text` is the last message of the agent. `usage` are the thread's absolute totals.
    """

    status: TurnStatus
    error: TurnFailed | None
    items: tuple[types.ThreadItem, ...]
    final_text: str
    usage: types.ThreadTokenUsage | None


class Turn:
    """A turn of this client's thread: iterate over it for events, await `result()` for its end."""

    def __init__(
        self,
        turn_id: str,
        thread: "Thread",
        connection: Connection,
        now: Callable[[], datetime],
        *,
        unread: int = MAX_UNREAD_BYTES,
    ) -> None:
        self.id = turn_id
        self.thread = thread
        self._connection = connection
        self._now = now
        self._stream = EventStream(max_bytes=unread)
        self.tell = self._stream.put
        """Give an event to those who read the turn."""
        self._items: dict[str, dict[str, Any]] = {}
        self._work: set[str] = set()
        self._unheard = False
        self._begun = False
        self._started = asyncio.Event()
        self._ended = asyncio.Event()
        self._result: TurnResult | None = None
        self._cause: CodexError | None = None

    @property
    def done(self) -> bool:
        """Whether the turn has ended, or can't be heard any more."""
        return self._ended.is_set()

    @property
    def at_work(self) -> bool:
        """Whether a command or another tool of codex's runs now, which may print nothing.

        So it counts, too, for a turn that began before this client was there, until something is
        heard of it: the server does not say what runs.
        """
        return (bool(self._work) or self._unheard) and not self.done

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._stream.__aiter__()

    async def result(self) -> TurnResult:
        """Wait for the end; raises `TransportClosed` when the connection ends first."""
        await self._ended.wait()
        if self._result is None:
            raise TransportClosed(f"cannot follow turn {self.id}: {self._cause}") from self._cause
        return self._result

    async def steer(
        self, inputs: Inputs, *, reminder: str | None = None, client_id: str | None = None
    ) -> "Turn":
        """Add input to the running turn and return the turn that has it.

        When this turn has ended meanwhile, the input starts the next one: it lands exactly once.
        Raises `InputUnsettled` when the answer is lost and only the end of the turn can tell.
        """
        message_id = client_id or str(uuid.uuid4())
        params: dict[str, Any] = {
            "threadId": self.thread.id,
            "expectedTurnId": self.id,
            "input": inputs_wire(inputs),
            "clientUserMessageId": message_id,
        }
        if reminder is not None:
            params["additionalContext"] = reminder_wire(reminder)
        while not self.done:
            await self._started.wait()
            try:
                await self._connection.call("turn/steer", params)
            except NoActiveTurn:
                if not self.done:
                    await asyncio.sleep(_RETRY_DELAY)
            except CallTimeout as error:
                look = partial(self.thread.find_input, message_id)
                if (found := await self.thread.settle(look, error)) is not None:
                    return found
            else:
                return self
        return await self.thread.start_turn(inputs, reminder=reminder, client_id=message_id)

    async def interrupt(self, timeout: float = 30.0) -> TurnResult:  # noqa: ASYNC109 - one bound for the whole
        """End the turn and the commands that it left running; returns how it ended.

        Waits for the turn to have begun. Raises `TimeoutError` when it has not ended within
        `timeout` seconds.
        """
        async with asyncio.timeout(timeout):
            await self._started.wait()
            params = {"threadId": self.thread.id, "turnId": self.id}
            while not self.done:
                try:
                    await self._connection.call("turn/interrupt", params)
                    break
                except NoActiveTurn:
                    await asyncio.sleep(_RETRY_DELAY)
            result = await self.result()
            await self.thread.clean_terminals()
        return result

    # Taken from the thread

    def take(self, event: Event, size: int) -> None:
        """Take an event of this turn, in order."""
        method = event.method
        self.tell(event, size)
        if method == "item/started":
            item = event.data.get("item")
            if type(item) is dict and item.get("type") in _WORK:
                self._work.add(str(item.get("id")))
        elif method == "item/completed":
            item = event.data.get("item")
            if type(item) is dict:
                self._items[str(item.get("id"))] = item
                self._work.discard(str(item.get("id")))
        elif method == "turn/completed":
            self._complete(event.data["turn"])
        self._unheard = False
        if not self._begun:
            self._begun = True
            self._started.set()

    def take_running(self, turn: dict[str, Any]) -> None:
        """Take what the server says of this turn, which began before this client was there."""
        for item in turn.get("items", ()):
            self._items.setdefault(str(item.get("id")), item)
        self._unheard = not self._begun
        self._started.set()

    def take_ended(self, turn: dict[str, Any]) -> None:
        """Take what the server says of this turn, if it is over."""
        self.take_running(turn)
        if turn["status"] != "inProgress":
            self._complete(turn)

    def end(self, cause: CodexError) -> None:
        """Nothing more will be heard of the turn."""
        if not self.done:
            self._cause = cause
            self._ended.set()
            self._started.set()
            self._stream.end(cause)

    def _complete(self, turn: dict[str, Any]) -> None:
        if self.done:
            return
        error = turn.get("error")
        items = tuple(types.ThreadItem.wrap(item) for item in self._items.values())
        texts = [item.text or "" for item in items if item.type == "agentMessage"]
        self._result = TurnResult(
            status=turn["status"],
            error=turn_failed(error, now=self._now()) if isinstance(error, dict) else None,
            items=items,
            final_text=texts[-1] if texts else "",
            usage=self.thread.usage,
        )
        self._ended.set()
        self._stream.end()
