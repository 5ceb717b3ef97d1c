"""A Responses API on loopback that plays a script: the model for demos, tests and a first try.

`ScriptedModel` owns the life of the server, the replies on their way, the gates that hold them and
the memory of what was sent. What is said is `byred.testing.play`'s; HTTP is `byred.testing.http`'s.

`python -m byred.testing.model` runs it as a process: see `byred.testing.process`.
"""

import asyncio
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from byred.testing.conversation import read
from byred.testing.events import error_body, events
from byred.testing.http import Exchange, HttpServer, Refusal, Request
from byred.testing.play import Action, Reply, next_reply
from byred.testing.records import Memory, Outcome, Recorder, Sent
from byred.testing.script import Script, check, choose
from byred.testing.wire import Body, model_list

KEPT_REQUESTS = 1000
KEPT_THREADS = 1000
_START_TIMEOUT = 10.0
_JSON = {"content-type": "application/json"}


class Gate:
    """Holds the replies whose step has its name as `delay` until `open` is called; then no more."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._opened = asyncio.Event()
        self._reached = asyncio.Event()

    def open(self) -> None:
        """Let everything through, now and later."""
        self._opened.set()

    async def reached(self, timeout: float) -> None:  # noqa: ASYNC109 - a bound with a message
        """Wait until a reply has come to this gate; `TimeoutError` after `timeout` seconds."""
        try:
            await asyncio.wait_for(self._reached.wait(), timeout)
        except TimeoutError:
            raise TimeoutError(f"no reply came to the gate {self.name} in {timeout} s") from None

    async def passed(self) -> None:
        """Come to the gate and wait until it is open (the model's side)."""
        self._reached.set()
        await self._opened.wait()


class _Thread:
    def __init__(self) -> None:
        self.memory = Memory()
        self.met: Counter[tuple[str, int]] = Counter()


class ScriptedModel:
    """A scripted model, served between `async with` and its end.

    `scripts` come from `byred.testing.script` (`parse`, `load`, `builtin`, or made by hand);
    `record` is a file that every request is appended to (see `byred.testing.records`), `keep` the
    number of requests that are held in memory. `clock`
    gives Unix times, `nonce` hexadecimal digits. Raises `ScriptError` for scripts that contradict
    each other, `ValueError` for a host that is not loopback, `OSError` for a port that is taken.
    """

    def __init__(
        self,
        scripts: Sequence[Script],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        record: Path | None = None,
        keep: int = KEPT_REQUESTS,
        clock: Callable[[], float] = time.time,
        nonce: Callable[[], str] = lambda: secrets.token_hex(4),
    ) -> None:
        self._scripts = tuple(scripts)
        check(self._scripts)
        self._clock = clock
        self._nonce = nonce
        self._recorder = Recorder(record) if record is not None else None
        self._server = HttpServer(self._handle, host, port)
        self._serving: asyncio.Task[None] | None = None
        self._gates: dict[str, Gate] = {}
        self._keep = keep
        self._threads: OrderedDict[str, _Thread] = OrderedDict()
        self._sent: dict[int, Sent] = {}
        self._count = 0
        self._changed = asyncio.Condition()

    async def __aenter__(self) -> Self:
        """Listen; `base_url` is good when this returns."""
        self._serving = asyncio.create_task(self._server.run(), name="scripted model")
        ready = asyncio.create_task(self._server.ready.wait())
        try:
            await asyncio.wait(
                {self._serving, ready},
                timeout=_START_TIMEOUT,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            ready.cancel()
        if not self._server.ready.is_set():
            await self._stop()
            raise TimeoutError(f"cannot start the scripted model in {_START_TIMEOUT} s")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop listening, abandon the replies on their way; raises what a defect had raised."""
        await self._stop()

    @property
    def base_url(self) -> str:
        """What codex calls `base_url`, with the port that was found."""
        host, port = self._server.address
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/v1"

    @property
    def requests(self) -> tuple[Sent, ...]:
        """What was sent, oldest first: the last `keep` requests."""
        return tuple(self._sent.values())

    def codex_config(self) -> dict[str, Any]:
        """What makes codex use this model: to be merged into CODEX_HOME/config.toml."""
        return {
            "model": "scripted",
            "model_provider": "scripted",
            "model_providers": {
                "scripted": {
                    "name": "scripted",
                    "base_url": self.base_url,
                    "wire_api": "responses",
                    "request_max_retries": 1,
                    "stream_max_retries": 1,
                }
            },
        }

    def gate(self, name: str) -> Gate:
        """The gate of that name: the same one for every caller."""
        return self._gates.setdefault(name, Gate(name))

    async def wait_for(
        self,
        predicate: Callable[[Sent], bool],
        timeout: float = 30.0,  # noqa: ASYNC109 - a bound with a message
    ) -> Sent:
        """Wait for a request that `predicate` likes, past ones included, and return the oldest.

        It is asked again whenever a request comes and whenever a reply is over. Raises
        `TimeoutError`, which says what was seen instead, after `timeout` seconds.
        """

        def found() -> Sent | None:
            return next((sent for sent in self._sent.values() if predicate(sent)), None)

        async with self._changed:
            try:
                liked = await asyncio.wait_for(self._changed.wait_for(found), timeout)
            except TimeoutError:
                seen = ", ".join(f"{s.script}.{s.step} {s.outcome}" for s in self._sent.values())
                raise TimeoutError(
                    f"no such request in {timeout} s; seen: {seen or 'none'}"
                ) from None
        if liked is None:
            raise AssertionError("wait_for ended without a request")
        return liked

    async def broken(self) -> None:
        """Wait for as long as the model serves; raises what a defect in it has raised."""
        if self._serving is not None:
            await asyncio.shield(self._serving)

    async def _stop(self) -> None:
        serving, self._serving = self._serving, None
        if serving is None:
            return
        serving.cancel()
        await asyncio.wait({serving})
        if self._recorder is not None:
            await self._recorder.flush()
        if not serving.cancelled():
            serving.result()

    async def _handle(self, request: Request, exchange: Exchange) -> None:
        match (request.method, request.path):
            case ("POST", "/v1/responses"):
                await self._respond(request, exchange)
            case ("GET", "/v1/models"):
                await exchange.send(200, model_list(), _JSON)
            case ("POST", path) if path.startswith("/gates/") and path.endswith("/open"):
                self.gate(path.removeprefix("/gates/").removesuffix("/open")).open()
                await exchange.send(200, b"{}", _JSON)
            case (_, "/v1/responses" | "/v1/models"):
                raise Refusal(405, f"expected another method than {request.method}")
            case _:
                raise Refusal(404, f"expected /v1/responses or /v1/models, got {request.path}")

    async def _respond(self, request: Request, exchange: Exchange) -> None:
        sent, reply = self._decide(request)
        self._sent[sent.number] = sent
        if len(self._sent) > self._keep:
            del self._sent[next(iter(self._sent))]
        outcome = Outcome.ABANDONED
        try:
            if self._recorder is not None:
                self._recorder.add_request(sent)
                await self._recorder.flush()
            await self._tell()
            outcome = await self._play(reply, exchange, sent.number)
        finally:
            ended = msgspec.structs.replace(sent, outcome=outcome, ended=self._clock())
            if sent.number in self._sent:
                self._sent[sent.number] = ended
            if self._recorder is not None:
                self._recorder.add_reply(ended)
                await self._recorder.flush()
            await self._tell()

    def _decide(self, request: Request) -> tuple[Sent, Reply]:
        """Read the request and choose the reply; raises `Refusal` when it can't be understood."""
        try:
            body = msgspec.json.decode(request.body, type=Body)
            if not body.stream:
                raise Refusal(400, "expected `stream` to be true")
            key = request.headers.get("thread-id") or body.prompt_cache_key or ""
            thread = self._thread(key)
            items, new = thread.memory.take(body.input)
        except msgspec.DecodeError as error:
            raise Refusal(400, f"expected a request of the Responses API: {error}") from error
        conversation = read(request.headers, body.prompt_cache_key, items)
        named = {script.name: script for script in self._scripts}
        script = named.get(conversation.script or "")
        script = script or choose(self._scripts, conversation.first_text)
        if script is None:
            raise Refusal(
                400,
                f"no script matches {conversation.first_text[:100]!r}: "
                "add one that does, or one without `match`",
            )
        name = script.name
        reply = next_reply(
            script, conversation, met=lambda step: thread.met[name, step], nonce=self._nonce
        )
        if reply.step is not None and (reply.error is not None or reply.cut is not None):
            thread.met[name, reply.step] += 1
        self._count += 1
        sent = Sent(
            number=self._count,
            at=self._clock(),
            thread=conversation.thread,
            turn=conversation.turn,
            kind=conversation.kind,
            action=reply.action,
            script=name,
            step=reply.step,
            new=new,
            input=items,
            tools=body.tool_names(),
            reply=tuple(dict(item) for item in reply.items),
        )
        return sent, reply

    async def _play(self, reply: Reply, exchange: Exchange, number: int) -> Outcome:
        """Send the reply, after its delay; a stream begins before the delay, as a model's does."""
        if reply.error is not None and reply.error.status is not None:
            await self._hold(reply)
            body = error_body(reply.error, self._clock())
            await exchange.send(reply.error.status, body, {**_JSON, **reply.headers})
            return Outcome.ERROR
        await exchange.begin(200, {"content-type": "text/event-stream", **reply.headers})
        for index, event in enumerate(events(reply, f"resp_{number}.{self._nonce()}")):
            if index == reply.cut:
                exchange.cut()
                return Outcome.CUT
            if event.pause:
                await asyncio.sleep(event.pause)
            await exchange.write(event.encode())
            if index == 0:
                await self._hold(reply)
        if reply.cut is not None:
            exchange.cut()
            return Outcome.CUT
        await exchange.end()
        return Outcome.SENT if reply.action is not Action.ERROR else Outcome.ERROR

    async def _hold(self, reply: Reply) -> None:
        if isinstance(reply.delay, str):
            await self.gate(reply.delay).passed()
        elif reply.delay is not None:
            await asyncio.sleep(reply.delay)

    def _thread(self, key: str) -> _Thread:
        thread = self._threads.pop(key, None) or _Thread()
        self._threads[key] = thread
        if len(self._threads) > KEPT_THREADS:
            self._threads.popitem(last=False)
        return thread

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()


if __name__ == "__main__":
    import sys

    from byred.testing.process import main

    sys.exit(main())
