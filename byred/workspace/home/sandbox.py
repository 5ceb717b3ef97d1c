"""What an agent's commands may write, as a permission profile of codex; and a test of this machine.

Owns the profile for `workspace-write`. A commit in a linked worktree writes to the repository's
git directory, so that must be writable; but its configuration and hooks are programs that the
person's git, and byred's, would run outside of any sandbox. The profile lets the one through and
not the other, which plain writable roots can't.

A thread must then be started without a `sandbox` of its own: that would replace the profile.
"""

import asyncio
import socket
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from byred.workspace.errors import WorkspaceError
from byred.workspace.git import git
from byred.workspace.home.environment import Identity, build
from byred.workspace.owner import BRANCHES, OWNER
from byred.workspace.process import run

PROFILE = "byre"
_OF_THE_PERSON = ("HEAD", "index", "config", "config.worktree", "hooks", "modules", "worktrees")
_OF_BYRED = ("byre-lock", "byre-kept", "byre-aside", OWNER, BRANCHES)
_TIME_LIMIT = 30.0


@dataclass(frozen=True)
class SandboxReport:
    """What the sandbox of this machine does with a command; `said` explains a failure.

    `works`: a command runs at all and can write in its worktree. `commits`: git can commit there.
    `contains`: nothing outside can be written, the repository's configuration included.
    `cuts_network`: without network, a connection to this machine's loopback is refused.
    """

    works: bool
    commits: bool
    contains: bool
    cuts_network: bool
    said: str


def profile(
    *, writable_roots: Sequence[Path], protected: Sequence[Path], network: bool
) -> dict[str, Any]:
    """Return the part of `config.toml` that makes the profile and chooses it."""
    filesystem = {
        ":root": "read",
        ":workspace_roots": "write",
        ":tmpdir": "write",
        ":slash_tmp": "write",
        # The longer path decides, so the order is for people.
        **{str(path): "read" for path in protected},
        **{str(path): "write" for path in writable_roots},
    }
    return {
        "default_permissions": PROFILE,
        "permissions": {PROFILE: {"filesystem": filesystem, "network": {"enabled": network}}},
    }


def protected_paths(common_dir: Path) -> tuple[Path, ...]:
    """Return what exists in a common git directory and is not a task's to write."""
    names = (*_OF_THE_PERSON, *_OF_BYRED)
    return tuple(path for name in names if (path := common_dir / name).exists())


async def self_test(codex: Path, *, path: str) -> SandboxReport:
    """Try the sandbox with a throw-away repository; `path` is the PATH for the commands.

    Raises WorkspaceError when the trial itself can't be set up.
    """
    # Not below /tmp, which is writable inside the sandbox, so that it can't show containment.
    with tempfile.TemporaryDirectory(prefix="byre-sandbox-", dir="/var/tmp") as folder:
        real = await asyncio.to_thread(Path(folder).resolve)
        trial = await _Trial.make(real, codex, path)
        works, said = await trial.command("echo x > file")
        if not works:
            return SandboxReport(False, False, False, False, said)
        commits, said_of_commit = await trial.command(
            "git add file && git commit -q -m trial && git cat-file -e HEAD:file"
        )
        escapes = [
            await trial.command(f"echo x >> '{target}'")
            for target in (trial.repo / "file", trial.repo / ".git/config", trial.home / "x")
        ]
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            connects, _ = await trial.command(
                f"/bin/bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'", network=False
            )
        contains = not any(escaped for escaped, _ in escapes)
        return SandboxReport(works, commits, contains, not connects, said_of_commit)


@dataclass(frozen=True)
class _Trial:
    """A throw-away repository with a worktree and a home."""

    repo: Path
    tree: Path
    home: Path
    codex: Path
    path: str

    @classmethod
    async def make(cls, folder: Path, codex: Path, path: str) -> "_Trial":
        trial = cls(folder / "repo", folder / "tree", folder / "home", codex, path)
        await git("init", "--quiet", str(trial.repo), cwd=folder)
        who = ("-c", "user.name=byred", "-c", "user.email=byred@localhost")
        first = ("commit", "--quiet", "--allow-empty", "--message", "first")
        await git(*who, *first, cwd=trial.repo)
        await git("worktree", "add", "--quiet", str(trial.tree), cwd=trial.repo)
        await asyncio.to_thread(trial.home.mkdir)
        return trial

    async def command(self, script: str, *, network: bool = True) -> tuple[bool, str]:
        """Run a script in the sandbox; say whether it succeeded and what it printed."""
        common = self.repo / ".git"
        table = profile(
            writable_roots=(common, common / "worktrees" / self.tree.name),
            protected=protected_paths(common),
            network=network,
        )
        await asyncio.to_thread((self.home / "config.toml").write_text, tomli_w.dumps(table))
        env = build(
            {"PATH": self.path},
            home=self.home,
            worktree=self.tree,
            ports={},
            identity=Identity("byred", "byred@localhost"),
            task_id=0,
        )
        argv = [str(self.codex), "sandbox", "-P", PROFILE, "-C", str(self.tree)]
        try:
            done = await run(
                [*argv, "/bin/sh", "-c", script],
                cwd=self.tree,
                env=env,
                timeout=_TIME_LIMIT,
                merge=True,
            )
        except OSError as error:
            raise WorkspaceError(f"cannot run {self.codex}: {error.strerror}") from error
        return done.status == 0, done.stdout.decode("utf-8", "replace").strip()
