"""The model as a process: says its address, ends when it is told to or its owner is gone."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from pathlib import Path

import pytest

BOUND = 30.0
COMMAND = [sys.executable, "-m", "byred.testing.model"]


class Process:
    """A child whose end is watched by pidfd."""

    def __init__(self, child):
        self.child = child

    async def line(self):
        return json.loads(await asyncio.wait_for(self.child.stdout.readline(), BOUND))

    async def ended(self):
        await gone(self.child.pid)
        return await asyncio.wait_for(self.child.wait(), BOUND)


async def gone(pid):
    """Wait until the process `pid` is over."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    loop.add_reader(watched, over.set)
    try:
        await asyncio.wait_for(over.wait(), BOUND)
    finally:
        loop.remove_reader(watched)
        os.close(watched)


@pytest.fixture
async def run():
    children = []

    async def start(*words, command=COMMAND, stdin=asyncio.subprocess.DEVNULL):
        child = await asyncio.create_subprocess_exec(
            *command,
            *words,
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        children.append(child)
        return Process(child)

    yield start
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await asyncio.wait_for(child.communicate(), BOUND)


@pytest.fixture
def scripts(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text('[[scripts]]\nname = "s"\nsteps = [{say = "hello"}]\n')
    return path


async def test_it_says_its_address_plays_and_ends_on_sigterm(run, bench, scripts, tmp_path):
    record = tmp_path / "record.jsonl"
    process = await run("--scripts", str(scripts), "--record", str(record))
    ready = await process.line()
    assert ready["base_url"] == ready["config"]["model_providers"]["scripted"]["base_url"]

    class Model:
        def codex_config(self):
            return ready["config"]

    codex = await bench.codex(Model())
    await codex.turn(await codex.thread(), "hi")
    assert codex.texts() == ["hello"]
    assert [json.loads(line)["event"] for line in record.read_text().splitlines()] == [
        "request",
        "reply",
    ]
    process.child.send_signal(signal.SIGTERM)
    assert await process.ended() == 0


async def test_it_ends_on_sigint_as_well_and_listens_where_it_is_told(run):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = await run("--port", str(port))
    assert (await process.line())["base_url"] == f"http://127.0.0.1:{port}/v1"
    process.child.send_signal(signal.SIGINT)
    assert await process.ended() == 0


async def test_it_ends_when_the_pipe_of_its_parent_is_closed(run):
    process = await run("--with-parent", stdin=asyncio.subprocess.PIPE)
    await process.line()
    process.child.stdin.write(b"words on the pipe mean nothing\n")
    await process.child.stdin.drain()
    assert process.child.returncode is None
    process.child.stdin.close()
    assert await process.ended() == 0


async def test_it_ends_when_its_parent_is_killed(run):
    """The parent's parent holds its pipe open, so only the pid tells."""
    parent = await run(
        "-c",
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen({[*COMMAND, '--with-parent']!r}, stdin=subprocess.DEVNULL)\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(600)\n",
        command=[sys.executable],
    )
    pid = await parent.line()
    assert "base_url" in await parent.line()
    parent.child.kill()
    try:
        await gone(pid)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


async def test_without_a_word_about_its_parent_it_outlives_a_closed_stdin(run):
    process = await run(stdin=asyncio.subprocess.PIPE)
    await process.line()
    process.child.stdin.close()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(process.child.wait()), 0.5)
    process.child.send_signal(signal.SIGTERM)
    assert await process.ended() == 0


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--scripts", "./none.toml"], "cannot load scripts from none.toml: [Errno 2]"),
        (["--scripts", "none"], "expected one of default, demo"),
        (["--port", "99999"], "port must be 0-65535"),
        (["--port", "many"], "invalid int value"),
    ],
)
async def test_what_can_not_be_used_ends_it_with_2_and_a_sentence(run, words, text):
    process = await run(*words)
    assert await process.ended() == 2
    said = (await process.child.stderr.read()).decode()
    assert text in said
    assert "Traceback" not in said


async def test_a_port_that_is_taken_ends_it_with_2_and_a_sentence(run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = await run("--port", str(taken.getsockname()[1]))
        assert await process.ended() == 2
        assert b"address already in use" in await process.child.stderr.read()


def test_the_shipped_scripts_are_files_of_the_package():
    import byred.testing  # noqa: PLC0415 - its place is what is asked

    folder = Path(byred.testing.__file__).parent / "scripts"
    assert sorted(path.name for path in folder.glob("*.toml")) == ["default.toml", "demo.toml"]
