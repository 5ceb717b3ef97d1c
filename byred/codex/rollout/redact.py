"""Taking secrets out of what leaves the machine.

It knows the shapes of common keys, headers, assignments and URLs with a password in them, and
whatever values the caller knows to be secret. It errs towards taking out too much: an export is
for readers, the rollout itself stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from byred.codex.rollout.jsontext import encode
from byred.codex.rollout.line import Line, parse

MARK = "[redacted]"
SHORTEST = 6
"""Characters under which a known value is not looked for: it would be found everywhere."""
# Every repetition here has an end, so that no text, however made, takes more than linear time.
_NAMED = r"[\w.-]{0,40}(?:api_?key|access_?key|secret|token|passwd|password|passphrase|credential)"
_SHAPES = re.compile(
    r"""
    -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----.*?(?:-----END[ ][A-Z ]*PRIVATE[ ]KEY-----|\Z)
    | \bsk-[A-Za-z0-9_-]{16,}
    | \b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}
    | \bgithub_pat_\w{20,}
    | \bglpat-[\w-]{16,}
    | \bxox[abeprs]-[\w-]{10,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
    | \bAIza[\w-]{30,}
    | \bya29\.[\w-]{20,}
    | \bnpm_[A-Za-z0-9]{30,}
    | \bpypi-[\w-]{30,}
    | \beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*
    """,
    re.VERBOSE | re.DOTALL,
)
_HEADER = re.compile(
    r"(?i)\b((?:proxy-)?authorization\s*[:=]\s*[\"']?(?:bearer|basic|token)?\s*|bearer\s+)"
    r"([^\s\"',;]{6,})"
)
_ASSIGNED = re.compile(
    rf"(?i)\b({_NAMED}\w{{0,20}}[\"']?\s*[:=]\s*)([\"']?)(?!\d+\b|\[redacted)([^\s\"',;&]{{4,}})\2"
)
_URL = re.compile(r"(\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@]{0,200}:)([^\s/@]{1,500})(@)")
_NAME = re.compile(rf"(?i)\A{_NAMED}(?:_?value)?\Z")
_COUNTED = re.compile(r"(?i).*tokens\Z|.*token_(?:usage|count|limit|budget).*")


def redacted(text: str, known: Iterable[str] = ()) -> str:
    """Return `text` without secrets: those of a known shape, and the `known` values."""
    for value in known:
        if len(value) >= SHORTEST:
            text = text.replace(value, MARK)
    text = _SHAPES.sub(MARK, text)
    text = _HEADER.sub(rf"\1{MARK}", text)
    text = _ASSIGNED.sub(rf"\1\2{MARK}\2", text)
    return _URL.sub(rf"\1{MARK}\3", text)


def redacted_value(value: Any, known: Iterable[str] = ()) -> Any:
    """Return a JSON value with every string in it redacted, and those under a telling name."""
    if isinstance(value, str):
        return redacted(value, known)
    if isinstance(value, list | tuple):
        return [redacted_value(item, known) for item in value]
    if isinstance(value, dict):
        return {
            name: MARK
            if isinstance(item, str) and item and _NAME.match(name) and not _COUNTED.match(name)
            else redacted_value(item, known)
            for name, item in value.items()
        }
    return value


def redacted_line(line: Line, known: Iterable[str] = ()) -> Line:
    """Return a line without secrets; one that has none stays as it is, byte for byte."""
    clean = redacted_value(line.doc, known)
    return line if clean == line.doc else parse(encode(clean), line.offset)
