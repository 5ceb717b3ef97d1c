"""The sandbox lets a commit through and an agent nowhere else, with the real codex."""

import asyncio
import json
import os
import select
import socket
import subprocess
import tempfile
import tomllib
from pathlib import Path

import codex_cli_bin
import pytest

from byred.workspace.errors import WorkspaceError
from byred.workspace.home import home, sandbox
from byred.workspace.home.environment import Identity, build

CODEX = codex_cli_bin.bundled_codex_path()


@pytest.fixture
def var_tmp():
    """A folder outside of /tmp, which the sandbox leaves writable."""
    with tempfile.TemporaryDirectory(prefix="byre-test-", dir="/var/tmp") as folder:
        yield Path(folder).resolve()


async def test_this_machine_passes_the_self_test():
    report = await sandbox.self_test(CODEX, path=os.environ["PATH"])
    assert report == sandbox.SandboxReport(
        works=True, commits=True, contains=True, cuts_network=True, said=""
    )


async def test_a_program_that_is_no_codex_fails_the_self_test():
    report = await sandbox.self_test(Path("/bin/false"), path=os.environ["PATH"])
    assert not report.works
    with pytest.raises(WorkspaceError, match="cannot run /no/codex"):
        await sandbox.self_test(Path("/no/codex"), path=os.environ["PATH"])


def start_thread(path, tree, linger=lambda: None):
    """Start a thread on the real server with this home; return its answer.

    The server lives until `linger` comes back.
    """
    with subprocess.Popen(
        [str(CODEX), "app-server", "--strict-config"],
        env={"PATH": os.environ["PATH"], "CODEX_HOME": str(path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        client = {"name": "byred-test", "version": "0"}
        messages = [
            {"id": 0, "method": "initialize", "params": {"clientInfo": client}},
            {"method": "initialized"},
            {"id": 1, "method": "thread/start", "params": {"cwd": str(tree)}},
        ]
        for message in messages:
            server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.flush()
        for line in server.stdout:
            answer = json.loads(line)
            if answer.get("id") == 1:
                break
        linger()
        server.communicate(timeout=60)
    return answer["result"]


class Guarded:
    """A repository with two tasks, one of them in the sandbox."""

    def __init__(self, folder):
        self.repo = folder / "repo"
        self.tree = folder / "tree"
        self.other = folder / "other"
        self.home = folder / "home"
        self.git("init", "-q", str(self.repo), cwd=folder)
        self.git("commit", "-q", "--allow-empty", "-m", "first")
        for tree in (self.tree, self.other):
            self.git("worktree", "add", "-q", str(tree))
        self.common = self.repo / ".git"

    def git(self, *args, cwd=None):
        subprocess.run(["git", *args], cwd=cwd or self.repo, check=True, capture_output=True)

    async def make_home(self, **options):
        return await home.ensure_home(
            self.home,
            config={},
            auth_file=None,
            trust=self.tree,
            writable_roots=(self.common, self.common / "worktrees" / "tree"),
            protected=sandbox.protected_paths(self.common),
            **options,
        )

    def run(self, script):
        env = build(
            {"PATH": os.environ["PATH"]},
            home=self.home,
            worktree=self.tree,
            ports={},
            identity=Identity("task", "task@byre.invalid"),
            task_id=1,
        )
        argv = [str(CODEX), "sandbox", "-P", sandbox.PROFILE, "-C", str(self.tree), "/bin/sh", "-c"]
        return subprocess.run(
            [*argv, script], cwd=self.tree, env=env, capture_output=True, text=True, check=False
        )


@pytest.fixture
def guarded(var_tmp):
    return Guarded(var_tmp)


async def test_an_agent_can_use_git_in_its_worktree(guarded):
    await guarded.make_home()
    done = await asyncio.to_thread(
        guarded.run,
        "set -e; echo 1 > f; git add f; git commit -qm one; git switch -q -c side;"
        "echo 2 > f; git commit -qam two; git switch -q tree; git merge -q side; git stash list;"
        "git rebase -q HEAD; git tag v1; git branch -q -d side; git log --format=%an -1",
    )
    assert (done.returncode, done.stdout) == (0, "task\n"), done.stderr


@pytest.mark.parametrize(
    "path",
    [
        "repo/.git/config",
        "repo/.git/hooks/post-checkout",
        "repo/.git/HEAD",
        "repo/.git/worktrees/other/HEAD",
        "repo/file",
        "other/file",
        "home/config.toml",
        "tree/.git",
    ],
)
async def test_an_agent_can_not_write_what_others_would_run_or_own(guarded, path):
    await guarded.make_home()
    target = guarded.tree.parent / path
    done = await asyncio.to_thread(guarded.run, f"echo x >> '{target}'")
    assert done.returncode != 0
    assert "Read-only file system" in done.stderr
    moved = await asyncio.to_thread(guarded.run, f"mv '{target.parent}' '{target.parent}.moved'")
    assert moved.returncode != 0


@pytest.mark.parametrize("network", [True, False])
async def test_the_network_is_on_or_off(guarded, network):
    await guarded.make_home(network=network)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"/bin/bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'"
        done = await asyncio.to_thread(guarded.run, script)
    assert (done.returncode == 0) is network


async def test_a_thread_without_a_sandbox_of_its_own_has_the_profile(guarded):
    path = await guarded.make_home()
    table = tomllib.loads((path / "config.toml").read_text())
    assert "sandbox_mode" not in table

    said = (await asyncio.to_thread(start_thread, path, guarded.tree))["sandbox"]
    assert said["type"] == "workspaceWrite"
    assert set(said["writableRoots"]) == {
        str(guarded.common),
        str(guarded.common / "worktrees" / "tree"),
    }
    assert tomllib.loads((path / "config.toml").read_text()) == table


@pytest.mark.parametrize("trusted", [True, False])
async def test_what_a_repository_configures_for_codex_runs_only_when_it_is_trusted(
    guarded, trusted
):
    witness = guarded.tree.parent / "ran"
    os.mkfifo(witness)
    (guarded.tree / ".codex").mkdir()
    server = f'command = "/bin/sh"\nargs = ["-c", "echo ran > {witness}"]\n'
    (guarded.tree / ".codex" / "config.toml").write_text(f"[mcp_servers.x]\n{server}")
    path = await guarded.make_home(trusted=trusted)
    reader = os.open(witness, os.O_RDONLY | os.O_NONBLOCK)
    try:
        # A start that never comes is waited for by pytest's own limit.
        wait = (lambda: select.select([reader], [], [], 60)) if trusted else lambda: None
        said = await asyncio.to_thread(start_thread, path, guarded.tree, wait)
        heard = os.read(reader, 10)
    finally:
        os.close(reader)
    assert said["sandbox"]["type"] == "workspaceWrite"
    assert (heard == b"ran\n") is trusted
