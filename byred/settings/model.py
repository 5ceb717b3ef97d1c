"""Every key of the settings: its name, its kind, its default.

A table of the file is a frozen model that refuses keys that it does not know. A default is written
as the file would write it only where the file has no better word: in TOML an empty string stands
for "not set".
"""

import grp
import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from byred.settings.environment import Environment
from byred.settings.values import (
    AbsolutePath,
    AtLeastOne,
    Branch,
    Duration,
    Load,
    Mode,
    NotNegative,
    OptionalDuration,
    OptionalPath,
    OptionalSize,
    PersonEmail,
    PersonName,
    PortNames,
    PortRange,
    Ports,
    Share,
    Urls,
    Weight,
)

# sun_path holds 108 bytes, the closing NUL included.
LONGEST_SOCKET_PATH = 107
MB = 10**6


def default_state_dir() -> Path:
    """Give the folder that systemd made for the service, or else the user's own."""
    if given := os.environ.get("STATE_DIRECTORY"):
        return Path(given.split(":")[0])
    home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(home).expanduser() / "byred"


def default_socket() -> Path:
    """Give the socket in the folder that systemd made, in the user's runtime folder, or in /run."""
    if given := os.environ.get("RUNTIME_DIRECTORY"):
        return Path(given.split(":")[0]) / "byred.sock"
    if given := os.environ.get("XDG_RUNTIME_DIR"):
        return Path(given) / "byred.sock"
    return Path("/run/byred/byred.sock")


def _state_dir(value: object) -> object:
    return default_state_dir() if value == "" else value


def _socket(value: object) -> object:
    return default_socket() if value == "" else value


def _short(value: Path) -> Path:
    if len(os.fsencode(value)) > LONGEST_SOCKET_PATH:
        raise ValueError(f"expected a path of at most {LONGEST_SOCKET_PATH} bytes")
    return value


def _group(value: str) -> str:
    if value:
        try:
            grp.getgrnam(value)
        except KeyError:
            raise ValueError("expected the name of a group of this machine") from None
    return value


class Section(BaseModel):
    """One table of the file."""

    # Validating the defaults too keeps them to the same rules as what a person writes.
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class Daemon(Section):
    """Where the daemon keeps its state, how it is reached, how it ends."""

    # The last BeforeValidator runs first: "" becomes the default, and that becomes a path.
    state_dir: Annotated[AbsolutePath, BeforeValidator(_state_dir)] = Field(
        default_factory=default_state_dir,
    )
    socket: Annotated[AbsolutePath, BeforeValidator(_socket), AfterValidator(_short)] = Field(
        default_factory=default_socket,
    )
    socket_mode: Mode = Field(default=0o600, validate_default=False)
    socket_group: Annotated[str, AfterValidator(_group)] = ""
    stop_timeout: Duration = 10.0
    end_agents: bool = False


class Log(Section):
    """What is logged on stderr, and how."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["console", "json"] = "console"


class TaskLimits(Section):
    """What all processes of one task may use together; 0 and "" set no limit."""

    memory: OptionalSize = None
    processes: NotNegative = 0
    cpu_weight: Weight = 0


class Codex(Section):
    """Which codex runs, and how it is talked to."""

    bin: OptionalPath = None
    transport: Literal["stdio", "unix"] = "stdio"
    model: str = ""
    launcher: Literal["auto", "plain", "pidns", "cgroup", "systemd"] = "auto"
    sandbox: Literal["danger-full-access", "workspace-write", "read-only"] = "danger-full-access"
    network: bool = True
    approvals: Literal["auto", "ask"] = "auto"
    auth_file: OptionalPath = Path("~/.codex/auth.json")
    start_timeout: Duration = 120.0
    request_timeout: Duration = 60.0
    stall_timeout: Duration = 600.0
    tool_stall_timeout: OptionalDuration = 3600.0
    turn_timeout: OptionalDuration = None
    limits: TaskLimits = TaskLimits()
    config: dict[str, Any] = Field(default_factory=dict, repr=False)


class Retention(Section):
    """Which worktrees of ended tasks stay: the youngest within all of these limits; and more."""

    age: OptionalDuration = None
    count: NotNegative = 0
    size: OptionalSize = None
    home: OptionalSize = Field(default=200 * MB, validate_default=False)
    cache: OptionalSize = Field(default=10_000 * MB, validate_default=False)


class Pool(Section):
    """What is made ahead, and within which bounds."""

    trees: NotNegative = 1
    homes: NotNegative = 2
    size: OptionalSize = Field(default=5000 * MB, validate_default=False)
    load: Load = 1.0


class Hooks(Section):
    """Shell commands that run in a task's worktree at its turning points, "" for none."""

    after_create: str = ""
    before_run: str = ""
    after_turn: str = ""
    before_remove: str = ""


