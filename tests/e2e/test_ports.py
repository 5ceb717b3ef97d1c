"""Each task's servers listen on its own ports, and nobody else's are taken for them."""

import asyncio
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from byred.testing.script import Ask, Script, Step
from byred.workspace.home.ports import is_free
from tests.e2e.conftest import COMMIT, SCRIPTS, Daemon

# Serves the worktree on PORT, asks the other task's server who it is, and stays until both know.
PEER = """
import os, pathlib, subprocess, sys, time, urllib.request

me, shared = os.environ["BYRE_TASK_ID"], pathlib.Path(sys.argv[1])
until = time.monotonic() + 90


def wait(ready):
    while not (found := ready()):
        assert time.monotonic() < until, "the other one never came"
        time.sleep(0.05)
    return found


def others(kind):
    return [each for each in shared.glob(f"{kind}-*") if each.name != f"{kind}-{me}"]


def say(kind, text):
    (shared / f".{kind}-{me}").write_text(text)
    (shared / f".{kind}-{me}").rename(shared / f"{kind}-{me}")


def call(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/id.txt", timeout=10) as reply:
            return reply.read().decode()
    except OSError:
        return None


pathlib.Path("id.txt").write_text(f"task {me}")
serve = [sys.executable, "-m", "http.server", os.environ["PORT"], "--bind", "127.0.0.1"]
subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
say("port", os.environ["PORT"])
port = wait(lambda: others("port"))[0].read_text()
pathlib.Path("heard.txt").write_text(wait(lambda: call(port)))
say("done", "")
wait(lambda: others("done"))
"""


@pytest.fixture
def scripts(tmp_path: Path) -> tuple[Script, ...]:
    peer = tmp_path / "peer.py"
    peer.write_text(PEER)
    serve = shlex.join([sys.executable, str(peer), str(tmp_path)])
    return (
        Script(
            name="serve",
            match="(?i)serve",
            steps=(Step(shell=f"{serve} && {COMMIT}"), Step(say="Done.")),
        ),
        Script(
            name="colour",
            match="(?i)colour",
            steps=(
                Step(ask=Ask(text="Which colour?")),
                Step(shell=f"echo $PORT > port.txt && {COMMIT}"),
                Step(say="Done."),
            ),
        ),
        *SCRIPTS,
    )


@pytest.mark.promise("no_port_doubled")
@pytest.mark.promise("no_process_left")
async def test_two_tasks_that_serve_on_their_ports_reach_each_other(
    daemon: Daemon, repo: Path, tmp_path: Path
) -> None:
    tasks = [await daemon.submit(repo, "Serve your files") for _ in range(2)]
    done = [await daemon.wait(task["id"], "succeeded", "failed") for task in tasks]
    assert [task["state"] for task in done] == ["succeeded"] * 2, done
    first, second = (Path(task["worktree"]) for task in done)
    assert (first / "heard.txt").read_text() == f"task {done[1]['id']}"
    assert (second / "heard.txt").read_text() == f"task {done[0]['id']}"
    used = [int((tmp_path / f"port-{task['id']}").read_text()) for task in done]
    assert len(set(used)) == 2
    # Servers that were left running are gone with their tasks, and the ports are anybody's again.
    assert daemon.leftovers() == []
    assert all(is_free(port) for port in used)


@pytest.mark.promise("no_port_doubled")
async def test_a_stranger_on_a_port_is_noticed_before_the_start(
    daemon: Daemon, repo: Path, byre: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    task = await daemon.submit(repo, "What colour?")
    question = await daemon.question(task["id"])
    port = (await daemon.call("task.get", id=task["id"]))["ports"]["web"]
    shown = await asyncio.to_thread(byre, "show", str(task["id"]))
    assert f"web http://localhost:{port}\n" in shown.stdout
    daemon.stop()
    with socket.create_server(("127.0.0.1", port)):
        await daemon.start()
        await daemon.call("question.answer", id=question["id"], text="red")
        done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    event = await daemon.event("task.port_lost", task_id=task["id"])
    assert event["data"] == {
        "name": "web",
        "port": port,
        "instead": int((Path(done["worktree"]) / "port.txt").read_text()),
        "why": "another program listens on it",
    }
    assert event["data"]["instead"] != port
