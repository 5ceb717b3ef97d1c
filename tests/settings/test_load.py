"""What the settings are, by file, environment and default."""

import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from byred.settings import PortRange, Settings, SettingsError, find_config, load, parse_duration

Write = Callable[[str], Path]


def test_every_value_of_the_shipped_file_is_the_default(shipped: Path) -> None:
    assert load(shipped) == load(None)


def test_the_shipped_file_names_every_key(shipped: Path) -> None:
    def keys(table: type[BaseModel]) -> dict[str, object]:
        return {
            field.alias or name: keys(field.annotation)
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
            else {}
            for name, field in table.model_fields.items()
        }

    def names(table: object) -> dict[str, object]:
        return {k: names(v) for k, v in table.items()} if isinstance(table, dict) else {}

    assert names(tomllib.loads(shipped.read_text())) == keys(Settings)


def test_every_key_of_the_shipped_file_has_a_comment_above_it(shipped: Path) -> None:
    commented = False
    for line in shipped.read_text().splitlines():
        if line.startswith("#"):
            commented = True
        elif not line:
            commented = False
        elif not line.startswith(("[", "cap =", "email =", "first =")):
            assert commented, line


def test_a_missing_part_of_the_file_is_the_default(write: Write) -> None:
    loaded = load(write('[log]\nlevel = "debug"\n'))
    assert loaded.log.level == "debug"
    assert loaded.log.format == "console"
    assert loaded.scheduler == load(None).scheduler


def test_a_relative_path_starts_at_the_folder_of_the_file(write: Write, tmp_path: Path) -> None:
    loaded = load(write('[daemon]\nsocket = "run/b.sock"\n[workspace]\nroot = "../trees"\n'))
    assert loaded.daemon.socket == tmp_path / "etc/run/b.sock"
    assert loaded.worktrees.resolve() == tmp_path / "trees"


