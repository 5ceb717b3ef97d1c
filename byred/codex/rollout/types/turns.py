"""Records: turns, the thread and its settings, tokens.

Written by tests/tools/make_rollout_types.py from the schemas that the binaries
0.136.0 to 0.171.0 print of themselves; not edited by hand.
"""

from __future__ import annotations

from byred.codex.rollout.record import (
    Record,
    anything,
    flag,
    many,
    maybe_many,
    maybe_table,
    maybe_text,
    maybe_whole,
    table,
    text,
    whole,
)


class ContextCompactedEvent(Record):
    """`context_compacted`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "context_compacted"


class ModelRerouteEvent(Record):
    """`model_reroute`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "model_reroute"
    from_model = text()
    reason = text()
    to_model = text()


class ModelVerificationEvent(Record):
    """`model_verification`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "model_verification"
    verifications = many()


class SafetyBufferingEvent(Record):
    """`safety_buffering`: 0.144.4 to 0.171.0."""

    __slots__ = ()
    tag = "safety_buffering"
    faster_model = maybe_text()
    model = text()
    reasons = many()
    show_buffering_ui = flag()
    use_cases = many()


class SessionConfiguredEvent(Record):
    """`session_configured`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "session_configured"
    active_permission_profile = maybe_table()
    approval_policy = anything()
    approvals_reviewer = maybe_text()
    cwd = text()
    forked_from_id = maybe_text()
    initial_messages = maybe_many()
    model = text()
    model_provider_id = text()
    network_proxy = maybe_table()
    parent_thread_id = maybe_text()
    permission_profile = table()
    reasoning_effort = maybe_text()
    rollout_path = maybe_text()
    service_tier = maybe_text()
    session_id = text()
    thread_id = text()
    thread_name = maybe_text()
    thread_source = anything()


class ShutdownCompleteEvent(Record):
    """`shutdown_complete`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "shutdown_complete"


class TaskCompleteEvent(Record):
    """`task_complete`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "task_complete"
    aliases = ("turn_complete",)
    completed_at = maybe_whole()
    duration_ms = maybe_whole()
    error = maybe_table()
    last_agent_message = maybe_text()
    root_turn_id = maybe_text()
    started_at = maybe_whole()
    time_to_first_token_ms = maybe_whole()
    turn_id = text()


class TaskStartedEvent(Record):
    """`task_started`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "task_started"
    aliases = ("turn_started",)
    collaboration_mode_kind = maybe_text()
    model_context_window = maybe_whole()
    root_turn_id = maybe_text()
    started_at = maybe_whole()
    trace_id = maybe_text()
    turn_attribution = maybe_table()
    turn_id = text()


class ThreadGoalUpdatedEvent(Record):
    """`thread_goal_updated`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "thread_goal_updated"
    goal = table()
    thread_id = text("threadId")
    turn_id = maybe_text("turnId")


class ThreadQueueChangedEvent(Record):
    """`thread_queue_changed`: 0.154.0 to 0.171.0."""

    __slots__ = ()
    tag = "thread_queue_changed"
    thread_id = text("threadId")


class ThreadRolledBackEvent(Record):
    """`thread_rolled_back`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "thread_rolled_back"
    num_turns = whole()


class ThreadSettingsAppliedEvent(Record):
    """`thread_settings_applied`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "thread_settings_applied"
    thread_id = maybe_text()
    thread_settings = table()


class TokenCountEvent(Record):
    """`token_count`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "token_count"
    info = maybe_table()
    rate_limits = maybe_table()


class TurnAbortedEvent(Record):
    """`turn_aborted`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "turn_aborted"
    completed_at = maybe_whole()
    duration_ms = maybe_whole()
    error = maybe_table()
    reason = text()
    root_turn_id = maybe_text()
    started_at = maybe_whole()
    turn_id = maybe_text()


class TurnDiffEvent(Record):
    """`turn_diff`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "turn_diff"
    unified_diff = text()


class TurnModerationMetadataEvent(Record):
    """`turn_moderation_metadata`: 0.144.4 to 0.171.0."""

    __slots__ = ()
    tag = "turn_moderation_metadata"
    metadata = anything()


TURNS: dict[str, type[Record]] = {
    "context_compacted": ContextCompactedEvent,
    "model_reroute": ModelRerouteEvent,
    "model_verification": ModelVerificationEvent,
    "safety_buffering": SafetyBufferingEvent,
    "session_configured": SessionConfiguredEvent,
    "shutdown_complete": ShutdownCompleteEvent,
    "task_complete": TaskCompleteEvent,
    "task_started": TaskStartedEvent,
    "thread_goal_updated": ThreadGoalUpdatedEvent,
    "thread_queue_changed": ThreadQueueChangedEvent,
    "thread_rolled_back": ThreadRolledBackEvent,
    "thread_settings_applied": ThreadSettingsAppliedEvent,
    "token_count": TokenCountEvent,
    "turn_aborted": TurnAbortedEvent,
    "turn_diff": TurnDiffEvent,
    "turn_moderation_metadata": TurnModerationMetadataEvent,
}
"""The classes of this module by their tag."""
