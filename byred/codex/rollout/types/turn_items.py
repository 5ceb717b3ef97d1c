"""Records: `TurnItem`: what `item_started` and `item_completed` carry.

Written by tests/tools/make_rollout_types.py from the schemas that the binaries
0.136.0 to 0.171.0 print of themselves; not edited by hand.
"""

from __future__ import annotations

from byred.codex.rollout.record import (
    Record,
    anything,
    many,
    maybe_flag,
    maybe_many,
    maybe_table,
    maybe_text,
    maybe_whole,
    table,
    text,
    whole,
)


class AgentMessageTurnItem(Record):
    """`AgentMessage`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "AgentMessage"
    content = many()
    delivery = maybe_text()
    id = text()
    memory_citation = maybe_table()
    moderation = maybe_table()
    phase = maybe_text()
    questions = maybe_many()


class CollabAgentToolCallTurnItem(Record):
    """`CollabAgentToolCall`: 0.144.4 to 0.171.0."""

    __slots__ = ()
    tag = "CollabAgentToolCall"
    agents_states = maybe_table()
    id = text()
    model = maybe_text()
    prompt = maybe_text()
    reasoning_effort = maybe_text()
    receiver_agents = maybe_many()
    receiver_thread_ids = maybe_many()
    sender_thread_id = text()
    status = text()
    tool = text()


class CommandExecutionTurnItem(Record):
    """`CommandExecution`: 0.144.4 to 0.171.0."""

    __slots__ = ()
    tag = "CommandExecution"
    aggregated_output = maybe_text()
    command = many()
    cwd = text()
    duration = maybe_table()
    exit_code = maybe_whole()
    formatted_output = maybe_text()
    id = text()
    interaction_input = maybe_text()
    parsed_cmd = many()
    plugin_id = maybe_text()
    process_id = maybe_text()
    script_path = maybe_text()
    source = text()
    status = text()
    stderr = maybe_text()
    stdout = maybe_text()


class ContextCompactionTurnItem(Record):
    """`ContextCompaction`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "ContextCompaction"
    id = text()


class DynamicToolCallTurnItem(Record):
    """`DynamicToolCall`: 0.144.4 to 0.171.0."""

    __slots__ = ()
    tag = "DynamicToolCall"
    arguments = anything()
    content_items = maybe_many()
    duration = maybe_table()
    error = maybe_text()
    id = text()
    namespace = maybe_text()
    status = text()
    success = maybe_flag()
    tool = text()


class EnteredReviewModeTurnItem(Record):
    """`EnteredReviewMode`: 0.144.4 to 0.171.0."""

    __slots__ = ()
    tag = "EnteredReviewMode"
    id = text()
    target = table()
    user_facing_hint = text()


class ExitedReviewModeTurnItem(Record):
    """`ExitedReviewMode`: 0.144.4 to 0.171.0."""

    __slots__ = ()
    tag = "ExitedReviewMode"
    id = text()
    review_output = maybe_table()


class ExtensionTurnItem(Record):
    """`Extension`: 0.144.4 to 0.171.0."""

    __slots__ = ()
    tag = "Extension"
    action = maybe_table()
    duration_ms = maybe_whole("durationMs")
    failure = maybe_table()
    file_id = maybe_text("fileId")
    generation_id = maybe_text("generationId")
    id = maybe_text()
    input_images = maybe_many("inputImages")
    kind = maybe_text()
    query = maybe_text()
    result = maybe_text()
    results = maybe_many()
    revised_prompt = maybe_text("revisedPrompt")
    saved_path = maybe_text("savedPath")
    status = maybe_text()
    transparent_background = maybe_flag("transparentBackground")


class FileChangeTurnItem(Record):
    """`FileChange`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "FileChange"
    auto_approved = maybe_flag()
    changes = table()
    id = text()
    status = maybe_text()
    stderr = maybe_text()
    stdout = maybe_text()


class FunctionCallOutputTurnItem(Record):
    """`FunctionCallOutput`: 0.154.0 to 0.171.0."""

    __slots__ = ()
    tag = "FunctionCallOutput"
    id = text()
    name = text()
    namespace = maybe_text()
    output = anything()


class HookPromptTurnItem(Record):
    """`HookPrompt`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "HookPrompt"
    fragments = many()
    id = text()


class ImageGenerationTurnItem(Record):
    """`ImageGeneration`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "ImageGeneration"
    id = text()
    result = text()
    revised_prompt = maybe_text()
    saved_path = maybe_text()
    status = text()


class ImageViewTurnItem(Record):
    """`ImageView`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "ImageView"
    id = text()
    path = text()


class McpToolCallTurnItem(Record):
    """`McpToolCall`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "McpToolCall"
    action_name = maybe_text("actionName")
    app_name = maybe_text("appName")
    arguments = anything()
    connector_id = maybe_text("connectorId")
    duration = maybe_table()
    environment_id = maybe_text("environmentId")
    error = maybe_table()
    id = text()
    link_id = maybe_text("linkId")
    mcp_app_resource_uri = maybe_text("mcpAppResourceUri")
    mcp_app_ui = maybe_table("mcpAppUi")
    plugin_id = maybe_text("pluginId")
    read_only_hint = maybe_flag("readOnlyHint")
    result = maybe_table()
    server = text()
    status = text()
    template_id = maybe_text("templateId")
    tool = text()


class PlanTurnItem(Record):
    """`Plan`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "Plan"
    id = text()
    text = text()


class ReasoningTurnItem(Record):
    """`Reasoning`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "Reasoning"
    id = text()
    raw_content = maybe_many()
    summary_text = many()


class SleepTurnItem(Record):
    """`Sleep`: in 0.144.4 alone."""

    __slots__ = ()
    tag = "Sleep"
    duration_ms = whole()
    id = text()


class SubAgentActivityTurnItem(Record):
    """`SubAgentActivity`: 0.144.4 to 0.171.0."""

    __slots__ = ()
    tag = "SubAgentActivity"
    agent_path = text()
    agent_thread_id = text()
    id = text()
    kind = text()
    model = maybe_text()
    reasoning_effort = maybe_text()


class UserMessageTurnItem(Record):
    """`UserMessage`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "UserMessage"
    client_id = maybe_text()
    content = many()
    id = text()


class WebSearchTurnItem(Record):
    """`WebSearch`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "WebSearch"
    action = table()
    id = text()
    query = text()
    results = maybe_many()


TURN_ITEMS: dict[str, type[Record]] = {
    "AgentMessage": AgentMessageTurnItem,
    "CollabAgentToolCall": CollabAgentToolCallTurnItem,
    "CommandExecution": CommandExecutionTurnItem,
    "ContextCompaction": ContextCompactionTurnItem,
    "DynamicToolCall": DynamicToolCallTurnItem,
    "EnteredReviewMode": EnteredReviewModeTurnItem,
    "ExitedReviewMode": ExitedReviewModeTurnItem,
    "Extension": ExtensionTurnItem,
    "FileChange": FileChangeTurnItem,
    "FunctionCallOutput": FunctionCallOutputTurnItem,
    "HookPrompt": HookPromptTurnItem,
    "ImageGeneration": ImageGenerationTurnItem,
    "ImageView": ImageViewTurnItem,
    "McpToolCall": McpToolCallTurnItem,
    "Plan": PlanTurnItem,
    "Reasoning": ReasoningTurnItem,
    "Sleep": SleepTurnItem,
    "SubAgentActivity": SubAgentActivityTurnItem,
    "UserMessage": UserMessageTurnItem,
    "WebSearch": WebSearchTurnItem,
}
"""The classes of this module by their tag."""
