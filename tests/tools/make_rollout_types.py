"""Write the record types of `byred.codex.rollout` from the schemas of real codex binaries.

    python tests/tools/make_rollout_types.py VERSION=BINARY [VERSION=BINARY …]

Each binary prints the schema of its rollout lines itself (`codex app-server
generate-internal-json-schema`) and that of its configuration (`generate-json-schema`). Names,
tags and types are taken from there, the union over the versions given; a field that any version
lacks or may leave out is optional. Besides the classes it writes a digest for the tests, so that
they can check the tables against every version without its binary. Run `ruff format` after it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TYPES = ROOT / "byred" / "codex" / "rollout" / "types"
ENUMS = ROOT / "byred" / "codex" / "rollout" / "enums.py"
DIGEST = ROOT / "tests" / "codex" / "rollout" / "known.json"
Schema = dict[str, Any]

FAMILIES = {
    "asking": (
        "exec_approval",
        "apply_patch_approval",
        "request_",
        "elicitation_",
        "guardian_",
        "entered_review",
        "exited_review",
    ),
    "agents": ("collab_", "sub_agent", "realtime_", "environment_", "auth_"),
    "commands": (
        "exec_",
        "terminal_",
        "patch_",
        "view_image",
        "web_search",
        "image_generation",
        "mcp_",
        "dynamic_tool",
        "hook_",
    ),
    "messages": (
        "agent_",
        "user_message",
        "reasoning_",
        "plan_",
        "item_",
        "raw_response",
        "error",
        "stream_error",
        "warning",
        "deprecation",
    ),
    "turns": ("",),
}
ABOUT = {
    "asking": "what the agent asks of people, and what reviews it",
    "agents": "sub-agents, realtime conversations, environments and logins",
    "commands": "commands, patches and the other tools",
    "messages": "what was said and thought, and what went wrong",
    "turns": "turns, the thread and its settings, tokens",
    "items": "`ResponseItem`: what goes to and comes from the model",
    "turn_items": "`TurnItem`: what `item_started` and `item_completed` carry",
    "envelope": "the payloads of the lines that are neither events nor items",
}
ALIASES = {
    "task_started": ("turn_started",),
    "task_complete": ("turn_complete",),
    "compaction": ("compaction_summary",),
}
"""Spellings that codex reads beside its own; serde keeps them out of the schemas."""
ENVELOPES = ("event_msg", "response_item")
CONFIGURATION = (
    "AskForApproval",
    "ApprovalsReviewer",
    "SandboxMode",
    "SandboxPolicy",
    "PermissionProfile",
    "NetworkAccess",
    "NetworkSandboxPolicy",
    "FileSystemAccessMode",
    "ShellEnvironmentPolicyInherit",
    "WebSearchMode",
    "AutoCompactTokenLimitScope",
    "ReasoningEffort",
    "ReasoningSummary",
    "Verbosity",
    "Personality",
    "ModeKind",
    "MultiAgentVersion",
    "ThreadHistoryMode",
    "MessagePhase",
    "ReviewDecision",
    "TurnAbortReason",
    "CodexErrorInfo",
    "ExecCommandStatus",
    "ExecCommandSource",
    "PatchApplyStatus",
)


def schemas(binary: Path) -> tuple[Schema, Schema]:
    """Return the schema of the rollout lines and that of the app-server's definitions."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "CODEX_HOME": folder}
        for command in ("generate-internal-json-schema", "generate-json-schema"):
            subprocess.run(
                [str(binary), "app-server", command, "--out", folder],
                env=environment,
                check=True,
                capture_output=True,
            )
        line = json.loads((Path(folder) / "RolloutLine.json").read_text())
        server = json.loads((Path(folder) / "codex_app_server_protocol.schemas.json").read_text())
    return line, server["definitions"]["v2"]


