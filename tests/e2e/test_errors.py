"""Bad input from the command line: one sentence, the right exit status, and nothing changed."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import Daemon, git

Byre = Callable[..., subprocess.CompletedProcess[str]]

# arguments after `byre` ({repo} and the like are folders made below), status, what it must say
REFUSED = [
    (["submit", "--repo", "{plain}", "x"], 4, ["not a git repository", "git init"]),
    (["submit", "--repo", "{empty}", "x"], 4, ["no commit yet"]),
    (["submit", "--repo", "{missing}", "x"], 4, ["does not exist"]),
    (["submit", "--repo", "{file}", "x"], 4, ["not a directory"]),
    (["submit", "--repo", "{repo}", "--base", "nowhere", "x"], 4, ["'nowhere'", "no such commit"]),
    (["submit", "--repo", "{repo}", "--base", "-f", "x"], 4, ["'-f'", "no such commit"]),
    (["submit", "--repo", "{repo}", "--after", "99", "x"], 4, ["no task 99"]),
    (["submit", "--repo", "{repo}", "--priority", "5000", "x"], 4, ["priority", "1000"]),
    (["submit", "--repo", "{repo}", "   "], 2, ["empty"]),
    (["submit", "--repo", "{repo}", "--title", " ", "x"], 4, ["title"]),
    (["submit", "--repo", "{repo}", "--label", " ", "x"], 4, ["labels"]),
    (["submit", "--repo", "{repo}", "--key", " ", "x"], 4, ["key"]),
    (["submit", "--repo", "{repo}", "--priority", "high", "x"], 2, ["--priority"]),
    (["submit", "--bogus"], 2, ["--bogus"]),
    (["nonsense"], 2, ["nonsense"]),
    (["show", "99"], 4, ["no task 99", "byre ls --all"]),
    (["show", "first"], 2, ["first"]),
    (["show", "99999999999999999999"], 4, ["id", "9223372036854775807"]),
    (["cancel", "99"], 4, ["no task 99"]),
    (["tell", "99", "x"], 4, ["no task 99"]),
    (["interrupt", "99"], 4, ["no task 99"]),
    (["retry", "99"], 4, ["no task 99"]),
    (["hold", "99"], 4, ["no task 99"]),
    (["release", "99"], 4, ["no task 99"]),
    (["explain", "99"], 4, ["no task 99"]),
    (["diff", "99"], 4, ["no task 99"]),
    (["logs", "99"], 4, ["no task 99"]),
    (["answer", "99", "x"], 4, ["no question 99"]),
    (["tell", "{done}", " "], 2, ["empty"]),
    (["cancel", "{done}"], 4, ["succeeded", "cannot be cancelled"]),
    (["retry", "{done}"], 4, ["succeeded", "byre tell"]),
    (["interrupt", "{done}"], 4, ["succeeded"]),
    (["hold", "{done}"], 4, ["succeeded"]),
    (["release", "{done}"], 4, ["not held"]),
]


def one_sentence(done: subprocess.CompletedProcess[str]) -> str:
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if not line.startswith(("Usage:", "Try "))]
    lines = [line for line in lines if line.strip()]
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.mark.promise("errors_say_what_to_do")
@pytest.mark.promise("bad_input_changes_nothing")
async def test_every_refusal_is_one_sentence_and_changes_nothing(
    daemon: Daemon, repo: Path, byre: Byre, tmp_path: Path
) -> None:
    names = {"repo": repo, "missing": tmp_path / "missing"}
    for name in ("plain", "empty"):
        names[name] = tmp_path / name
        names[name].mkdir()
    git("init", "-q", cwd=names["empty"])
    names["file"] = tmp_path / "file"
    names["file"].write_text("x")
    task = await daemon.submit(repo, "Say hello")
    await daemon.wait(task["id"], "succeeded")
    names["done"] = task["id"]
    before = await daemon.call("daemon.status")
    branches = git("branch", "--list", cwd=repo)
    wrong: list[str] = []
    for arguments, status, words in REFUSED:
        filled = [argument.format(**names) for argument in arguments]
        done = await asyncio.to_thread(byre, *filled)
        said = one_sentence(done)
        if done.returncode != status or not all(word in said for word in words):
            wrong.append(f"{filled} gave {done.returncode}: {said}")
    assert not wrong, "\n".join(wrong)
    after = await daemon.call("daemon.status")
    assert after["seq"] == before["seq"]
    assert after["tasks"] == before["tasks"]
    assert git("branch", "--list", cwd=repo) == branches


def test_no_daemon_is_said_with_how_to_start_it(down: Daemon, byre: Byre) -> None:
    done = byre("ls")
    assert done.returncode == 3
    said = one_sentence(done)
    assert str(down.socket) in said
    assert "start" in said


async def test_a_bare_repository_is_fine(daemon: Daemon, repo: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git("clone", "-q", "--bare", str(repo), str(bare), cwd=tmp_path)
    task = await daemon.submit(bare, "Say hello")
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    assert git("show", f"{done['branch']}:hello.txt", cwd=bare) == "hello"


def byred(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "byred.daemon", *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.promise("bad_config_refused")
@pytest.mark.parametrize(
    ("line", "key", "expected"),
    [
        ("[daemon]\nbogus = 1", "daemon.bogus", "unknown key"),
        ("[scheduler]\nmax_running = 'many'", "scheduler.max_running", "whole number"),
        ("[scheduler]\nmax_running = 0", "scheduler.max_running", "at least 1"),
        ("[workspace]\nport_range = '30000-20000'", "workspace.port_range", "expected"),
        ("[workspace]\nport_range = '80-90'", "workspace.port_range", "expected"),
        ("[workspace]\nbranch = 'byre/{nobody}'", "workspace.branch", "{nobody}"),
        ("[identity]\nemail = 'x-{nobody}@y'", "identity.email", "{nobody}"),
        ("[codex]\nrequest_timeout = 5", "codex.request_timeout", "expected"),
        ("[codex]\nsandbox = 'loose'", "codex.sandbox", "expected one of"),
        ("this is not TOML", "", "TOML"),
    ],
)
def test_a_bad_configuration_ends_the_start_with_one_line(
    down: Daemon, line: str, key: str, expected: str
) -> None:
    down.config.write_text(line)
    done = byred("--config", str(down.config))
    assert done.returncode == 2
    said = one_sentence(done)
    assert str(down.config) in said
    assert key in said
    assert expected in said
    assert not down.state.exists()


def test_a_bad_variable_is_named(down: Daemon) -> None:
    down.write_config()
    done = byred("--config", str(down.config), BYRED_SCHEDULER__MAX_RUNNING="many")
    assert done.returncode == 2
    assert "BYRED_SCHEDULER__MAX_RUNNING" in one_sentence(done)


@pytest.mark.promise("old_codex_refused")
def test_a_codex_that_is_too_old_is_refused_by_name(down: Daemon) -> None:
    old = down.folder / "codex"
    old.write_text("#!/bin/sh\necho codex-cli 0.143.9\n")
    old.chmod(0o755)
    down.settings["codex"]["bin"] = str(old)
    down.write_config()
    done = byred("--config", str(down.config))
    assert done.returncode == 1
    said = one_sentence(done)
    assert "0.143.9" in said
    assert "0.144.0" in said


@pytest.mark.promise("one_daemon_per_state")
async def test_a_second_daemon_is_refused_by_the_lock(daemon: Daemon) -> None:
    assert daemon.process is not None
    elsewhere = daemon.folder / "other"
    done = await asyncio.to_thread(
        byred, "--config", str(daemon.config), BYRED_DAEMON__SOCKET=str(elsewhere)
    )
    assert done.returncode == 1
    said = one_sentence(done)
    assert f"pid {daemon.process.pid}" in said
    assert (await daemon.call("daemon.status"))["pid"] == daemon.process.pid


@pytest.mark.promise("bad_config_keeps_running")
async def test_a_bad_reload_keeps_the_settings_in_force(daemon: Daemon) -> None:
    good = daemon.config.read_text()
    daemon.config.write_text("[scheduler]\nmax_running = 'many'\n")
    async with daemon.client() as client:
        refused = await client.ask("daemon.reload")
    assert refused["error"]["data"]["kind"] == "invalid"
    assert "scheduler.max_running" in refused["error"]["message"]
    assert (await daemon.call("daemon.status"))["max_running"] == 8
    daemon.config.write_text(good.replace("max_running = 8", "max_running = 3"))
    applied = await daemon.call("daemon.reload")
    assert (await daemon.call("daemon.status"))["max_running"] == 3
    assert applied["needs_restart"] == []


async def test_a_changed_file_is_noticed(daemon: Daemon) -> None:
    text = daemon.config.read_text()
    daemon.config.write_text(text.replace("max_running = 8", "max_running = 2"))

    async def noticed() -> bool:
        return (await daemon.call("daemon.status"))["max_running"] == 2

    await daemon.until(noticed)


@pytest.mark.promise("other_clients_unharmed")
async def test_garbage_and_the_deaf_hold_up_nobody(daemon: Daemon, repo: Path) -> None:
    async with daemon.client() as garbage, daemon.client() as deaf, daemon.client() as good:
        for number in range(20):
            await garbage.send(b"\x00\xff{[garbage " + str(number).encode() + b"\n")
            assert (await garbage.receive())["error"]["code"] == -32700
        sending = asyncio.create_task(garbage.send(b'"' + b"x" * 20_000_000 + b'"\n'))
        for _ in range(2000):
            await deaf.send(
                b'{"jsonrpc":"2.0","id":1,"method":"task.list","params":{"limit":1000}}\n'
            )
        task = await good.call("task.submit", repo=str(repo), prompt="Say hello")
        done = await daemon.wait(task["id"], "succeeded", "failed")
        assert done["state"] == "succeeded"
        await sending
        too_long = await garbage.receive()
        assert "error" in too_long
        assert (await garbage.call("daemon.status"))["questions_open"] == 0
