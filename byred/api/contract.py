"""What a command is to the server, and what the server is to a command."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

Result = msgspec.Struct | dict[str, Any]
RequestT = TypeVar("RequestT", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end of a connection, as the kernel says."""

    uid: int
    pid: int
    user: str


@dataclass(frozen=True, slots=True)
class Notification:
    """A message to a client that expects no reply; params that many get may be text already."""

    method: str
    params: Result | msgspec.Raw


@dataclass(frozen=True, slots=True)
class Stream:
    """A reply that goes on: first `first_reply`, then what `source` yields, in order.

    The source is asked for the next notification only when the client has read enough of those
    before it; those that are yielded together cost one write. It is closed when the client goes
    away or the daemon stops. When it ends, nothing more is sent; when it raises, the connection is
    closed, so that the client asks again.
    """

    first_reply: Result
    source: AsyncGenerator[Notification | Sequence[Notification], None]


@dataclass(frozen=True, slots=True)
class Context:
    """What a command may know of the client that called it.

    `notify(method, params)` sends a notification and never waits; a client that does not read is
    cut off. `closed` is set once the client is gone.
    """

    peer: Peer
    notify: Callable[[str, Result], None]
    closed: asyncio.Event


@dataclass(frozen=True, slots=True)
class Command(Generic[RequestT]):
    """One method: its name, the type of its params, and the function that answers.

    The function raises a `byred.core.errors.ByredError` to refuse. A call is not cancelled when its
    client goes away, since what it does may be half done.
    """

    name: str
    request: type[RequestT]
    function: Callable[[Context, RequestT], Awaitable[Result | Stream]]

    def __post_init__(self) -> None:
        """Hold every command to refusing params that it does not know."""
        if not self.request.__struct_config__.forbid_unknown_fields:
            raise TypeError(
                f"cannot serve {self.name}: {self.request.__name__} must forbid unknown fields",
            )
