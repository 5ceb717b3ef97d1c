"""A small MCP server on stdio for the tests, by hand: JSON-RPC, a line a message."""

import json
import os
import sys

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJ"
    "RU5ErkJggg=="
)
TOOLS = [
    {
        "name": name,
        "description": f"The tool {name}",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        },
    }
    for name in ("echo", "draw", "fail", "secret", "die")
]


def call(name, arguments):
    if name == "echo":
        return {"content": [{"type": "text", "text": arguments["text"]}]}
    if name == "draw":
        return {"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]}
    if name == "secret":
        names = ("MCP_SECRET", "BYRED_TEST_LEAK")
        return {"content": [{"type": "text", "text": str([os.environ.get(n) for n in names])}]}
    if name == "die":
        os._exit(3)
    return {"content": [{"type": "text", "text": "no luck"}], "isError": True}


def answer(message):
    method = message["method"]
    params = message.get("params", {})
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "test", "version": "0"},
            "instructions": "Tools for a test.",
        }
    if method == "tools/list":
        if params.get("cursor"):
            return {"tools": TOOLS[2:]}
        return {"tools": TOOLS[:2], "nextCursor": "more"}
    if method == "tools/call":
        return call(params["name"], params["arguments"])
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
