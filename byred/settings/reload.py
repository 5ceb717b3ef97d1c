"""What a change of the settings means, and noticing that the file changed."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from pydantic import BaseModel
from watchfiles import awatch
from watchfiles._rust_notify import WatchfilesRustInternalError

from byred.settings.model import Settings

# A change of these is noticed, but has no effect before the daemon starts again.
NEEDS_RESTART = frozenset(
    {
        "daemon.state_dir",
        "daemon.socket",
        "daemon.socket_mode",
        "daemon.socket_group",
        "codex.launcher",
        "http.listen",
        "http.token_file",
    },
)
# The watcher's thread wakes twenty times a second by default, which an idle daemon would pay for;
# cancelling waits for one such step.
STEP_MS = 200
DEBOUNCE_MS = 1000
# Changes that no event told of (a network folder, a folder that was replaced) are seen by then.
LOOK_AGAIN_MS = 5000

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Changes:
    """The keys that differ between two settings, by what has to happen for them."""

    applies_now: tuple[str, ...]
    needs_restart: tuple[str, ...]


def diff(old: Settings, new: Settings) -> Changes:
    """Name the keys that differ, in the order of the file."""
    before, after = dict(keys(old)), dict(keys(new))
    changed = [key for key in after if before[key] != after[key]]
    return Changes(
        applies_now=tuple(key for key in changed if key not in NEEDS_RESTART),
        needs_restart=tuple(key for key in changed if key in NEEDS_RESTART),
    )


def keys(table: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every key with its value, in the order of the file."""
    for name, field in type(table).model_fields.items():
        value, key = getattr(table, name), prefix + (field.alias or name)
        if isinstance(value, BaseModel):
            yield from keys(value, f"{key}.")
        else:
            yield key, value


async def watch(path: Path, on_change: Callable[[], Awaitable[None]]) -> None:
    """Call `on_change` at once and after each change of the file's content, until cancelled.

    At once, since the file may have changed after it was read. Changes close to each other are
    one. A file that is replaced, or missing for a moment, is followed; while it is missing nothing
    is called.
    """
    seen = await asyncio.to_thread(_digest, path)
    await on_change()
    async with aclosing(_hints(path)) as hints:
        async for _ in hints:
            now = await asyncio.to_thread(_digest, path)
            if now is not None and now != seen:
                seen = now
                await on_change()


async def _hints(path: Path) -> AsyncGenerator[None]:
    """Yield when the file may have changed, and every LOOK_AGAIN_MS in any case."""
    # A link's folder says nothing when its target changes in another one.
    target = await asyncio.to_thread(path.resolve)
    names = {path.name, target.name}
    changes = awatch(
        path.parent,
        target.parent,
        watch_filter=lambda _, changed: Path(changed).name in names,
        step=STEP_MS,
        debounce=DEBOUNCE_MS,
        rust_timeout=LOOK_AGAIN_MS,
        yield_on_timeout=True,
        recursive=False,
    )
    try:
        async with aclosing(changes):
            async for _ in changes:
                yield
    except (OSError, WatchfilesRustInternalError) as error:
        # The folder is gone or the kernel's inotify limits are reached: looking still works.
        log.warning("cannot watch the settings, looking at times instead", error=str(error))
    while True:
        await asyncio.sleep(LOOK_AGAIN_MS / 1000)
        yield


def _digest(path: Path) -> bytes | None:
    """Give a mark of the content, or None when there is no such file now."""
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return None
