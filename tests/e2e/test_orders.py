"""What owner and trusted repository want is on a task's ground: files, variables, commands."""

import json
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from byred.testing.model import ScriptedModel
from byred.testing.script import Script, Step
from tests.e2e.conftest import COMMIT, SCRIPTS, Daemon, git

Byre = Callable[..., subprocess.CompletedProcess[str]]

FILE = """
copy = [".env", "config/*.local"]
ports = ["api", "web"]
env = { MODE = "test" }
guidance = "Write British English."

[hooks]
after_create = "echo $MODE $PORT_API > created.log; echo create >> ../calls; (setsid sleep 600 &)"
before_run = { run = "echo run >> ../calls", timeout = "10s" }
after_turn = "date +%s%N > stamp.txt; echo turn >> ../calls"
before_remove = "echo remove $BYRE_TASK_ID >> ../calls; (setsid sleep 600 &)"

[setup]
run = "mkdir deps && cat deps.lock > deps/installed && echo install >> ../calls"
key = ["deps.lock"]
keep = ["deps"]
"""


@pytest.fixture
def scripts() -> tuple[Script, ...]:
    turns = Script(
        name="turns",
        match="(?i)turns",
        steps=(
            Step(shell="env > environment.log; cat .env deps/installed > seen.txt; " + COMMIT),
            Step(say="One."),
            Step(shell="echo two > two.txt && " + COMMIT),
            Step(say="Two."),
        ),
    )
    return (turns, *SCRIPTS)


@pytest.fixture
def repo(repo: Path) -> Path:
    (repo / ".gitignore").write_text(".env\n*.local\n*.log\ndeps\n")
    (repo / ".byre.toml").write_text(FILE)
    (repo / "deps.lock").write_text("left-pad 1.0\n")
    git("add", "-A", cwd=repo)
    git("commit", "-q", "-m", "Say what tasks need", cwd=repo)
    (repo / ".env").write_text("TOKEN=local\n")
    (repo / "config").mkdir()
    (repo / "config" / "a.local").write_text("a\n")
    (repo / "other.log").write_text("not asked for\n")
    return repo


def calls(worktree: str) -> list[str]:
    return (Path(worktree).parent / "calls").read_text().splitlines()


@pytest.mark.promise("no_process_left")
async def test_a_trusted_repository_furnishes_its_tasks(
    daemon: Daemon, repo: Path, model: ScriptedModel
) -> None:
    await daemon.call("repo.trust", repo=str(repo))
    task = await daemon.submit(repo, "Two turns")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    worktree = Path(done["worktree"])
    assert (worktree / ".env").read_text() == "TOKEN=local\n"
    assert (worktree / "config" / "a.local").read_text() == "a\n"
    assert not (worktree / "other.log").exists()
    assert (worktree / "seen.txt").read_text() == "TOKEN=local\nleft-pad 1.0\n"
    lines = (worktree / "environment.log").read_text().splitlines()
    variables = dict(line.split("=", 1) for line in lines if "=" in line)
    assert variables["MODE"] == "test"
    # The owner's ports come first, and a name that both have is one port.
    assert list(dict(pair.split("=") for pair in variables["BYRE_PORTS"].split(","))) == [
        "web",
        "api",
    ]
    assert (worktree / "created.log").read_text() == f"test {variables['PORT_API']}\n"
    assert "Write British English." in json.dumps(model.requests[-1].input)
    assert calls(done["worktree"]) == ["install", "create", "run", "turn"]
    assert daemon.leftovers() == []
    # What the hook after the turn did is in the checkpoint of that turn.
    stamp = (worktree / "stamp.txt").read_text().strip()
    assert git("show", f"refs/byre/checkpoints/{task['id']}/1:stamp.txt", cwd=repo) == stamp
    await daemon.call("task.tell", id=task["id"], text="And two")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert calls(done["worktree"]) == ["install", "create", "run", "turn", "run", "turn"]
    # A second task finds the dependencies installed.
    second = await daemon.submit(repo, "Two turns")
    other = await daemon.wait(second["id"], "succeeded", "failed")
    assert other["state"] == "succeeded", other
    assert calls(other["worktree"]).count("install") == 1
    assert (Path(other["worktree"]) / "deps" / "installed").read_text() == "left-pad 1.0\n"
    await daemon.call("task.discard", id=task["id"])
    assert calls(done["worktree"])[-1] == f"remove {task['id']}"
    assert daemon.leftovers() == []
    # One that is brought back is furnished again: what git ignores was not kept.
    await daemon.call("task.undelete", id=task["id"])
    assert not (worktree / ".env").exists()
    await daemon.call("task.tell", id=task["id"], text="And three")
    await daemon.wait(task["id"], "succeeded", "failed")
    assert (worktree / ".env").read_text() == "TOKEN=local\n"


