"""A client of one server: handshake, threads, and where each event and server request goes.

Owns the registry of threads and the account's rate limits. What a thread does is in `thread.py`,
what a turn does in `turn.py`; how messages are matched and carried in `connection.py` and
`transport.py`. What to answer the server is the caller's handler.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast

from byred.codex.binary import FORK_BEFORE, Version
from byred.codex.connection import Connection, OnBadLine, open_connection
from byred.codex.errors import MalformedError, TransportClosed, TurnNotOver, VersionError
from byred.codex.events import MAX_UNREAD_BYTES, Event, EventStream
from byred.codex.message import Counters, IncomingRequest
from byred.codex.options import ThreadOptions
from byred.codex.protocol.methods import ServerRequestMethod
from byred.codex.protocol.types import (
    SERVER_REQUESTS,
    GetAccountRateLimitsResponse,
    InitializeResponse,
    ListMcpServerStatusResponse,
    ModelListResponse,
    RateLimitSnapshot,
    ThreadListResponse,
    ThreadReadResponse,
)
from byred.codex.record import Record
from byred.codex.requests import Handler, Reply, RequestId, ServerRequest
from byred.codex.thread import Thread
from byred.codex.transcript import Transcript
from byred.codex.transport import Transport
from byred.codex.turn import Turn


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """Who connects, as the server's logs will name it."""

    name: str
    version: str
    title: str | None = None


_MOST_HEARD: Final = 256
"""Threads that are kept because the server spoke of them, as it does of an agent's own agents."""
_OF_CONSEQUENCE: Final = frozenset(
    {
        "account/rateLimits/updated",
        "item/completed",
        "item/started",
        "serverRequest/resolved",
        "thread/status/changed",
        "thread/tokenUsage/updated",
        "turn/completed",
        "turn/started",
    }
)
"""The notifications that change what a client, a thread or a turn knows."""


