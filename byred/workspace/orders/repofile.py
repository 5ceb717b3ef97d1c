"""What a repository says about itself in `.byre.toml`, read from the commit that a task starts at.

Owns the file's form. Never reads an agent's own tree: an agent can't give itself hooks. What of it
may take effect is the owner's decision; `harmless` is the part that needs none.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import PurePosixPath

import msgspec

from byred.workspace.errors import Kind, WorkspaceError
from byred.workspace.git import git, printable, run_git
from byred.workspace.repository import Repository

NAME = ".byre.toml"
_SIZE = 64 * 1024
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)")
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_PORT_NAME = re.compile(r"[a-z][a-z0-9_-]{0,30}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = re.compile(
    r"(GIT_|CODEX_|BYRE|OPENAI_|LD_|PORT(_|$)|(PATH|HOME|SHELL|USER|LOGNAME|TMPDIR)$)"
)


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A shell command and its time limit, written `5m`."""

    run: str
    timeout: str = "5m"

    @property
    def seconds(self) -> float:
        """The time limit in seconds."""
        found = _DURATION.fullmatch(self.timeout)
        if found is None or not float(found[1]):
            raise ValueError(f"expected a duration like 90s, 5m or 2h, got {self.timeout!r}")
        return float(found[1]) * _SECONDS[found[2]]


class Hooks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Commands that run in a task's worktree at its turning points."""

    after_create: Command | str | None = None
    before_run: Command | str | None = None
    after_turn: Command | str | None = None
    before_remove: Command | str | None = None


class Setup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How dependencies are installed, once for all tasks with the same `key` files.

    `keep` are the ignored folders that `run` makes, `key` the tracked files that they depend on.
    """

    run: str
    key: tuple[str, ...]
    keep: tuple[str, ...]
    timeout: str = "30m"

    @property
    def command(self) -> Command:
        """The command with its time limit."""
        return Command(self.run, self.timeout)


class RepoFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that a repository may say. `verify_rounds` bounds the turns after a failed verify."""

    copy: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    env: dict[str, str] = {}
    hooks: Hooks = Hooks()
    verify: tuple[Command | str, ...] = ()
    verify_rounds: int = 3
    setup: Setup | None = None
    guidance: str = ""

    def harmless(self) -> "RepoFile":
        """Return what takes effect in a repository that the owner doesn't trust.

        That is names and text: no command, no copied file, no variable.
        """
        return RepoFile(ports=self.ports, guidance=self.guidance)

    def hook(self, name: str) -> Command | None:
        """Return the hook called `name`, if there is one."""
        return _command(getattr(self.hooks, name))

    def checks(self) -> tuple[Command, ...]:
        """Return the commands of `verify`."""
        return tuple(each for each in map(_command, self.verify) if each is not None)


async def read(repo: Repository, commit: str) -> RepoFile:
    """Return what the repository says at `commit`; nothing at all when it has no such file.

    Raises WorkspaceError(`invalid`) with the key and what was expected.
    """
    entry = await git("ls-tree", "-l", "-z", commit, "--", NAME, cwd=repo.common_dir)
    if not entry:
        return RepoFile()
    mode, _, blob, size = entry.split("\t", 1)[0].split()
    if not mode.startswith("100"):
        raise _wrong(commit, "it is not a plain file")
    if int(size) > _SIZE:
        raise _wrong(commit, f"it is longer than {_SIZE} bytes")
    done = await run_git("cat-file", "blob", blob, cwd=repo.common_dir)
    return parse(done.stdout, commit)


def parse(content: bytes, commit: str) -> RepoFile:
    """Return what the file's content says; `commit` is named in errors.

    Raises WorkspaceError(`invalid`).
    """
    try:
        table = tomllib.loads(content.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _wrong(commit, str(error)) from error
    try:
        said = msgspec.convert(table, RepoFile)
    except msgspec.ValidationError as error:
        raise _wrong(commit, _readable(str(error))) from error
    problem = next(_problems(said), None)
    if problem is not None:
        raise _wrong(commit, problem)
    return said


def _command(said: Command | str | None) -> Command | None:
    return Command(said) if isinstance(said, str) else said


def _problems(said: RepoFile) -> Iterator[str]:
    """Yield what the types alone don't say."""
    yield from _problems_of_paths("copy", said.copy)
    if said.setup is not None:
        yield from _problems_of_paths("setup.key", said.setup.key)
        yield from _problems_of_paths("setup.keep", said.setup.keep)
        yield from _problems_of_command("setup", said.setup.command)
        if not (said.setup.key and said.setup.keep):
            yield "setup: expected at least one path in key and in keep"
    for name in said.ports:
        if not _PORT_NAME.fullmatch(name):
            yield f"ports: expected names like web or api-2, got {name!r}"
    yield from _problems_of_variables(said.env)
    if said.verify_rounds < 0:
        yield "verify_rounds: expected 0 or more"
    hooks = [(f"hooks.{name}", said.hook(name)) for name in Hooks.__struct_fields__]
    for key, command in (*hooks, *(("verify", each) for each in said.checks())):
        if command is not None:
            yield from _problems_of_command(key, command)


def _problems_of_paths(key: str, paths: tuple[str, ...]) -> Iterator[str]:
    for path in paths:
        parts = PurePosixPath(path).parts
        if not parts or path.startswith(("/", ":")) or ".." in parts or ".git" in parts:
            yield f"{key}: {path!r} leads out of the repository"


def _problems_of_variables(env: dict[str, str]) -> Iterator[str]:
    for name, value in env.items():
        if not _VARIABLE.fullmatch(name) or "\0" in value:
            yield f"env: {name!r} can't be a variable"
        elif _RESERVED.match(name):
            yield f"env: {name} is byred's or the owner's to set"


def _problems_of_command(key: str, command: Command) -> Iterator[str]:
    if not command.run.strip() or "\0" in command.run:
        yield f"{key}: expected a command"
    try:
        _ = command.seconds
    except ValueError as error:
        yield f"{key}.timeout: {error}"


def _wrong(commit: str, why: str) -> WorkspaceError:
    message = f"cannot use {NAME} of {commit[:12]}: {printable(why)}; mend it and commit"
    return WorkspaceError(message, Kind.INVALID)


def _readable(error: str) -> str:
    """Turn msgspec's `… - at `$.hooks.x`` into `hooks.x: …`."""
    what, _, where = error.partition(" - at `$.")
    return f"{where.rstrip('`')}: {what}" if where else what.partition(" - at")[0]
