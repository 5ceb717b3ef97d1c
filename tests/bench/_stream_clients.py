"""Clients of the daemon in a process of their own: `_stream_clients.py WHAT SOCKET …`.

`followers SOCKET NUMBER TASK…` follows all events NUMBER times and the log of each task once; it
prints `ready`, is told the last `seq` on stdin, and prints what each has seen. `status SOCKET` asks
for the daemon's status again and again on new connections until stdin ends, and prints when each
was asked for and how long it took, in seconds. Both print JSON.
"""

import asyncio
import json
import socket
import sys
import threading
import time
from typing import Any

import msgspec

PAUSE = 0.02
"""Seconds between two calls for the status."""


class Seen(msgspec.Struct):
    """What one follower has seen: how many, the last number, and how often one was out of order."""

    first: int
    count: int = 0
    last: int = 0
    disorder: int = 0

    def take(self, seq: int) -> None:
        self.disorder += seq != self.last + 1
        self.count += 1
        self.last = seq


class Event(msgspec.Struct):
    seq: int


class Line(msgspec.Struct):
    line: Event


class OfEvents(msgspec.Struct):
    params: Event


class OfLog(msgspec.Struct):
    method: str
    params: msgspec.Raw


async def connected(path: str, call: dict[str, Any]) -> tuple[asyncio.StreamReader, Any, Any]:
    reader, writer = await asyncio.open_unix_connection(path, limit=1 << 26)
    writer.write(json.dumps({"jsonrpc": "2.0", "id": 1} | call).encode() + b"\n")
    return reader, writer, json.loads(await reader.readline())["result"]


async def follow_events(path: str, ready: asyncio.Semaphore, goal: asyncio.Future[int]) -> Seen:
    reader, writer, reply = await connected(path, {"method": "events.follow"})
    seen = Seen(first=reply["seq"], last=reply["seq"])
    ready.release()
    decode = msgspec.json.Decoder(OfEvents).decode
    goal.add_done_callback(lambda _: reader.feed_data(b"\n"))
    while not (goal.done() and seen.last >= goal.result()):
        line = await reader.readline()
        if line.strip():
            seen.take(decode(line).params.seq)
        elif not line:
            break
    writer.close()
    return seen


async def follow_log(path: str, ready: asyncio.Semaphore, task: int) -> Seen:
    params = {"id": task, "follow": True}
    reader, writer, reply = await connected(path, {"method": "task.log", "params": params})
    first = reply["lines"][-1]["seq"] if reply["lines"] else 0
    seen = Seen(first=first, last=first)
    ready.release()
    while line := await reader.readline():
        message = msgspec.json.decode(line, type=OfLog)
        if message.method == "log.end":
            break
        seen.take(msgspec.json.decode(message.params, type=Line).line.seq)
    writer.close()
    return seen


async def followers(path: str, number: int, tasks: list[int]) -> None:
    ready = asyncio.Semaphore(0)
    goal: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    events = [asyncio.create_task(follow_events(path, ready, goal)) for _ in range(number)]
    logs = [asyncio.create_task(follow_log(path, ready, task)) for task in tasks]
    for _ in (*events, *logs):
        await ready.acquire()
    print("ready", flush=True)
    goal.set_result(int(await asyncio.to_thread(sys.stdin.readline)))
    found = {"events": await asyncio.gather(*events), "logs": await asyncio.gather(*logs)}
    print(msgspec.json.encode(found).decode())


def status(path: str) -> None:
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    print("ready", flush=True)
    took = []
    while not over.wait(PAUSE):
        begun = time.time()
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(60)
            client.connect(path)
            client.sendall(b'{"jsonrpc":"2.0","id":1,"method":"daemon.status"}\n')
            reply = b""
            while not reply.endswith(b"\n"):
                reply += client.recv(1 << 16)
        took.append((begun, time.time() - begun))
    print(json.dumps(took))


def main() -> None:
    what, path, *rest = sys.argv[1:]
    if what == "status":
        status(path)
    else:
        asyncio.run(followers(path, int(rest[0]), [int(task) for task in rest[1:]]))


if __name__ == "__main__":
    main()
