"""The throw-away ground that the demonstration stands on: a folder, a repository, a configuration.

Everything is below one folder in the temporary directory. What the person's own git configuration
says (signing, hooks, templates, a name) is kept out of it, and so is the home directory, in which
codex leaves files even when it is only asked for its version.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from byred.cli.errors import RefusedError, WrongUsageError

DOING = "run the demonstration"
_LONGEST_SOCKET = 107  # bytes that the address of a Unix socket holds
_GIT_LIMIT = 60  # seconds; every repository here is tiny
_README = """\
# A throw-away repository

byred's demonstration made it; its three agents work on it.
"""
_CONFIG = """\
[daemon]
state_dir = {state}
socket = {socket}

[log]
format = "console"

[codex]
auth_file = ""

[workspace]
root = {worktrees}

[scheduler]
max_running = 3
"""


class Ground:
    """Where everything of one demonstration is."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="byre-demo-")).resolve()
        self.repository = self.folder / "repository"
        self.worktrees = self.folder / "worktrees"
        self.state = self.folder / "state"
        self.socket = self.folder / "byred.sock"
        self.config = self.folder / "byred.toml"
        self.log = self.folder / "byred.log"
        self.home = self.folder / "home"
        self.environ = _own_environment(environ) | {"HOME": str(self.home)}

    def prepare(self) -> None:
        """Make the repository with its one commit, and the daemon's configuration.

        Raises WrongUsageError when a socket can't be made here, RefusedError when git fails.
        """
        if len(os.fsencode(self.socket)) > _LONGEST_SOCKET:
            raise WrongUsageError(
                f"cannot {DOING}: the temporary directory {self.folder.parent} has too long a path"
                " for a socket; set TMPDIR to a shorter one"
            )
        self.home.mkdir()
        self.repository.mkdir()
        self.git("init", "--quiet", "--template=", "--initial-branch=main")
        # The agents commit with the repository's settings over the person's.
        self.git("config", "commit.gpgsign", "false")
        self.git("config", "core.hooksPath", str(self.folder / "no-hooks"))
        (self.repository / "README.md").write_text(_README)
        self.git("add", "README.md")
        self.git("commit", "--quiet", "--message", "Begin")
        places = {
            name: json.dumps(str(path), ensure_ascii=False)  # also a basic string of TOML
            for name, path in vars(self).items()
            if isinstance(path, Path)
        }
        self.config.write_text(_CONFIG.format(**places))

    def git(self, *args: str) -> str:
        """Run git in the repository under the demonstration's own name; returns what it says."""
        try:
            return subprocess.run(
                ["git", "-C", str(self.repository), *args],
                check=True,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_GIT_LIMIT,
                env=self.environ,
            ).stdout
        except FileNotFoundError as error:
            raise RefusedError(
                f"cannot {DOING}: there is no git on PATH; install it, byre doctor checks the rest"
            ) from error
        except subprocess.TimeoutExpired as error:
            raise RefusedError(
                f"cannot {DOING}: git {args[0]} took more than {_GIT_LIMIT} s; see what holds it up"
            ) from error
        except subprocess.CalledProcessError as error:
            said = " ".join(str(error.stderr).split())
            raise RefusedError(
                f"cannot {DOING}: git {args[0]} failed ({said}); see byre doctor"
            ) from error

    def remove_all_but_the_repository(self) -> None:
        """Remove the daemon's files and the worktrees; branches and commits can be looked at."""
        for folder in (self.worktrees, self.state, self.home):
            shutil.rmtree(folder, ignore_errors=True)
        for file in (self.config, self.log, self.socket):
            file.unlink(missing_ok=True)
        self.git("worktree", "prune")

    def remove(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _own_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The person's environment without what would steer this daemon or this git elsewhere."""
    kept = {
        name: value
        for name, value in environ.items()
        if not name.startswith(("BYRED_", "BYRE_", "GIT_", "CODEX_"))
        and name not in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
    }
    for role in ("AUTHOR", "COMMITTER"):
        kept[f"GIT_{role}_NAME"] = "byre demo"
        kept[f"GIT_{role}_EMAIL"] = "demo@byred.invalid"
    return kept | {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
