"""A loopback model for the rollout tour: it replies from a queue and keeps what it was asked.

It owns the wire of the Responses API, as far as codex asks for it, and takes items as they are:
the tour needs kinds that the scripted model of `byred.testing` has no words for (patches, web
searches, pictures, sealed reasoning, items that no version knows). What is said in which scene is
the tour's business.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Item = dict[str, Any]
Reply = list[Item]
"""What one request is answered with: the items of the response, in order."""
Cue = Reply | int | Callable[[Item], Reply]
"""A reply, an HTTP status to fail with, or a reply that is made from the request."""


def say(text: str, *, phase: str | None = None) -> Item:
    """Return an assistant message."""
    item: Item = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    }
    return item if phase is None else item | {"phase": phase}


def think(summary: str, *, sealed: str = "c2VhbGVk") -> Item:
    """Return a reasoning item with a summary and sealed content."""
    return {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": summary}],
        "encrypted_content": sealed,
    }


def call(name: str, arguments: Any, call_id: str, **more: Any) -> Item:
    """Return a function call; `arguments` travel as a JSON string."""
    return {
        "type": "function_call",
        "name": name,
        "arguments": json.dumps(arguments),
        "call_id": call_id,
    } | more


def patch(text: str, call_id: str) -> Item:
    """Return a freeform `apply_patch` call."""
    return {
        "type": "custom_tool_call",
        "name": "apply_patch",
        "input": text,
        "call_id": call_id,
    }


class Model:
    """Replies in the order in which they were queued; the log is in `requests`.

    `asides` answers the requests whose last message from the user has that text, whenever they
    come: what a sub-agent asks must not use up the replies of its parent.
    """

    def __init__(self) -> None:
        self.requests: list[Item] = []
        self.given: list[Item] = []
        """Every item of every reply, in the order in which they were sent."""
        self.asides: dict[str, Reply] = {}
        self._replies: deque[Cue] = deque()
        self._count = 0
        self._lock = threading.Lock()

    def queue(self, *replies: Cue) -> None:
        """Append replies, in the order in which the model is to give them."""
        with self._lock:
            self._replies.extend(replies)

    def forget(self) -> None:
        """Drop the replies nobody asked for, so that a scene cannot leak into the next."""
        with self._lock:
            self._replies.clear()

    def take(self, request: Item) -> tuple[int, Reply | int]:
        """Record a request and return its number and its reply."""
        with self._lock:
            self.requests.append(request)
            self._count += 1
            aside = self.asides.get(_last_text(request))
            if aside is not None:
                return self._count, aside
            cue: Cue = self._replies.popleft() if self._replies else [say("Done.")]
            return self._count, cue(request) if callable(cue) else cue


def _last_text(request: Item) -> str:
    last = request["input"][-1] if request.get("input") else {}
    content = last.get("content") if last.get("role") == "user" else None
    return str(content[-1].get("text", "")) if content else ""


def events(number: int, reply: Reply) -> Iterator[Item]:
    """Yield the server-sent events of one response, text streamed in two deltas."""
    response_id = f"resp_{number}"
    yield {"type": "response.created", "response": {"id": response_id}}
    for index, plain in enumerate(reply):
        item = {"id": f"item_{number}_{index}"} | plain
        if item["type"] == "message":
            text = item["content"][0]["text"]
            yield {"type": "response.output_item.added", "item": item | {"content": []}}
            for half in (text[: len(text) // 2], text[len(text) // 2 :]):
                yield {"type": "response.output_text.delta", "item_id": item["id"], "delta": half}
        if item["type"] == "reasoning":
            yield {"type": "response.output_item.added", "item": item | {"summary": []}}
            yield {
                "type": "response.reasoning_summary_text.delta",
                "item_id": item["id"],
                "summary_index": 0,
                "delta": item["summary"][0]["text"],
            }
        yield {"type": "response.output_item.done", "item": item}
    usage = {
        "input_tokens": 1000 + 100 * number,
        "input_tokens_details": {"cached_tokens": 10 * number},
        "output_tokens": 20 + number,
        "output_tokens_details": {"reasoning_tokens": number % 7},
        "total_tokens": 1020 + 101 * number,
    }
    yield {"type": "response.completed", "response": {"id": response_id, "usage": usage}}


@contextlib.contextmanager
def serve(model: Model) -> Iterator[str]:
    """Serve `model` on loopback and give its base URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base names it so
            """Print nothing: a tour's output is its corpus."""

        def _json(self, status: int, body: Any) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            self._json(200, {"object": "list", "data": [], "models": []})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if self.path.endswith("/compact"):
                self._json(
                    200, {"output": [{"type": "compaction", "encrypted_content": "c2VhbA=="}]}
                )
                return
            number, reply = model.take(body)
            if isinstance(reply, int):  # a failure, and nothing given
                self._json(reply, {"error": {"message": f"scripted failure {reply}", "code": None}})
                return
            model.given.extend(reply)
            stream = "".join(
                f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                for event in events(number, reply)
            ).encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(stream)))
            self.end_headers()
            self.wfile.write(stream)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
