"""Calls, notifications and server requests over a transport, for any method.

Owns request ids and their correlation, time limits, late answers, the running of server requests
and their one answer each, and the order of notifications. The reader never waits for a consumer.
Knows no method names; types and meaning are the session's.
"""

import asyncio
import contextlib
import random
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec

from byred.codex.errors import (
    INTERNAL_ERROR,
    CallTimeout,
    CodexError,
    MalformedError,
    MessageTooLarge,
    RequestFailed,
    ServerOverloaded,
    TransportClosed,
)
from byred.codex.message import Counters, Head, IncomingRequest, Message, RequestId, read_error
from byred.codex.record import Record
from byred.codex.transport import Transport
from byred.failpoint import reach

OnNotification = Callable[[Any, int], None]
OnRequest = Callable[["IncomingRequest"], Awaitable[Mapping[str, Any] | Record]]
OnBadLine = Callable[[bytes, str], None]
Tap = Callable[[str, bytes], None]

_MESSAGES_BETWEEN_YIELDS: Final = 128
"""Messages read before other tasks get a turn: a full buffer must not starve the loop."""
_OVERLOAD_DELAYS: Final = (0.1, 0.2, 0.4, 0.8, 1.6)
_WRITE_TIMEOUT: Final = 60.0
"""Seconds for the server to take a message off its stdin before it counts as dead."""
_MAX_WAITING: Final = 1024
_MAX_REASON: Final = 500
"""Characters of what is said about a line: it may quote the line, which may be of any length."""
_OUR_END: Final = "the connection was closed on this side"


