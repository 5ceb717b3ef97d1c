"""A reply as the server-sent events of the Responses API."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from byred.testing.play import Reply
from byred.testing.script import Error


class Event(msgspec.Struct, frozen=True):
    """One server-sent event; `pause` is how long to wait before it, in seconds."""

    kind: str
    data: Mapping[str, Any]
    pause: float = 0.0

    def encode(self) -> bytes:
        """The event as it stands on the wire."""
        data = msgspec.json.encode({"type": self.kind, **self.data})
        return b"event: %s\ndata: %s\n\n" % (self.kind.encode(), data)


def events(reply: Reply, response_id: str) -> Iterator[Event]:
    """The whole reply, from `response.created` to its end; a cut is not applied."""
    yield Event("response.created", {"response": {"id": response_id}})
    if reply.error is not None:
        yield _failure(reply.error, response_id)
        return
    for index, item in enumerate(reply.items):
        if index == reply.streamed:
            yield from _deltas(reply, index, str(item["id"]))
        yield Event("response.output_item.done", {"output_index": index, "item": item})
    usage = reply.usage
    counts = {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached_input},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    }
    yield Event("response.completed", {"response": {"id": response_id, "usage": counts}})


def error_body(error: Error, now: float) -> bytes:
    """The body of an HTTP error reply; `now` is a Unix time, from which a reset is counted."""
    if error.body is not None:
        return error.body.encode() if isinstance(error.body, str) else _json(error.body)
    fields: dict[str, Any] = {"type": error.code, "code": error.code, "message": error.message}
    if error.resets_in is not None:
        fields["resets_in_seconds"] = error.resets_in
        fields["resets_at"] = int(now) + error.resets_in
    if error.code == "usage_limit_reached":
        fields["plan_type"] = "plus"
    return _json({"error": fields})


def _deltas(reply: Reply, index: int, identity: str) -> Iterator[Event]:
    empty = {"type": "message", "role": "assistant", "id": identity, "content": []}
    yield Event("response.output_item.added", {"output_index": index, "item": empty})
    for chunk in reply.chunks:
        where = {"item_id": identity, "output_index": index, "content_index": 0}
        yield Event("response.output_text.delta", {**where, "delta": chunk}, reply.pause)


def _failure(error: Error, response_id: str) -> Event:
    failed = {"code": error.code, "message": error.message}
    return Event("response.failed", {"response": {"id": response_id, "error": failed}})


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value)
