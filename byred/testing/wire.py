"""The request that codex posts, as a type, and the model list that it may ask for."""

import msgspec


class Tool(msgspec.Struct, frozen=True):
    """A tool that the model may call; a namespace has `tools` of its own."""

    type: str = ""
    name: str = ""
    tools: tuple["Tool", ...] = ()


class Body(msgspec.Struct, frozen=True):
    """What is read of the body of `POST /v1/responses`; items of `input` stay raw."""

    input: tuple[msgspec.Raw, ...]
    stream: bool = False
    prompt_cache_key: str | None = None
    tools: tuple[Tool, ...] = ()

    def tool_names(self) -> tuple[str, ...]:
        """The names of all tools, with their namespace before a dot."""
        names = []
        for tool in self.tools:
            if tool.type == "namespace":
                names += [f"{tool.name}.{inner.name}" for inner in tool.tools]
            elif tool.name:
                names.append(tool.name)
        return tuple(names)


def model_list() -> bytes:
    """The body of `GET /v1/models`, which is also the form of codex's `model_catalog_json`."""
    model = {
        "slug": "scripted",
        "display_name": "Scripted",
        "description": "Plays a script: no account, no tokens",
        "default_reasoning_level": "medium",
        "supported_reasoning_levels": [{"effort": "medium", "description": "The only one"}],
        "shell_type": "unified_exec",
        "visibility": "list",
        "supported_in_api": True,
        "priority": 1,
        "upgrade": None,
        "base_instructions": "You play a script.",
        "supports_reasoning_summaries": True,
        "support_verbosity": False,
        "default_verbosity": None,
        "apply_patch_tool_type": None,
        "truncation_policy": {"mode": "tokens", "limit": 10_000},
        "supports_parallel_tool_calls": True,
        "context_window": 272_000,
        "experimental_supported_tools": [],
    }
    return msgspec.json.encode({"models": [model]})