class Connection:
    """One client's end of the protocol; made and ended by `open_connection`."""

    def __init__(
        self,
        transport: Transport,
        *,
        on_notification: OnNotification,
        on_request: OnRequest,
        request_timeout: float,
        max_handlers: int = 64,
        max_tombstones: int = 1024,
        message_type: type[Message] = Message,
        on_bad_line: OnBadLine | None = None,
        tap: Tap | None = None,
    ) -> None:
        self.counters = Counters()
        self.closed: asyncio.Future[TransportClosed] = asyncio.get_running_loop().create_future()
        self._transport = transport
        self._on_notification = on_notification
        self._on_request = on_request
        self._on_bad_line = on_bad_line
        self._tap = tap
        self._timeout = request_timeout
        self._max_handlers = max_handlers
        self._max_tombstones = max_tombstones
        self._decode = msgspec.json.Decoder(message_type).decode
        self._encode = msgspec.json.Encoder(enc_hook=_plain).encode
        self._next_id = 1
        self._pending: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self._tombstones: dict[int, str] = {}
        self._handlers: dict[RequestId, asyncio.Task[None]] = {}
        self._waiting: deque[IncomingRequest] = deque()
        self._refusals = 0
        self._group: asyncio.TaskGroup | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    # Calls

    async def call(
        self,
        method: str,
        params: Mapping[str, Any] | Record | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - a time limit is part of every call
    ) -> Any:
        """Call `method` and return its result, a JSON value.

        Raises the `CallError` that the server answered, `CallTimeout` after `timeout` seconds
        (the connection's own when None), and `TransportClosed` when the connection ends first. A
        server that is overloaded is asked again, with jitter, within the same time limit.
        """
        limit = self._timeout if timeout is None else timeout
        try:
            async with asyncio.timeout(limit):
                for delay in _OVERLOAD_DELAYS:
                    try:
                        return await self._call_once(method, params)
                    except ServerOverloaded:
                        self.counters.overload_retries += 1
                        await asyncio.sleep(delay * (0.5 + random.random()))  # noqa: S311 - jitter
                return await self._call_once(method, params)
        except TimeoutError as error:
            raise CallTimeout(f"cannot {method}: no answer within {limit:g} s") from error

    async def _call_once(self, method: str, params: Mapping[str, Any] | Record | None) -> Any:
        self._raise_if_closed()
        number = self._next_id
        self._next_id += 1
        message = {"id": number, "method": method}
        if params is not None:
            message["params"] = params
        encoded = self._encode(message)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[number] = (method, answer)
        try:
            await self._send(encoded, method)
            return await answer
        finally:
            if self._pending.pop(number, None) is not None and not self.closed.done():
                self._bury(number, method)
            if not answer.cancel() and not answer.cancelled():
                answer.exception()  # read here, where a failed send may have passed it by

    def _bury(self, number: int, method: str) -> None:
        self._tombstones[number] = method
        while len(self._tombstones) > self._max_tombstones:
            del self._tombstones[next(iter(self._tombstones))]

    async def notify(self, method: str, params: Mapping[str, Any] | Record | None = None) -> None:
        """Send a notification, which has no answer."""
        self._raise_if_closed()
        message: dict[str, Any] = {"method": method}
        if params is not None:
            message["params"] = params
        await self._send(self._encode(message), method)

    def _raise_if_closed(self) -> None:
        if self.closed.done():
            raise TransportClosed(str(self.closed.result())) from self.closed.result()

    async def _send(self, encoded: bytes, name: str) -> None:
        reach("before", f"send {name}")
        if self._tap is not None:
            self._tap("send", encoded)
        try:
            async with asyncio.timeout(_WRITE_TIMEOUT):
                await self._transport.send(encoded)
        except TimeoutError as error:
            raise TransportClosed(
                f"cannot write to the server: it took nothing for {_WRITE_TIMEOUT:g} s"
            ) from error
        reach("after", f"send {name}")

    # Reading

    async def _run(self) -> None:
        cause = TransportClosed(_OUR_END)
        try:
            async with asyncio.TaskGroup() as self._group:
                try:
                    await self._read()
                except TransportClosed as error:
                    cause = error
                finally:
                    self._end(cause)
                for task in tuple(self._handlers.values()):
                    task.cancel()
        finally:
            self._end(cause)

    def _end(self, cause: TransportClosed) -> None:
        if self.closed.done():
            return
        self.closed.set_result(cause)
        for _method, answer in self._pending.values():
            if not answer.done():
                error = TransportClosed(str(cause))
                error.__cause__ = cause
                answer.set_exception(error)
        self._pending.clear()
        self._tombstones.clear()
        self._waiting.clear()

    async def _read(self) -> None:
        receive = self._transport.receive
        receive_ready = self._transport.receive_ready
        since_yield = 0
        while True:
            try:
                line = await receive()
            except MessageTooLarge as error:
                self._drop_oversized(error)
                continue
            self._take_lines((line,))
            ready = receive_ready()
            for start in range(0, len(ready), _MESSAGES_BETWEEN_YIELDS):
                if start:
                    await asyncio.sleep(0)
                self._take_lines(ready[start : start + _MESSAGES_BETWEEN_YIELDS])
            since_yield += 1 + len(ready)
            if since_yield >= _MESSAGES_BETWEEN_YIELDS:
                since_yield = 0
                await asyncio.sleep(0)

    def _take_lines(self, lines: Sequence[bytes]) -> None:
        tap, decode, notice = self._tap, self._decode, self._on_notification
        for line in lines:
            if tap is not None:
                tap("recv", line)
            try:
                message = decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                self._bad(line, str(error))
                continue
            if not message.method or message.id is not None or type(message.data) is not dict:
                self._take(message, line)
                continue
            try:
                notice(message, len(line))
            except (CodexError, LookupError, TypeError, ValueError, AttributeError) as error:
                # What the server says may be of any shape: one odd message ends nothing.
                self._bad(line, f"cannot take {message.method}: {error!r}")

    def _take(self, message: Message, line: bytes) -> None:
        """Take what is not an ordinary notification."""
        params = {} if message.data is None else message.data
        if not message.method:
            self._take_answer(message, line)
        elif type(params) is not dict:
            self._bad(line, "params are not an object")
        elif message.id is None:
            self._on_notification(type(message)(method=message.method, data=params), len(line))
        else:
            self._take_request(IncomingRequest(message.id, message.method, params), line)

    def _take_answer(self, message: Message, line: bytes) -> None:
        number = message.id
        if number is None:
            self._bad(line, "neither a method nor an id")
            return
        entry = self._pending.pop(number, None) if type(number) is int else None
        if entry is None:
            self._stray_answer(number, line)
            return
        method, answer = entry
        if answer.done():
            return
        if message.error is not None:
            answer.set_exception(read_error(method, message.error))
        elif message.result is msgspec.UNSET:
            answer.set_exception(
                MalformedError(f"cannot {method}: the answer has neither result nor error")
            )
        else:
            answer.set_result(message.result)

    def _stray_answer(self, number: RequestId, line: bytes) -> None:
        if type(number) is int and self._tombstones.pop(number, None) is not None:
            self.counters.late_answers += 1
        elif type(number) is int and 0 < number < self._next_id:
            self.counters.duplicate_answers += 1
            self._report(line, f"a second answer to request {number}")
        else:
            self.counters.unknown_answers += 1
            self._report(line, f"an answer to request {number!r}, which was never made")

    def _drop_oversized(self, error: MessageTooLarge) -> None:
        self.counters.oversized += 1
        head = Head.read(error.head)
        if head.method is None and type(head.id) is int and head.id in self._pending:
            _method, answer = self._pending.pop(head.id)
            if not answer.done():
                answer.set_exception(error)
        elif head.method is not None and head.id is not None:
            self._refuse(head.id, str(error))
        self._report(error.head, str(error))

    def _bad(self, line: bytes, reason: str) -> None:
        self.counters.bad_lines += 1
        self._report(line, reason)

    def _report(self, line: bytes, reason: str) -> None:
        if self._on_bad_line is not None:
            self._on_bad_line(line, reason[:_MAX_REASON])

    # Server requests

    def _take_request(self, request: IncomingRequest, line: bytes) -> None:
        if request.id in self._handlers or any(r.id == request.id for r in self._waiting):
            self.counters.duplicate_requests += 1
            self._report(line, f"server request {request.id!r} came again while it is open")
        elif len(self._handlers) < self._max_handlers:
            self._start_handler(request)
        elif len(self._waiting) < _MAX_WAITING:
            self._waiting.append(request)
        else:
            reason = f"more than {self._max_handlers + _MAX_WAITING} requests are open"
            self._refuse(request.id, reason)

    def _start_handler(self, request: IncomingRequest) -> None:
        if self._group is None:
            raise RuntimeError("a server request before the connection runs")
        self._idle.clear()
        task = self._group.create_task(self._handle(request))
        self._handlers[request.id] = task
        # Not in the task itself: one that is cancelled before its first step never runs.
        task.add_done_callback(lambda _task: self._handled(request.id))

    def _handled(self, request: RequestId) -> None:
        self._handlers.pop(request, None)
        if self._waiting and not self.closed.done():
            self._start_handler(self._waiting.popleft())
        elif not self._handlers:
            self._idle.set()

    async def _handle(self, request: IncomingRequest) -> None:
        reply: dict[str, Any]
        try:
            reply = {"id": request.id, "result": await self._on_request(request)}
        except RequestFailed as error:
            detail = {"code": error.code, "message": error.message}
            reply = {
                "id": request.id,
                "error": detail | ({"data": error.data} if error.data else {}),
            }
        except Exception as error:  # noqa: BLE001 - a handler is a guest: the server needs its answer
            self.counters.handler_errors += 1
            self._report(b"", f"the handler of {request.method} failed: {error!r}")
            reply = _failure(request.id, f"{type(error).__name__}: {error}")
        await self._answer(reply, f"reply {request.method}")

    async def _answer(self, reply: dict[str, Any], name: str = "reply") -> None:
        try:
            encoded = self._encode(reply)
        except (TypeError, ValueError, msgspec.MsgspecError) as error:
            self.counters.handler_errors += 1
            encoded = self._encode(_failure(reply["id"], f"cannot encode the result: {error}"))
        # When the connection has ended there is nobody to answer; the server asks again on resume.
        with contextlib.suppress(TransportClosed):
            try:
                await self._send(encoded, name)
            except MessageTooLarge as error:
                await self._send(self._encode(_failure(reply["id"], str(error))), name)

    def _refuse(self, request: RequestId, reason: str) -> None:
        # Who asks without end and reads no answer is not kept answers without end.
        if self._group is not None and self._refusals < _MAX_WAITING:
            self._refusals += 1
            task = self._group.create_task(self._answer(_failure(request, reason)))
            task.add_done_callback(self._refused)

    def _refused(self, _task: asyncio.Task[None]) -> None:
        self._refusals -= 1

    def withdraw(self, request: RequestId) -> bool:
        """Cancel the handler of a server request that needs no answer any more."""
        for waiting in self._waiting:
            if waiting.id == request:
                self._waiting.remove(waiting)
                return True
        task = self._handlers.get(request)
        if task is not None:
            task.cancel()
        return task is not None

    async def wait_handlers(self, timeout: float) -> None:  # noqa: ASYNC109 - one bound, said by the caller
        """Wait until no server request is open; raises `TimeoutError` after `timeout` seconds."""
        async with asyncio.timeout(timeout):
            await self._idle.wait()

    @property
    def open_calls(self) -> int:
        """Calls that wait for their answer."""
        return len(self._pending)

    @property
    def tombstones(self) -> int:
        """Calls that were given up and whose late answer would be absorbed."""
        return len(self._tombstones)

    @property
    def open_requests(self) -> int:
        """Server requests that are not answered yet."""
        return len(self._handlers) + len(self._waiting)


