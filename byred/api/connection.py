"""One client: its lines in, its replies out, and an end to it when it does not keep up.

Owns the flow control of a connection. A client is read only as fast as it takes what it is sent,
so a flood costs its sender alone; one that stops reading is cut off. What a call does is the
dispatcher's.
"""

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from typing import cast

import structlog

from byred.api import jsonrpc
from byred.api.contract import Context, Notification, Result, Stream
from byred.api.dispatcher import Answer, Dispatcher, kind_error
from byred.api.errors import LineTooLongError, PeerRefusedError
from byred.api.framing import Lines
from byred.api.jsonrpc import Call, Code, Refusal
from byred.api.peers import Gate
from byred.core.errors import Kind
from byred.failpoint import reach

log = structlog.get_logger()

MIB = 1 << 20
# A source or a flood that never waits must still let the other clients have their turn.
TURN = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one client may take, and what all of them may together (bytes, seconds, counts)."""

    line: int = 16 * MIB
    # Unread replies of one client; a reply may be larger when nothing else waits to be read.
    backlog: int = 8 * MIB
    # With more than this on its way, a client is asked for no more.
    pause: int = MIB // 16
    # Lines that arrive or are being answered, and unread replies, of all clients.
    held_by_all: int = 128 * MIB
    backlog_of_all: int = 128 * MIB
    # How long a client may leave its replies unread.
    stall: float = 30.0
    calls: int = 16
    streams: int = 16
    connections: int = 1000
    # The longest that a command may take to answer.
    call: float = 300.0
    # How long calls in progress may go on, and replies be read, when the server stops.
    grace: float = 2.0


class Crowd:
    """All connections, and what they take together."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._served: dict[Connection, asyncio.Task[None]] = {}

    def welcome(self, connection: "Connection") -> None:
        """Serve a new connection, or tell it that there are too many."""
        if len(self._served) >= self.limits.connections:
            log.warning("client refused", action="refuse", reason="too many connections")
            connection.refuse(
                f"cannot serve more than {self.limits.connections} connections at once: close some",
            )
            return
        self._served[connection] = asyncio.create_task(self._serve(connection))

    def has_room(self) -> bool:
        """Whether more of a long line may be read."""
        held = sum(connection.held for connection in self._served)
        return held <= self.limits.held_by_all

    def relieve(self) -> None:
        """Cut off the client with the most unread replies if all have too many."""
        if sum(connection.backlog for connection in self._served) > self.limits.backlog_of_all:
            largest = max(self._served, key=lambda connection: connection.backlog)
            largest.cut_off("all clients together have too many unread replies, it has the most")

    async def end(self) -> None:
        """Let what is in progress go on for `limits.grace` seconds, then end all."""
        for connection in self._served:
            connection.stop()
        if tasks := set(self._served.values()):
            _, late = await asyncio.wait(tasks, timeout=self.limits.grace)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _serve(self, connection: "Connection") -> None:
        try:
            await connection.run()
        except Exception:
            # The boundary of the daemon: a fault that one client meets must not meet the others.
            log.exception("a connection failed", action="serve")
        finally:
            del self._served[connection]
            connection.abort()


