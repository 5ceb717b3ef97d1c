"""Which files a thread's history is in, and how much of each belongs to it.

A legacy fork copies what it inherits; a paginated thread (`history_mode`) refers to it: a revert
or a fork begins a new file whose `history_base` names an earlier one and the ordinal up to which
that one still counts. `parts` follows these references, so that reading the parts in order gives
the thread as codex itself sees it; `find` lists the rollouts of a home.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from byred.codex.rollout import reading
from byred.codex.rollout.errors import RolloutError
from byred.codex.rollout.line import Line
from byred.codex.rollout.reader import existing, read, whole

_ID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_NAME = re.compile(
    rf"rollout-(?P<time>[\dT-]+?)-(?P<thread>{_ID})(?:_(?P<segment>{_ID}))?\.jsonl(?:\.zst)?\Z"
)
FOLDERS = ("sessions", "archived_sessions")
"""Where a CODEX_HOME keeps its rollouts."""
DEEPEST = 10_000
"""References after which a chain is taken for a circle; each is a fork or a revert by hand."""


class Meta(msgspec.Struct, frozen=True):
    """What the first line of a rollout says of it."""

    path: Path
    thread_id: str
    rollout_id: str
    """Names this file: the thread's id, or that of the segment that a revert began."""
    created_at: str = ""
    version: str = ""
    cwd: str = ""
    forked_from: str = ""
    parent: str = ""
    """The thread that started this one as its sub-agent or reviewer."""
    base: str = ""
    """The rollout that this one continues."""
    base_end: int | None = None
    """The ordinal at which it stops counting."""
    base_offset: int | None = None
    """The same place in bytes."""

    @property
    def sub_agent(self) -> bool:
        """Whether another thread started this one."""
        return bool(self.parent)


class Part(msgspec.Struct, frozen=True):
    """A file of a thread and the ordinal before which its lines count; None counts them all."""

    path: Path
    until: int | None = None


def find(home: Path) -> list[Path]:
    """Return the rollouts of a CODEX_HOME, oldest first; of two forms the one that codex reads."""
    found: dict[str, Path] = {}
    for folder in FOLDERS:
        for path in (home / folder).rglob("rollout-*.jsonl*"):
            plain = path.name.removesuffix(".zst")
            if _NAME.match(path.name) and (path.name == plain or plain not in found):
                found[plain] = path
    return [found[name] for name in sorted(found)]


def ids(path: Path) -> tuple[str, str]:
    """Return thread id and rollout id out of a file's name; empty when it has another name."""
    name = _NAME.match(path.name)
    return (name["thread"], name["segment"] or name["thread"]) if name else ("", "")


def meta(path: Path) -> Meta:
    """Return what a rollout says of itself.

    A torn first line costs what it said and no more. Raises RolloutError when there is no file.
    """
    thread_id, rollout_id = ids(path)
    first = next(whole(path), None)
    said = first.payload if first is not None and first.type == "session_meta" else {}
    base = reading.table(said.get("history_base"))
    source = reading.table(said.get("source")).get("subagent")
    parent = reading.string(said.get("parent_thread_id"))
    if source is not None and not parent:
        spawned = reading.table(reading.table(source).get("thread_spawn"))
        parent = reading.string(spawned.get("parent_thread_id")) or "unknown"
    thread_id = reading.string(said.get("id")) or thread_id
    return Meta(
        path=path,
        thread_id=thread_id,
        rollout_id=rollout_id or thread_id,
        created_at=reading.string(said.get("timestamp")),
        version=reading.string(said.get("cli_version")),
        cwd=reading.string(said.get("cwd")),
        forked_from=reading.string(said.get("forked_from_id")),
        parent=parent,
        base=reading.string(base.get("thread_id")),
        base_end=reading.whole(base.get("end_ordinal_exclusive")),
        base_offset=reading.whole(base.get("end_byte_offset")),
    )


def latest(paths: Iterable[Path], thread_id: str = "") -> Path | None:
    """Return the rollout that a thread goes on in now, or that of the newest thread of a person.

    None when there is none. A thread that was reverted goes on in a newer file.
    """
    mine = [
        about
        for about in map(meta, paths)
        if (about.thread_id == thread_id if thread_id else not about.sub_agent)
    ]
    newest = max(mine, key=lambda about: (about.created_at, about.path.name), default=None)
    return newest.path if newest is not None else None


def parts(path: Path, among: Iterable[Path]) -> tuple[list[Part], list[str]]:
    """Return the parts of the thread that `path` ends, oldest first, and the ids of missing ones.

    `among` are the rollouts to look in. Raises RolloutError for a circle of references.
    """
    known = {ids(other)[1]: other for other in among if ids(other)[1]}
    chain = [Part(existing(path))]
    missing: list[str] = []
    here = meta(chain[0].path)
    limit: int | None = None
    while here.base:
        if len(chain) > DEEPEST:
            raise circle(path)
        # Cut at the earlier of two ordinals: a later fork may inherit less than its parent had.
        ends = [end for end in (here.base_end, limit) if end is not None]
        limit = min(ends) if ends else None
        other = known.get(here.base)
        if other is None:
            missing.append(here.base)
            break
        chain.append(Part(other, limit))
        here = meta(other)
    return chain[::-1], missing


def circle(path: Path) -> RolloutError:
    """Return the error for references that lead back to where they began."""
    return RolloutError(f"cannot follow {path}: its history refers to itself in a circle")


def lines(chain: Iterable[Part]) -> Iterator[Line]:
    """Yield the whole lines of a thread through its parts, in order."""
    for part in chain:
        for found in read(part.path):
            if not isinstance(found, Line):
                continue
            if part.until is not None and (found.ordinal or 0) >= part.until:
                break
            yield found
