"""codex's own index of the threads in a home, as far as a killed server leaves it in the way.

Leaves everything else in it to codex: it can be made again from the rollouts.
"""

import contextlib
import sqlite3
from pathlib import Path

_BUSY_SECONDS = 1.0


def end_indexing(home: Path) -> bool:
    """Let the next server index a home's threads when the last one died while it did; say if so.

    The index says "running" then. A server waits 30 s for that to change and ends, and so does
    every one after it for a quarter of an hour (0.163.0). Only for a home that no server is on.
    """
    found = False
    for path in home.glob("state_*.sqlite"):
        # What cannot be read or written is left as it is: codex has its own say about that.
        with (
            contextlib.suppress(sqlite3.DatabaseError),
            contextlib.closing(sqlite3.connect(path, timeout=_BUSY_SECONDS)) as index,
            index,
        ):
            ended = "UPDATE backfill_state SET status = 'pending' WHERE status = 'running'"
            found = index.execute(ended).rowcount > 0 or found
    return found