class Connection(asyncio.Protocol):
    """A client's socket, served by `run` until either side ends it."""

    def __init__(self, *, dispatcher: Dispatcher, gate: Gate, crowd: Crowd) -> None:
        self.closed = asyncio.Event()
        self._dispatcher = dispatcher
        self._gate = gate
        self._crowd = crowd
        self._limits = crowd.limits
        self._lines = Lines(self._limits.line)
        self._arrived = asyncio.Event()
        self._no_more = False  # the client has sent its last byte
        self._stopping = False  # no more calls are wanted
        self._calls = 0
        self._in_progress = 0
        self._answered = asyncio.Event()
        self._streams = 0
        self._pumps: set[asyncio.Task[None]] = set()
        self._written = 0
        self._writable = asyncio.Event()
        self._writable.set()
        self._stall: asyncio.TimerHandle | None = None

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the socket."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=self._limits.pause)
        self._crowd.welcome(self)

    def data_received(self, data: bytes) -> None:
        """Keep what came; `run` asks for more when it has used it up."""
        self._lines.feed(data)
        self._arrived.set()
        if self._lines.held > self._limits.pause:
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        """Go on until the calls in progress are answered: the client may still read."""
        self._no_more = True
        self._arrived.set()
        return True

    def pause_writing(self) -> None:
        """Ask the client for no more, and watch whether it reads."""
        self._writable.clear()
        self._watch_progress()

    def resume_writing(self) -> None:
        """Go on: the client has read."""
        self._writable.set()
        if self._stall is not None:
            self._stall.cancel()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - why it went is no matter
        """Let go of everything that waits for the client."""
        self.closed.set()
        self.resume_writing()
        self._arrived.set()
        self._answered.set()

    # What the server asks.

    @property
    def held(self) -> int:
        """The bytes of lines that arrive or are being answered."""
        return self._lines.held + self._in_progress

    @property
    def backlog(self) -> int:
        """The bytes of replies beyond what the kernel has taken."""
        return 0 if self.closed.is_set() else self._transport.get_write_buffer_size()

    def refuse(self, sentence: str) -> None:
        """Say why there is no service, and close."""
        self._send(kind_error(jsonrpc.NULL, Kind.LIMIT, sentence))
        self._transport.close()

    def stop(self) -> None:
        """Take no more calls; those in progress are answered, streams end."""
        self._stopping = True
        self._arrived.set()
        self._answered.set()

    def cut_off(self, reason: str) -> None:
        """End the connection at once; unread replies are lost."""
        if not self.closed.is_set():
            log.warning("client cut off", action="cut_off", reason=reason, backlog=self.backlog)
            self.abort()

    def abort(self) -> None:
        """End the connection at once, whatever its state."""
        self._transport.abort()
        self.connection_lost(None)

    async def run(self) -> None:
        """Serve the client until it goes, or until `stop`."""
        try:
            peer = await self._gate.admit(self._transport.get_extra_info("socket"))
            context = Context(peer=peer, notify=self._notify, closed=self.closed)
            async with asyncio.TaskGroup() as group:
                await self._read(context, group)
                self._stopping = True
                for pump in self._pumps:
                    pump.cancel()
        except PeerRefusedError as error:
            log.warning("peer refused", action="refuse", reason=str(error))
            self._send(kind_error(jsonrpc.NULL, Kind.INVALID, str(error)))
        finally:
            self._transport.close()
        # The transport goes on writing; a client that does not read is not waited for.
        self._watch_progress()
        await self.closed.wait()

    # Reading.

    async def _read(self, context: Context, group: asyncio.TaskGroup) -> None:
        turn = 0
        while not (self.closed.is_set() or self._stopping):
            if (turn := turn + 1) % TURN == 0:
                await asyncio.sleep(0)
            await self._writable.wait()
            try:
                line = self._lines.take()
            except LineTooLongError:
                sentence = f"cannot take a line of more than {self._limits.line} bytes: skipped it"
                self._send_error(Code.INVALID_REQUEST, sentence)
                continue
            if line is not None:
                if line.strip():
                    await self._begin(line, context, group)
            elif self._no_more:
                if self._lines.held:
                    self._send_error(Code.PARSE_ERROR, "cannot use a line that has no line end")
                return
            else:
                self._ask_for_more()
                await self._arrived.wait()

    def _ask_for_more(self) -> None:
        # What is held now is the beginning of one line.
        if self._lines.held > self._limits.pause and not self._crowd.has_room():
            self._lines.drop()
            sentence = "cannot take so long a line now: too much is in progress; try again"
            self._send(kind_error(jsonrpc.NULL, Kind.LIMIT, sentence))
        self._arrived.clear()
        self._transport.resume_reading()

    async def _begin(self, line: bytes, context: Context, group: asyncio.TaskGroup) -> None:
        message = jsonrpc.parse(line)
        if isinstance(message, Refusal):
            self._send(jsonrpc.error(message.id, message.code, message.message))
            return
        while self._is_busy(len(line)) and not self.closed.is_set():
            self._answered.clear()
            await self._answered.wait()
        self._calls += 1
        self._in_progress += len(line)
        group.create_task(self._answer(message, len(line), context, group))

    def _is_busy(self, size: int) -> bool:
        if self._calls >= self._limits.calls:
            return True
        return self._calls > 0 and self._in_progress + size > self._limits.line

    # Answering.

    async def _answer(
        self,
        message: Call | list[Call | Refusal],
        size: int,
        context: Context,
        group: asyncio.TaskGroup,
    ) -> None:
        try:
            if isinstance(message, Call):
                answers = [await self._part(message, context)]
                reach("before", f"reply {message.method}")
                self._send(answers[0].reply)
                reach("after", f"reply {message.method}")
            else:
                answers = [await self._part(part, context) for part in message]
                replies = [answer.reply for answer in answers if answer.reply is not None]
                self._send(b"[%b]" % b",".join(replies) if replies else None)
        finally:
            self._calls -= 1
            self._in_progress -= size
            self._answered.set()
        for answer in answers:
            if answer.stream is not None:
                self._pumps.add(group.create_task(self._pump(answer.stream)))

    async def _part(self, part: Call | Refusal, context: Context) -> Answer:
        if isinstance(part, Refusal):
            return Answer(jsonrpc.error(part.id, part.code, part.message))
        answer = await self._dispatcher.answer(part, context)
        if answer.stream is None:
            return answer
        if self._streams < self._limits.streams:
            self._streams += 1
            return answer
        await answer.stream.source.aclose()
        sentence = f"cannot follow more than {self._limits.streams} streams on one connection"
        back = part.id
        return Answer(None if back is None else kind_error(back, Kind.LIMIT, sentence))

    async def _pump(self, stream: Stream) -> None:
        turn = 0
        async with aclosing(stream.source) as source:
            try:
                if self._stopping:
                    return
                async for said in source:
                    together = (said,) if isinstance(said, Notification) else said
                    for start in range(0, len(together), TURN):
                        part = together[start : start + TURN]
                        lines = [jsonrpc.notification(each.method, each.params) for each in part]
                        self._send(b"\n".join(lines))
                        await self._writable.wait()
                        if (turn := turn + len(part)) >= TURN:
                            turn = 0
                            await asyncio.sleep(0)
            except Exception:
                # The boundary of the daemon: a stream that breaks ends this connection alone, and
                # its client asks again from where it was.
                log.exception("a stream failed", action="stream")
                self.cut_off("a stream of it failed")
            finally:
                self._streams -= 1
                self._pumps.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    # Writing.

    def _notify(self, method: str, params: Result) -> None:
        self._send(jsonrpc.notification(method, params))

    def _send_error(self, code: Code, message: str) -> None:
        self._send(jsonrpc.error(jsonrpc.NULL, code, message))

    def _send(self, text: bytes | None) -> None:
        # A transport that has met an error says so only in the loop's next turn.
        if text is None or self.closed.is_set() or self._transport.is_closing():
            return
        backlog = self.backlog
        if backlog and backlog + len(text) > self._limits.backlog:
            self.cut_off("it does not read its replies")
            return
        self._written += len(text) + 1
        self._transport.write(text + b"\n")
        if backlog > self._limits.pause:
            self._crowd.relieve()

    def _watch_progress(self) -> None:
        if self.closed.is_set():
            return
        taken = self._written - self.backlog

        def look() -> None:
            if self._written - self.backlog == taken:
                self.cut_off(f"it has read nothing for {self._limits.stall:g} s")
            else:
                self._watch_progress()

        self._stall = asyncio.get_running_loop().call_later(self._limits.stall, look)
