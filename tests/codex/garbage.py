"""A server that writes lines without end, most of them wrong, and what it must write right.

`python garbage.py LINES SEED LIMIT` serves one client: the handshake, one thread with one turn in
which the lines are written, every call of the client meanwhile, and `fuzz/report` at the end. The
standard library alone, since it has a process of its own.
"""

import json
import os
import queue
import random
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

TOLD_EVERY = 20
ASKED_EVERY = 101
AGAIN_EVERY = 211
DEEP = 40_000

Rnd = random.Random
SHAPES: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**63, 2**64, 10**30, 1e300, "", "odd", [], {}, [[]], {"": None},
)  # fmt: skip
"""Values to stand where another is expected."""


def name(rnd: Rnd) -> str:
    """Give an id that is nobody's: often one that was given before, often a new one."""
    return f"odd-{rnd.choice([rnd.randrange(4), rnd.randrange(10**12)])}"


def params(rnd: Rnd) -> dict[str, Any]:
    turn = name(rnd)
    return {
        "threadId": name(rnd),
        "turnId": turn,
        "requestId": turn,
        "itemId": "i",
        "delta": "text",
        "item": {"id": f"odd-{rnd.randrange(9)}", "type": "agentMessage", "text": "text"},
        "turn": {"id": turn, "status": rnd.choice(["completed", "failed", "odd"]), "error": {}},
        "status": {"type": "active", "activeFlags": []},
        "tokenUsage": {"total": {"totalTokens": 1}, "last": {}},
        "rateLimits": {"primary": {"usedPercent": 1.5}, "limitId": "codex"},
    }


METHODS = (
    "account/rateLimits/updated",
    "item/agentMessage/delta",
    "item/completed",
    "item/started",
    "odd/unknown",
    "serverRequest/resolved",
    "thread/status/changed",
    "thread/tokenUsage/updated",
    "turn/completed",
    "turn/started",
)
ASKED = ("item/tool/call", "item/commandExecution/requestApproval", "odd/request", "")


def message(rnd: Rnd) -> dict[str, Any]:
    """Give a message that could be right, and concerns nothing that is."""
    kind = rnd.randrange(4)
    if kind == 0:
        # Below: what was answered long ago. Above: what is never reached.
        number = rnd.choice([0, 1, 2, -7, 10**12, 2**64, f"odd-{rnd.random()}"])
        answer = rnd.choice([{"result": {}}, {"error": {"code": 1}}, {"error": []}, {}])
        return {"id": number} | answer
    if kind == 1:
        return {"id": name(rnd), "method": rnd.choice(ASKED), "params": params(rnd)}
    told = params(rnd)
    if rnd.random() < 0.7:
        told[rnd.choice(list(told))] = rnd.choice(SHAPES)
    return {
        "method": rnd.choice(METHODS),
        "params": rnd.choice([told] * 9 + [*SHAPES[:3]]),
        "emittedAtMs": rnd.choice([1, 1, 1, None, "soon", 1e300]),
    }


def truncate(rnd: Rnd, text: bytes) -> bytes:
    return text[: rnd.randrange(1, len(text))]


def double(rnd: Rnd, text: bytes) -> bytes:
    return text + rnd.choice([text, b"}", b",", b" x"])


def batch(rnd: Rnd, text: bytes) -> bytes:
    return b"[" + b",".join([text] * rnd.randrange(4)) + b"]"


def other_id(rnd: Rnd, text: bytes) -> bytes:
    given = rnd.choice([b"true", b"false", b"[]", b"{}", b"1.5", b"-0.0", b"1e400", b"9" * 5000])
    return b'{"id":' + given + b',"method":"item/tool/call","result":{},"params":{}}'


def no_text(rnd: Rnd, _: bytes) -> bytes:
    wrong = rnd.choice([b"\xff", b"\xc3", b"\xed\xa0\x80", b"\\ud800"])
    return b'{"method":"turn/started","params":{"threadId":"odd%b"}}' % wrong


