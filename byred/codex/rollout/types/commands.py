"""Records: commands, patches and the other tools.

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
    whole,
)


class DynamicToolCallRequestEvent(Record):
    """`dynamic_tool_call_request`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "dynamic_tool_call_request"
    arguments = anything()
    call_id = text("callId")
    namespace = maybe_text()
    started_at_ms = maybe_whole("startedAtMs")
    tool = text()
    turn_id = text("turnId")


class DynamicToolCallResponseEvent(Record):
    """`dynamic_tool_call_response`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "dynamic_tool_call_response"
    arguments = anything()
    call_id = text()
    completed_at_ms = maybe_whole()
    content_items = many()
    duration = table()
    error = maybe_text()
    namespace = maybe_text()
    success = flag()
    tool = text()
    turn_id = text()


class ExecCommandBeginEvent(Record):
    """`exec_command_begin`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "exec_command_begin"
    call_id = text()
    command = many()
    cwd = text()
    interaction_input = maybe_text()
    parsed_cmd = many()
    plugin_id = maybe_text()
    process_id = maybe_text()
    script_path = maybe_text()
    source = maybe_text()
    started_at_ms = maybe_whole()
    turn_id = text()


class ExecCommandEndEvent(Record):
    """`exec_command_end`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "exec_command_end"
    aggregated_output = maybe_text()
    call_id = text()
    command = many()
    completed_at_ms = maybe_whole()
    cwd = text()
    duration = table()
    exit_code = whole()
    formatted_output = maybe_text()
    interaction_input = maybe_text()
    parsed_cmd = many()
    plugin_id = maybe_text()
    process_id = maybe_text()
    script_path = maybe_text()
    source = maybe_text()
    status = text()
    stderr = maybe_text()
    stdout = maybe_text()
    turn_id = text()


class ExecCommandOutputDeltaEvent(Record):
    """`exec_command_output_delta`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "exec_command_output_delta"
    call_id = text()
    chunk = text()
    stream = text()


class HookCompletedEvent(Record):
    """`hook_completed`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "hook_completed"
    run = table()
    turn_id = maybe_text()


class HookStartedEvent(Record):
    """`hook_started`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "hook_started"
    run = table()
    turn_id = maybe_text()


class ImageGenerationBeginEvent(Record):
    """`image_generation_begin`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "image_generation_begin"
    call_id = text()


class ImageGenerationEndEvent(Record):
    """`image_generation_end`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "image_generation_end"
    call_id = text()
    failure = maybe_table()
    file_id = maybe_text("fileId")
    generation_id = maybe_text()
    input_images = maybe_many()
    result = maybe_text()
    revised_prompt = maybe_text()
    saved_path = maybe_text()
    status = text()
    transparent_background = maybe_flag()


class McpStartupCompleteEvent(Record):
    """`mcp_startup_complete`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "mcp_startup_complete"
    cancelled = many()
    failed = many()
    ready = many()


class McpStartupUpdateEvent(Record):
    """`mcp_startup_update`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "mcp_startup_update"
    environment_id = maybe_text()
    server = text()
    status = table()


class McpToolCallBeginEvent(Record):
    """`mcp_tool_call_begin`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "mcp_tool_call_begin"
    action_name = maybe_text()
    app_name = maybe_text()
    call_id = text()
    connector_id = maybe_text()
    invocation = table()
    link_id = maybe_text()
    mcp_app_resource_uri = maybe_text()
    mcp_app_ui = maybe_table()
    plugin_id = maybe_text()
    read_only_hint = maybe_flag()
    template_id = maybe_text()
    turn_id = maybe_text()


class McpToolCallEndEvent(Record):
    """`mcp_tool_call_end`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "mcp_tool_call_end"
    action_name = maybe_text()
    app_name = maybe_text()
    call_id = text()
    connector_id = maybe_text()
    duration = table()
    invocation = table()
    link_id = maybe_text()
    mcp_app_resource_uri = maybe_text()
    mcp_app_ui = maybe_table()
    plugin_id = maybe_text()
    read_only_hint = maybe_flag()
    result = table()
    template_id = maybe_text()
    turn_id = maybe_text()


class PatchApplyBeginEvent(Record):
    """`patch_apply_begin`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "patch_apply_begin"
    auto_approved = flag()
    call_id = text()
    changes = table()
    turn_id = maybe_text()


class PatchApplyEndEvent(Record):
    """`patch_apply_end`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "patch_apply_end"
    call_id = text()
    changes = maybe_table()
    status = text()
    stderr = text()
    stdout = text()
    success = flag()
    turn_id = maybe_text()


class PatchApplyUpdatedEvent(Record):
    """`patch_apply_updated`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "patch_apply_updated"
    call_id = text()
    changes = table()


class TerminalInteractionEvent(Record):
    """`terminal_interaction`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "terminal_interaction"
    call_id = text()
    process_id = text()
    stdin = text()


class ViewImageToolCallEvent(Record):
    """`view_image_tool_call`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "view_image_tool_call"
    call_id = text()
    path = text()


class WebSearchBeginEvent(Record):
    """`web_search_begin`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "web_search_begin"
    call_id = text()


class WebSearchEndEvent(Record):
    """`web_search_end`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "web_search_end"
    action = table()
    call_id = text()
    query = text()
    results = maybe_many()


COMMANDS: dict[str, type[Record]] = {
    "dynamic_tool_call_request": DynamicToolCallRequestEvent,
    "dynamic_tool_call_response": DynamicToolCallResponseEvent,
    "exec_command_begin": ExecCommandBeginEvent,
    "exec_command_end": ExecCommandEndEvent,
    "exec_command_output_delta": ExecCommandOutputDeltaEvent,
    "hook_completed": HookCompletedEvent,
    "hook_started": HookStartedEvent,
    "image_generation_begin": ImageGenerationBeginEvent,
    "image_generation_end": ImageGenerationEndEvent,
    "mcp_startup_complete": McpStartupCompleteEvent,
    "mcp_startup_update": McpStartupUpdateEvent,
    "mcp_tool_call_begin": McpToolCallBeginEvent,
    "mcp_tool_call_end": McpToolCallEndEvent,
    "patch_apply_begin": PatchApplyBeginEvent,
    "patch_apply_end": PatchApplyEndEvent,
    "patch_apply_updated": PatchApplyUpdatedEvent,
    "terminal_interaction": TerminalInteractionEvent,
    "view_image_tool_call": ViewImageToolCallEvent,
    "web_search_begin": WebSearchBeginEvent,
    "web_search_end": WebSearchEndEvent,
}
"""The classes of this module by their tag."""