@pytest.mark.promise("only_the_trusted_run_commands")
async def test_a_repository_that_nobody_trusts_gives_names_and_words_only(
    daemon: Daemon, repo: Path, model: ScriptedModel
) -> None:
    task = await daemon.submit(repo, "Two turns")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    worktree = Path(done["worktree"])
    assert not (worktree.parent / "calls").exists()
    assert not (worktree / ".env").exists()
    text = (worktree / "environment.log").read_text()
    assert "MODE=" not in text
    assert "PORT_API=" in text
    assert "Write British English." in json.dumps(model.requests[-1].input)
    event = await daemon.event("task.untrusted", task_id=task["id"])
    assert event["data"]["asks"][:3] == [
        "copy .env, config/*.local from your checkout",
        "set MODE",
        f"run `{tomllib.loads(FILE)['setup']['run']}` once for its dependencies",
    ]


async def test_the_owners_orders_hold_everywhere_and_come_first(down: Daemon, repo: Path) -> None:
    down.settings["workspace"] = {
        "copy": ["other.log"],
        "hooks": {"before_run": "echo owner >> ../calls", "after_turn": "echo broken; exit 3"},
    }
    await down.start()
    await down.call("repo.trust", repo=str(repo))
    task = await down.submit(repo, "Two turns")
    done = await down.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    assert (Path(done["worktree"]) / "other.log").read_text() == "not asked for\n"
    assert calls(done["worktree"]) == ["install", "create", "owner", "run"]
    # A hook after a turn that fails is told of, and nothing more; those after it do not run.
    event = await down.event("task.hook_failed", task_id=task["id"])
    assert event["data"]["hook"] == "after_turn"
    assert "ended with status 3" in event["data"]["why"]
    assert "broken" in event["data"]["why"]


@pytest.mark.promise("retries_are_bounded")
async def test_a_worktree_that_cannot_be_furnished_fails_with_what_was_said(
    down: Daemon, repo: Path
) -> None:
    down.settings["workspace"] = {
        "hooks": {"after_create": "echo try >> ../tries; echo no disk here >&2; exit 4"}
    }
    await down.start()
    task = await down.submit(repo, "Two turns")
    done = await down.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "failed"
    assert done["attempt"] == 3
    assert done["error"]["kind"] == "infrastructure"
    assert "ended with status 4" in done["error"]["message"]
    assert "no disk here" in done["error"]["message"]
    tries = Path(done["worktree"]).parent / "tries"
    assert tries.read_text().splitlines() == ["try"] * 3
    assert down.leftovers() == []


@pytest.mark.promise("bad_input_changes_nothing")
async def test_a_file_that_cannot_be_used_is_refused_at_once(daemon: Daemon, repo: Path) -> None:
    (repo / ".byre.toml").write_text("verfy = ['make test']\n")
    git("add", "-A", cwd=repo)
    git("commit", "-q", "-m", "A slip of the pen", cwd=repo)
    refused = await daemon.call_refused("task.submit", repo=str(repo), prompt="Two turns")
    assert refused["data"]["kind"] == "invalid"
    assert "verfy" in refused["message"]
    assert (await daemon.call("task.list"))["tasks"] == []
    for name in (str(repo / "nowhere"), "relative"):
        await daemon.call_refused("repo.trust", repo=name)
