"""Records: `ResponseItem`: what goes to and comes from the model.

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
    table,
    text,
)


class AdditionalToolsItem(Record):
    """`additional_tools`: 0.163.0 to 0.171.0."""

    __slots__ = ()
    tag = "additional_tools"
    id = maybe_text()
    role = text()
    tools = many()


class AgentMessageItem(Record):
    """`agent_message`: 0.144.4 to 0.171.0."""

    __slots__ = ()
    tag = "agent_message"
    author = text()
    content = many()
    id = maybe_text()
    internal_chat_message_metadata_passthrough = maybe_table()
    recipient = text()


class CompactionItem(Record):
    """`compaction`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "compaction"
    aliases = ("compaction_summary",)
    encrypted_content = text()
    id = maybe_text()
    internal_chat_message_metadata_passthrough = maybe_table()


class CompactionTriggerItem(Record):
    """`compaction_trigger`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "compaction_trigger"


class ConfigurationUpdateItem(Record):
    """`configuration_update`: 0.154.0 to 0.171.0."""

    __slots__ = ()
    tag = "configuration_update"
    reasoning = table()


class ContextCompactionItem(Record):
    """`context_compaction`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "context_compaction"
    encrypted_content = maybe_text()
    id = maybe_text()
    internal_chat_message_metadata_passthrough = maybe_table()


class CustomToolCallItem(Record):
    """`custom_tool_call`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "custom_tool_call"
    call_id = text()
    encrypted_content = maybe_text()
    id = maybe_text()
    input = text()
    internal_chat_message_metadata_passthrough = maybe_table()
    name = text()
    namespace = maybe_text()
    status = maybe_text()


class CustomToolCallOutputItem(Record):
    """`custom_tool_call_output`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "custom_tool_call_output"
    call_id = text()
    id = maybe_text()
    internal_chat_message_metadata_passthrough = maybe_table()
    name = maybe_text()
    output = anything()


class FunctionCallItem(Record):
    """`function_call`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "function_call"
    arguments = text()
    call_id = text()
    encrypted_content = maybe_text()
    encrypted_function_args = maybe_many()
    id = maybe_text()
    internal_chat_message_metadata_passthrough = maybe_table()
    name = text()
    namespace = maybe_text()
    status = maybe_text()


class FunctionCallOutputItem(Record):
    """`function_call_output`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "function_call_output"
    call_id = maybe_text()
    id = maybe_text()
    internal_chat_message_metadata_passthrough = maybe_table()
    name = maybe_text()
    namespace = maybe_text()
    output = anything()


class ImageGenerationCallItem(Record):
    """`image_generation_call`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "image_generation_call"
    encrypted_content = maybe_text()
    id = maybe_text()
    internal_chat_message_metadata_passthrough = maybe_table()
    result = text()
    revised_prompt = maybe_text()
    status = text()


class LocalShellCallItem(Record):
    """`local_shell_call`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "local_shell_call"
    action = table()
    call_id = maybe_text()
    encrypted_content = maybe_text()
    id = maybe_text()
    internal_chat_message_metadata_passthrough = maybe_table()
    status = text()


class MessageItem(Record):
    """`message`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "message"
    content = many()
    encrypted_content = maybe_text()
    id = maybe_text()
    internal_chat_message_metadata_passthrough = maybe_table()
    phase = maybe_text()
    role = text()
    status = maybe_text()


class OtherItem(Record):
    """`other`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "other"


class ReasoningItem(Record):
    """`reasoning`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "reasoning"
    content = maybe_many()
    encrypted_content = maybe_text()
    id = maybe_text()
    internal_chat_message_metadata_passthrough = maybe_table()
    summary = many()


class ToolSearchCallItem(Record):
    """`tool_search_call`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "tool_search_call"
    arguments = anything()
    call_id = maybe_text()
    encrypted_content = maybe_text()
    execution = text()
    id = maybe_text()
    internal_chat_message_metadata_passthrough = maybe_table()
    status = maybe_text()


class ToolSearchOutputItem(Record):
    """`tool_search_output`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "tool_search_output"
    call_id = maybe_text()
    execution = text()
    id = maybe_text()
    internal_chat_message_metadata_passthrough = maybe_table()
    status = text()
    tools = many()


class WebSearchCallItem(Record):
    """`web_search_call`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "web_search_call"
    action = maybe_table()
    encrypted_content = maybe_text()
    id = maybe_text()
    internal_chat_message_metadata_passthrough = maybe_table()
    status = maybe_text()


ITEMS: dict[str, type[Record]] = {
    "additional_tools": AdditionalToolsItem,
    "agent_message": AgentMessageItem,
    "compaction": CompactionItem,
    "compaction_trigger": CompactionTriggerItem,
    "configuration_update": ConfigurationUpdateItem,
    "context_compaction": ContextCompactionItem,
    "custom_tool_call": CustomToolCallItem,
    "custom_tool_call_output": CustomToolCallOutputItem,
    "function_call": FunctionCallItem,
    "function_call_output": FunctionCallOutputItem,
    "image_generation_call": ImageGenerationCallItem,
    "local_shell_call": LocalShellCallItem,
    "message": MessageItem,
    "other": OtherItem,
    "reasoning": ReasoningItem,
    "tool_search_call": ToolSearchCallItem,
    "tool_search_output": ToolSearchOutputItem,
    "web_search_call": WebSearchCallItem,
}
"""The classes of this module by their tag."""
