"""What surrounds the agent on the rollout tour: configuration, model catalogue, an MCP server."""

from __future__ import annotations

from typing import Any

DOT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""A picture of one dot, as PNG in base64."""
SCHEMA = {"type": "object", "properties": {"question": {"type": "string"}}}
QUESTION = {"type": "function", "name": "ask_human", "description": "Ask", "inputSchema": SCHEMA}
MCP = """
import json, sys
TOOLS = [
    {"name": "echo", "description": "Echo", "annotations": {"readOnlyHint": True},
     "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
    {"name": "confirm", "description": "Confirm", "inputSchema": {"type": "object"}},
]
WANTED = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
def send(message):
    print(json.dumps({"jsonrpc": "2.0"} | message), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    result = {}
    if message["method"] == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"],
                  "capabilities": {"tools": {}}, "serverInfo": {"name": "tour", "version": "1"}}
    elif message["method"] == "tools/list":
        result = {"tools": TOOLS}
    elif message["method"] == "tools/call" and message["params"]["name"] == "confirm":
        send({"id": "e1", "method": "elicitation/create",
              "params": {"message": "Sure?", "requestedSchema": WANTED}})
        answer = json.loads(sys.stdin.readline())
        result = {"content": [{"type": "text", "text": json.dumps(answer.get("result"))}]}
    elif message["method"] == "tools/call":
        text = message["params"]["arguments"].get("text", "")
        result = {"content": [{"type": "text", "text": text}], "isError": text == "fail"}
    send({"id": message["id"], "result": result})
"""
CONFIG = """
model = "scripted"
model_provider = "scripted"
model_catalog_json = "{root}/models.json"
model_reasoning_summary = "auto"
include_permissions_instructions = false
include_environment_context = false
include_apps_instructions = false
check_for_update_on_startup = false
[skills]
include_instructions = false
bundled = {{ enabled = false }}
[features]
plugins = false
apps = false
default_mode_request_user_input = true
exec_permission_approvals = true
request_permissions_tool = true
[model_providers.scripted]
name = "scripted"
base_url = "{url}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 1
[mcp_servers.tour]
command = "python3"
args = ["{root}/mcp.py"]
[projects."{root}/work"]
trust_level = "trusted"
"""
CATALOG: dict[str, Any] = {
    "slug": "scripted",
    "display_name": "scripted",
    "description": "Scripted",
    "default_reasoning_level": "medium",
    "supported_reasoning_levels": [
        {"effort": "medium", "description": "m"},
        {"effort": "high", "description": "h"},
    ],
    "shell_type": "unified_exec",
    "visibility": "list",
    "supported_in_api": True,
    "priority": 1,
    "base_instructions": "You are a scripted agent.",
    "supports_reasoning_summaries": True,
    "support_verbosity": False,
    "apply_patch_tool_type": "freeform",
    "truncation_policy": {"mode": "bytes", "limit": 10000},
    "supports_parallel_tool_calls": True,
    "context_window": 272000,
    "experimental_supported_tools": [],
    "input_modalities": ["text", "image"],
}
