"""Run git in a directory whose repository an agent may have configured.

Owns what byred's git does not believe there. A repository inside a task's tree has a configuration
that the agent wrote from within its sandbox; filters and the like in it are programs that git would
run for byred, outside of it. So each setting there that names a program is overruled by what the
owner's own configuration says, or by nothing.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from byred.workspace.git import TIME_LIMIT, ask_git, git, run_git
from byred.workspace.patience import patiently
from byred.workspace.process import Finished

_PROGRAMS = re.compile(
    r"filter\..*\.(clean|smudge|process)|core\.(sshcommand|gitproxy|alternaterefscommand)"
    r"|remote\..*\.(uploadpack|receivepack)|credential\..*helper|gpg\..*program|diff\..*\.\w+"
)
_SWITCHES = re.compile(r"filter\..*\.required|remote\..*\.promisor")
_OWNERS = ("system", "global")


@dataclass(frozen=True)
class At:
    """A directory in which git runs, and the environment that overrules its configuration."""

    path: Path
    env: Mapping[str, str] = field(default_factory=dict)

    def with_env(self, **more: str) -> "At":
        """Return the same place with more in the environment."""
        return replace(self, env={**self.env, **more})

    async def git(self, *args: str, input: str | None = None, timeout: float = TIME_LIMIT) -> str:  # noqa: A002, ASYNC109 - as git.git
        """Run git here, as `git.git`."""
        return await git(*args, cwd=self.path, env=self.env, input=input, timeout=timeout)

    async def ask(self, *args: str) -> str | None:
        """Run git here, as `git.ask_git`."""
        return await ask_git(*args, cwd=self.path, env=self.env)

    async def run(
        self,
        *args: str,
        input: str | None = None,  # noqa: A002 - as git.run_git
        timeout: float = TIME_LIMIT,  # noqa: ASYNC109 - as git.run_git
    ) -> Finished:
        """Run git here, as `git.run_git`."""
        return await run_git(*args, cwd=self.path, env=self.env, input=input, timeout=timeout)

    async def patiently(
        self,
        *args: str,
        input: str | None = None,  # noqa: A002 - as patience.patiently
        timeout: float = TIME_LIMIT,  # noqa: ASYNC109 - as patience.patiently
    ) -> str:
        """Run git here, as `patience.patiently`."""
        return await patiently(*args, cwd=self.path, env=self.env, input=input, timeout=timeout)

    async def git_dir(self) -> Path:
        """Return the git directory of this tree."""
        return Path(await self.git("rev-parse", "--absolute-git-dir"))

    async def commit(self, name: str) -> str | None:
        """Return the commit that a name stands for, None when there is none."""
        return await self.ask("rev-parse", "--quiet", "--verify", f"{name}^{{commit}}")


async def in_tree(path: Path) -> At:
    """Return a task's worktree: its repository is the owner's, its own settings are the agent's."""
    own = Path(await git("rev-parse", "--absolute-git-dir", cwd=path))
    if not await asyncio.to_thread((own / "config.worktree").exists):
        return At(path)
    return At(path, await _overrule(path, {"worktree"}))


async def inside_tree(path: Path) -> At:
    """Return a repository inside a task's tree: all of its settings are the agent's."""
    overruled = await _overrule(path, {"local", "worktree"})
    return At(path, {**overruled, "GIT_NO_LAZY_FETCH": "1"})


async def _overrule(path: Path, distrusted: Iterable[str]) -> dict[str, str]:
    """Return an environment that sets anew what a distrusted scope says about programs."""
    listing = await git("config", "--list", "--show-scope", "--includes", "-z", cwd=path)
    parts = listing.removesuffix("\0").split("\0")
    owners: dict[str, str] = {}
    suspects: dict[str, str] = {}
    for scope, setting in zip(parts[::2], parts[1::2], strict=False):
        key, _, value = setting.partition("\n")
        if scope in _OWNERS:
            owners[key] = value
        elif scope in distrusted and _PROGRAMS.fullmatch(key):
            suspects[key] = ""
        elif scope in distrusted and _SWITCHES.fullmatch(key):
            suspects[key] = "false"
    env = {"GIT_CONFIG_COUNT": str(len(suspects))}
    for number, (key, nothing) in enumerate(suspects.items()):
        env[f"GIT_CONFIG_KEY_{number}"] = key
        env[f"GIT_CONFIG_VALUE_{number}"] = owners.get(key, nothing)
    return env
