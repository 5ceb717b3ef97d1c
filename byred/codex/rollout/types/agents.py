"""Records: sub-agents, realtime conversations, environments and logins.

Written by tests/tools/make_rollout_types.py from the schemas that the binaries
0.136.0 to 0.171.0 print of themselves; not edited by hand.
"""

from __future__ import annotations

from byred.codex.rollout.record import (
    Record,
    anything,
    many,
    maybe_many,
    maybe_text,
    maybe_whole,
    table,
    text,
)


class AuthRecoveryCompletedEvent(Record):
    """`auth_recovery_completed`: 0.154.0 to 0.171.0."""

    __slots__ = ()
    tag = "auth_recovery_completed"
    message = text()
    provider = text()


class AuthRecoveryStartedEvent(Record):
    """`auth_recovery_started`: 0.154.0 to 0.171.0."""

    __slots__ = ()
    tag = "auth_recovery_started"
    message = text()
    provider = text()


class CollabAgentInteractionBeginEvent(Record):
    """`collab_agent_interaction_begin`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "collab_agent_interaction_begin"
    call_id = text()
    prompt = text()
    receiver_thread_id = text()
    sender_thread_id = text()
    started_at_ms = maybe_whole()


class CollabAgentInteractionEndEvent(Record):
    """`collab_agent_interaction_end`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "collab_agent_interaction_end"
    call_id = text()
    completed_at_ms = maybe_whole()
    prompt = text()
    receiver_agent_nickname = maybe_text()
    receiver_agent_role = maybe_text()
    receiver_thread_id = text()
    sender_thread_id = text()
    status = anything()


class CollabAgentSpawnBeginEvent(Record):
    """`collab_agent_spawn_begin`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "collab_agent_spawn_begin"
    call_id = text()
    model = text()
    prompt = text()
    reasoning_effort = text()
    sender_thread_id = text()
    started_at_ms = maybe_whole()


class CollabAgentSpawnEndEvent(Record):
    """`collab_agent_spawn_end`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "collab_agent_spawn_end"
    call_id = text()
    completed_at_ms = maybe_whole()
    model = text()
    new_agent_nickname = maybe_text()
    new_agent_role = maybe_text()
    new_thread_id = maybe_text()
    prompt = text()
    reasoning_effort = text()
    sender_thread_id = text()
    status = anything()


class CollabCloseBeginEvent(Record):
    """`collab_close_begin`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "collab_close_begin"
    call_id = text()
    receiver_thread_id = text()
    sender_thread_id = text()
    started_at_ms = maybe_whole()


class CollabCloseEndEvent(Record):
    """`collab_close_end`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "collab_close_end"
    call_id = text()
    completed_at_ms = maybe_whole()
    receiver_agent_nickname = maybe_text()
    receiver_agent_role = maybe_text()
    receiver_thread_id = text()
    sender_thread_id = text()
    status = anything()


class CollabResumeBeginEvent(Record):
    """`collab_resume_begin`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "collab_resume_begin"
    call_id = text()
    receiver_agent_nickname = maybe_text()
    receiver_agent_role = maybe_text()
    receiver_thread_id = text()
    sender_thread_id = text()
    started_at_ms = maybe_whole()


class CollabResumeEndEvent(Record):
    """`collab_resume_end`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "collab_resume_end"
    call_id = text()
    completed_at_ms = maybe_whole()
    receiver_agent_nickname = maybe_text()
    receiver_agent_role = maybe_text()
    receiver_thread_id = text()
    sender_thread_id = text()
    status = anything()


class CollabWaitingBeginEvent(Record):
    """`collab_waiting_begin`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "collab_waiting_begin"
    call_id = text()
    receiver_agents = maybe_many()
    receiver_thread_ids = many()
    sender_thread_id = text()
    started_at_ms = maybe_whole()


class CollabWaitingEndEvent(Record):
    """`collab_waiting_end`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "collab_waiting_end"
    agent_statuses = maybe_many()
    call_id = text()
    completed_at_ms = maybe_whole()
    sender_thread_id = text()
    statuses = table()


class EnvironmentConnectedEvent(Record):
    """`environment_connected`: 0.154.0 to 0.171.0."""

    __slots__ = ()
    tag = "environment_connected"
    environment_id = text()


class EnvironmentDisconnectedEvent(Record):
    """`environment_disconnected`: 0.154.0 to 0.171.0."""

    __slots__ = ()
    tag = "environment_disconnected"
    environment_id = text()


class RealtimeConversationClosedEvent(Record):
    """`realtime_conversation_closed`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "realtime_conversation_closed"
    reason = maybe_text()


class RealtimeConversationListVoicesResponseEvent(Record):
    """`realtime_conversation_list_voices_response`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "realtime_conversation_list_voices_response"
    voices = table()


class RealtimeConversationRealtimeEvent(Record):
    """`realtime_conversation_realtime`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "realtime_conversation_realtime"
    payload = table()


class RealtimeConversationSdpEvent(Record):
    """`realtime_conversation_sdp`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "realtime_conversation_sdp"
    sdp = text()


class RealtimeConversationStartedEvent(Record):
    """`realtime_conversation_started`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "realtime_conversation_started"
    realtime_session_id = maybe_text()
    version = text()


class SubAgentActivityEvent(Record):
    """`sub_agent_activity`: 0.144.4 to 0.171.0."""

    __slots__ = ()
    tag = "sub_agent_activity"
    agent_path = text()
    agent_thread_id = text()
    event_id = text()
    kind = text()
    model = maybe_text()
    occurred_at_ms = maybe_whole()
    reasoning_effort = maybe_text()


AGENTS: dict[str, type[Record]] = {
    "auth_recovery_completed": AuthRecoveryCompletedEvent,
    "auth_recovery_started": AuthRecoveryStartedEvent,
    "collab_agent_interaction_begin": CollabAgentInteractionBeginEvent,
    "collab_agent_interaction_end": CollabAgentInteractionEndEvent,
    "collab_agent_spawn_begin": CollabAgentSpawnBeginEvent,
    "collab_agent_spawn_end": CollabAgentSpawnEndEvent,
    "collab_close_begin": CollabCloseBeginEvent,
    "collab_close_end": CollabCloseEndEvent,
    "collab_resume_begin": CollabResumeBeginEvent,
    "collab_resume_end": CollabResumeEndEvent,
    "collab_waiting_begin": CollabWaitingBeginEvent,
    "collab_waiting_end": CollabWaitingEndEvent,
    "environment_connected": EnvironmentConnectedEvent,
    "environment_disconnected": EnvironmentDisconnectedEvent,
    "realtime_conversation_closed": RealtimeConversationClosedEvent,
    "realtime_conversation_list_voices_response": RealtimeConversationListVoicesResponseEvent,
    "realtime_conversation_realtime": RealtimeConversationRealtimeEvent,
    "realtime_conversation_sdp": RealtimeConversationSdpEvent,
    "realtime_conversation_started": RealtimeConversationStartedEvent,
    "sub_agent_activity": SubAgentActivityEvent,
}
"""The classes of this module by their tag."""
