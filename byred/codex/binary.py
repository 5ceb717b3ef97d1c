"""Which codex program to run, and what its version can do.

Owns finding the native program behind a setting, the installed wheel or PATH (through the Node
wrapper of the npm package), asking its version, and judging it. Starts no server.
"""

import asyncio
import contextlib
import functools
import os
import platform
import re
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from byred.codex.errors import BinaryError, VersionError

Source = Literal["setting", "wheel", "PATH"]

_SHIM_DEPTH: Final = 3
_PRINT_LIMIT: Final = 4096


@functools.total_ordering
@dataclass(frozen=True, slots=True)
class Version:
    """A codex version; a pre-release such as 0.164.0-alpha.2 comes before its release."""

    major: int
    minor: int
    patch: int
    pre: str = ""

    @classmethod
    def parse(cls, text: str) -> "Version":
        """Read `0.163.0` or `codex-cli 0.163.0`; raises `BinaryError` when there is none."""
        found = re.search(r"(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?", text)
        if found is None:
            raise BinaryError(f"cannot read a codex version from {text[:200]!r}")
        return cls(int(found[1]), int(found[2]), int(found[3]), found[4] or "")

    def __lt__(self, other: "Version") -> bool:
        return self._key() < other._key()

    def _key(self) -> tuple[int, int, int, bool, tuple[tuple[bool, int, str], ...]]:
        pre = tuple(
            (not part.isdigit(), int(part) if part.isdigit() else 0, part)
            for part in self.pre.split(".")
        )
        return (self.major, self.minor, self.patch, not self.pre, pre if self.pre else ())

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}" + (f"-{self.pre}" if self.pre else "")

    @property
    def supports_tool_output(self) -> bool:
        """Whether `toolOutput` on a turn reaches the model; older ones drop it in silence."""
        return self >= TOOL_OUTPUT


MINIMUM: Final = Version(0, 144, 0)
"""The oldest that takes namespaces of dynamic tools."""
NEWEST_TESTED: Final = Version(0, 171, 0)
"""The newest column of docs/versions.md."""
TOOL_OUTPUT: Final = Version(0, 154, 0)
FORK_BEFORE: Final = Version(0, 154, 0)
"""From here on `beforeTurnId` of a fork counts; 0.144 takes it and drops it in silence."""
JOINS_RUNNING: Final = Version(0, 154, 0)
"""From here on `turn/start` while a turn runs answers with that turn; 0.144 names one that never
says anything."""


@dataclass(frozen=True, slots=True)
class Binary:
    """The native program and where it was found."""

    path: Path
    source: Source


def find_binary(configured: str | None = None) -> Binary:
    """Find codex: the setting, else the wheel `openai-codex-cli-bin`, else PATH.

    The npm package's Node wrapper is resolved to the native program beside it, so that no Node
    process stands between. Raises `BinaryError` that says what was looked for. Touches the disk.
    """
    if configured:
        found = shutil.which(str(Path(configured).expanduser()))
        if found is None:
            raise BinaryError(f"cannot run codex: {configured!r} is not a program that can be run")
        return Binary(_native(Path(found)), "setting")
    wheel = _wheel_program()
    if wheel is not None:
        return Binary(wheel, "wheel")
    found = shutil.which("codex")
    if found is None:
        raise BinaryError(
            "cannot find codex: no wheel openai-codex-cli-bin is installed and no codex is on PATH;"
            " install byred[codex] or set codex.bin"
        )
    return Binary(_native(Path(found)), "PATH")


def _wheel_program() -> Path | None:
    try:
        from codex_cli_bin import (  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415 - an extra, absent in some installs
            bundled_codex_path,
        )
    except ImportError:
        return None
    path = Path(bundled_codex_path())
    return path if path.is_file() else None


def _native(path: Path) -> Path:
    """Return the native program behind npm's wrapper, or `path` when it is none."""
    program = path.resolve()
    with program.open("rb") as file:
        start = file.read(64)
    if not (program.suffix in {".js", ".mjs", ".cjs"} or (start[:2] == b"#!" and b"node" in start)):
        return program
    machine = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}.get(
        platform.machine().lower(), platform.machine().lower()
    )
    pattern = f"vendor/{machine}-*/*/codex"
    for root in list(program.parents)[:_SHIM_DEPTH]:
        places = [root, *root.glob("node_modules/@openai/codex-*"), *root.parent.glob("codex-*")]
        for place in places:
            for native in sorted(place.glob(pattern)):
                if native.is_file():
                    return native
    raise BinaryError(
        f"cannot find the native codex behind the Node wrapper {program}: set codex.bin to the"
        " program under vendor/*/bin/codex of its package"
    )


async def read_version(path: Path, timeout: float = 10.0) -> Version:  # noqa: ASYNC109 - the one bound of the whole question
    """Run `path --version`; raises `BinaryError` when it fails or takes over `timeout` seconds.

    Needs no disk: a full one must not look like a broken codex.
    """
    reading, writing = os.pipe()
    try:
        # Not read to its end: a child that the program leaves behind would hold it open.
        os.set_blocking(reading, False)
        try:
            status = await _ask_version(path, timeout, writing)
        finally:
            os.close(writing)
        if status != 0:
            raise BinaryError(f"cannot ask {path} for its version: exit status {status}")
        try:
            printed = os.read(reading, _PRINT_LIMIT)
        except BlockingIOError:
            printed = b""
    finally:
        os.close(reading)
    try:
        return Version.parse(printed.decode(errors="replace"))
    except BinaryError as error:
        raise BinaryError(
            f"{error}, which is what {path} --version says; set codex.bin to a codex program"
        ) from None


async def _ask_version(path: Path, timeout: float, output: int) -> int:  # noqa: ASYNC109 - see read_version
    """Let `path` say its version to `output`, and give its exit status."""
    try:
        process = await asyncio.create_subprocess_exec(
            path,
            "--version",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=asyncio.subprocess.DEVNULL,
            # No folder: codex writes into the home that it finds even to say its version.
            env={**os.environ, "CODEX_HOME": os.devnull},
            start_new_session=True,
        )
    except OSError as error:
        raise BinaryError(f"cannot run {path}: {error.strerror or error}") from error
    try:
        async with asyncio.timeout(timeout):
            return await process.wait()
    except TimeoutError as error:
        raise BinaryError(
            f"cannot ask {path} for its version: no answer in {timeout:g} s"
        ) from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def check_version(version: Version) -> str | None:
    """Judge a version: raises `VersionError` when too old, returns a warning when untested.

    None means that it was tested.
    """
    if version < MINIMUM:
        raise VersionError(
            f"cannot use codex {version}: byred needs {MINIMUM} or newer; install byred[codex] or"
            " set codex.bin"
        )
    if version > NEWEST_TESTED:
        return f"codex {version} is newer than {NEWEST_TESTED}, the newest that was tested"
    return None
