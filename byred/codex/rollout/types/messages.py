"""Records: what was said and thought, and what went wrong.

Written by tests/tools/make_rollout_types.py from the schemas that the binaries
0.136.0 to 0.171.0 print of themselves; not edited by hand.
"""

from __future__ import annotations

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


class AgentMessageEvent(Record):
    """`agent_message`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "agent_message"
    delivery = maybe_text()
    memory_citation = maybe_table()
    message = text()
    moderation = maybe_table()
    phase = maybe_text()
    questions = maybe_many()


class AgentMessageContentDeltaEvent(Record):
    """`agent_message_content_delta`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "agent_message_content_delta"
    delta = text()
    item_id = text()
    thread_id = text()
    turn_id = text()


class AgentReasoningEvent(Record):
    """`agent_reasoning`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "agent_reasoning"
    text = text()


class AgentReasoningRawContentEvent(Record):
    """`agent_reasoning_raw_content`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "agent_reasoning_raw_content"
    text = text()


class AgentReasoningSectionBreakEvent(Record):
    """`agent_reasoning_section_break`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "agent_reasoning_section_break"
    item_id = maybe_text()
    summary_index = maybe_whole()


class DeprecationNoticeEvent(Record):
    """`deprecation_notice`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "deprecation_notice"
    details = maybe_text()
    summary = text()


class ErrorEvent(Record):
    """`error`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "error"
    codex_error_info = anything()
    message = text()


class ItemCompletedEvent(Record):
    """`item_completed`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "item_completed"
    completed_at_ms = maybe_whole()
    content_token_count = maybe_whole()
    item = table()
    started_at_ms = maybe_whole()
    thread_id = text()
    turn_id = text()


class ItemStartedEvent(Record):
    """`item_started`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "item_started"
    item = table()
    started_at_ms = whole()
    thread_id = text()
    turn_id = text()


class PlanDeltaEvent(Record):
    """`plan_delta`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "plan_delta"
    delta = text()
    item_id = text()
    thread_id = text()
    turn_id = text()


class PlanUpdateEvent(Record):
    """`plan_update`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "plan_update"
    explanation = maybe_text()
    plan = many()


class RawResponseCompletedEvent(Record):
    """`raw_response_completed`: 0.154.0 to 0.171.0."""

    __slots__ = ()
    tag = "raw_response_completed"
    response_id = text()
    token_usage = maybe_table()
    usage_metadata = maybe_table()


class RawResponseItemEvent(Record):
    """`raw_response_item`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "raw_response_item"
    item = table()


class ReasoningContentDeltaEvent(Record):
    """`reasoning_content_delta`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "reasoning_content_delta"
    delta = text()
    item_id = text()
    summary_index = maybe_whole()
    thread_id = text()
    turn_id = text()


class ReasoningRawContentDeltaEvent(Record):
    """`reasoning_raw_content_delta`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "reasoning_raw_content_delta"
    content_index = maybe_whole()
    delta = text()
    item_id = text()
    thread_id = text()
    turn_id = text()


class StreamErrorEvent(Record):
    """`stream_error`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "stream_error"
    additional_details = maybe_text()
    codex_error_info = anything()
    message = text()


class UserMessageEvent(Record):
    """`user_message`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "user_message"
    audio = maybe_many()
    audio_order = maybe_many()
    audio_references = maybe_many()
    client_id = maybe_text()
    file_id_details = maybe_many()
    file_ids = maybe_many()
    image_details = maybe_many()
    image_order = maybe_many()
    images = maybe_many()
    local_audio = maybe_many()
    local_image_details = maybe_many()
    local_images = maybe_many()
    message = text()
    text_elements = maybe_many()


class WarningEvent(Record):
    """`warning`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "warning"
    message = text()


MESSAGES: dict[str, type[Record]] = {
    "agent_message": AgentMessageEvent,
    "agent_message_content_delta": AgentMessageContentDeltaEvent,
    "agent_reasoning": AgentReasoningEvent,
    "agent_reasoning_raw_content": AgentReasoningRawContentEvent,
    "agent_reasoning_section_break": AgentReasoningSectionBreakEvent,
    "deprecation_notice": DeprecationNoticeEvent,
    "error": ErrorEvent,
    "item_completed": ItemCompletedEvent,
    "item_started": ItemStartedEvent,
    "plan_delta": PlanDeltaEvent,
    "plan_update": PlanUpdateEvent,
    "raw_response_completed": RawResponseCompletedEvent,
    "raw_response_item": RawResponseItemEvent,
    "reasoning_content_delta": ReasoningContentDeltaEvent,
    "reasoning_raw_content_delta": ReasoningRawContentDeltaEvent,
    "stream_error": StreamErrorEvent,
    "user_message": UserMessageEvent,
    "warning": WarningEvent,
}
"""The classes of this module by their tag."""
