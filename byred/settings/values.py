"""The kinds of value that a setting can have, each with its check.

A check raises ValueError with the expectation only ("expected …"): where the value came from is
added by whoever loads.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    Strict,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from byred.core import names
from byred.core.errors import InvalidError

FIRST_UNPRIVILEGED_PORT = 1024
LAST_PORT = 65535
BYTES = {"MB": 10**6, "GB": 10**9, "TB": 10**12}
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def parse_duration(value: object) -> float:
    """Give the seconds of `500ms`, `90s`, `5m`, `2h` or `1d`; raise ValueError for all else."""
    match = None
    if isinstance(value, str):
        match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|s|m|h|d)", value)
    if match is None:
        raise ValueError("expected a duration with its unit, such as 500ms, 90s, 5m, 2h or 1d")
    return float(match[1]) * SECONDS[match[2]]


def _duration(value: object) -> float:
    # A default arrives as the float that it is.
    seconds = value if isinstance(value, float) else parse_duration(value)
    if seconds <= 0:
        raise ValueError("expected a duration of more than zero, such as 90s, 5m or 2h")
    return seconds


def _size(value: object) -> int:
    match = None
    if isinstance(value, str):
        match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(MB|GB|TB)", value)
    if match is None or float(match[1]) == 0:
        raise ValueError("expected a size with its unit, such as 500MB or 20GB")
    return int(float(match[1]) * BYTES[match[2]])


def _mode(value: object) -> int:
    # Not even the number 384 or 0o600: who writes 600 means the octal one.
    if not isinstance(value, str) or re.fullmatch(r"0?[0-7]{3}", value) is None:
        raise ValueError('expected permissions in octal and in quotes, such as "0600" or "0660"')
    return int(value, 8)


def _path(value: object) -> Path:
    if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
        raise ValueError("expected a path in quotes")
    try:
        return Path(value).expanduser().absolute()
    except RuntimeError:  # `~nobody/x`
        raise ValueError("expected a path whose ~user has a home on this machine") from None


def _unset_when_empty(value: object, check: ValidatorFunctionWrapHandler) -> Any:
    return None if value is None or value == "" else check(value)


def _template(value: str) -> str:
    try:
        names.check_template(value)
    except InvalidError as error:
        raise ValueError(f"expected a template, but {error}") from None
    return value


def _branch(value: str) -> str:
    if "{id}" not in value:
        raise ValueError("expected a template with {id} in it, or two tasks would share a branch")
    try:
        names.check_branch(names.fill(value, task_id=1, slug="slug", owner="owner"))
    except InvalidError as error:
        raise ValueError(f"expected a template of a branch, but {error}") from None
    return value


def _name(value: str) -> str:
    if not value.strip() or re.search(r"[<>\x00-\x1f\x7f]", value):
        raise ValueError("expected a name without <, > and line breaks, such as byre {id}")
    return value


def _email(value: str) -> str:
    if re.fullmatch(r"[^\s<>@\x00-\x1f\x7f]+@[^\s<>@\x00-\x1f\x7f]+", value) is None:
        raise ValueError("expected an address such as byre-{id}@localhost")
    return value


@dataclass(frozen=True, slots=True)
class PortRange:
    """The ports from `first` to `last`, both included, from which tasks lease theirs."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"


def _port_range(value: object) -> PortRange:
    if isinstance(value, PortRange):
        return value
    match = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", value) if isinstance(value, str) else None
    if match is None:
        raise ValueError('expected a range of ports in quotes, such as "20000-29999"')
    ports = PortRange(int(match[1]), int(match[2]))
    if ports.first < FIRST_UNPRIVILEGED_PORT:
        raise ValueError(
            f"expected ports from {FIRST_UNPRIVILEGED_PORT} on: those below are privileged",
        )
    if ports.last > LAST_PORT:
        raise ValueError(f"expected ports up to {LAST_PORT}")
    if ports.first > ports.last:
        raise ValueError("expected a range that is not empty, its first port at most its last")
    return ports


def _port_names(value: tuple[str, ...]) -> tuple[str, ...]:
    for name in value:
        if re.fullmatch(r"[a-z][a-z0-9_]{0,31}", name) is None:
            raise ValueError('expected names of small letters, digits and "_", such as "web"')
    if len(set(value)) < len(value):
        raise ValueError("expected every name once")
    return value


def _urls(value: tuple[str, ...]) -> tuple[str, ...]:
    for number, url in enumerate(value, 1):
        # The URL stays out of the message: it may hold a password.
        if re.match(r"[a-z][a-z0-9+.-]*://\S", url, re.IGNORECASE) is None:
            raise ValueError(f"expected Apprise URLs such as ntfy://topic; number {number} is none")
    return value


class Anchored:
    """Marks a path that, when relative, starts at the folder of the configuration file."""


Duration = Annotated[float, BeforeValidator(_duration)]
Mode = Annotated[int, BeforeValidator(_mode)]
AbsolutePath = Annotated[Path, BeforeValidator(_path), Anchored()]
OptionalPath = Annotated[
    Path | None, BeforeValidator(_path), WrapValidator(_unset_when_empty), Anchored()
]
OptionalDuration = Annotated[
    float | None, BeforeValidator(_duration), WrapValidator(_unset_when_empty)
]
OptionalSize = Annotated[int | None, BeforeValidator(_size), WrapValidator(_unset_when_empty)]
AtLeastOne = Annotated[int, Strict(), Field(ge=1)]
NotNegative = Annotated[int, Strict(), Field(ge=0)]
Weight = Annotated[int, Strict(), Field(ge=0, le=10_000)]
Load = Annotated[float, Strict(), Field(ge=0, le=1000)]
Share = Annotated[float, Strict(), Field(ge=0, le=1)]
Branch = Annotated[str, AfterValidator(_template), AfterValidator(_branch)]
PersonName = Annotated[str, AfterValidator(_template), AfterValidator(_name)]
PersonEmail = Annotated[str, AfterValidator(_template), AfterValidator(_email)]
Ports = Annotated[PortRange, BeforeValidator(_port_range)]
PortNames = Annotated[tuple[str, ...], AfterValidator(_port_names)]
Urls = Annotated[tuple[str, ...], AfterValidator(_urls)]
