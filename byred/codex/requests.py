"""What the server asks of its client: the value, and who answers which method.

Owns the sorting of server requests to tools, policy, tokens and clock. What a policy decides is in
`approvals.py`, what a tool does in `tools.py`; that each is answered once is the connection's.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from byred.codex.errors import METHOD_NOT_FOUND, RequestFailed
from byred.codex.protocol.methods import ServerRequestMethod
from byred.codex.record import Record

if TYPE_CHECKING:
    from byred.codex.tools import Toolbox

RequestId = int | str
Reply = Mapping[str, Any] | Record


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """Something that the server asks and waits for.

    `params` has the method's generated type, or is a bare `Record` for a method that this version
    does not know. `thread_id`, `turn_id` and `call_id` are empty where the request names none;
    `id` and `call_id` stay the same when the server asks again after a reconnect.
    """

    id: RequestId
    method: str
    params: Record

    @property
    def thread_id(self) -> str:
        """The thread that asks."""
        return self._text("threadId") or self._text("conversationId")

    @property
    def turn_id(self) -> str:
        """The turn that asks."""
        return self._text("turnId")

    @property
    def call_id(self) -> str:
        """The tool call, approval or item that the request is about."""
        return self._text("callId") or self._text("approvalId") or self._text("itemId")

    def _text(self, name: str) -> str:
        value = self.params.wire.get(name)
        return value if isinstance(value, str) else ""


Handler = Callable[[ServerRequest], Awaitable[Reply]]

POLICY_METHODS = frozenset(
    {
        ServerRequestMethod.ITEM_COMMAND_EXECUTION_REQUEST_APPROVAL,
        ServerRequestMethod.ITEM_FILE_CHANGE_REQUEST_APPROVAL,
        ServerRequestMethod.ITEM_PERMISSIONS_REQUEST_APPROVAL,
        ServerRequestMethod.ITEM_TOOL_REQUEST_USER_INPUT,
        ServerRequestMethod.MCP_SERVER_ELICITATION_REQUEST,
        ServerRequestMethod.EXEC_COMMAND_APPROVAL,
        ServerRequestMethod.APPLY_PATCH_APPROVAL,
    }
)
"""The requests that ask for a decision."""


def answer_with(
    policy: Handler,
    *,
    tools: "Toolbox | None" = None,
    refresh_tokens: Handler | None = None,
    attest: Handler | None = None,
    clock: Callable[[], float] = time.time,
) -> Handler:
    """Return a handler for everything that a server can ask.

    Calls of dynamic tools go to `tools`, decisions to `policy` (see `approvals.auto` and `ask`),
    expired ChatGPT tokens to `refresh_tokens` and attestations to `attest`; the current time comes
    from `clock` (Unix seconds). What nobody answers gets an error at once: silence would hang the
    agent.
    """

    async def tell_time(_request: ServerRequest) -> Reply:
        return {"currentTimeAt": int(clock())}

    handlers: dict[str, Handler] = dict.fromkeys(POLICY_METHODS, policy)
    handlers[ServerRequestMethod.CURRENT_TIME_READ] = tell_time
    if tools is not None:
        handlers[ServerRequestMethod.ITEM_TOOL_CALL] = tools.answer
    if refresh_tokens is not None:
        handlers[ServerRequestMethod.ACCOUNT_CHATGPT_AUTH_TOKENS_REFRESH] = refresh_tokens
    if attest is not None:
        handlers[ServerRequestMethod.ATTESTATION_GENERATE] = attest

    async def answer(request: ServerRequest) -> Reply:
        handler = handlers.get(request.method)
        if handler is None:
            raise RequestFailed(METHOD_NOT_FOUND, f"this client does not answer {request.method}")
        return await handler(request)

    return answer