class Workspace(Section):
    """What a task owns: its worktree, its branch, its ports."""

    root: OptionalPath = None
    branch: Branch = "byre/{id}-{slug}"
    base: str = ""
    ports: PortNames = ("web",)
    port_range: Ports = PortRange(20000, 29999)
    min_free: OptionalSize = Field(default=1000 * MB, validate_default=False)
    copy_files: Annotated[tuple[str, ...], Field(alias="copy")] = ()
    retention: Retention = Retention()
    pool: Pool = Pool()
    hooks: Hooks = Hooks()


class Identity(Section):
    """In whose name a task commits."""

    name: PersonName = "byre {id}"
    email: PersonEmail = "byre-{id}@localhost"
    co_author: bool = False
    sign: bool = False
    git_hooks: bool = False

    @model_validator(mode="after")
    def _one_folder_of_hooks(self) -> Self:
        if self.co_author and self.git_hooks:
            raise ValueError("expected only one of co_author and git_hooks: both are git hooks")
        return self


class RetryClass(Section):
    """What differs for one class of failures; 0 and "" mean as for all."""

    attempts: NotNegative = 0
    first: OptionalDuration = None
    cap: OptionalDuration = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.first is not None and self.cap is not None and self.first > self.cap:
            raise ValueError("expected first to be at most cap")
        return self


class Retry(Section):
    """When an attempt that failed is tried again: after first · 2^(n-1), at most cap."""

    attempts: AtLeastOne = 3
    first: Duration = 10.0
    cap: Duration = 300.0
    jitter: Share = 0.1
    agent: RetryClass = RetryClass()
    infrastructure: RetryClass = RetryClass()
    stall: RetryClass = RetryClass()
    verify: RetryClass = RetryClass(attempts=1)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.first > self.cap:
            raise ValueError("expected first to be at most cap")
        return self


class Scheduler(Section):
    """How many tasks run at once, and how often one is tried."""

    max_running: AtLeastOne = 4
    max_per_repo: NotNegative = 0
    retry: Retry = Retry()


class Human(Section):
    """How people are asked."""

    park_after: Duration = 900.0
    notify: Urls = Field(default=(), repr=False)


class Http(Section):
    """The web page and the REST interface."""

    listen: str = ""
    token_file: OptionalPath = None


class Settings(BaseSettings):
    """All settings, checked: what the file says, overridden by the environment.

    Made by `load`, which explains what is wrong; made directly it reads the environment alone and
    raises pydantic's ValidationError.
    """

    model_config = SettingsConfigDict(frozen=True, extra="forbid", validate_default=True)

    daemon: Daemon = Field(default_factory=Daemon)
    log: Log = Field(default_factory=Log)
    codex: Codex = Field(default_factory=Codex)
    workspace: Workspace = Field(default_factory=Workspace)
    identity: Identity = Field(default_factory=Identity)
    scheduler: Scheduler = Field(default_factory=Scheduler)
    human: Human = Field(default_factory=Human)
    http: Http = Field(default_factory=Http)

    @property
    def worktrees(self) -> Path:
        """The folder of all worktrees: `workspace.root`, or one in the state directory."""
        return self.workspace.root or self.daemon.state_dir / "worktrees"

    @property
    def auth_file(self) -> Path | None:
        """The login that tasks share: `codex.auth_file` if there is such a file."""
        path = self.codex.auth_file
        return path if path is not None and path.is_file() else None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - replaced: it reads JSON, not TOML
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - byred reads no .env file
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - nor a folder of secrets
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let the environment win over the file, whose content arrives as arguments."""
        return (Environment(settings_cls), init_settings)
