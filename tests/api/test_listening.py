"""The socket's file: made whole, replaced when stale, left to whoever lives on it."""

import asyncio
import os
import socket
import stat
from pathlib import Path

import pytest

from byred.api.connection import Limits
from byred.api.errors import ListenError
from byred.api.socket import serve

SECOND_GROUP = "nogroup"


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def exists(path: Path) -> bool:
    return os.path.lexists(path)


def is_root() -> bool:
    return os.getuid() == 0


async def answers(path: Path) -> bool:
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(b"x\n")
    line = await reader.readline()
    writer.close()
    return b"-32700" in line


async def test_it_has_its_mode(folder: Path) -> None:
    path = folder / "s.sock"
    async with serve(path, {}, mode=0o620):
        made = path.stat()
        assert stat.S_ISSOCK(made.st_mode)
        assert stat.S_IMODE(made.st_mode) == 0o620
        assert names(folder) == ["s.sock"]
        assert await answers(path)


@pytest.mark.skipif(not is_root(), reason="only root may give a file to another group")
async def test_it_has_its_group(folder: Path) -> None:
    import grp  # noqa: PLC0415

    path = folder / "s.sock"
    async with serve(path, {}, mode=0o660, group=SECOND_GROUP):
        assert path.stat().st_gid == grp.getgrnam(SECOND_GROUP).gr_gid


async def test_it_is_gone_afterwards_with_its_folder_kept(folder: Path) -> None:
    path = folder / "made" / "s.sock"
    async with serve(path, {}):
        pass
    assert path.parent.is_dir()
    assert not path.exists()


async def test_a_stale_one_is_replaced(folder: Path) -> None:
    path = folder / "s.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
        dead.listen()
    async with serve(path, {}):
        assert await answers(path)


async def test_a_live_one_is_left_alone(folder: Path) -> None:
    path = folder / "s.sock"
    async with serve(path, {}):
        with pytest.raises(ListenError, match="a program answers there; stop it, or set daemon"):
            async with serve(path, {}):
                pass
        assert await answers(path)


async def test_a_live_one_whose_queue_is_full_is_left_alone(folder: Path) -> None:
    path = folder / "s.sock"
    with socket.socket(socket.AF_UNIX) as busy, socket.socket(socket.AF_UNIX) as waiting:
        busy.bind(str(path))
        busy.listen(0)
        waiting.connect(str(path))
        with pytest.raises(ListenError, match="a program answers there"):
            async with serve(path, {}):
                pass


@pytest.mark.parametrize("what", ["file", "folder", "link"])
async def test_what_is_no_socket_is_left_alone(folder: Path, what: str) -> None:
    path = folder / "s.sock"
    if what == "file":
        path.write_text("precious")
    elif what == "folder":
        path.mkdir()
    else:
        path.symlink_to(folder / "elsewhere")
    with pytest.raises(ListenError, match="there is something that is no socket"):
        async with serve(path, {}):
            pass
    assert exists(path)


async def test_another_ones_file_is_not_removed(folder: Path) -> None:
    path = folder / "s.sock"
    async with serve(path, {}):
        path.unlink()
        path.write_text("precious")
    assert path.read_text() == "precious"


async def test_a_folder_that_cannot_be_made_is_explained(folder: Path) -> None:
    (folder / "file").touch()
    with pytest.raises(ListenError, match=r"cannot listen on .*: Not a directory; mend that"):
        async with serve(folder / "file" / "s.sock", {}):
            pass


async def test_an_unknown_group_is_explained(folder: Path) -> None:
    with pytest.raises(ListenError, match="no-such-group"):
        async with serve(folder / "s.sock", {}, group="no-such-group"):
            pass
    assert names(folder) == []


async def test_a_path_that_is_too_long_is_explained(folder: Path) -> None:
    with pytest.raises(ListenError, match="at most 107 bytes"):
        async with serve(folder / ("x" * 120), {}):
            pass
    assert names(folder) == []


async def test_the_end_does_not_wait_for_idle_clients(folder: Path) -> None:
    path = folder / "s.sock"
    async with asyncio.timeout(5):
        async with serve(path, {}, limits=Limits(grace=60)):
            reader, writer = await asyncio.open_unix_connection(str(path))
            await answers(path)
        assert await reader.read() == b""
        writer.close()


async def test_a_call_in_progress_is_answered_at_the_end(serving) -> None:
    async with serving(grace=20) as server:
        client = await server.connect()
        await client.send(b'{"jsonrpc":"2.0","id":1,"method":"test.wait"}\n')
        await server.world.waiting.wait()
        asyncio.get_running_loop().call_later(0.05, server.world.gate.set)
    assert (await client.line())["result"] == {"waited": True}


async def test_a_call_that_does_not_end_is_not_waited_for(folder: Path, serving) -> None:
    async with asyncio.timeout(5):
        async with serving(grace=0.05) as server:
            server.world.gate.set = lambda: None
            client = await server.connect()
            await client.send(b'{"jsonrpc":"2.0","id":1,"method":"test.wait"}\n')
            await server.world.waiting.wait()
        await client.ended()
    assert names(folder) == []


async def test_an_error_of_the_daemon_comes_out_as_it_is(folder: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with serve(folder / "s.sock", {}):
            raise ZeroDivisionError