def resolved(schema: Schema | bool, root: Schema) -> Schema:
    """Follow references, and the `allOf` of one that schemars wraps them in."""
    while True:
        if isinstance(schema, bool):  # `true` is a schema too: anything
            return {}
        if "$ref" in schema:
            # 0.144.4 and later refer to a `PathUri` that their own bundle does not always hold.
            schema = root["definitions"].get(schema["$ref"].rsplit("/", 1)[1], {"type": "string"})
        elif len(schema.get("allOf", ())) == 1:
            schema = schema["allOf"][0]
        else:
            return schema


def kind(schema: Schema, root: Schema) -> tuple[str, bool]:
    """Return which field reads this member, and whether it may be null."""
    schema = resolved(schema, root)
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        nulls = [option for option in options if option.get("type") == "null"]
        rest = [option for option in options if option.get("type") != "null"]
        kinds = {kind(option, root)[0] for option in rest}
        return (kinds.pop() if len(kinds) == 1 else "anything"), bool(nulls)
    names = schema.get("type", "anything")
    names = [names] if isinstance(names, str) else list(names)
    null = "null" in names
    names = [name for name in names if name != "null"]
    known = {
        "string": "text",
        "integer": "whole",
        "number": "number",
        "boolean": "flag",
        "array": "many",
        "object": "table",
    }
    return (known.get(names[0], "anything") if len(names) == 1 else "anything"), null


def flattened(schema: Schema, root: Schema) -> Iterator[tuple[Schema, Schema]]:
    """Yield the object schemas whose members together make this one, with the schema itself."""
    schema = resolved(schema, root)
    if "properties" in schema:
        yield schema, schema
    for part in schema.get("allOf", ()):
        yield from flattened(part, root)


def members(schema: Schema, root: Schema) -> dict[str, tuple[str, bool]]:
    """Return name → (kind, optional) of an object; of a union's, what any of them has."""
    found: dict[str, tuple[str, bool]] = {}
    for part, _ in flattened(schema, root):
        for name, member in part["properties"].items():
            what, null = kind(member, root)
            found[name] = (what, null or name not in part.get("required", ()))
    plain = resolved(schema, root)
    for option in plain.get("oneOf") or plain.get("anyOf") or ():
        for name, (what, _) in members(option, root).items():
            known = found.get(name, (what, True))[0]
            found[name] = (what if known == what else "anything", True)
    return found


def tags(schema: Schema, root: Schema) -> dict[str, dict[str, tuple[str, bool]]]:
    """Return tag → members of a union that is tagged by `type`."""
    found: dict[str, dict[str, tuple[str, bool]]] = {}
    schema = resolved(schema, root)
    for option in schema.get("oneOf") or schema.get("anyOf") or ():
        plain = resolved(option, root)
        tag = plain.get("properties", {}).get("type", {}).get("enum")
        if tag:
            inner = members(plain, root)
            inner.pop("type")
            found[tag[0]] = inner
        elif "oneOf" in plain or "anyOf" in plain:
            found |= tags(plain, root)
    for part in schema.get("allOf", ()):
        found |= tags(part, root)
    return found


def lines(root: Schema) -> dict[str, dict[str, tuple[str, bool]]]:
    """Return type → members of the payload, for every line of the envelope."""
    found: dict[str, dict[str, tuple[str, bool]]] = {}
    for option in root["oneOf"]:
        found[option["properties"]["type"]["enum"][0]] = members(
            option["properties"]["payload"], root
        )
    return found


def values(schema: Schema | None) -> list[str]:
    """Return the strings of an enum; an object with one key counts by its key."""
    if schema is None:
        return []
    found = list(schema.get("enum", ()))
    for option in schema.get("oneOf") or schema.get("anyOf") or ():
        tag = option.get("properties", {}).get("type", {}).get("enum")
        if tag:
            found += tag
        elif option.get("type") == "object":
            found += option.get("required", ())[:1]
        else:
            found += values(option)
    return found


