"""Which launchers this machine allows, found out by trying.

Owns the order of strength and the making of launchers. A capability that only looks there (a
distribution may forbid user namespaces, a container the writing of groups) is no capability.
"""

import asyncio
import os
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from byred.agents.launchers.cgroup import CgroupLauncher
from byred.agents.launchers.contract import Launcher, LaunchError
from byred.agents.launchers.groups import CONTROLLERS, Base, Group, find_base
from byred.agents.launchers.pidns import PidnsLauncher
from byred.agents.launchers.plain import PlainLauncher
from byred.agents.launchers.systemd import SystemdLauncher, find_manager

PROBE_LIMIT = 10.0
"""Seconds for a trial of a launcher: it takes milliseconds."""


@dataclass(frozen=True, slots=True)
class Capability:
    """Whether a launcher can be used here, and why, in a sentence for `byre doctor`."""

    name: str
    usable: bool
    why: str


@dataclass(frozen=True, slots=True)
class _Found:
    launcher: Launcher
    why: str


async def _plain() -> _Found:
    return _Found(PlainLauncher(), "works everywhere; ends what it can find, and sets no limits")


async def _pidns() -> _Found:
    launcher = PidnsLauncher()
    await _try(launcher.wrap(("/bin/true",)))
    user = "" if os.geteuid() == 0 else " inside a user namespace"
    return _Found(launcher, f"pid namespaces work here{user}; sets no limits")


async def _cgroup() -> _Found:
    base = await asyncio.to_thread(find_base)
    await asyncio.to_thread(_try_group, base)
    launcher = CgroupLauncher(base)
    limits = ", ".join(sorted(launcher.limits)) or "nothing, see docs/launchers.md"
    return _Found(launcher, f"groups below {base.path}; limits {limits}")


def _try_group(base: Base) -> None:
    group = Group(base.path / f"byre-probe-{os.getpid()}")
    try:
        group.create(None, ())
        group.kill()
    except OSError as error:
        raise LaunchError(f"cannot make groups below {base.path}: {error.strerror}") from error
    finally:
        group.remove()


async def _systemd() -> _Found:
    launcher = SystemdLauncher(await asyncio.to_thread(find_manager))
    await _try(launcher.probe())
    return _Found(launcher, f"units of {launcher.title}; limits {', '.join(CONTROLLERS)}")


async def _try(argv: Sequence[str]) -> None:
    try:
        done = await asyncio.to_thread(
            subprocess.run,
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_LIMIT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchError(f"cannot run {argv[0]}: {error}") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise LaunchError(said[-1] if said else f"{argv[0]} ended with status {done.returncode}")


_LAUNCHERS: dict[str, Callable[[], Awaitable[_Found]]] = {
    "systemd": _systemd,
    "cgroup": _cgroup,
    "pidns": _pidns,
    "plain": _plain,
}
"""In the order of strength. systemd's units are contained, limited and untouched by a restart of
the daemon; a group does the first two; a namespace contains."""


async def choose(name: str) -> Launcher:
    """Return the launcher with this name; `auto` takes the strongest that this machine allows.

    A group that can set no limits comes after the namespace, which not even root leaves by writing
    to a file. Raises LaunchError when the launcher is unknown or cannot be used here.
    """
    if name != "auto":
        if name not in _LAUNCHERS:
            known = ", ".join(("auto", *_LAUNCHERS))
            raise LaunchError(f"cannot use launcher {name!r}: it is none of {known}")
        return (await _LAUNCHERS[name]()).launcher
    second: Launcher | None = None
    for find in _LAUNCHERS.values():
        try:
            launcher = (await find()).launcher
        except LaunchError:
            # `survey` tells the reason to those who ask.
            continue
        if not isinstance(launcher, CgroupLauncher) or launcher.limits:
            return second if second is not None and launcher.name == "plain" else launcher
        second = launcher
    raise LaunchError("cannot start servers: no launcher works here; see byre doctor")


async def survey() -> list[Capability]:
    """Try every launcher and tell which can be used here and why, the strongest first."""
    capabilities = []
    for name, find in _LAUNCHERS.items():
        try:
            capabilities.append(Capability(name, usable=True, why=(await find()).why))
        except LaunchError as error:
            capabilities.append(Capability(name, usable=False, why=str(error)))
    return capabilities