class Client:
    """A connected and initialized client; made by `Client.open`."""

    def __init__(
        self,
        handler: Handler,
        on_withdrawn: Callable[[ServerRequest], None] | None,
        unread_of_turns: int,
    ) -> None:
        self._handler = handler
        self._on_withdrawn = on_withdrawn
        self._asked: dict[RequestId, ServerRequest] = {}
        self._threads: dict[str, Thread] = {}
        self._heard: dict[str, None] = {}
        self._unread_of_turns = unread_of_turns
        self._turns: dict[str, Turn] = {}
        self._streams: list[EventStream] = []
        self._connection: Connection
        self.server: InitializeResponse
        """What the server said of itself at the handshake."""
        self.version = Version(0, 0, 0)
        """The server's own version."""
        self.rate_limits: RateLimitSnapshot | None = None
        """The account's latest windows, merged from sparse updates; None before the first."""

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        transport: Transport,
        *,
        client_info: ClientInfo,
        handler: Handler,
        request_timeout: float = 60.0,
        max_handlers: int = 64,
        transcript: Transcript | None = None,
        on_bad_line: OnBadLine | None = None,
        on_withdrawn: Callable[[ServerRequest], None] | None = None,
        opt_out: Sequence[str] = (),
        unread_of_turns: int = MAX_UNREAD_BYTES,
    ) -> AsyncIterator["Client"]:
        """Connect over `transport`, which is ended with the block.

        `handler` is called for each server request, concurrently, and may take days: what it
        returns is the answer, sent once; what it raises becomes an error answer (`RequestFailed`
        says which). `request_timeout` bounds each call, in seconds. `on_bad_line(line, reason)`
        hears of lines that could not be used, `on_withdrawn(request)` of a request that the server
        has taken back (its turn ended, another client answered): its handler is cancelled, as it
        also is when the connection ends, but then without a word here. `opt_out` names
        notifications that the server need not send. `unread_of_turns` are the bytes of events that
        each turn keeps for its reader: 0 for a client whose turns nobody iterates over.
        """
        client = cls(handler, on_withdrawn, unread_of_turns)
        async with open_connection(
            transport,
            on_notification=client._take,
            on_request=client._ask,
            request_timeout=request_timeout,
            max_handlers=max_handlers,
            message_type=Event,
            on_bad_line=on_bad_line,
            tap=None if transcript is None else transcript.record,
        ) as connection:
            client._connection = connection
            connection.closed.add_done_callback(client._closed)
            info = {"name": client_info.name, "version": client_info.version}
            if client_info.title:
                info["title"] = client_info.title
            capabilities: dict[str, Any] = {"experimentalApi": True}
            if opt_out:
                capabilities["optOutNotificationMethods"] = list(opt_out)
            answer = await connection.call(
                "initialize",
                {
                    "clientInfo": info
                    | ({"title": client_info.title} if client_info.title else {}),
                    "capabilities": capabilities,
                },
            )
            client.server = InitializeResponse.wrap(answer)
            client.version = Version.parse(client.server.user_agent)
            await connection.notify("initialized")
            yield client

    # Threads

    async def start_thread(self, options: ThreadOptions | None = None) -> Thread:
        """Start a thread; it is on disk, and can be resumed, from its first turn on."""
        options = options or ThreadOptions()
        answer = await self.call("thread/start", options.wire(start=True))
        return self._known(answer)

    async def resume_thread(self, thread_id: str, options: ThreadOptions | None = None) -> Thread:
        """Take up a thread, also one that is running: then `active_turn` is its turn.

        Raises `NoRollout` when there is nothing to resume, `ActiveWriter` while another server has
        the thread. Its turns are not fetched; see `read_thread` and `Thread.turns`.
        """
        options = options or ThreadOptions()
        params = options.wire() | {"threadId": thread_id, "excludeTurns": True}
        known = self._threads.get(thread_id)
        heard = 0 if known is None else known.status_changes
        thread = self._known(await self.call("thread/resume", params), heard=heard)
        if thread.status == "active":
            await thread.find_active_turn()
        return thread

    async def fork_thread(
        self,
        thread_id: str,
        options: ThreadOptions | None = None,
        *,
        last_turn: str | None = None,
        before_turn: str | None = None,
    ) -> Thread:
        """Copy a thread, whole, up to and with `last_turn`, or up to `before_turn`.

        A turn may have no end in the record, because its server was killed or its disk was full:
        then up to the turn after it, which is the same.
        """
        if last_turn is None:
            return await self._fork(thread_id, options, before_turn=before_turn)
        try:
            return await self._fork(thread_id, options, last_turn=last_turn)
        except TurnNotOver:
            after = await self._turn_after(thread_id, last_turn)
            return await self._fork(thread_id, options, before_turn=after)

    async def _fork(
        self,
        thread_id: str,
        options: ThreadOptions | None,
        *,
        last_turn: str | None = None,
        before_turn: str | None = None,
    ) -> Thread:
        options = options or ThreadOptions()
        params = options.wire() | {"threadId": thread_id, "excludeTurns": True}
        if last_turn is not None:
            params["lastTurnId"] = last_turn
        if before_turn is not None and self.version >= FORK_BEFORE:
            params["beforeTurnId"] = before_turn
        elif before_turn is not None:
            params["lastTurnId"] = await self._turn_before(thread_id, before_turn)
        return self._known(await self.call("thread/fork", params))

    async def _turn_after(self, thread_id: str, turn_id: str) -> str | None:
        turns = [turn.id for turn in (await self.read_thread(thread_id, turns=True)).thread.turns]
        place = turns.index(turn_id) + 1 if turn_id in turns else len(turns)
        return turns[place] if place < len(turns) else None

    async def _turn_before(self, thread_id: str, turn_id: str) -> str:
        turns = [turn.id for turn in (await self.read_thread(thread_id, turns=True)).thread.turns]
        place = turns.index(turn_id) if turn_id in turns else 0
        if place == 0:
            raise VersionError(
                f"cannot fork before turn {turn_id}: codex {self.version} can only keep turns, and"
                " there is none before it; start a new thread"
            )
        return turns[place - 1]

    async def read_thread(self, thread_id: str, *, turns: bool = False) -> ThreadReadResponse:
        """Read a thread without taking it up; with `turns` the answer can be very large."""
        params = {"threadId": thread_id, "includeTurns": turns}
        return ThreadReadResponse.wrap(await self.call("thread/read", params))

    async def list_threads(self, **filters: Any) -> ThreadListResponse:
        """List threads of this home; `filters` are `ThreadListParams` as the wire spells them."""
        return ThreadListResponse.wrap(await self.call("thread/list", filters))

    # The account and the server

    async def read_rate_limits(self) -> GetAccountRateLimitsResponse:
        """Ask for the account's windows; raises `LoginRequired` without a ChatGPT login."""
        answer = GetAccountRateLimitsResponse.wrap(await self.call("account/rateLimits/read"))
        self.rate_limits = answer.rate_limits
        return answer

    async def list_mcp_servers(self, **params: Any) -> ListMcpServerStatusResponse:
        """List the MCP servers of the home and their state."""
        return ListMcpServerStatusResponse.wrap(await self.call("mcpServerStatus/list", params))

    async def list_models(self, **params: Any) -> ModelListResponse:
        """List the models that the account may use."""
        return ModelListResponse.wrap(await self.call("model/list", params))

    async def call(
        self,
        method: str,
        params: Mapping[str, Any] | Record | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - a time limit is part of every call
    ) -> Any:
        """Call any method of the server; see `Connection.call` for what it raises."""
        return await self._connection.call(
            method, {} if params is None else params, timeout=timeout
        )

    # The connection

    def events(self, *, without: Collection[str] = ()) -> EventStream:
        """Return a stream of every event from now on, of all threads and of none.

        `without` names methods whose events are not wanted, which costs less than to read them.
        """
        stream = EventStream(without=without)
        if self._connection.closed.done():
            stream.end(self._connection.closed.result())
        self._streams = [each for each in self._streams if not each.ended] + [stream]
        return stream

    async def wait_handlers(self, timeout: float) -> None:  # noqa: ASYNC109 - see Connection
        """Wait until no server request is open; raises `TimeoutError`."""
        await self._connection.wait_handlers(timeout)

    async def wait_closed(self) -> TransportClosed:
        """Wait for the end of the connection and return its cause."""
        return await asyncio.shield(self._connection.closed)

    @property
    def counters(self) -> Counters:
        """What could not be used, counted."""
        return self._connection.counters

    # Routing

    def _known(self, answer: dict[str, Any], *, heard: int = 0) -> Thread:
        thread = self._thread(answer["thread"]["id"])
        self._heard.pop(thread.id, None)
        thread.adopt(answer, heard=heard)
        return thread

    def _thread(self, thread_id: str) -> Thread:
        thread = self._threads.get(thread_id)
        if thread is None:
            thread = self._threads[thread_id] = Thread(
                thread_id,
                self._connection,
                self._turns,
                self.version,
                _now,
                unread=self._unread_of_turns,
            )
            self._heard[thread_id] = None
            if len(self._heard) > _MOST_HEARD:
                self._forget(next(iter(self._heard)))
        return thread

    def _forget(self, thread_id: str) -> None:
        del self._heard[thread_id]
        cause = MalformedError(f"the server spoke of {_MOST_HEARD} threads since, never asked for")
        self._threads.pop(thread_id).end(cause)

    def _take(self, event: Event, size: int) -> None:
        method = event.method
        if method not in _OF_CONSEQUENCE:
            # Nearly all that comes: part of a turn, and no news to anybody but its readers.
            turn = self._turns.get(event.data.get("turnId"))
            if turn is not None:
                turn.tell(event, size)
                if turn.thread.streams:
                    turn.thread.tell(event, size)
                if self._streams:
                    self._tell(event, size)
                return
        if event.thread_id:
            self._thread(event.thread_id).take(event, size)
        if method == "serverRequest/resolved":
            self._withdraw(cast("RequestId", event.data.get("requestId")))
        elif method == "turn/completed":
            self._withdraw_calls(event.turn_id)
        elif method == "account/rateLimits/updated":
            self._merge_limits(event.data.get("rateLimits"))
        self._tell(event, size)

    def _tell(self, event: Event, size: int) -> None:
        for stream in self._streams:
            stream.put(event, size)

    def _merge_limits(self, update: Any) -> None:
        if isinstance(update, dict):
            known = self.rate_limits.wire if self.rate_limits is not None else {}
            fresh = {name: value for name, value in update.items() if value is not None}
            self.rate_limits = RateLimitSnapshot.wrap(known | fresh)

    async def _ask(self, request: IncomingRequest) -> Reply:
        kind = SERVER_REQUESTS.get(request.method, Record)
        asked = ServerRequest(request.id, request.method, kind.wrap(request.params))
        self._asked[asked.id] = asked
        try:
            return await self._handler(asked)
        finally:
            del self._asked[asked.id]

    def _withdraw_calls(self, turn_id: str) -> None:
        # An approval is taken back with serverRequest/resolved; a tool call of a turn that was
        # interrupted is not, and its answer would be ignored.
        for asked in tuple(self._asked.values()):
            if asked.method == ServerRequestMethod.ITEM_TOOL_CALL and asked.turn_id == turn_id:
                self._withdraw(asked.id)

    def _withdraw(self, request_id: RequestId) -> None:
        asked = self._asked.get(request_id)
        if self._connection.withdraw(request_id) and asked is not None and self._on_withdrawn:
            self._on_withdrawn(asked)

    def _closed(self, closed: Any) -> None:
        cause: TransportClosed = closed.result()
        for thread in self._threads.values():
            thread.end(cause)
        for stream in self._streams:
            stream.end(cause)


def _now() -> datetime:
    return datetime.now().astimezone()
