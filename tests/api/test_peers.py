"""Who is let in."""

import asyncio
import os
import pwd
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from byred.api import peers
from byred.api.errors import PeerRefusedError
from byred.api.peers import Gate
from byred.api.socket import serve


def open_to_all(folder: Path) -> None:
    folder.chmod(0o755)


needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
NOBODY = pwd.getpwnam("nobody")

CLIENT = """
import contextlib, os, socket, sys
path, uid, gid, groups = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
os.setgroups([int(group) for group in groups.split(",") if group])
os.setgid(gid)
os.setuid(uid)
with socket.socket(socket.AF_UNIX) as s:
    s.settimeout(10)
    s.connect(path)
    # Who is refused finds the socket closed, with the reason in it.
    with contextlib.suppress(BrokenPipeError):
        s.sendall(b"x\\n")
    print(s.makefile().readline())
"""


async def as_somebody(path: Path, *, uid: int, gid: int, groups: str = "") -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CLIENT, path, str(uid), str(gid), groups,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    return (out + err).decode()


async def test_the_owner_is_let_in_by_name() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        peer = await Gate(owner=os.getuid(), group=None).admit(ours)
    assert peer.uid == os.getuid()
    assert peer.pid == os.getpid()
    assert peer.user == pwd.getpwuid(os.getuid()).pw_name


@needs_root
@pytest.mark.parametrize(
    ("mode", "group", "gid", "answer"),
    [
        (0o600, "", NOBODY.pw_gid, "Permission denied"),
        # The file lets everybody in, the daemon does not.
        (0o666, "", NOBODY.pw_gid, "cannot serve user nobody (uid "),
        (0o666, "nogroup", NOBODY.pw_gid, "-32700"),
        (0o660, "nogroup", NOBODY.pw_gid, "-32700"),
        (0o660, "users", NOBODY.pw_gid, "Permission denied"),
        # Somebody who took on the group for this one process.
        (0o660, "users", 100, "-32700"),
        (0o606, "nogroup", 100, "cannot serve user nobody"),
    ],
)
async def test_others_are_let_in_by_the_group(
    folder: Path, mode: int, group: str, gid: int, answer: str
) -> None:
    open_to_all(folder)
    path = folder / "s.sock"
    async with serve(path, {}, mode=mode, group=group):
        assert answer in await as_somebody(path, uid=NOBODY.pw_uid, gid=gid)


@needs_root
@pytest.mark.promise("only_the_owner_connects")
async def test_the_refused_are_told_and_others_are_served(folder: Path) -> None:
    open_to_all(folder)
    path = folder / "s.sock"
    async with serve(path, {}, mode=0o666):
        answer = await as_somebody(path, uid=NOBODY.pw_uid, gid=NOBODY.pw_gid)
        assert '"code":-32004' in answer
        assert '"kind":"invalid"' in answer
        assert "-32700" in await as_somebody(path, uid=0, gid=0)


@needs_root
async def test_a_user_without_a_name_is_known_by_number(folder: Path) -> None:
    open_to_all(folder)
    path = folder / "s.sock"
    async with serve(path, {}, mode=0o666):
        assert "user 54321 (uid 54321)" in await as_somebody(path, uid=54321, gid=54321)


async def test_a_directory_service_that_hangs_lets_nobody_new_in(monkeypatch) -> None:
    release = asyncio.Event()
    loop = asyncio.get_running_loop()

    def hang(uid: int) -> object:
        asyncio.run_coroutine_threadsafe(release.wait(), loop).result(10)
        raise KeyError(uid)

    monkeypatch.setattr(peers, "LOOKUP_TIMEOUT", 0.05)
    monkeypatch.setattr("pwd.getpwuid", hang)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        if os.getuid():
            with pytest.raises(PeerRefusedError):
                await Gate(owner=os.getuid() + 1, group=None).admit(ours)
        assert (await Gate(owner=os.getuid(), group=None).admit(ours)).user == str(os.getuid())
    release.set()


async def test_names_are_looked_up_once_in_a_while(monkeypatch) -> None:
    asked = []
    real = pwd.getpwuid

    def count(uid: int) -> pwd.struct_passwd:
        asked.append(uid)
        return real(uid)

    monkeypatch.setattr("pwd.getpwuid", count)
    gate = Gate(owner=os.getuid(), group=None)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for _ in range(3):
            await gate.admit(ours)
        assert len(asked) == 1
        monkeypatch.setattr(peers, "REMEMBER", 0.0)
        later = Gate(owner=os.getuid(), group=None)
        await later.admit(ours)
        await later.admit(ours)
    assert len(asked) == 3
