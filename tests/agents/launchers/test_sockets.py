"""Where a listening server is reached."""

import asyncio
import os
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from byred.agents.launchers import sockets
from byred.agents.launchers.contract import Exit, LaunchError, ServerSpec
from byred.agents.launchers.sockets import listening_at, remove_socket
from byred.agents.process import ProcessIdentity


@dataclass
class Listening:
    """As much of a server as has to do with its socket."""

    spec: ServerSpec
    identity: ProcessIdentity
    ended: asyncio.Future

    async def wait(self):
        return await asyncio.shield(self.ended)


@pytest.fixture
def tmp_path():
    """A short path: a socket's own may have no more than 108 bytes."""
    with tempfile.TemporaryDirectory(prefix="byred-") as folder:
        yield Path(folder)


@pytest.fixture
async def server(tmp_path):
    spec = ServerSpec(
        argv=("codex",),
        cwd=tmp_path,
        env={},
        home=tmp_path,
        task_id=3,
        stderr=tmp_path / "stderr.log",
        socket=tmp_path / "server.sock",
    )
    ended = asyncio.get_running_loop().create_future()
    yield Listening(spec, ProcessIdentity.of(os.getpid()), ended)
    ended.cancel()


@pytest.fixture
def listen():
    made = []

    def listen(path):
        made.append(socket.socket(socket.AF_UNIX))
        made[-1].bind(str(path))
        made[-1].listen()
        return path

    yield listen
    for each in made:
        each.close()


async def test_a_link_leads_to_the_socket_itself(server, listen, tmp_path):
    target = listen(tmp_path / "elsewhere")
    server.spec.socket.symlink_to(target)
    assert await listening_at(server) == target


async def test_a_socket_without_a_link_is_taken_as_it_is(server, listen):
    path = listen(server.spec.socket)
    assert await listening_at(server) == path


async def test_a_socket_that_appears_later_is_waited_for(server, listen):
    waiting = asyncio.ensure_future(listening_at(server))
    await asyncio.sleep(0)
    listen(server.spec.socket)
    assert await asyncio.wait_for(waiting, 20) == server.spec.socket


async def test_a_target_that_only_the_server_sees_is_reached_through_it(
    server, listen, tmp_path, monkeypatch
):
    target = listen(tmp_path / "hidden")
    server.spec.socket.symlink_to(target)
    seen = Path.exists

    def exists(path):
        return path != target and seen(path)

    monkeypatch.setattr(Path, "exists", exists)
    through = await listening_at(server)
    assert through == Path(f"/proc/{os.getpid()}/root{target}")
    assert through.samefile(target)


async def test_a_socket_that_nobody_listens_on_is_not_taken(server, tmp_path, monkeypatch):
    monkeypatch.setattr(sockets, "LISTEN_LIMIT", 0.1)
    target = tmp_path / "left"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(target))
        server.spec.socket.symlink_to(target)
        with pytest.raises(LaunchError, match="it does not listen"):
            await listening_at(server)
    with pytest.raises(LaunchError, match="it does not listen"):
        await listening_at(server)


async def test_a_server_that_ends_first_is_said_with_how(server):
    server.ended.set_result(Exit(1, None, "exited with status 1"))
    with pytest.raises(LaunchError, match=r"it exited with status 1 before it listened; see .*log"):
        await listening_at(server)


async def test_a_server_that_never_listens_is_given_up(server, monkeypatch):
    monkeypatch.setattr(sockets, "LISTEN_LIMIT", 0.1)
    server.spec.socket.symlink_to("nowhere")
    with pytest.raises(LaunchError, match=r"it does not listen at .* after 0.1 s"):
        await listening_at(server)


def test_what_a_killed_server_left_is_removed(listen, tmp_path):
    target, link = listen(tmp_path / "target"), tmp_path / "link"
    lock = tmp_path / "target.lock"
    lock.touch()
    link.symlink_to(target)
    remove_socket(link)
    assert not target.exists()
    assert not lock.exists()
    assert not link.is_symlink()
    remove_socket(link)