def zeros(rnd: Rnd, _: bytes) -> bytes:
    return b"\x00" * rnd.randrange(1, 50)


def deep(rnd: Rnd, _: bytes) -> bytes:
    inner = rnd.choice([b"[" * DEEP + b"]" * DEEP, b'{"a":' * DEEP, b"[" * DEEP])
    return rnd.choice([b"%b", b'{"params":%b', b'{"id":1,"result":%b}', b'{"odd":%b}']) % inner


SURE: tuple[Callable[[Rnd, bytes], bytes], ...] = (
    truncate,
    double,
    batch,
    other_id,
    no_text,
    zeros,
    deep,
)
"""What no client can take."""


def swap(rnd: Rnd, text: bytes) -> bytes:
    swapped = bytearray(text)
    for _ in range(rnd.randrange(1, 5)):
        swapped[rnd.randrange(len(swapped))] = rnd.randrange(11, 256)
    return bytes(swapped)


def insert(rnd: Rnd, text: bytes) -> bytes:
    at = rnd.randrange(1, len(text))
    return text[:at] + rnd.choice([b"\xff", b"\xc3", b"\x00", b"\r", b"\\"]) + text[at:]


def whole(_: Rnd, text: bytes) -> bytes:
    return text


def twice(rnd: Rnd, _: bytes) -> bytes:
    first, second = (json.dumps(rnd.choice([1, 2, "odd", None])).encode() for _ in range(2))
    return b'{"id":%b,"id":%b,"method":"odd","result":1}' % (first, second)


def noise(rnd: Rnd, _: bytes) -> bytes:
    return b"\x01" + rnd.randbytes(rnd.randrange(1, 200)).replace(b"\n", b" ")


def nest(rnd: Rnd, _: bytes) -> bytes:
    depth = rnd.choice([10, 100, 900])
    return b'{"method":"odd/deep","params":{"a":%b}}' % (b"[" * depth + b"]" * depth)


ODD: tuple[Callable[[Rnd, bytes], bytes], ...] = (swap, insert, whole, whole, twice, noise, nest)
"""What may be right by chance."""


def stretch(rnd: Rnd, limit: int) -> bytes:
    """Give a line over the limit: garbage, an answer or a question, or one that is neither."""
    head = rnd.choice(
        [
            b'"',
            b'{"id":1,"result":"',
            b'{"id":"\xff","method":"odd","params":"',
            b'{"method":"\xff","id":7,"params":"',
            b'{"id":"odd","method":"odd","params":"',
            b'{"id":true,"method":"odd","params":"',
            b'{"id":' + b"9" * 5000 + b',"method":"odd","params":"',
        ]
    )
    return head + b"x" * (limit + rnd.randrange(limit)) + b'"}'