def named(binary: Path) -> list[str]:
    """Return what the binary says it expected of `shell_environment_policy.inherit`.

    No schema has this enum: a wrong value is the way to hear the right ones.
    """
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [str(binary), "-c", 'shell_environment_policy.inherit="wrong"', "features", "list"],
            env={"PATH": os.environ["PATH"], "HOME": folder, "CODEX_HOME": folder},
            check=False,
            capture_output=True,
            text=True,
        )
    return re.findall(r"`([a-z]+)`", done.stderr.split("expected", 1)[-1].splitlines()[0])


def enums(line: Schema, server: Schema, inherit: list[str]) -> dict[str, list[str]]:
    """Return the values of the configuration's enums, in codex's own spelling."""
    inner = line["definitions"]
    return {"ShellEnvironmentPolicyInherit": inherit} | {
        name: found
        for name in CONFIGURATION
        if (
            found := values(
                inner.get(name) or (None if name == "SandboxPolicy" else server.get(name))
            )
        )
    }


def merged(
    by_version: dict[str, dict[str, Any]],
) -> dict[str, tuple[dict[str, tuple[str, bool]], list[str]]]:
    """Return tag → (members over all versions, the versions that have it)."""
    found: dict[str, tuple[dict[str, tuple[str, bool]], list[str]]] = {}
    for version, union in by_version.items():
        for tag, inner in union.items():
            fields, versions = found.setdefault(tag, ({}, []))
            for name in {**fields, **inner}:
                old, new = fields.get(name), inner.get(name)
                if old is None or new is None:
                    what = (old or new or ("anything", True))[0]
                    optional = True if versions else (new or ("", True))[1]
                else:
                    what = old[0] if old[0] == new[0] else "anything"
                    optional = old[1] or new[1]
                fields[name] = (what, optional)
            versions.append(version)
    return found


def camel(tag: str, suffix: str) -> str:
    """Return a class name for a tag."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[_\W]", tag)) + suffix


def snake(name: str) -> str:
    """Return a Python name for a member."""
    plain = re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found[1].lower(), name)
    return {"class": "class_", "from": "from_"}.get(plain, plain)


def span(versions: list[str], every: list[str]) -> str:
    """Say which versions have a thing."""
    if len(versions) == 1:
        return f"in {versions[0]} alone"
    text = f"{versions[0]} to {versions[-1]}"
    gaps = [
        v for v in every[every.index(versions[0]) : every.index(versions[-1])] if v not in versions
    ]
    return text + (f", not {', '.join(gaps)}" if gaps else "")


def class_text(tag: str, fields: dict[str, tuple[str, bool]], about: str, suffix: str) -> list[str]:
    """Return the lines of one class."""
    text = [
        "",
        "",
        f"class {camel(tag, suffix)}(Record):",
        f'    """`{tag}`: {about}."""',
        "",
        "    __slots__ = ()",
    ]
    if suffix:
        text.append(f'    tag = "{tag}"')
        if tag in ALIASES:
            text.append(f"    aliases = {ALIASES[tag]!r}")
    for name, (what, optional) in sorted(fields.items()):
        reader = what if what == "anything" or not optional else f"maybe_{what}"
        wire = "" if snake(name) == name else f'"{name}"'
        text.append(f"    {snake(name)} = {reader}({wire})")
    return text


def write_module(name: str, union: dict[str, Any], every: list[str], suffix: str) -> None:
    """Write one module of classes and its table."""
    body: list[str] = []
    for tag, (fields, versions) in sorted(union.items()):
        body += class_text(tag, fields, span(versions, every), suffix)
    used = sorted(
        set(
            re.findall(
                r"= ((?:maybe_)?(?:text|whole|number|flag|many|table)|anything)\(", "\n".join(body)
            )
        )
    )
    imports = ", ".join(["Record", *used])
    by = "their tag" if suffix else "the type of their line"
    rows = [f'    "{tag}": {camel(tag, suffix)},' for tag in sorted(union)]
    (TYPES / f"{name}.py").write_text(
        "\n".join(
            [
                f'"""Records: {ABOUT[name]}.',
                "",
                "Written by tests/tools/make_rollout_types.py from the schemas that the binaries",
                f"{every[0]} to {every[-1]} print of themselves; not edited by hand.",
                '"""',
                "",
                "from __future__ import annotations",
                "",
                f"from byred.codex.rollout.record import {imports}",
                *body,
                "",
                "",
                f"{name.upper()}: dict[str, type[Record]] = {{",
                *rows,
                "}",
                f'"""The classes of this module by {by}."""',
                "",
            ]
        )
    )


