"""Any interleaving of answers, cancellations, time-outs and the end leaves nothing behind."""

import asyncio
import json
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from byred.codex import CallError, CallTimeout, TransportClosed
from byred.codex.connection import open_connection

BOUND = 3


class Pipe:
    """A transport in memory: what the client sends is kept, what it receives is put in."""

    def __init__(self) -> None:
        self.sent: list[dict] = []
        self.inbox: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def send(self, message: bytes) -> None:
        await asyncio.sleep(0)
        self.sent.append(json.loads(message))

    async def receive(self) -> bytes:
        message = await self.inbox.get()
        if message is None:
            raise TransportClosed("the pipe ended")
        return message

    def receive_ready(self) -> list[bytes]:
        return []

    async def aclose(self) -> None:
        pass

    def put(self, message: dict) -> None:
        self.inbox.put_nowait(json.dumps(message).encode())


NUMBER = st.integers(1, 6)
STEP = st.one_of(
    st.tuples(st.just("call"), NUMBER),
    st.tuples(st.just("call and time out"), NUMBER),
    st.tuples(st.just("answer"), NUMBER),
    st.tuples(st.just("fail"), NUMBER),
    st.tuples(st.just("cancel"), NUMBER),
    st.tuples(st.just("ask"), NUMBER),
    st.tuples(st.just("let answer"), NUMBER),
    st.tuples(st.just("take back"), NUMBER),
    st.tuples(st.just("turn"), NUMBER),
)


class Play:
    def __init__(self) -> None:
        self.pipe = Pipe()
        self.gates: dict[int, asyncio.Event] = {}
        self.calls: dict[int, asyncio.Task] = {}
        self.asked: Counter[int] = Counter()

    async def handler(self, request) -> dict:
        await self.gates[request.id].wait()
        return {"to": request.id}

    async def step(self, connection, kind: str, number: int) -> None:
        pipe = self.pipe
        if kind in ("call", "call and time out"):
            limit = 30.0 if kind == "call" else 0.0
            task = asyncio.create_task(connection.call("m", {"n": number}, timeout=limit))
            self.calls[len(self.calls) + 1] = task
        elif kind == "answer":
            pipe.put({"id": number, "result": number})
        elif kind == "fail":
            pipe.put({"id": number, "error": {"code": 1, "message": "no"}})
        elif kind == "cancel" and number in self.calls:
            self.calls[number].cancel()
        elif kind == "ask":
            self.gates.setdefault(number, asyncio.Event())
            self.asked[number] += 1
            pipe.put({"id": number, "method": "q", "params": {}})
        elif kind == "let answer" and number in self.gates:
            self.gates[number].set()
        elif kind == "take back":
            connection.withdraw(number)
        elif kind == "turn":
            for _ in range(number):
                await asyncio.sleep(0)


async def play(steps: list[tuple[str, int]], ends: str) -> None:
    this = Play()
    loop = asyncio.get_running_loop()
    complaints: list[dict] = []
    loop.set_exception_handler(lambda _loop, context: complaints.append(context))
    async with open_connection(
        this.pipe,
        on_notification=lambda *_: None,
        on_request=this.handler,
        request_timeout=30,
        max_handlers=2,
        max_tombstones=BOUND,
    ) as connection:
        for kind, number in steps:
            await this.step(connection, kind, number)
            assert connection.tombstones <= BOUND
        if ends == "peer":
            this.pipe.inbox.put_nowait(None)
            await connection.closed
            await connection.wait_handlers(5)
    assert connection.open_calls == 0
    assert connection.tombstones == 0
    assert connection.open_requests == 0
    for task in this.calls.values():
        (outcome,) = await asyncio.gather(asyncio.wait_for(task, 5), return_exceptions=True)
        assert isinstance(
            outcome, (int, CallError, CallTimeout, TransportClosed, asyncio.CancelledError)
        )
    answers = Counter(message["id"] for message in this.pipe.sent if "method" not in message)
    for number, count in answers.items():
        assert count <= this.asked[number]
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert complaints == []


@settings(max_examples=150, deadline=None)
@given(st.lists(STEP, max_size=40), st.sampled_from(["peer", "us"]))
def test_no_interleaving_leaves_a_waiter_or_answers_twice(steps, ends):
    asyncio.run(play(steps, ends), debug=True)
