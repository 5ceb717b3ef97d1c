"""From a call to its answer: the only place where an exception becomes an error on the wire."""

import asyncio
import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog

from byred.api import jsonrpc
from byred.api.contract import Command, Context, Stream
from byred.api.jsonrpc import Call, Code
from byred.core.errors import ByredError, Kind

log = structlog.get_logger()

CODES = {
    Kind.NOT_FOUND: -32000,
    Kind.WRONG_STATE: -32001,
    Kind.CONFLICT: -32002,
    Kind.LIMIT: -32003,
    Kind.INVALID: -32004,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back for one call: a reply without its line end, and a stream to run after it."""

    reply: bytes | None
    stream: Stream | None = None


class Dispatcher:
    """Answers calls from a table of commands, each within `timeout` seconds."""

    def __init__(self, commands: Mapping[str, Command[Any]], *, timeout: float) -> None:
        self._commands = {
            name: (command, msgspec.json.Decoder(command.request))
            for name, command in commands.items()
        }
        self._timeout = timeout

    async def answer(self, call: Call, context: Context) -> Answer:
        """Run the command that a call names; every failure of it is an answer too."""
        back = call.id or jsonrpc.NULL
        try:
            value = await self._run(call, context)
            stream = value if isinstance(value, Stream) else None
            reply = jsonrpc.result(back, stream.first_reply if stream else value)
        except _RefusedError as refused:
            reply, stream = jsonrpc.error(back, refused.code, str(refused)), None
        except ByredError as error:
            reply, stream = kind_error(back, error.kind, str(error), error.details()), None
        except Exception:
            # The boundary of the daemon: a fault in one command must not end a connection.
            log.exception("a command failed", action="call", method=call.method)
            message = "cannot answer: the daemon met an error of its own; its log has the details"
            data = {"kind": "internal"}
            reply, stream = jsonrpc.error(back, Code.INTERNAL_ERROR, message, data), None
        return Answer(reply if call.id else None, stream)

    async def _run(self, call: Call, context: Context) -> object:
        if call.method not in self._commands:
            close = difflib.get_close_matches(call.method[:100], self._commands, 1)
            hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(self._commands)}"
            raise _RefusedError(
                Code.METHOD_NOT_FOUND, f"unknown method {call.method[:100]!r}; {hint}"
            )
        command, decoder = self._commands[call.method]
        try:
            request = decoder.decode(call.params or b"{}")
        except msgspec.ValidationError as error:
            known = command.request.__struct_encode_fields__
            raise _RefusedError(Code.INVALID_PARAMS, explain(error, known)) from None
        except (msgspec.DecodeError, RecursionError) as error:
            raise _RefusedError(Code.PARSE_ERROR, f"cannot read the params: {error}") from None
        try:
            async with asyncio.timeout(self._timeout) as limit:
                return await command.function(context, request)
        except TimeoutError:
            if not limit.expired():
                raise
            raise _TooSlowError(
                f"cannot answer within {self._timeout:g} s; it may have taken effect: look before "
                "asking again",
            ) from None


class _RefusedError(Exception):
    """The call never reached its command."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code


class _TooSlowError(ByredError):
    kind = Kind.LIMIT


def kind_error(
    back: bytes, kind: Kind, message: str, details: Mapping[str, Any] | None = None
) -> bytes:
    """Give an error of byred's own, without its line end."""
    return jsonrpc.error(back, CODES[kind], message, {"kind": kind, **(details or {})})


def explain(error: msgspec.ValidationError, known: tuple[str, ...]) -> str:
    """Say which param is wrong and what it should be.

    >>> explain(msgspec.ValidationError("Expected `str`, got `int` - at `$.title`"), ())
    'params.title: expected `str`, got `int`'
    """
    what, _, where = str(error).partition(" - at `$")
    if re.match(r"Object contains unknown field", what) and not where:
        what += f"; known: {', '.join(known) or 'none'}"
    return f"params{where.rstrip('`')}: {what[:1].lower()}{what[1:]}"
