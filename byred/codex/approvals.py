"""Decisions that the server asks for: approvals, input for a tool, an MCP server's form.

Owns the spelling of every answer and two policies; a policy of one's own is any function from a
`ServerRequest` to a reply, best made with the functions here. Who is asked is the caller's.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import msgspec

from byred.codex.errors import METHOD_NOT_FOUND, RequestFailed
from byred.codex.protocol import types
from byred.codex.protocol.methods import ServerRequestMethod as Method
from byred.codex.requests import Handler, Reply, ServerRequest

Kind = Literal["approval", "input", "elicitation"]


class Decision(StrEnum):
    """What can be said to an approval; `CANCEL` also interrupts the turn."""

    ACCEPT = "accept"
    ACCEPT_FOR_SESSION = "acceptForSession"
    DECLINE = "decline"
    CANCEL = "cancel"


_LEGACY: dict[Decision, Any] = {
    Decision.ACCEPT: "approved",
    Decision.ACCEPT_FOR_SESSION: "approved_for_session",
    Decision.DECLINE: {"denied": {"rejection": "declined"}},
    Decision.CANCEL: "abort",
}
_OLD_LEGACY_DENIED = "denied"
_CURRENT = {
    Method.ITEM_COMMAND_EXECUTION_REQUEST_APPROVAL,
    Method.ITEM_FILE_CHANGE_REQUEST_APPROVAL,
}
_LEGACY_METHODS = {Method.EXEC_COMMAND_APPROVAL, Method.APPLY_PATCH_APPROVAL}


def decide(
    request: ServerRequest,
    decision: Decision,
    *,
    permissions: Mapping[str, Any] | None = None,
    plain_denial: bool = False,
) -> Reply:
    """Return the answer to an approval, in the spelling of its method.

    For a request of permissions, accepting grants `permissions` (a subset as the wire spells it;
    None: all that was asked for), for the turn or the session; declining grants nothing. The
    legacy approvals of servers before 0.154 know `denied` only as a plain word: `plain_denial`.
    """
    if request.method in _CURRENT:
        return {"decision": decision.value}
    if request.method in _LEGACY_METHODS:
        if decision is Decision.DECLINE and plain_denial:
            return {"decision": _OLD_LEGACY_DENIED}
        return {"decision": _LEGACY[decision]}
    if request.method == Method.ITEM_PERMISSIONS_REQUEST_APPROVAL:
        asked = request.params.wire.get("permissions") or {}
        granted = asked if permissions is None else permissions
        accepted = decision in (Decision.ACCEPT, Decision.ACCEPT_FOR_SESSION)
        scope = "session" if decision is Decision.ACCEPT_FOR_SESSION else "turn"
        return {
            "permissions": {name: part for name, part in granted.items() if part is not None}
            if accepted
            else {},
            "scope": scope,
        }
    if request.method == Method.MCP_SERVER_ELICITATION_REQUEST:
        return answer_elicitation(
            {Decision.DECLINE: "decline", Decision.CANCEL: "cancel"}.get(decision, "accept")
        )
    raise ValueError(f"cannot decide on {request.method}: it asks for no decision")


def amend_exec_policy(rule: Sequence[str]) -> Reply:
    """Accept a command and let those that begin with `rule` run unasked from now on."""
    return {"decision": {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": list(rule)}}}


def amend_network_policy(host: str, action: Literal["allow", "deny"]) -> Reply:
    """Answer a network approval by a rule for `host`."""
    amendment = {"host": host, "action": action}
    return {"decision": {"applyNetworkPolicyAmendment": {"network_policy_amendment": amendment}}}


def answer_input(answers: Mapping[str, Sequence[str]]) -> Reply:
    """Answer a tool's request for user input: for each question's id the answers given."""
    return {"answers": {name: {"answers": list(given)} for name, given in answers.items()}}


def answer_elicitation(
    action: Literal["accept", "decline", "cancel"] | str,  # noqa: PYI051 - the known ones, spelled out
    content: Any = None,
) -> Reply:
    """Answer an MCP server's elicitation; `content` is the form's values when accepted."""
    return {"action": action, "content": content, "_meta": None}


def refuse(request: ServerRequest) -> Reply:
    """Return the politest no that the method has; raises `RequestFailed` when it has none."""
    if request.method == Method.ITEM_TOOL_REQUEST_USER_INPUT:
        return answer_input({})
    if request.method in {
        *_CURRENT,
        *_LEGACY_METHODS,
        Method.ITEM_PERMISSIONS_REQUEST_APPROVAL,
        Method.MCP_SERVER_ELICITATION_REQUEST,
    }:
        return decide(request, Decision.DECLINE)
    raise RequestFailed(METHOD_NOT_FOUND, f"this client does not answer {request.method}")


async def auto(request: ServerRequest) -> Reply:
    """The policy `auto`: accept commands and file changes, refuse the rest politely."""
    if request.method in _CURRENT | _LEGACY_METHODS:
        return decide(request, Decision.ACCEPT)
    return refuse(request)


@dataclass(frozen=True, slots=True)
class Question:
    """A request of the server in words, for a person.

    `options` are what can be answered as it is; for the kind `input` each of `fields` (a question's
    id and its text) takes an answer of its own.
    """

    request: ServerRequest
    kind: Kind
    text: str
    options: tuple[str, ...]
    fields: tuple[tuple[str, str], ...] = ()

    def answer(self, choice: str) -> Reply:
        """Return the reply for one word or text of a person.

        An approval takes one of the options (any case; anything else declines), an input the same
        text for each of its fields, a form its values as JSON or a word for its action.
        """
        if self.kind == "input":
            return answer_input({name: [choice] for name, _text in self.fields})
        if self.kind == "elicitation" and choice.lstrip().startswith("{"):
            return answer_elicitation("accept", msgspec.json.decode(choice))
        known = {option.lower(): option for option in Decision}
        return decide(self.request, known.get(choice.strip().lower(), Decision.DECLINE))


def describe(request: ServerRequest) -> Question:
    """Put a request into words; raises `RequestFailed` for one that asks for no decision."""
    params = request.params
    if isinstance(params, types.ToolRequestUserInputParams):
        fields = tuple((each.id, each.question) for each in params.questions)
        labels = tuple(option.label for each in params.questions for option in each.options or ())
        text = "\n".join(question for _name, question in fields)
        return Question(request, "input", text, labels, fields)
    if isinstance(params, types.McpServerElicitationRequestParams):
        text = f"The MCP server {params.server_name} asks: {params.message or params.title or ''}"
        if params.url:
            text += f" ({params.url})"
        return Question(request, "elicitation", text, ("accept", "decline", "cancel"))
    return Question(request, "approval", _approval_text(request), tuple(Decision))


def _approval_text(request: ServerRequest) -> str:
    params = request.params
    if isinstance(params, types.CommandExecutionRequestApprovalParams):
        text = f"May the agent run this command in {params.cwd}?\n{params.command}"
    elif isinstance(params, types.ExecCommandApprovalParams):
        text = f"May the agent run this command in {params.cwd}?\n{' '.join(params.command)}"
    elif isinstance(params, types.FileChangeRequestApprovalParams):
        where = f" below {params.grant_root}" if params.grant_root else ""
        text = f"May the agent change files{where}?"
    elif isinstance(params, types.ApplyPatchApprovalParams):
        text = f"May the agent change these files?\n{', '.join(sorted(params.file_changes))}"
    elif isinstance(params, types.PermissionsRequestApprovalParams):
        asked = msgspec.json.encode(params.permissions.wire).decode()
        text = f"May the agent have these permissions in {params.cwd}?\n{asked}"
    else:
        raise RequestFailed(METHOD_NOT_FOUND, f"this client does not answer {request.method}")
    reason = params.wire.get("reason")
    return f"{text}\nReason: {reason}" if reason else text


def ask(callback: Callable[[Question], Awaitable[Reply | str]]) -> Handler:
    """Return the policy `ask`: hand each request to `callback`, which may take days.

    The callback returns a reply made with the functions here, or a person's word for it (see
    `Question.answer`).
    """

    async def policy(request: ServerRequest) -> Reply:
        question = describe(request)
        answer = await callback(question)
        return question.answer(answer) if isinstance(answer, str) else answer

    return policy
