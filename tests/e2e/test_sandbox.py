"""What an agent may write: its worktree and what commits need, or nothing, as the settings say."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from byred.testing.script import Script, Step
from tests.e2e.conftest import COMMIT, SCRIPTS, Daemon, git

TRIES = """
mkdir -p tried; cd tried
try() { if bash -c "$2" 2>> errors.txt; then echo "$1 yes"; else echo "$1 no"; fi >> what.txt; }
common=$(git rev-parse --path-format=absolute --git-common-dir)
try worktree 'echo x > here.txt'
try commit 'git add here.txt && git commit -q -m Tried'
try checkout "echo x > $common/../README"
try config "echo x >> $common/config"
try hook "echo x > $common/hooks/post-checkout"
try head "echo x > $common/HEAD"
try home 'echo x >> "$CODEX_HOME/config.toml"'
try network 'exec 3<> /dev/tcp/127.0.0.1/MODEL_PORT'
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder outside of /tmp, which a sandbox leaves writable."""
    with tempfile.TemporaryDirectory(prefix="byre-e2e-", dir="/var/tmp") as folder:
        yield Path(folder).resolve()


@pytest.fixture
def folder(place: Path) -> Path:
    path = place / "d"
    path.mkdir()
    return path


@pytest.fixture
def repo(repo: Path, place: Path) -> Path:
    return Path(shutil.copytree(repo, place / "repo"))


@pytest.fixture
def scripts() -> tuple[Script, ...]:
    tries = Script(
        name="tries",
        match="(?i)try",
        steps=(
            Step(shell='bash "$(git rev-parse --git-common-dir)"/../tries.sh'),
            Step(say="Tried."),
            Step(shell="echo more > more.txt && " + COMMIT),
            Step(say="Tried more."),
        ),
    )
    return (tries, *SCRIPTS)


async def outcome(daemon: Daemon, repo: Path) -> tuple[dict[str, str], dict[str, object]]:
    """Let an agent try all, and give what worked."""
    provider = next(iter(daemon.settings["codex"]["config"]["model_providers"].values()))
    port = provider["base_url"].rsplit(":", 1)[1].partition("/")[0]
    (repo / "tries.sh").write_text(TRIES.replace("MODEL_PORT", port))
    await daemon.start()
    task = await daemon.submit(repo, "Try it")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    told = Path(done["worktree"]) / "tried" / "what.txt"
    lines = told.read_text().splitlines() if told.exists() else []
    return dict(line.split() for line in lines), done


@pytest.mark.promise("main_checkout_untouched")
@pytest.mark.parametrize("network", [True, False])
async def test_an_agent_in_its_sandbox_commits_and_reaches_nothing_else(
    down: Daemon, repo: Path, network: bool
) -> None:
    down.settings["codex"] |= {"sandbox": "workspace-write", "network": network}
    could, done = await outcome(down, repo)
    assert could == {
        "worktree": "yes",
        "commit": "yes",
        "checkout": "no",
        "config": "no",
        "hook": "no",
        "head": "no",
        "home": "no",
        "network": "yes" if network else "no",
    }
    assert (repo / "README").read_text() == "A repository.\n"
    assert git("log", "-1", "--format=%an", str(done["branch"]), cwd=repo) == "byre 1"
    # The same holds for a thread that is resumed, and for one that is forked.
    await down.call("task.tell", id=done["id"], text="More")
    again = await down.wait(1, "succeeded", "failed")
    assert len(again["result"]["commits"]) == 2
    fork = await down.call("task.fork", id=done["id"], turn=1, prompt="More in another way")
    forked = await down.wait(fork["id"], "succeeded", "failed")
    assert forked["state"] == "succeeded", forked
    assert git("log", "-1", "--format=%an", forked["branch"], cwd=repo) == "byre 2"


async def test_an_agent_that_may_only_read_changes_nothing(down: Daemon, repo: Path) -> None:
    down.settings["codex"] |= {"sandbox": "read-only"}
    could, done = await outcome(down, repo)
    assert could == {}
    assert git("status", "--porcelain", cwd=Path(str(done["worktree"]))) == ""


async def test_without_a_sandbox_an_agent_may_do_what_its_user_may(
    down: Daemon, repo: Path
) -> None:
    could, _ = await outcome(down, repo)
    assert set(could.values()) == {"yes"}


@pytest.mark.promise("identity_on_every_commit")
@pytest.mark.parametrize("named", [True, False])
async def test_a_commit_names_the_person_if_wanted_and_heeds_none_of_their_hooks(
    down: Daemon, repo: Path, named: bool
) -> None:
    git("config", "user.name", "A Person", cwd=repo)
    git("config", "user.email", "person@example.org", cwd=repo)
    git("config", "commit.gpgSign", "true", cwd=repo)
    git("config", "user.signingKey", "nobody", cwd=repo)
    hook = repo / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    if named:
        down.settings["identity"] = {"co_author": True}
    await down.start()
    task = await down.submit(repo, "Say hello")
    done = await down.wait(task["id"], "succeeded", "failed")
    assert len(done["result"]["commits"]) == 1
    said = git(
        "log", "-1", "--format=%an|%cn|%(trailers:key=Co-authored-by)", done["branch"], cwd=repo
    )
    expected = "Co-authored-by: A Person <person@example.org>" if named else ""
    assert said == f"byre 1|byre 1|{expected}".strip()


async def test_commits_are_signed_with_the_persons_key_only_if_wanted(
    down: Daemon, repo: Path, tmp_path: Path
) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("no ssh-keygen here")
    key = tmp_path / "key"
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)]
    subprocess.run(make, check=True)
    for name, value in {
        "user.name": "A Person",
        "user.email": "person@example.org",
        "gpg.format": "ssh",
        "user.signingKey": str(key),
        "commit.gpgSign": "true",
    }.items():
        git("config", name, value, cwd=repo)
    down.settings["identity"] = {"sign": True}
    await down.start(SSH_AUTH_SOCK="/an/agent")
    task = await down.submit(repo, "Show your environment")
    done = await down.wait(task["id"], "succeeded", "failed")
    raw = git("cat-file", "commit", done["branch"], cwd=repo)
    assert "-----BEGIN SSH SIGNATURE-----" in raw
    assert "SSH_AUTH_SOCK=/an/agent" in git("show", f"{done['branch']}:environment.txt", cwd=repo)
    down.stop()
    down.settings["identity"] = {}
    await down.start(SSH_AUTH_SOCK="/an/agent")
    other = await down.submit(repo, "Show your environment")
    done = await down.wait(other["id"], "succeeded", "failed")
    assert "SIGNATURE" not in git("cat-file", "commit", done["branch"], cwd=repo)
    assert "SSH_AUTH_SOCK" not in git("show", f"{done['branch']}:environment.txt", cwd=repo)
    assert os.environ.get("SSH_AUTH_SOCK") != "/an/agent"
