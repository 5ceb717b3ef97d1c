"""Run the commands that a repository or the owner wants run in a worktree, and keep what they say.

Owns time limit, environment and output. Whether they may run at all was decided before.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from byred.workspace.errors import reporting
from byred.workspace.orders.repofile import Command
from byred.workspace.process import run

KEPT = 4 * 1024 * 1024
"""Bytes of output that are kept in the log: the first and the last half of it."""
TOLD = 16 * 1024
"""Characters of the end of an output that are handed on, to a person or to the agent."""


@dataclass(frozen=True)
class Ran:
    """How a command ended: `status` is None when its time was over. `output` is its end."""

    command: str
    status: int | None
    seconds: float
    output: str
    log: Path

    @property
    def passed(self) -> bool:
        """Whether it ended with status 0."""
        return self.status == 0

    def report(self) -> str:
        """Return what happened as text for a person or an agent."""
        how = "took too long" if self.status is None else f"ended with status {self.status}"
        return f"`{self.command}` {how} after {self.seconds:.1f} s. Its output ends:\n{self.output}"


@reporting("run a command of the repository")
async def run_command(command: Command, *, cwd: Path, env: Mapping[str, str], log: Path) -> Ran:
    """Run a command in a shell, in `cwd`, with `env` and nothing else; its output goes to `log`.

    What it started in the background and that has `env` goes on; whoever ends the task ends it.
    """
    begun = time.monotonic()
    done = await run(
        ["/bin/sh", "-c", command.run],
        cwd=cwd,
        env=env,
        timeout=command.seconds,
        limit=KEPT,
        merge=True,
        both_ends=True,
    )
    seconds = time.monotonic() - begun
    await asyncio.to_thread(_write, log, done.stdout)
    said = done.stdout.decode("utf-8", "replace")[-TOLD:]
    return Ran(command.run, None if done.timed_out else done.status, seconds, said, log)


async def verify(
    commands: Sequence[Command], *, cwd: Path, env: Mapping[str, str], logs: Path
) -> Ran | None:
    """Run the commands one after the other; return the first that fails, or None."""
    for number, command in enumerate(commands, 1):
        ran = await run_command(command, cwd=cwd, env=env, log=logs / f"verify-{number}.log")
        if not ran.passed:
            return ran
    return None


def _write(log: Path, content: bytes) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(content)