def test_a_relative_path_in_a_variable_starts_at_the_working_directory(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BYRED_DAEMON__SOCKET", "b.sock")
    assert load(write("")).daemon.socket == tmp_path / "b.sock"


def test_a_tilde_is_the_home(write: Write, tmp_path: Path) -> None:
    loaded = load(write('[daemon]\nstate_dir = "~/state"\n'))
    assert loaded.daemon.state_dir == tmp_path / "home/state"
    assert loaded.codex.auth_file == tmp_path / "home/.codex/auth.json"


def test_the_login_is_used_only_when_there_is_one(tmp_path: Path, write: Write) -> None:
    assert load(None).auth_file is None
    file = tmp_path / "home/.codex/auth.json"
    file.parent.mkdir(parents=True)
    file.touch()
    assert load(None).auth_file == file
    assert load(write('[codex]\nauth_file = ""\n')).auth_file is None


@pytest.mark.parametrize(
    ("environ", "state", "sock"),
    [
        ({}, "HOME/.local/state/byred", "/run/byred/byred.sock"),
        ({"XDG_STATE_HOME": "/s", "XDG_RUNTIME_DIR": "/r"}, "/s/byred", "/r/byred.sock"),
        (
            {
                "XDG_STATE_HOME": "/s",
                "STATE_DIRECTORY": "/var/lib/byred",
                "XDG_RUNTIME_DIR": "/r",
                "RUNTIME_DIRECTORY": "/run/b",
            },
            "/var/lib/byred",
            "/run/b/byred.sock",
        ),
        ({"STATE_DIRECTORY": "/a:/b", "RUNTIME_DIRECTORY": "/c:/d"}, "/a", "/c/byred.sock"),
    ],
)
@pytest.mark.parametrize("text", ["", '[daemon]\nsocket = ""\nstate_dir = ""\n'])
def test_state_and_socket_are_where_the_system_wants_them(
    environ: dict[str, str],
    state: str,
    sock: str,
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    write: Write,
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    daemon = load(write(text)).daemon
    assert str(daemon.state_dir) == state.replace("HOME", os.environ["HOME"])
    assert str(daemon.socket) == sock


def test_worktrees_are_in_the_state_directory_unless_a_root_is_named(write: Write) -> None:
    assert load(write('[daemon]\nstate_dir = "/s"\n')).worktrees == Path("/s/worktrees")
    assert load(write('[workspace]\nroot = "/w"\n')).worktrees == Path("/w")


def test_a_variable_wins_over_the_file(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write('[scheduler]\nmax_running = 7\nmax_per_repo = 2\n[workspace]\nports = ["a"]\n')
    monkeypatch.setenv("BYRED_SCHEDULER__MAX_RUNNING", "9")
    monkeypatch.setenv("BYRED_SCHEDULER__RETRY__FIRST", "1s")
    monkeypatch.setenv("BYRED_SCHEDULER__RETRY__JITTER", "0.5")
    monkeypatch.setenv("BYRED_WORKSPACE__PORTS", '["web", "api"]')
    monkeypatch.setenv("BYRED_DAEMON__SOCKET_MODE", "0660")
    monkeypatch.setenv("BYRED_CODEX__MODEL", "5")
    monkeypatch.setenv("BYRED_FAILPOINTS", "not a setting")
    loaded = load(path)
    assert loaded.scheduler.max_running == 9
    assert loaded.scheduler.max_per_repo == 2
    assert (loaded.scheduler.retry.first, loaded.scheduler.retry.jitter) == (1.0, 0.5)
    assert loaded.workspace.ports == ("web", "api")
    assert loaded.daemon.socket_mode == 0o660
    assert loaded.codex.model == "5"


def test_a_variable_reaches_into_the_table_for_codex(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write('[codex.config]\nmodel_provider = "a"\n[codex.config.features]\nweb = true\n')
    monkeypatch.setenv("BYRED_CODEX__CONFIG__MODEL_PROVIDER", "b")
    monkeypatch.setenv("BYRED_CODEX__CONFIG__FEATURES__SHELL", "false")
    assert load(path).codex.config == {
        "model_provider": "b",
        "features": {"web": True, "shell": False},
    }


def test_the_shipped_example_of_a_variable_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYRED_SCHEDULER__MAX_RUNNING", "8")
    monkeypatch.setenv("BYRED_SCHEDULER__RETRY__CAP", "10m")
    assert load(None).scheduler.max_running == 8
    assert load(None).scheduler.retry.cap == 600.0


# What is wrong, and the line that says so; FILE stands for the path of the file.
BAD_FILES = {
    "nope = 1": "FILE: nope: unknown key; expected one of daemon, log, ",
    "[deamon]": "FILE: deamon: unknown key; did you mean daemon?",
    '[daemon]\nsokcet = "x"': "FILE: daemon.sokcet: unknown key; did you mean socket?",
    "[scheduler.retry]\nmaximum = 1": "FILE: scheduler.retry.maximum: unknown key; exp",
    "daemon = 3": "FILE: daemon: expected a table",
    "[codex]\nconfig = 3": "FILE: codex.config: expected a table",
    "[daemon]\nsocket = 3": "FILE: daemon.socket: expected a path in quotes",
    '[daemon]\nsocket = "a\\u0000b"': "FILE: daemon.socket: expected a path in quotes",
    f'[daemon]\nsocket = "/{"x" * 107}"': "FILE: daemon.socket: expected a path of at most 107",
    '[daemon]\nstate_dir = "~nobody-here/x"': "FILE: daemon.state_dir: expected a path whose ~user",
    "[daemon]\nsocket_mode = 600": "FILE: daemon.socket_mode: expected permissions in octal",
    '[daemon]\nsocket_mode = "rw"': "FILE: daemon.socket_mode: expected permissions in octal",
    '[daemon]\nsocket_group = "no-such-group"': "FILE: daemon.socket_group: expected the name",
    "[daemon]\nstop_timeout = 10": "FILE: daemon.stop_timeout: expected a duration",
    '[daemon]\nstop_timeout = "10"': "FILE: daemon.stop_timeout: expected a duration",
    '[daemon]\nstop_timeout = "0s"': "FILE: daemon.stop_timeout: expected a duration of more than",
    '[log]\nlevel = "loud"': "FILE: log.level: expected one of 'debug', 'info', ",
    "[codex]\nmodel = 5": "FILE: codex.model: expected text in quotes",
    '[codex]\nsandbox = "none"': "FILE: codex.sandbox: expected one of 'danger-full-access', ",
    '[workspace]\nports = "web"': "FILE: workspace.ports: expected a list",
    "[workspace]\nports = [1]": "FILE: workspace.ports.0: expected text in quotes",
    '[workspace]\nports = ["Web"]': "FILE: workspace.ports: expected names of small letters",
    '[workspace]\nports = ["a", "a"]': "FILE: workspace.ports: expected every name once",
    '[workspace]\nport_range = "80-90"': "FILE: workspace.port_range: expected ports from 1024 on",
    '[workspace]\nport_range = "3000-2000"': "FILE: workspace.port_range: expected a range that is",
    '[workspace]\nport_range = "3000-70000"': "FILE: workspace.port_range: expected ports up",
    "[workspace]\nport_range = 3000": "FILE: workspace.port_range: expected a range of ports",
    '[workspace]\nbranch = "{id}-{task}"': "FILE: workspace.branch: expected a template, but",
    '[workspace]\nbranch = "{id"': "FILE: workspace.branch: expected a template, but '{id' is",
    '[workspace]\nbranch = "{id!r}"': "FILE: workspace.branch: expected a template, but",
    '[workspace]\nbranch = "byre"': "FILE: workspace.branch: expected a template with {id} in it",
    '[workspace]\nbranch = "a b {id}"': "FILE: workspace.branch: expected a template of a",
    '[identity]\nname = "{nope}"': "FILE: identity.name: expected a template, but '{nope}' names",
    '[identity]\nname = "a <b>"': "FILE: identity.name: expected a name without <",
    "[identity]\nco_author = true\ngit_hooks = true": "FILE: identity: expected only one of co_author",  # noqa: E501 - one row of the table
    '[identity]\nemail = "me"': "FILE: identity.email: expected an address",
    "[scheduler]\nmax_running = 0": "FILE: scheduler.max_running: expected a number of at least 1",
    "[scheduler]\nmax_running = true": "FILE: scheduler.max_running: expected a whole number",
    "[scheduler]\nmax_running = 1.5": "FILE: scheduler.max_running: expected a whole number",
    '[scheduler]\nmax_running = "4"': "FILE: scheduler.max_running: expected a whole number",
    "[scheduler]\nmax_per_repo = -1": "FILE: scheduler.max_per_repo: expected a number of at",
    '[scheduler.retry]\nfirst = "1h"': "FILE: scheduler.retry: expected first to be at most cap",
    "[scheduler.retry]\njitter = 2": "FILE: scheduler.retry.jitter: expected a number of at most 1",
    '[scheduler.retry]\njitter = "x"': "FILE: scheduler.retry.jitter: expected a number",
    '[human]\nnotify = ["secret"]': "FILE: human.notify: expected Apprise URLs",
    '[http]\nlisten = "127.0.0.1:80"': "FILE: http.listen: expected the default: byred does not",
    '[workspace.retention]\nsize = "5"': "FILE: workspace.retention.size: expected a size with its",
    "[workspace.retention]\nsize = 5": "FILE: workspace.retention.size: expected a size with its",
    '[log]\nlevel = "x"\nformat = "y"': "(and 1 more like it)",
    "[log\n": "FILE: expected TOML, but found: Expected ']'",
    "a = 1\nb = \n": "(at line 2, column ",
    '"a\\nb" = 1': "FILE: a\\nb: unknown key",
}


@pytest.mark.parametrize(
    ("text", "line"), BAD_FILES.items(), ids=[repr(text) for text in BAD_FILES]
)
def test_a_bad_file_is_explained_in_one_line(text: str, line: str, write: Write) -> None:
    path = write(text)
    with pytest.raises(SettingsError) as raised:
        load(path)
    assert line.replace("FILE", str(path)) in str(raised.value)
    assert str(raised.value).isprintable()


BAD_VARIABLES = {
    "BYRED_SCHEDULER__MAX_RUNNING=many": "BYRED_SCHEDULER__MAX_RUNNING: expected a number",
    "BYRED_SCHEDULER__MAX_RUNNING=true": "BYRED_SCHEDULER__MAX_RUNNING: expected a whole number",
    "BYRED_WORKSPACE__PORTS=a,b": 'BYRED_WORKSPACE__PORTS: expected a list such as ["a", "b"]',
    "BYRED_CODEX__CONFIG=x": "BYRED_CODEX__CONFIG: expected a table such as { a = 1 }",
    "BYRED_DAEMON__STOP_TIMEOUT=10": "BYRED_DAEMON__STOP_TIMEOUT: expected a duration",
    "BYRED_DAEMON__SOCKT=/x": "BYRED_DAEMON__SOCKT: unknown key; did you mean socket?",
    "BYRED_NOPE__X=1": "BYRED_NOPE__X: unknown key; expected one of daemon, ",
    "BYRED_LOG__LEVEL__X=1": "BYRED_LOG__LEVEL__X: expected one of 'debug'",
    "BYRED_LOG__LEVEL=loud": "BYRED_LOG__LEVEL: expected one of 'debug'",
    "BYRED_HTTP__LISTEN=x": "BYRED_HTTP__LISTEN: expected the default",
    "BYRED_LOG__LEVEL=info BYRED_LOG__LEVEL__X=1": "BYRED_LOG__LEVEL__X: expected no",
    "BYRED_A__\nB=1": "BYRED_A__\\nB: unknown key",
}


@pytest.mark.parametrize(("variables", "line"), BAD_VARIABLES.items())
def test_a_bad_variable_is_named(
    variables: str, line: str, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in variables.split(" "):
        monkeypatch.setenv(*variable.split("=", 1))
    with pytest.raises(SettingsError) as raised:
        load(write(""))
    assert str(raised.value).startswith(line)
    assert str(raised.value).isprintable()


def test_a_secret_stays_out_of_the_message(write: Write) -> None:
    with pytest.raises(SettingsError) as raised:
        load(write('[human]\nnotify = ["hunter2"]\n'))
    assert "hunter2" not in str(raised.value)
    assert "hunter2" not in repr(load(write('[human]\nnotify = ["ntfy://hunter2"]\n')))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        SettingsError, match=r"nowhere\.toml: cannot read the settings: No such file"
    ):
        load(tmp_path / "nowhere.toml")


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot read the settings: Is a directory"):
        load(tmp_path)


def test_a_file_that_is_not_text_is_refused_with_its_line(write: Write) -> None:
    path = write("")
    path.write_bytes(b"# fine\n# \xff\n")
    with pytest.raises(SettingsError, match="expected UTF-8 text in line 2"):
        load(path)


def test_endless_nesting_is_refused(write: Write) -> None:
    with pytest.raises(SettingsError, match="nested"):
        load(write(f"a = {'[' * 100_000}"))


def test_the_file_is_found_where_the_system_says(tmp_path: Path, write: Write) -> None:
    own = tmp_path / "xdg" / "byred" / "byred.toml"
    own.parent.mkdir(parents=True)
    own.touch()
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    assert find_config(environ) == own
    environ["CONFIGURATION_DIRECTORY"] = f"{tmp_path}/no:{write('').parent}"
    assert find_config(environ) == tmp_path / "etc/byred.toml"


def test_a_file_that_may_not_be_looked_for_is_not_passed_over(monkeypatch) -> None:
    # What a folder that is closed to this user gives; root is closed out of none.
    def refuse(_: Path) -> bool:
        raise PermissionError

    monkeypatch.setattr(Path, "is_file", refuse)
    assert find_config({"CONFIGURATION_DIRECTORY": "/closed"}) == Path("/closed/byred.toml")


def test_without_a_file_none_is_found() -> None:
    # The user's folders of this test are empty; only the machine's own file could be found.
    found = find_config(os.environ)
    assert found in (None, Path("/etc/byred/byred.toml"))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("90s", 90),
        ("1.5h", 5400),
        ("5m", 300),
        ("2h", 7200),
        ("1d", 86400),
        ("0s", 0),
    ],
)
def test_a_duration_is_a_number_with_its_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "value",
    [
        5,
        5.0,
        True,
        None,
        "",
        "5",
        "s",
        "-5s",
        "5 s",
        "5s ",
        "1h30m",
        "5S",
        "\u0665s",
        "1e3s",
        "nans",
        "99999999999s",
    ],
)
def test_what_is_not_a_duration_is_refused_with_the_form(value: object) -> None:
    with pytest.raises(ValueError, match="such as 500ms, 90s, 5m, 2h or 1d"):
        parse_duration(value)


def test_a_range_of_ports_has_two_ends(write: Write) -> None:
    ports = load(write('[workspace]\nport_range = "1024-65535"\n')).workspace.port_range
    assert ports == PortRange(1024, 65535)
    assert str(ports) == "1024-65535"


TOML_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


def complaint(path: Path) -> str:
    try:
        load(path)
    except SettingsError as error:
        return str(error) if str(error).isprintable() else "not one printable line"
    return "none"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_load_or_are_explained(write: Write, content: bytes) -> None:
    path = write("")
    path.write_bytes(content)
    assert complaint(path).startswith((str(path), "none"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_any_value_of_any_key_loads_or_is_explained(write: Write, data: st.DataObject) -> None:
    import tomli_w  # noqa: PLC0415 - only this test writes TOML

    defaults = load(None)
    section = data.draw(st.sampled_from(list(type(defaults).model_fields)))
    fields = type(getattr(defaults, section)).model_fields
    key = data.draw(st.sampled_from([field.alias or name for name, field in fields.items()]))
    value = data.draw(TOML_VALUES.filter(lambda value: "None" not in repr(value)))
    path = write(tomli_w.dumps({section: {key: value}}))
    assert complaint(path).startswith((f"{path}: {section}.{key}", "none"))


def test_a_class_of_failures_differs_only_in_what_it_says(write: Write) -> None:
    from byred.translation import retries  # noqa: PLC0415

    found = retries(
        load(
            write(
                '[scheduler.retry]\nfirst = "1s"\ncap = "4s"\n'
                '[scheduler.retry.stall]\nattempts = 7\nfirst = "9s"\n'
                '[scheduler.retry.agent]\ncap = "2s"\n'
            )
        )
    )
    assert (found.stall.attempts, found.stall.first, found.stall.cap) == (7, 9, 9)
    assert (found.agent.attempts, found.agent.first, found.agent.cap) == (3, 1, 2)
    assert (found.infrastructure.attempts, found.infrastructure.cap) == (3, 4)
    assert found.verify.attempts == 1
