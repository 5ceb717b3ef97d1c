"""What goes the other way: submissions and their operations.

Read from `codex-rs/protocol/src/protocol.rs` as it was around 0.136.0 (`Submission`, `Op`,
`ThreadSettingsOverrides`, the realtime parameters, `ReviewDecision`, `ReviewRequest`), from
`request_user_input.rs`, `request_permissions.rs`, `dynamic_tools.rs` and `user_input.rs` beside
it, and from the operations module of the months before, for `user_turn`, `override_turn_context`
and `user_input_with_turn_context`, which 0.136.0 no longer has. Soon after, codex took its
operations off every wire: newer versions have them in memory alone. So these are the newest
forms that there are, and no schema of a binary has them.

An operation is a record tagged by `type`; `Interrupt.of()`, `UserInput.of(items=[…])` and so on
make one, with the fields in the order given. An absent field keeps what is set, null clears it.
"""

from __future__ import annotations

from typing import Any

from byred.codex.rollout.errors import RolloutError
from byred.codex.rollout.jsontext import decode
from byred.codex.rollout.record import (
    Record,
    anything,
    many,
    maybe_many,
    maybe_table,
    maybe_text,
    maybe_whole,
    table,
    text,
    whole,
)


class Submission(Record):
    """What a client puts into the queue: an id of its own choosing and an operation."""

    __slots__ = ()
    id = text()
    op = table()
    trace = maybe_table()

    @property
    def operation(self) -> Record:
        """The operation as its type; `UnknownOp` for one that is not known here."""
        return op(self.op)


class Event(Record):
    """What comes out of the queue: the submission that it belongs to and an `EventMsg`."""

    __slots__ = ()
    id = text()
    msg = table()


class UnknownOp(Record):
    """An operation that is not known here, with everything still in it."""

    __slots__ = ()


class Interrupt(Record):
    """`interrupt`: end the running turn; background terminals go on."""

    __slots__ = ()
    tag = "interrupt"


class CleanBackgroundTerminals(Record):
    """`clean_background_terminals`: end the thread's background terminals."""

    __slots__ = ()
    tag = "clean_background_terminals"


class _Settings(Record):
    """The settings of a thread that an operation may change on the way."""

    __slots__ = ()
    cwd = maybe_text()
    workspace_roots = maybe_many()
    profile_workspace_roots = maybe_many()
    approval_policy = anything()
    approvals_reviewer = maybe_text()
    sandbox_policy = maybe_table()
    permission_profile = maybe_table()
    active_permission_profile = maybe_table()
    windows_sandbox_level = maybe_text()
    model = maybe_text()
    effort = maybe_text()
    summary = maybe_text()
    service_tier = maybe_text()
    collaboration_mode = maybe_table()
    personality = maybe_text()


class UserInput(_Settings):
    """`user_input`: what the person says, with settings to apply before it."""

    __slots__ = ()
    tag = "user_input"
    items = many()
    environments = maybe_many()
    final_output_json_schema = anything()
    responsesapi_client_metadata = maybe_table()
    additional_context = maybe_table()


class UserInputWithTurnContext(_Settings):
    """`user_input_with_turn_context`: the same, from before settings were part of it."""

    __slots__ = ()
    tag = "user_input_with_turn_context"
    items = many()
    environments = maybe_many()
    final_output_json_schema = anything()
    responsesapi_client_metadata = maybe_table()


class UserTurn(_Settings):
    """`user_turn`: a turn with all that it needs, in the versions before thread settings."""

    __slots__ = ()
    tag = "user_turn"
    items = many()
    environments = maybe_many()
    final_output_json_schema = anything()


class ThreadSettings(_Settings):
    """`thread_settings`: change settings without a turn."""

    __slots__ = ()
    tag = "thread_settings"


class OverrideTurnContext(_Settings):
    """`override_turn_context`: the same, from before thread settings."""

    __slots__ = ()
    tag = "override_turn_context"


class InterAgentCommunication(Record):
    """`inter_agent_communication`: one agent's message to another."""

    __slots__ = ()
    tag = "inter_agent_communication"
    communication = table()


class ExecApproval(Record):
    """`exec_approval`: the decision on a command; `id` is that of the request."""

    __slots__ = ()
    tag = "exec_approval"
    id = text()
    turn_id = maybe_text()
    decision = anything()


class PatchApproval(Record):
    """`patch_approval`: the decision on a patch."""

    __slots__ = ()
    tag = "patch_approval"
    id = text()
    decision = anything()


class ResolveElicitation(Record):
    """`resolve_elicitation`: the answer to an MCP server's question."""

    __slots__ = ()
    tag = "resolve_elicitation"
    server_name = text()
    request_id = anything()
    decision = text()
    content = anything()
    meta = anything()


class UserInputAnswer(Record):
    """`user_input_answer`: the answers to `request_user_input`; `id` is that of the turn."""

    __slots__ = ()
    tag = "user_input_answer"
    aliases = ("request_user_input_response",)
    id = text()
    response = table()


class RequestPermissionsResponse(Record):
    """`request_permissions_response`: what was granted; `id` is that of the call."""

    __slots__ = ()
    tag = "request_permissions_response"
    id = text()
    response = table()


class DynamicToolResponse(Record):
    """`dynamic_tool_response`: the output of a client's own tool; `id` is that of the call."""

    __slots__ = ()
    tag = "dynamic_tool_response"
    id = text()
    response = table()


