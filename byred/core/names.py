"""Names made from a task: slug, title, branch, identity. Plain text in, plain text out."""

import re
import string
import unicodedata

from byred.core.errors import InvalidError

SLUG_LENGTH = 40
TITLE_LENGTH = 72
PLACEHOLDERS = frozenset({"id", "slug", "owner"})

_UNSAFE_IN_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\\ud800-\udfff]|\.\.|@\{|//")


def title_of(prompt: str) -> str:
    """Take a title from the first line of a prompt that says something, at most 72 characters."""
    line = next((stripped for raw in prompt.splitlines() if (stripped := raw.strip())), "")
    if len(line) <= TITLE_LENGTH:
        return line
    return line[: TITLE_LENGTH - 1].rstrip() + "…"


def slug_of(title: str) -> str:
    """Make a part of a branch or folder name: words of any script, lower case, joined by dashes.

    Compatibility forms are folded (NFKC), so that two spellings of one title give one slug; a
    title without any letter or digit gives `task`.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", title).casefold())
    # Marks belong to the letters of many scripts, though Python's isalnum() leaves them out.
    kept = "".join(char if unicodedata.category(char)[0] in "LMN" else "-" for char in folded)
    cut = re.sub("-{2,}", "-", kept).strip("-")
    while len(cut) > SLUG_LENGTH or len(cut.encode()) > 3 * SLUG_LENGTH:
        shorter = cut[: min(SLUG_LENGTH, len(cut) - 1)]
        cut = shorter.rpartition("-")[0] or shorter
    return cut.strip("-") or "task"


def fill(template: str, *, task_id: int, slug: str, owner: str = "") -> str:
    """Fill a template that may name `{id}`, `{slug}` and `{owner}`.

    Raises:
        InvalidError: the template names something else or is malformed.
    """
    check_template(template)
    return template.format(id=task_id, slug=slug, owner=owner)


def check_template(template: str) -> None:
    """Refuse a template with an unknown placeholder or a broken brace.

    Raises:
        InvalidError: with the placeholder and those that exist.
    """
    allowed = ", ".join(f"{{{name}}}" for name in sorted(PLACEHOLDERS))
    try:
        fields = list(string.Formatter().parse(template))
    except ValueError as error:
        raise InvalidError(f"{template!r} is not a template: {error}; use {allowed}") from error
    for _, name, spec, conversion in fields:
        if name is not None and (name not in PLACEHOLDERS or spec or conversion):
            raise InvalidError(f"{template!r} names {{{name}}}; use {allowed}")


def check_branch(name: str) -> None:
    """Refuse what git would not take as a branch name (git-check-ref-format).

    Raises:
        InvalidError: with the name.
    """
    parts = name.split("/")
    if (
        not name
        or name.startswith("-")
        or name.endswith((".", "/"))
        or name in ("@", "HEAD")
        or _UNSAFE_IN_REF.search(name)
        or any(not part or part.startswith(".") or part.endswith(".lock") for part in parts)
    ):
        raise InvalidError(f"{name!r} cannot be a branch name; see git help check-ref-format")
