"""Named SQL: each file of `queries/` holds statements, each under a `-- name:` line.

SQL is never glued together in Python; a statement is looked up by its file and name.
"""

import re
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: ([a-z_]+)$", re.MULTILINE)


@cache
def load(table: str) -> dict[str, str]:
    """Give the statements of `queries/TABLE.sql` by name."""
    text = files("byred.store").joinpath("queries", f"{table}.sql").read_text(encoding="utf-8")
    parts = _NAME.split(text)[1:]
    return dict(zip(parts[::2], (part.strip() for part in parts[1::2]), strict=True))
