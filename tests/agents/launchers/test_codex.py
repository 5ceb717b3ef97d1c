"""The real codex app-server under every launcher: its commands, its sandbox, its afterlife."""

import asyncio
import json
import os
import shlex
import signal
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import tomli_w

from byred.agents.launchers.contract import ServerSpec
from byred.agents.launchers.sockets import listening_at
from byred.agents.process import ProcessIdentity
from byred.agents.supervisor import Supervisor
from byred.codex import Client, ClientInfo, StdioTransport, ThreadOptions, connect_unix, find_binary
from byred.testing.model import ScriptedModel
from byred.testing.script import Script, Step

PATIENCE = 60.0
LIMIT = 2.0
CHILD = Path(__file__).with_name("child.py")
DAEMON = Path(__file__).with_name("daemon.py")


class Agent:
    """A codex server of a world, with a scripted model behind it."""

    def __init__(self, world, folder):
        self.world = world
        self.work = folder / "work"
        self.work.mkdir()
        self.program = find_binary(os.environ.get("BYRED_TEST_CODEX")).path

    def trouble(self, *modes):
        """A command that starts misbehaving children and waits for them."""
        words = (sys.executable, "-I", "-S", str(CHILD))
        lines = [
            f"{shlex.join((*words, mode, self.world.marker, self.world.marker))} </dev/null &"
            for mode in modes
        ]
        return "\n".join((*lines, "wait"))

    @asynccontextmanager
    async def model(self, *steps, config=None):
        async with ScriptedModel([Script("test", steps=steps)]) as model:
            basic = {"features": {"plugins": False, "apps": False}}
            settings = basic | model.codex_config() | (config or {})
            (self.world.home / "config.toml").write_text(tomli_w.dumps(settings))
            yield model

    def spec(self, *, listens=False):
        socket = self.world.home / "server.sock" if listens else None
        listening = ("--listen", f"unix://{socket}") if socket else ()
        return ServerSpec(
            argv=(
                str(self.program),
                "app-server",
                "-c",
                "check_for_update_on_startup=false",
                *listening,
            ),
            cwd=self.world.home.parent,
            env={"PATH": os.environ["PATH"], "HOME": str(self.world.home)},
            home=self.world.home,
            task_id=17,
            stderr=self.world.stderr,
            socket=socket,
        )

    @asynccontextmanager
    async def client(self, server):
        if server.streams is not None:
            transport = StdioTransport(*server.streams)
        else:
            transport = await connect_unix(await listening_at(server))
        info = ClientInfo("byred-tests", "0")
        async with Client.open(transport, client_info=info, handler=refuse) as client:
            yield client

    def options(self, sandbox="danger-full-access"):
        return ThreadOptions(cwd=self.work, sandbox=sandbox, approval_policy="never")


async def refuse(request):
    raise AssertionError(f"the test does not answer {request.method}")


@pytest.fixture
def agent(world, tmp_path):
    return Agent(world, tmp_path)


@pytest.fixture
def supervisor(world):
    return Supervisor(world.launcher)


async def ignore(_identity):
    pass


@pytest.mark.promise("no_process_left")
@pytest.mark.parametrize(
    ("ending", "listens"), [("stop", False), ("stop", True), ("kill", False), ("sweep", True)]
)
async def test_whatever_the_agent_started_ends_with_the_task(
    world, agent, supervisor, listens, ending
):
    modes = ("detached", "hundred", "stubborn")
    async with agent.model(Step(shell=agent.trouble(*modes)), Step(say="done")):
        server = await supervisor.start(agent.spec(listens=listens), ignore)
        world.servers.append(server)
        async with agent.client(server) as client:
            thread = await client.start_thread(agent.options())
            await thread.start_turn("make trouble")
            assert [await world.report() for _ in modes] == ["ready"] * len(modes)
            if ending != "stop":
                os.kill(server.identity.pid, signal.SIGKILL)
                await asyncio.wait_for(server.wait(), PATIENCE)
        began = time.monotonic()
        if ending == "sweep":
            await supervisor.recover(world.home, server.identity)
        await supervisor.stop(server)
        assert time.monotonic() - began < (10 if ending == "stop" else LIMIT)
        assert world.survivors() == []


async def test_codex_ends_with_status_0_when_its_input_closes(world, agent, supervisor):
    async with agent.model(Step(say="done")):
        server = await supervisor.start(agent.spec(), ignore)
        async with agent.client(server) as client:
            thread = await client.start_thread(agent.options())
            await (await thread.start_turn("say it")).result()
            # A memory that nobody counts is known for as long as somebody looks.
            await server.usage()
        end = await supervisor.stop(server)
    assert (end.code, end.signal) == (0, None)
    used = await server.usage()
    assert used.peak_memory > 20_000_000
    assert used.cpu_seconds > 0


async def test_the_sandbox_of_codex_works_inside(world, agent, supervisor, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    command = (
        f"id -u > who; echo in > inside; echo out > {outside}/file; "
        "echo status $? > outcome; ls /proc | grep -c '^[0-9]' > seen"
    )
    strict = {"exclude_slash_tmp": True, "exclude_tmpdir_env_var": True}
    async with agent.model(
        Step(shell=command), Step(say="done"), config={"sandbox_workspace_write": strict}
    ):
        server = await supervisor.start(agent.spec(), ignore)
        world.servers.append(server)
        async with agent.client(server) as client:
            thread = await client.start_thread(agent.options("workspace-write"))
            await (await thread.start_turn("write")).result()
        await supervisor.stop(server)
    assert (agent.work / "inside").read_text() == "in\n"
    assert (agent.work / "inside").stat().st_uid == os.geteuid()
    assert (agent.work / "who").read_text() == f"{os.geteuid()}\n"
    assert list(outside.iterdir()) == []
    assert (agent.work / "outcome").read_text() != "status 0\n"


@pytest.mark.promise("agents_outlive_the_daemon")
async def test_a_command_and_its_turn_outlive_the_daemon(world, agent, supervisor, tmp_path):
    """The daemon dies in mid-command; the next one finds server, thread, turn and process."""
    gate, who = tmp_path / "gate", tmp_path / "who"
    os.mkfifo(gate)
    steps = (Step(shell=f"echo $$ > {who}; cat {gate}"), Step(say="done"))
    async with agent.model(*steps):
        spec = agent.spec(listens=True)
        daemon = await asyncio.create_subprocess_exec(
            *(sys.executable, DAEMON, world.launcher.name, world.home, *spec.argv),
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(PATIENCE):
                identity = ProcessIdentity(**json.loads(await daemon.stdout.readline()))
            # To the client it is no matter who started the server.
            first = await world.launcher.adopt(identity, spec)
            async with agent.client(first) as client:
                thread = await client.start_thread(agent.options())
                await thread.start_turn("wait at the gate")
                # The command writes its pid once it runs.
                await until(lambda: who.exists() and who.read_text())
            await first.release()
        finally:
            daemon.kill()
            await daemon.wait()

        server = await supervisor.adopt(identity, spec)
        assert server.identity == identity
        async with agent.client(server) as client:
            again = await client.resume_thread(thread.id)
            turn = await again.find_active_turn()
            with gate.open("w") as file:
                file.write("open\n")
            result = await asyncio.wait_for(turn.result(), PATIENCE)
            assert result.status == "completed"
        await supervisor.stop(server)
    assert not identity.is_alive()
    assert not spec.socket.is_symlink()


async def until(condition):
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)
