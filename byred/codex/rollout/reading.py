"""Small readings of payloads that the telling needs: texts, commands, outputs, changes.

Pure functions from objects of the protocol to plain values; each knows the forms that different
versions of codex write.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import Any, NamedTuple

from byred.codex.rollout.errors import RolloutError
from byred.codex.rollout.jsontext import decode, encode
from byred.codex.rollout.story import Change, Tokens

Doc = dict[str, Any]

COMMANDS = frozenset({"exec_command", "shell", "shell_command", "local_shell", "container.exec"})
"""The names under which models run commands, over the versions."""
QUESTIONS = frozenset({"ask_human", "request_user_input", "request_permissions"})
"""The tools that ask a person."""
SHELL_LENGTH = 3
_COUNTS = (
    "input_tokens",
    "cached_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
    "total_tokens",
)
_HEADER = re.compile(
    r"\A(?:Chunk ID: \S+\n)?"
    r"(?:Exit code: (?P<exit>-?\d+)\n)?"
    r"(?:Wall time: (?P<wall>[\d.]+) seconds\n)?"
    r"(?:Process exited with code (?P<code>-?\d+)\n)?"
    r"(?:Process running with session ID (?P<session>\d+)\n)?"
    r"(?:Original token count: \d+\n)?"
    r"(?:Total output lines: \d+\n)?"
    r"(?:Output:\n)"
)
_BEGINNINGS = (
    "Chunk ID: ",
    "Exit code: ",
    "Wall time: ",
    "Process ",
    "Original token count: ",
    "Total output lines: ",
    "Output:\n",
)
_BY_HAND = re.compile(
    r"\A<user_shell_command>\s*<command>\n(?P<command>.*?)\n</command>\s*<result>\n"
    r"(?:Exit code: (?P<code>-?\d+)\n)?(?:Duration: (?P<took>[\d.]+) seconds\n)?"
    r"(?:Output:\n)?(?P<output>.*?)\n?</result>\s*</user_shell_command>\s*\Z",
    re.DOTALL,
)


def string(value: Any) -> str:
    """Return a string, or nothing for what isn't one."""
    return value if isinstance(value, str) else ""


def whole(value: Any) -> int | None:
    """Return an integer, or None for what isn't one."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def table(value: Any) -> Doc:
    """Return an object, or an empty one for what isn't."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Doc]:
    """Return the objects of a list, or nothing for what isn't a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts(content: Any) -> list[str]:
    """Return the texts of a message's content, of either side and any version."""
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    parts = [part.get("text") for part in content if isinstance(part, dict)]
    return [text for text in parts if isinstance(text, str)]


def images(content: Any) -> tuple[str, ...]:
    """Return where the images of a content are: URLs or paths."""
    found: list[str] = []
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict) or "image" not in string(part.get("type")).lower():
            continue
        where = part.get("image_url") or part.get("url") or part.get("path")
        if isinstance(where, dict):
            where = where.get("url")
        if isinstance(where, str):
            found.append(where)
    return tuple(found)


def output(value: Any) -> str:
    """Return what a tool gave back as text: a string, a content list, or an object with either."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return output(value.get("content") or value.get("output"))
    if isinstance(value, list):
        return "\n".join([*texts(value), *images(value)])
    return ""


def arguments(value: Any) -> Doc:
    """Return a call's arguments; models write them as JSON text, not always well."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, str):
        return {}
    try:
        return table(decode(value.encode("utf-8", "surrogatepass")))
    except RolloutError:
        return {}


def command(value: Any) -> str:
    """Return a command as a person would type it; the shell that wraps it goes."""
    if isinstance(value, str):
        return value
    words = [string(word) for word in value] if isinstance(value, list) else []
    if len(words) == SHELL_LENGTH and words[1] in ("-c", "-lc"):
        return words[2]
    return shlex.join(words)


class Told(NamedTuple):
    """What the model was told of a command: its output, and the header that codex put before."""

    output: str
    exit_code: int | None = None
    duration_ms: int | None = None
    running: bool = False
    headed: bool = False


def ran(text: str) -> Told:
    """Return the output of a tool without the header that codex puts before it."""
    if text.startswith('{"output"'):
        told = arguments(text)
        about = table(told.get("metadata"))
        took = about.get("duration_seconds")
        span = round(took * 1000) if isinstance(took, float | int) else None
        return Told(string(told.get("output")), whole(about.get("exit_code")), span, headed=True)
    found = Told(text)
    if not text.startswith(_BEGINNINGS):
        return found
    while (header := _HEADER.match(found.output)) is not None:  # a patch in a shell has two
        code = header["code"] or header["exit"]
        found = Told(
            found.output[header.end() :],
            int(code) if code else found.exit_code,
            round(float(header["wall"]) * 1000) if header["wall"] else found.duration_ms,
            running=bool(header["session"]),
            headed=True,
        )
    return found


def by_hand(text: str) -> tuple[str, str, int | None] | None:
    """Return command, output and exit code of a command that the person ran in the thread."""
    told = _BY_HAND.match(text) if text.startswith("<user_shell_command>") else None
    if told is None:
        return None
    return told["command"], told["output"], int(told["code"]) if told["code"] else None


def milliseconds(duration: Any) -> int | None:
    """Return a duration as codex writes it (`{"secs", "nanos"}`) in milliseconds."""
    if not isinstance(duration, dict):
        return None
    secs, nanos = whole(duration.get("secs")), whole(duration.get("nanos"))
    return None if secs is None else secs * 1000 + (nanos or 0) // 1_000_000


def changes(value: Any) -> tuple[Change, ...]:
    """Return the changes of a patch: path → what was done."""
    return tuple(
        Change(
            path,
            string(table(change).get("type")),
            string(table(change).get("unified_diff") or table(change).get("content")),
            string(table(change).get("move_path")) or None,
        )
        for path, change in table(value).items()
    )


def question(given: Doc) -> str:
    """Return a question to a person from the arguments of the call that asks it."""
    asked = [string(one.get("question")) for one in items(given.get("questions"))]
    single = string(given.get("question") or given.get("text") or given.get("reason"))
    return "\n".join([*filter(None, asked)] or [single or json.dumps(given, ensure_ascii=False)])


def answer(text: str) -> str:
    """Return an answer as the person gave it, out of the forms of codex's own questions."""
    given = table(arguments(text).get("answers"))
    if not given:
        return text
    return "\n".join(
        ", ".join(string(one) for one in table(picked).get("answers", ()))
        for picked in given.values()
    )


def tokens(usage: Any) -> Tokens:
    """Return a `TokenUsage`."""
    if not isinstance(usage, dict):
        return Tokens()
    counts = [usage.get(name) for name in _COUNTS]
    return Tokens(*[count if isinstance(count, int) else 0 for count in counts])


def error(value: Any) -> str:
    """Return an error in words: its message, or its kind."""
    if isinstance(value, dict):
        return string(value.get("message")) or encode(value).decode()
    return string(value)