class Server:
    """What was written, and what the client must have made of it."""

    def __init__(self, seed: int, limit: int) -> None:
        self.rnd = Rnd(seed)
        self.limit = limit
        self.inbox: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self.held: list[dict[str, Any]] = []
        self.answered: list[dict[str, Any]] = []
        self.answers: Counter[str] = Counter()
        self.wrong: list[Any] = []
        self.counts: Counter[str] = Counter()
        self.unsent = bytearray()

    def listen(self) -> None:
        for line in sys.stdin.buffer:
            self.inbox.put(json.loads(line))
        self.inbox.put(None)

    def write(self, line: bytes) -> None:
        # Pieces end anywhere.
        self.unsent += line + b"\n"
        if len(self.unsent) > self.rnd.randrange(1, 20_000):
            self.flush(self.rnd.randrange(1, len(self.unsent) + 1))

    def flush(self, size: int) -> None:
        done = 0
        while done < size:
            done += os.write(1, self.unsent[done:size])
        del self.unsent[:size]

    def say(self, told: dict[str, Any]) -> None:
        self.write(json.dumps(told).encode())

    def take(self, asked: dict[str, Any]) -> None:
        """Hold a call until it is answered; check an answer."""
        if "method" in asked:
            if "id" in asked:
                self.held.append(asked)
            return
        ident = asked["id"]
        if isinstance(ident, str) and ident.startswith("ask-"):
            self.answers[ident] += 1
            if asked.get("result") != {"to": ident}:
                self.wrong.append(asked)

    def answer(self) -> None:
        """Answer one of the calls that are held, in no order."""
        asked = self.held.pop(self.rnd.randrange(len(self.held)))
        reply = {"id": asked["id"], "result": asked.get("params")}
        self.say(reply)
        self.answered.append(reply)

    def serve(self, method: str, result: Any) -> None:
        """Wait for this call and answer it."""
        while True:
            asked = self.inbox.get()
            if asked is None:
                raise SystemExit
            if asked.get("method") == method:
                break
            self.take(asked)
        self.say({"id": asked["id"], "result": result})
        self.flush(len(self.unsent))

    def line(self, number: int) -> None:
        rnd = self.rnd
        if number % TOLD_EVERY == 0:
            told = {"threadId": "right", "turnId": "right", "itemId": "i"}
            told["delta"] = str(self.counts["told"])
            self.counts["told"] += 1
            self.say({"method": "item/agentMessage/delta", "params": told})
        elif number % ASKED_EVERY == 0:
            ident = f"ask-{self.counts['asked']}"
            self.counts["asked"] += 1
            self.say({"id": ident, "method": "item/tool/call", "params": {"right": ident}})
        elif number % AGAIN_EVERY == 0 and self.answered:
            self.counts["again"] += 1
            self.say(rnd.choice(self.answered[-100:]))
        elif rnd.random() < 0.002:
            self.counts["over"] += 1
            self.write(stretch(rnd, self.limit))
        elif rnd.random() < 0.5:
            way = rnd.choice(SURE) if rnd.random() < 0.9 else truncate
            if way is deep and rnd.random() < 0.9:
                way = double
            self.counts["sure"] += 1
            self.write(way(rnd, json.dumps(message(rnd)).encode()))
        else:
            self.counts["odd"] += 1
            self.write(rnd.choice(ODD)(rnd, json.dumps(message(rnd)).encode()))

    def run(self, lines: int) -> None:
        about = {"userAgent": "fake/0.163.0 (test)", "codexHome": "/nowhere"}
        self.serve("initialize", about | {"platformFamily": "unix", "platformOs": "linux"})
        self.serve("thread/start", {"thread": {"id": "right", "status": {"type": "idle"}}})
        self.serve("turn/start", {"turn": {"id": "right"}})
        for number in range(lines):
            self.line(number)
            while not self.inbox.empty():
                asked = self.inbox.get()
                if asked is None:
                    return
                self.take(asked)
            while self.held and self.rnd.random() < 0.3:
                self.answer()
        ended = {"id": "right", "status": "completed", "items": []}
        self.say({"method": "turn/completed", "params": {"threadId": "right", "turn": ended}})
        self.flush(len(self.unsent))
        self.end()

    def end(self) -> None:
        """Answer what still comes; the report waits for the answers to all that was asked."""
        while (asked := self.inbox.get()) is not None:
            self.take(asked)
            reports = [held for held in self.held if held["method"] == "fuzz/report"]
            if not reports:
                while self.held:
                    self.answer()
            elif len(self.answers) == self.counts["asked"]:
                doubled = sum(self.answers.values()) - len(self.answers)
                report = dict(self.counts) | {"doubled": doubled, "wrong": self.wrong}
                self.say({"id": reports[0]["id"], "result": report})
                self.held.clear()
            self.flush(len(self.unsent))


if __name__ == "__main__":
    server = Server(int(sys.argv[2]), int(sys.argv[3]))
    threading.Thread(target=server.listen, daemon=True).start()
    server.run(int(sys.argv[1]))
    # The thread may be in a read, and holds nothing.
    os._exit(0)