def write_enums(by_version: dict[str, dict[str, list[str]]]) -> None:
    """Write the configuration's enums, each value with the versions that have it."""
    every = list(by_version)
    text = [
        '"""The enums of codex\'s configuration and records: the exact strings, by version.',
        "",
        "Written by tests/tools/make_rollout_types.py from the schemas that the binaries print of",
        "themselves; not edited by hand. A variant with data counts by its key or its tag. What a",
        "later version adds is a string like any other to the readers of this package.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from enum import StrEnum",
        "",
        f"VERSIONS = {tuple(every)!r}",
        '"""The versions that the tables were taken from."""',
    ]
    table: list[str] = []
    for name in CONFIGURATION:
        seen: dict[str, list[str]] = {}
        for version, found in by_version.items():
            for value in found.get(name, ()):
                seen.setdefault(value, []).append(version)
        if not seen:
            continue
        text += ["", "", f"class {name}(StrEnum):", f'    """Values of `{name}`."""', ""]
        text += [f'    {re.sub(chr(92) + "W", "_", value).upper()} = "{value}"' for value in seen]
        table.append(f"    {name}: {{")
        table += [f'        "{value}": {tuple(versions)!r},' for value, versions in seen.items()]
        table.append("    },")
    text += ["", "", "KNOWN: dict[type[StrEnum], dict[str, tuple[str, ...]]] = {", *table, "}"]
    text += ['"""Which of `VERSIONS` have a value."""', ""]
    ENUMS.write_text("\n".join(text))


def main(arguments: list[str]) -> None:
    """Write types, enums and digest from the binaries named."""
    binaries = dict(argument.split("=", 1) for argument in arguments)
    every = list(binaries)
    found = {version: schemas(Path(binary)) for version, binary in binaries.items()}
    roots = {version: line for version, (line, _) in found.items()}
    definition = {
        name: merged({v: tags(r["definitions"][name], r) for v, r in roots.items()})
        for name in ("EventMsg", "ResponseItem", "TurnItem")
    }
    envelope = merged({v: lines(r) for v, r in roots.items()})
    TYPES.mkdir(exist_ok=True)
    left = dict(definition["EventMsg"])
    for family, prefixes in FAMILIES.items():
        mine = {tag: value for tag, value in left.items() if tag.startswith(prefixes)}
        left = {tag: value for tag, value in left.items() if tag not in mine}
        write_module(family, mine, every, "Event")
    write_module("items", definition["ResponseItem"], every, "Item")
    write_module("turn_items", definition["TurnItem"], every, "TurnItem")
    plain = {tag: value for tag, value in envelope.items() if tag not in ENVELOPES}
    write_module("envelope", plain, every, "")
    tables = {
        version: enums(line, server, named(Path(binaries[version])))
        for version, (line, server) in found.items()
    }
    write_enums(tables)
    digest = {
        version: {
            "lines": sorted(lines(root)),
            **{
                name: {
                    tag: sorted(fields)
                    for tag, fields in sorted(tags(root["definitions"][name], root).items())
                }
                for name in definition
            },
            "enums": tables[version],
        }
        for version, root in roots.items()
    }
    DIGEST.write_text(json.dumps(digest, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