class RefreshMcpServers(Record):
    """`refresh_mcp_servers`: start the MCP servers again with this configuration."""

    __slots__ = ()
    tag = "refresh_mcp_servers"
    config = table()


class ReloadUserConfig(Record):
    """`reload_user_config`: read the person's configuration again."""

    __slots__ = ()
    tag = "reload_user_config"


class Compact(Record):
    """`compact`: replace the conversation by a summary."""

    __slots__ = ()
    tag = "compact"


class SetThreadMemoryMode(Record):
    """`set_thread_memory_mode`: whether the thread may become a memory."""

    __slots__ = ()
    tag = "set_thread_memory_mode"
    mode = text()


class ThreadRollback(Record):
    """`thread_rollback`: take back the last turns; files stay as they are."""

    __slots__ = ()
    tag = "thread_rollback"
    num_turns = whole()


class Review(Record):
    """`review`: have changes reviewed."""

    __slots__ = ()
    tag = "review"
    review_request = table()


class ApproveGuardianDeniedAction(Record):
    """`approve_guardian_denied_action`: let one refused action be tried again."""

    __slots__ = ()
    tag = "approve_guardian_denied_action"
    event = table()


class Shutdown(Record):
    """`shutdown`: end the agent."""

    __slots__ = ()
    tag = "shutdown"


class RunUserShellCommand(Record):
    """`run_user_shell_command`: run a command of the person's own."""

    __slots__ = ()
    tag = "run_user_shell_command"
    command = text()


class RealtimeConversationStart(Record):
    """`realtime_conversation_start`: begin a spoken conversation."""

    __slots__ = ()
    tag = "realtime_conversation_start"
    output_modality = text()
    prompt = maybe_text()
    realtime_session_id = maybe_text()
    transport = maybe_table()
    voice = maybe_text()


class RealtimeConversationAudio(Record):
    """`realtime_conversation_audio`: a piece of sound."""

    __slots__ = ()
    tag = "realtime_conversation_audio"
    frame = table()


class RealtimeConversationText(Record):
    """`realtime_conversation_text`: a written part of it."""

    __slots__ = ()
    tag = "realtime_conversation_text"
    text = text()
    role = maybe_text()


class RealtimeConversationSpeech(Record):
    """`realtime_conversation_speech`: text to be spoken."""

    __slots__ = ()
    tag = "realtime_conversation_speech"
    text = text()


class RealtimeConversationClose(Record):
    """`realtime_conversation_close`: end it."""

    __slots__ = ()
    tag = "realtime_conversation_close"


class RealtimeConversationListVoices(Record):
    """`realtime_conversation_list_voices`: ask for the voices that there are."""

    __slots__ = ()
    tag = "realtime_conversation_list_voices"


class AddToHistory(Record):
    """`add_to_history`: keep a text in the history of messages across sessions."""

    __slots__ = ()
    tag = "add_to_history"
    text = text()


class GetHistoryEntryRequest(Record):
    """`get_history_entry_request`: ask for an entry of it."""

    __slots__ = ()
    tag = "get_history_entry_request"
    offset = whole()
    log_id = maybe_whole()


class ListMcpTools(Record):
    """`list_mcp_tools`: ask for the tools of all MCP servers."""

    __slots__ = ()
    tag = "list_mcp_tools"


class Undo(Record):
    """`undo`: take back what a turn did; versions before rollback."""

    __slots__ = ()
    tag = "undo"


OPS: dict[str, type[Record]] = {
    cls.tag: cls
    for cls in (
        Interrupt,
        CleanBackgroundTerminals,
        UserInput,
        UserInputWithTurnContext,
        UserTurn,
        ThreadSettings,
        OverrideTurnContext,
        InterAgentCommunication,
        ExecApproval,
        PatchApproval,
        ResolveElicitation,
        UserInputAnswer,
        RequestPermissionsResponse,
        DynamicToolResponse,
        RefreshMcpServers,
        ReloadUserConfig,
        Compact,
        SetThreadMemoryMode,
        ThreadRollback,
        Review,
        ApproveGuardianDeniedAction,
        Shutdown,
        RunUserShellCommand,
        RealtimeConversationStart,
        RealtimeConversationAudio,
        RealtimeConversationText,
        RealtimeConversationSpeech,
        RealtimeConversationClose,
        RealtimeConversationListVoices,
        AddToHistory,
        GetHistoryEntryRequest,
        ListMcpTools,
        Undo,
    )
}
"""Every operation by its tag."""

_OPS = {**OPS, **{alias: cls for cls in OPS.values() for alias in cls.aliases}}


def op(doc: dict[str, Any]) -> Record:
    """Return an operation's object as its type."""
    tag = doc.get("type")
    return _OPS.get(tag if isinstance(tag, str) else "", UnknownOp)(doc)


def submission(raw: bytes) -> Submission:
    """Read a submission; raises RolloutError when it isn't a JSON object."""
    doc = decode(raw)
    if not isinstance(doc, dict):
        raise RolloutError("cannot read a submission that is not a JSON object")
    return Submission(doc)


def submit(submission_id: str, operation: Record, trace: dict[str, str] | None = None) -> bytes:
    """Return the JSON of a submission, as codex reads it; no `trace` member when there is none."""
    traced = {} if trace is None else {"trace": trace}
    return Submission.of(id=submission_id, op=operation, **traced).write()
