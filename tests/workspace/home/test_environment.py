"""An agent's environment is built from a list, carries its ports and identity, and no secret."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byred.workspace.home import environment, identity
from byred.workspace.home.environment import Identity

WHO = Identity("byre task 7", "task-7@byre.invalid")


def build(base=None, **options):
    given_options = {
        "home": Path("/homes/7"),
        "worktree": Path("/trees/7-fix"),
        "ports": {"web": 4000, "api-v2": 4001},
        "identity": WHO,
        "task_id": 7,
    }
    return environment.build(base or {}, **(given_options | options))


@pytest.mark.promise("secrets_stay_out")
@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "DATABASE_URL",
        "SSH_AUTH_SOCK",
        "XDG_RUNTIME_DIR",
        "BYRE_SOCKET",
        "BYRED_HTTP__TOKEN_FILE",
        "NOTIFY_SOCKET",
        "LISTEN_FDS",
        "GIT_ASKPASS",
        "GIT_DIR",
        "PYTHONPATH",
        "VIRTUAL_ENV",
        "CODEX_API_KEY",
    ],
)
def test_what_is_not_on_the_list_does_not_pass(name):
    assert "secret" not in build({name: "secret"}).values()


@pytest.mark.parametrize("name", ["PATH", "HOME", "LANG", "LC_TIME", "TZ", "USER", "TMPDIR"])
def test_what_is_on_the_list_passes(name):
    assert build({name: "value"})[name] == "value"


def test_the_owner_can_let_more_pass_by_name_or_pattern():
    base = {"CARGO_HOME": "1", "MY_A": "2", "MY_B": "3", "OTHER": "4"}
    made = build(base, allow=["CARGO_HOME", "MY_*"])
    assert {"CARGO_HOME": "1", "MY_A": "2", "MY_B": "3"}.items() <= made.items()
    assert "OTHER" not in made


def test_extra_values_are_laid_over_but_never_over_what_tells_tasks_apart():
    extra = {
        "PATH": "/x",
        "FOO": "bar",
        "CODEX_HOME": "/evil",
        "GIT_AUTHOR_NAME": "me",
        "PORT": "1",
    }
    made = build({"PATH": "/bin"}, extra=extra)
    assert (made["PATH"], made["FOO"]) == ("/x", "bar")
    assert made["CODEX_HOME"] == "/homes/7"
    assert made["GIT_AUTHOR_NAME"] == WHO.name
    assert made["PORT"] == "4000"


def test_ports_come_by_name_and_the_first_as_port():
    made = build()
    assert made["PORT"] == "4000"
    assert made["PORT_WEB"] == "4000"
    assert made["PORT_API_V2"] == "4001"
    assert made["BYRE_PORTS"] == "web=4000,api-v2=4001"


def test_a_task_without_ports_has_no_port():
    made = build({"PORT": "80", "BYRE_PORTS": "x=1"}, ports={})
    assert not {"PORT", "BYRE_PORTS"} & set(made)


def test_the_task_finds_itself():
    made = build()
    assert made["CODEX_HOME"] == "/homes/7"
    assert made["BYRE_TASK_ID"] == "7"
    assert made["BYRE_WORKTREE"] == "/trees/7-fix"


@given(st.dictionaries(st.text(min_size=1), st.text(), max_size=20))
def test_nothing_but_the_list_and_byreds_own_ever_passes(base):
    made = build(base)
    own = set(build())
    for name in set(made) - own:
        assert any(
            name == allowed or (allowed.endswith("*") and name.startswith(allowed[:-1]))
            for allowed in environment.ALLOWED
        )


def commit(ground, tree, **options):
    """Commit in a tree as an agent's shell would, with the built environment and no other."""
    made = build(
        {"PATH": __import__("os").environ["PATH"], "HOME": str(ground.repo.parent)}, **options
    )
    config = ground.repo.parent / ".gitconfig"
    config.write_text((ground.repo.parent / "gitconfig").read_text())
    return subprocess.run(
        ["git", "commit", "--allow-empty", "-m", "agent's"],
        cwd=tree,
        env=made,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.promise("identity_on_every_commit")
async def test_commits_carry_the_tasks_identity_not_the_owners(ground):
    task = await ground.task()
    assert commit(ground, task.path).returncode == 0
    said = ground.git("log", "-1", "--format=%an <%ae> %cn <%ce>", cwd=task.path)
    assert said == f"{WHO.name} <{WHO.email}> {WHO.name} <{WHO.email}>"


async def test_the_owners_signing_and_hooks_can_not_break_a_commit(ground):
    hook = ground.repo / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho refused >&2\nexit 1\n")
    hook.chmod(0o755)
    ground.git("config", "commit.gpgSign", "true")
    ground.git("config", "gpg.program", "/no/such/gpg")
    task = await ground.task()

    assert commit(ground, task.path).returncode == 0

    ground.git("config", "commit.gpgSign", "false")
    wanted = commit(ground, task.path, owner_hooks=True)
    assert wanted.returncode == 1
    assert "refused" in wanted.stderr
    ground.git("config", "commit.gpgSign", "true")
    signed = commit(ground, task.path, signing=True)
    assert signed.returncode == 128
    assert "gpg" in signed.stderr


async def test_the_person_is_named_beside_the_agent_when_wanted(ground, tmp_path):
    task = await ground.task()
    person = Identity('O\'Neil "Quote" Ünï', "person@example.org")
    hooks = identity.write_co_author_hook(tmp_path / "hooks", person)
    assert commit(ground, task.path, hooks=hooks).returncode == 0
    said = ground.git("log", "-1", "--format=%B", cwd=task.path)
    assert said == f"agent's\n\nCo-authored-by: {person.name} <{person.email}>"
    assert ground.git("log", "-1", "--format=%an", cwd=task.path) == WHO.name
