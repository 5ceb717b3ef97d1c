"""A home holds byred's configuration and a link to the owner's login; the real codex takes it."""

import asyncio
import contextlib
import json
import os
import subprocess
import tomllib

import codex_cli_bin
import pytest

from byred.workspace.errors import Kind, WorkspaceError
from byred.workspace.home import home

INITIALIZE = {
    "id": 0,
    "method": "initialize",
    "params": {
        "clientInfo": {"name": "byred-test", "version": "0"},
        "capabilities": {"experimentalApi": True},
    },
}


def config_of(path):
    return tomllib.loads((path / "config.toml").read_text())


def start_codex(path):
    """Start the real server on a home, say hello; return its answer, its status, its stderr."""
    with subprocess.Popen(
        [str(codex_cli_bin.bundled_codex_path()), "app-server", "--strict-config"],
        env={"PATH": os.environ["PATH"], "CODEX_HOME": str(path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            server.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
            server.stdin.flush()
        answer = server.stdout.readline()
        _, said = server.communicate(timeout=60)
    return answer, server.returncode, said


@pytest.mark.parametrize("sandbox", home.SANDBOXES)
@pytest.mark.parametrize("network", [True, False])
async def test_the_real_codex_accepts_the_configuration_strictly(tmp_path, sandbox, network):
    made = await home.ensure_home(
        tmp_path / "home",
        config={"model": "scripted", "features": {"apps": False}},
        auth_file=None,
        trust=tmp_path / 'a worktree with "quotes" and ünï',
        sandbox=sandbox,
        network=network,
        writable_roots=(tmp_path / "repo" / ".git", tmp_path / "repo" / ".git/worktrees/x"),
    )
    answer, status, said = await asyncio.to_thread(start_codex, made)
    assert status == 0, said
    assert json.loads(answer)["result"]["codexHome"] == str(made)


async def test_the_strict_codex_refuses_what_it_does_not_know(tmp_path):
    """Without this the test above would prove nothing."""
    made = await home.ensure_home(tmp_path / "home", config={"no_such": 1}, auth_file=None)
    answer, status, said = await asyncio.to_thread(start_codex, made)
    assert answer == b""
    assert status != 0
    assert b"no_such" in said


async def test_plugins_and_apps_are_off_and_the_environment_passes_whole(tmp_path):
    table = config_of(await home.ensure_home(tmp_path / "home", config={}, auth_file=None))
    assert table["features"] == {"plugins": False, "apps": False}
    assert table["shell_environment_policy"] == {"inherit": "all", "ignore_default_excludes": True}
    assert table["allow_login_shell"] is False


async def test_the_owners_table_is_merged_deeply(tmp_path):
    extra = {
        "model": "m",
        "features": {"plugins": True, "more": True},
        "sandbox_workspace_write": {"exclude_slash_tmp": True},
    }
    made = await home.ensure_home(
        tmp_path / "home", config=extra, auth_file=None, writable_roots=(tmp_path / "git",)
    )
    table = config_of(made)
    assert table["features"] == {"plugins": True, "apps": False, "more": True}
    assert table["sandbox_workspace_write"] == {
        "network_access": True,
        "writable_roots": [str(tmp_path / "git")],
        "exclude_slash_tmp": True,
    }
    assert extra["features"] == {"plugins": True, "more": True}


async def test_writable_roots_belong_to_workspace_write_alone(tmp_path):
    made = await home.ensure_home(
        tmp_path / "home",
        config={},
        auth_file=None,
        sandbox="danger-full-access",
        writable_roots=(tmp_path,),
    )
    assert "sandbox_workspace_write" not in config_of(made)


async def test_a_home_is_the_owners_alone(tmp_path):
    made = await home.ensure_home(tmp_path / "a" / "home", config={}, auth_file=None)
    assert made.stat().st_mode & 0o777 == 0o700
    assert (made / "config.toml").stat().st_mode & 0o777 == 0o600


async def test_the_login_is_a_link_to_the_owners_file(tmp_path):
    login = tmp_path / "auth.json"
    login.write_text("{}")
    made = await home.ensure_home(tmp_path / "home", config={}, auth_file=login)
    assert (made / "auth.json").readlink() == login
    again = await home.ensure_home(tmp_path / "home", config={}, auth_file=login)
    assert (again / "auth.json").readlink() == login


async def test_the_link_follows_the_setting(tmp_path):
    await home.ensure_home(tmp_path / "home", config={}, auth_file=tmp_path / "one.json")
    made = await home.ensure_home(tmp_path / "home", config={}, auth_file=tmp_path / "two.json")
    assert (made / "auth.json").readlink() == tmp_path / "two.json"


async def test_a_login_file_in_place_of_the_link_is_an_error_that_names_both(tmp_path):
    login = tmp_path / "auth.json"
    login.write_text("the owner's")
    made = await home.ensure_home(tmp_path / "home", config={}, auth_file=login)
    (made / "auth.json").unlink()
    (made / "auth.json").write_text("replaced")
    with pytest.raises(WorkspaceError) as refused:
        await home.ensure_home(tmp_path / "home", config={}, auth_file=login)
    assert refused.value.kind is Kind.CONFLICT
    assert str(login) in refused.value.message
    assert str(made / "auth.json") in refused.value.message
    assert (made / "auth.json").read_text() == "replaced"
    assert login.read_text() == "the owner's"


async def test_a_login_that_is_not_there_yet_is_linked_all_the_same(tmp_path):
    made = await home.ensure_home(tmp_path / "home", config={}, auth_file=tmp_path / "later.json")
    (made / "auth.json").write_text("through the link")
    assert (tmp_path / "later.json").read_text() == "through the link"


async def test_what_codex_keeps_in_a_home_stays(tmp_path):
    made = await home.ensure_home(tmp_path / "home", config={}, auth_file=None)
    (made / "sessions").mkdir()
    (made / "sessions" / "rollout").write_text("x")
    await home.ensure_home(tmp_path / "home", config={"model": "m"}, auth_file=None)
    assert (made / "sessions" / "rollout").read_text() == "x"
    assert config_of(made)["model"] == "m"


@pytest.mark.parametrize("value", [None, object(), [None]])
async def test_a_value_that_toml_can_not_carry_is_refused(tmp_path, value):
    with pytest.raises(WorkspaceError, match=r"codex\.config") as refused:
        await home.ensure_home(tmp_path / "home", config={"a": value}, auth_file=None)
    assert refused.value.kind is Kind.INVALID


async def test_an_unknown_sandbox_is_refused_with_the_choices(tmp_path):
    with pytest.raises(WorkspaceError, match="read-only, workspace-write, danger-full-access"):
        await home.ensure_home(tmp_path / "home", config={}, auth_file=None, sandbox="none")


async def test_many_homes_at_once(tmp_path):
    made = await asyncio.gather(
        *(home.ensure_home(tmp_path / str(n), config={}, auth_file=None) for n in range(50))
    )
    assert len(set(made)) == 50
