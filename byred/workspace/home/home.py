"""A task's CODEX_HOME: byred's configuration, a link to the owner's login, and nothing else.

Owns `config.toml` and the link; whatever else is in a home is codex's. Credentials are never
copied: a copy forks the refresh token, which can be used once.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from byred.workspace.errors import Kind, WorkspaceError, reporting
from byred.workspace.home.sandbox import profile
from byred.workspace.trees.registration import write_file

SANDBOXES = ("read-only", "workspace-write", "danger-full-access")
AUTH_NAME = "auth.json"


@reporting("make the home")
async def ensure_home(
    path: Path,
    *,
    config: Mapping[str, Any],
    auth_file: Path | None,
    trust: Path | None = None,
    trusted: bool = True,
    sandbox: str = "workspace-write",
    network: bool = True,
    writable_roots: Sequence[Path] = (),
    protected: Sequence[Path] = (),
    approval_policy: str = "never",
) -> Path:
    """Make the home at `path`, or bring it up to date, and return it resolved.

    `config` is a table that is merged over byred's own, deeply. `auth_file` is the owner's login
    file (None: the configuration names a provider that needs none). `trust` is the directory that
    the agent works in. Unless the repository is `trusted`, its own `.codex` is left out: what that
    names (MCP servers, hooks) codex starts outside of the sandbox; newer versions then leave its
    `AGENTS.md` out as well. `writable_roots` go with `workspace-write`: for commits in a linked
    worktree both its git directory and the common one. `protected` are paths inside those that
    stay read-only (see `sandbox.protected_paths`); with them the home has a permission profile, and
    no `sandbox` may be given when a thread is started.

    Raises WorkspaceError: `invalid` for an unknown sandbox or a value that TOML can't carry,
    `conflict` when the link to the login was replaced.
    """
    table = merge(
        base_config(
            trust=trust,
            trusted=trusted,
            sandbox=sandbox,
            network=network,
            writable_roots=writable_roots,
            protected=protected,
            approval_policy=approval_policy,
        ),
        config,
    )
    try:
        content = tomli_w.dumps(table)
    except TypeError as error:
        message = f"cannot write the configuration of {path}: {error}; see codex.config"
        raise WorkspaceError(message, Kind.INVALID) from error
    return await asyncio.to_thread(_write, path, content, auth_file)


def base_config(
    *,
    trust: Path | None,
    trusted: bool,
    sandbox: str,
    network: bool,
    writable_roots: Sequence[Path],
    protected: Sequence[Path],
    approval_policy: str,
) -> dict[str, Any]:
    """Return the configuration that byred gives every task."""
    if sandbox not in SANDBOXES:
        message = f"cannot use the sandbox {sandbox!r}: choose one of {', '.join(SANDBOXES)}"
        raise WorkspaceError(message, Kind.INVALID)
    table: dict[str, Any] = {
        "approval_policy": approval_policy,
        "check_for_update_on_startup": False,
        # A login shell reads the owner's profile and with it variables that were kept out.
        "allow_login_shell": False,
        # They call out at every start of a fresh home.
        "features": {"plugins": False, "apps": False},
        # The server's own environment is already built from an allow-list; pass it whole.
        "shell_environment_policy": {"inherit": "all", "ignore_default_excludes": True},
    }
    if sandbox == "workspace-write" and protected:
        table |= profile(writable_roots=writable_roots, protected=protected, network=network)
    else:
        table["sandbox_mode"] = sandbox
    if sandbox == "workspace-write" and not protected:
        table["sandbox_workspace_write"] = {
            "network_access": network,
            "writable_roots": [str(root) for root in writable_roots],
        }
    if trust is not None:
        level = "trusted" if trusted else "untrusted"
        table["projects"] = {str(trust): {"trust_level": level}}
    return table


def merge(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one table over another: tables are merged, everything else is replaced."""
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            value = merge(below, value)  # noqa: PLW2901 - the merged value takes its place
        merged[key] = value
    return merged


def check_link(home: Path, auth_file: Path) -> None:
    """Make sure that the home's login is a link to the owner's file, before each start.

    Raises WorkspaceError(`conflict`) when there is something else in its place.
    """
    link = home / AUTH_NAME
    if link.is_symlink():
        if link.readlink() != auth_file:
            link.unlink()
            link.symlink_to(auth_file)
    elif link.exists():
        message = (
            f"cannot use the login in {link}: it is a file of its own and no longer a link to "
            f"{auth_file}; keep the one whose login is the newer under {auth_file} and remove "
            f"{link}"
        )
        raise WorkspaceError(message, Kind.CONFLICT)
    else:
        link.symlink_to(auth_file)


def _write(path: Path, content: str, auth_file: Path | None) -> Path:
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    home = path.resolve()
    home.chmod(0o700)
    write_file(home / "config.toml", content, mode=0o600)
    if auth_file is not None:
        check_link(home, auth_file.expanduser().absolute())
    return home
