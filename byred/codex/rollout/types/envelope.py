"""Records: the payloads of the lines that are neither events nor items.

Written by tests/tools/make_rollout_types.py from the schemas that the binaries
0.136.0 to 0.171.0 print of themselves; not edited by hand.
"""

from __future__ import annotations

from byred.codex.rollout.record import (
    Record,
    anything,
    flag,
    many,
    maybe_flag,
    maybe_many,
    maybe_table,
    maybe_text,
    maybe_whole,
    table,
    text,
)


class Compacted(Record):
    """`compacted`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    compaction_response_id = maybe_text()
    first_window_id = anything()
    guardian_history = maybe_many()
    latest_token_usage_record = maybe_table()
    mcp_resource_origins = maybe_table()
    message = text()
    previous_window_id = anything()
    replacement_history = maybe_many()
    replacement_history_metadata = maybe_many()
    resume_metadata = maybe_table()
    retained_context = maybe_table()
    window_id = anything()
    window_number = maybe_whole()


class DynamicToolsUpdated(Record):
    """`dynamic_tools_updated`: in 0.171.0 alone."""

    __slots__ = ()
    thread_id = text()
    tools = many()


class InterAgentCommunication(Record):
    """`inter_agent_communication`: 0.144.4 to 0.171.0."""

    __slots__ = ()
    author = text()
    content = text()
    encrypted_content = maybe_text()
    id = maybe_text()
    id_allocation = maybe_table()
    internal_chat_message_metadata_passthrough = maybe_table()
    other_recipients = maybe_many()
    recipient = text()
    trigger_turn = flag()


class InterAgentCommunicationMetadata(Record):
    """`inter_agent_communication_metadata`: 0.144.4 to 0.171.0."""

    __slots__ = ()
    trigger_turn = flag()


class RealtimeItem(Record):
    """`realtime_item`: 0.154.0 to 0.171.0."""

    __slots__ = ()
    channels = maybe_table()
    handoff_id = maybe_text()
    id = text()
    input = maybe_text()
    input_item_id = maybe_text()
    item_id = maybe_text()
    mode = maybe_text()
    observed_at_ms = maybe_whole()
    outcome = maybe_text()
    presentation = maybe_table()
    realtime_session_id = text()
    role = maybe_text()
    source_event_ids = maybe_many()
    text = maybe_text()
    turn_id = maybe_text()
    type = maybe_text()


class RetainedContext(Record):
    """`retained_context`: 0.154.0 to 0.171.0."""

    __slots__ = ()
    acceptance_order = maybe_whole()
    call_id = maybe_text()
    complete = maybe_flag()
    evidence = maybe_table()
    message_id = maybe_text()
    origin = maybe_text()
    phase = maybe_text()
    questions = maybe_many()
    retained_source = maybe_table()
    text = maybe_text()
    turn_id = maybe_text()
    type = maybe_text()


class SecurityRiskScore(Record):
    """`security_risk_score`: 0.154.0 to 0.171.0."""

    __slots__ = ()
    action = anything()
    call_id = maybe_text()
    sampled_at = maybe_text()
    scores = table()


class SessionMeta(Record):
    """`session_meta`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    account_scoped = maybe_flag()
    agent_nickname = maybe_text()
    agent_path = maybe_text()
    agent_role = maybe_text()
    attached_thread = maybe_flag()
    base_instructions = maybe_table()
    cli_version = text()
    context_window = maybe_table()
    creator_account_id = maybe_text()
    creator_user_id = maybe_text()
    cwd = text()
    dynamic_tools = maybe_many()
    forked_from_id = maybe_text()
    forked_from_ordinal_exclusive = maybe_whole()
    git = maybe_table()
    history_base = maybe_table()
    history_mode = maybe_text()
    id = text()
    memory_mode = maybe_text()
    model_provider = maybe_text()
    multi_agent_version = maybe_text()
    originator = text()
    parent_thread_id = maybe_text()
    runtime_workspace_roots = maybe_many()
    selected_capability_roots = maybe_many()
    session_id = maybe_text()
    source = anything()
    subagent_history_start_ordinal = maybe_whole()
    thread_source = anything()
    timestamp = text()


class TokenUsageRecord(Record):
    """`token_usage_record`: 0.154.0 to 0.171.0."""

    __slots__ = ()
    response_id = text()
    root_turn_id = text()
    session_id = text()
    thread_id = text()
    thread_token_usage = table()
    turn_id = text()
    turn_token_usage = table()
    usage = table()


class TurnContext(Record):
    """`turn_context`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    active_permission_profile = maybe_table()
    approval_policy = anything()
    approvals_reviewer = maybe_text()
    collaboration_mode = maybe_table()
    comp_hash = maybe_text()
    current_date = maybe_text()
    cwd = text()
    cyber_access_program = maybe_text()
    direct_only_tool_namespaces = maybe_many()
    disabled_plugin_ids = maybe_many()
    effort = maybe_text()
    file_system_sandbox_policy = maybe_table()
    model = text()
    multi_agent_mode = anything()
    multi_agent_version = maybe_text()
    network = maybe_table()
    permission_profile = maybe_table()
    personality = maybe_text()
    realtime_active = maybe_flag()
    root_turn_id = maybe_text()
    sandbox_policy = maybe_table()
    summary = maybe_text()
    timezone = maybe_text()
    turn_id = maybe_text()
    workspace_roots = maybe_many()


class WorldState(Record):
    """`world_state`: 0.144.4 to 0.171.0."""

    __slots__ = ()
    full = flag()
    state = anything()


ENVELOPE: dict[str, type[Record]] = {
    "compacted": Compacted,
    "dynamic_tools_updated": DynamicToolsUpdated,
    "inter_agent_communication": InterAgentCommunication,
    "inter_agent_communication_metadata": InterAgentCommunicationMetadata,
    "realtime_item": RealtimeItem,
    "retained_context": RetainedContext,
    "security_risk_score": SecurityRiskScore,
    "session_meta": SessionMeta,
    "token_usage_record": TokenUsageRecord,
    "turn_context": TurnContext,
    "world_state": WorldState,
}
"""The classes of this module by the type of their line."""