def _plain(value: object) -> object:
    if isinstance(value, Record):
        return value.wire
    raise TypeError(f"cannot send a {type(value).__name__} as JSON")


def _failure(request: RequestId, message: str) -> dict[str, Any]:
    return {"id": request, "error": {"code": INTERNAL_ERROR, "message": message}}


@asynccontextmanager
async def open_connection(
    transport: Transport,
    *,
    on_notification: OnNotification,
    on_request: OnRequest,
    request_timeout: float,
    max_handlers: int = 64,
    max_tombstones: int = 1024,
    message_type: type[Message] = Message,
    on_bad_line: OnBadLine | None = None,
    tap: Tap | None = None,
) -> AsyncIterator[Connection]:
    """Run a connection over `transport`; leaving ends it, its handlers and the transport.

    `on_notification(message, size)` is called in order on the reader with each notification, as a
    `message_type`, and its bytes on the wire; it must return at once. `on_request` runs as a task
    for each server request, at most `max_handlers` at a time (the others wait in order); what it
    returns is the answer, what it raises an error answer.
    """
    connection = Connection(
        transport,
        on_notification=on_notification,
        on_request=on_request,
        request_timeout=request_timeout,
        max_handlers=max_handlers,
        max_tombstones=max_tombstones,
        message_type=message_type,
        on_bad_line=on_bad_line,
        tap=tap,
    )
    main = asyncio.create_task(connection._run(), name="codex connection")  # noqa: SLF001 - its owner
    try:
        yield connection
    finally:
        main.cancel()
        await asyncio.wait({main})
        connection._end(TransportClosed(_OUR_END))  # noqa: SLF001 - main may never have begun
        await transport.aclose()
    if not main.cancelled():
        main.result()
