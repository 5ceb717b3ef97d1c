"""Commands end in time, with everything they started, and say why they failed."""

import asyncio
import os
import signal
import sys

import pytest

from byred.workspace import process
from byred.workspace.errors import GitError, Kind, WorkspaceError
from byred.workspace.git import ask_git, clean_environment, git, printable, run_git


async def sh(script: str, **options):
    options.setdefault("timeout", 20)
    return await process.run(["/bin/sh", "-c", script], env=dict(os.environ), **options)


async def test_output_and_status_come_back():
    done = await sh("echo out; echo err >&2; exit 3")
    assert (done.status, done.stdout, done.stderr) == (3, b"out\n", b"err\n")


async def test_both_streams_can_be_one():
    done = await sh("echo out; echo err >&2", merge=True)
    assert done.stdout == b"out\nerr\n"


async def test_input_larger_than_a_pipe_is_read():
    done = await sh("wc -c", stdin=b"x" * 1_000_000)
    assert done.stdout.strip() == b"1000000"


async def test_output_beyond_the_limit_is_dropped_and_blocks_nobody():
    done = await sh("yes | head -c 3000000; exit 4", limit=1000)
    assert (done.status, len(done.stdout), done.truncated) == (4, 1000, True)


async def test_both_ends_of_a_long_output_can_be_kept():
    done = await sh("echo first; yes | head -c 100000; echo last", limit=100, both_ends=True)
    assert done.stdout.startswith(b"first\ny\n")
    assert done.stdout.endswith(b"y\nlast\n")
    assert b"bytes left out]" in done.stdout
    assert len(done.stdout) < 140


async def test_a_grandchild_that_goes_on_writing_delays_nobody(tmp_path):
    note = tmp_path / "pid"
    await asyncio.wait_for(sh(f"yes & echo $! > {note}", limit=1000), 10)
    await ended(int(note.read_text()))  # its pipe is closed, so its next write ends it


async def test_output_of_megabytes_arrives_whole():
    done = await sh("yes | head -c 3000000")
    assert (len(done.stdout), done.truncated) == (3_000_000, False)


async def test_a_grandchild_that_keeps_the_pipe_delays_nobody():
    done = await asyncio.wait_for(sh("echo early; sleep 600 & echo $!"), 10)
    early, pid = done.stdout.split()
    assert early == b"early"
    os.kill(int(pid), signal.SIGKILL)


async def ended(pid: int) -> None:
    """Wait until a process is gone, which it may be already."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    over = asyncio.Event()
    asyncio.get_running_loop().add_reader(descriptor, over.set)
    await asyncio.wait_for(over.wait(), 10)
    asyncio.get_running_loop().remove_reader(descriptor)
    os.close(descriptor)


async def test_time_over_ends_the_whole_group(tmp_path):
    note = tmp_path / "pid"
    done = await sh(f"echo said; sleep 600 & echo $! > {note}; wait", timeout=0.5)
    assert (done.timed_out, done.stdout) == (True, b"said\n")
    await ended(int(note.read_text()))


async def test_what_ignores_sigterm_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "GRACE", 0.2)
    note = tmp_path / "pid"
    script = f"trap '' TERM; echo $$ > {note}; while :; do sleep 0.1; done"
    assert (await sh(script, timeout=0.5)).status == -signal.SIGKILL
    await ended(int(note.read_text()))


async def test_cancelling_ends_the_group_and_leaks_no_descriptor(tmp_path):
    note = tmp_path / "pid"
    os.mkfifo(note)
    await asyncio.to_thread(int)  # the pool's own descriptors are there from now on
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208 - descriptors, not files
    task = asyncio.create_task(sh(f"echo $$ > {note}; exec sleep 600"))
    pid = int(await asyncio.wait_for(asyncio.to_thread(note.read_text), 10))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await ended(pid)
    assert set(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - descriptors, not files


async def test_a_program_that_is_not_there_leaks_nothing():
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208 - descriptors, not files
    with pytest.raises(FileNotFoundError):
        await process.run(["/no/such/program"], env={}, timeout=5)
    assert set(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - descriptors, not files


async def test_fifty_commands_at_once():
    done = await asyncio.gather(*(sh(f"echo {number}") for number in range(50)))
    assert [int(each.stdout) for each in done] == list(range(50))


async def test_git_errors_carry_command_status_and_stderr(ground):
    with pytest.raises(GitError) as failed:
        await git("rev-parse", "--verify", "nope", cwd=ground.repo)
    assert failed.value.command == ("git", "rev-parse", "--verify", "nope")
    assert failed.value.status == 128
    assert "Needed a single revision" in failed.value.stderr
    assert failed.value.kind is Kind.INFRASTRUCTURE
    assert failed.value.message.startswith("cannot finish `git rev-parse --verify nope`")


async def test_git_that_takes_too_long_is_ended_and_said(ground, monkeypatch):
    with pytest.raises(GitError, match=r"longer than 0\.2 s") as failed:
        await git("-c", "alias.wait=!sleep 60", "wait", cwd=ground.repo, timeout=0.2)
    assert failed.value.status is None


async def test_git_in_a_folder_that_is_gone_says_so(tmp_path):
    with pytest.raises(WorkspaceError, match="no such directory") as failed:
        await git("status", cwd=tmp_path / "gone")
    assert failed.value.kind is Kind.NOT_FOUND


async def test_a_machine_without_git_is_told(ground, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorkspaceError, match="install git"):
        await git("status", cwd=ground.repo)


async def test_no_is_an_answer(ground):
    assert await ask_git("config", "--get", "no.such", cwd=ground.repo) is None
    assert await ask_git("config", "--get", "core.bare", cwd=ground.repo) == "false"


async def test_the_callers_git_variables_lead_git_nowhere_else(ground, monkeypatch, tmp_path):
    """As when byred is started from a hook, or a shell with leftovers."""
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.bare")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.bare=true'")
    monkeypatch.setenv("GIT_NAMESPACE", "other")
    assert await git("rev-parse", "--show-toplevel", cwd=ground.repo) == str(ground.repo)
    assert await git("rev-parse", "--is-bare-repository", cwd=ground.repo) == "false"


def test_the_clean_environment_asks_nobody_and_pages_nothing():
    made = clean_environment({"PATH": "/bin", "SSH_ASKPASS": "/x", "GIT_SSH_COMMAND": "mine"})
    assert made["GIT_TERMINAL_PROMPT"] == "0"
    assert made["GIT_ASKPASS"] == ""
    assert made["LC_ALL"] == "C"
    assert made["GIT_OPTIONAL_LOCKS"] == "0"
    assert made["GIT_SSH_COMMAND"] == "mine"
    assert "SSH_ASKPASS" not in made


async def test_git_speaks_english_whatever_the_language(ground, monkeypatch):
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")
    done = await run_git("rev-parse", "--verify", "nope", cwd=ground.repo)
    assert b"fatal: Needed a single revision" in done.stderr


def test_bytes_that_are_no_text_become_printable():
    assert printable("a\udcffb") == "a\ufffdb"
    assert printable("日本語") == "日本語"
    assert sys.getfilesystemencoding() == "utf-8"
