"""Build the whole environment of a task's server and of the agent's shell.

Owns the allow-list: what is not on it, the daemon's secrets first of all, never reaches an agent.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

ALLOWED = (
    "PATH",  # programs
    "HOME",  # tools' caches and configuration
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",  # text and time as the owner has them
    "LC_*",
    "LANGUAGE",
    "TZ",
    "TERM",
    "COLORTERM",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "HTTP_PROXY",  # the network, where it is reached through something
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "LD_LIBRARY_PATH",  # where the system's libraries are, on systems that say so here
)
"""Names (or patterns) that pass. XDG_RUNTIME_DIR and SSH_AUTH_SOCK are left out on purpose: sockets
of the owner's session, the daemon's own and the key agent among them, lie behind them."""


@dataclass(frozen=True)
class Identity:
    """Who makes a task's commits."""

    name: str
    email: str


def build(
    base_env: Mapping[str, str],
    *,
    allow: Iterable[str] = (),
    home: Path,
    worktree: Path,
    ports: Mapping[str, int],
    identity: Identity,
    task_id: int | str,
    extra: Mapping[str, str] | None = None,
    owner_hooks: bool = False,
    hooks: Path | None = None,
    signing: bool = False,
) -> dict[str, str]:
    """Return the environment of a task.

    `allow` adds names or patterns (`FOO_*`) to `ALLOWED`; `extra` is laid over all but what tells
    the task apart from others. `ports` keeps its order: the first is also `PORT`. With
    `owner_hooks` the repository's git hooks run on the agent's commits, else those in the folder
    `hooks` if it is given; with `signing` the owner's signing settings apply to the commits.
    """
    patterns = (*ALLOWED, *allow)
    passed = {
        name: value
        for name, value in base_env.items()
        if any(fnmatchcase(name, pattern) for pattern in patterns)
    }
    return (
        passed
        | dict(extra or {})
        | _of_ports(ports)
        | _of_git(identity, owner_hooks=owner_hooks, hooks=hooks, signing=signing)
        | {
            "CODEX_HOME": str(home),
            "BYRE_TASK_ID": str(task_id),
            "BYRE_WORKTREE": str(worktree),
        }
    )


def port_variable(name: str) -> str:
    """Return the variable that carries the port called `name`: `PORT_WEB` for `web`."""
    return "PORT_" + re.sub(r"\W", "_", name, flags=re.ASCII).upper()


def _of_ports(ports: Mapping[str, int]) -> dict[str, str]:
    if not ports:
        return {}
    named = {port_variable(name): str(port) for name, port in ports.items()}
    listing = ",".join(f"{name}={port}" for name, port in ports.items())
    return named | {"PORT": str(next(iter(ports.values()))), "BYRE_PORTS": listing}


def _of_git(
    identity: Identity, *, owner_hooks: bool, hooks: Path | None, signing: bool
) -> dict[str, str]:
    """Return identity and the settings that keep the owner's configuration out of the way."""
    # A new branch must not write to the configuration that all worktrees share.
    settings: list[tuple[str, str]] = [("branch.autoSetupMerge", "false")]
    if not signing:
        settings += [
            ("commit.gpgSign", "false"),
            ("tag.gpgSign", "false"),
            # `git commit -S` must fail by itself, not wake the owner's key.
            ("gpg.program", "false"),
            ("gpg.ssh.program", "false"),
            ("gpg.x509.program", "false"),
        ]
    if not owner_hooks:
        settings.append(("core.hooksPath", str(hooks or "/dev/null")))
    counted = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        counted[f"GIT_CONFIG_KEY_{number}"] = key
        counted[f"GIT_CONFIG_VALUE_{number}"] = value
    return counted | {
        "GIT_AUTHOR_NAME": identity.name,
        "GIT_AUTHOR_EMAIL": identity.email,
        "GIT_COMMITTER_NAME": identity.name,
        "GIT_COMMITTER_EMAIL": identity.email,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": "true",
    }
