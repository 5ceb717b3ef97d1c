"""What the daemon tells systemd."""

import asyncio
import os
import secrets
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from byred import sdnotify


@pytest.fixture(params=["file", "abstract"])
def manager(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, dict[str, str]]]:
    """Give what listens as systemd does, and the environment that says where."""
    with (
        tempfile.TemporaryDirectory(prefix="byred-") as folder,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock,
    ):
        name = f"@byred-{secrets.token_hex(8)}" if request.param == "abstract" else f"{folder}/n"
        sock.bind(name.replace("@", "\0"))
        sock.settimeout(10)
        yield sock, {"NOTIFY_SOCKET": name}


def test_a_message_is_one_datagram(manager) -> None:
    sock, environ = manager
    assert sdnotify.notify("READY=1", "STATUS=2 tasks\nrunning", environ=environ)
    assert sock.recv(1000) == b"READY=1\nSTATUS=2 tasks running"


def test_a_reload_says_when_it_began(manager) -> None:
    sock, environ = manager
    before = time.monotonic_ns() // 1000
    assert sdnotify.reloading(environ=environ)
    first, second = sock.recv(1000).decode().split("\n")
    assert first == "RELOADING=1"
    name, value = second.split("=")
    assert name == "MONOTONIC_USEC"
    assert before <= int(value) <= time.monotonic_ns() // 1000


def test_without_systemd_nothing_happens() -> None:
    assert not sdnotify.notify("READY=1", environ={})
    assert not sdnotify.reloading(environ={"NOTIFY_SOCKET": ""})


def test_a_manager_that_is_not_there_is_no_trouble(tmp_path: Path) -> None:
    assert not sdnotify.notify("READY=1", environ={"NOTIFY_SOCKET": str(tmp_path / "none")})


def test_a_manager_that_does_not_read_holds_up_for_a_moment_only(manager, monkeypatch) -> None:
    _, environ = manager
    monkeypatch.setattr(sdnotify, "SEND_TIMEOUT", 0.05)
    sent = 0
    while sdnotify.notify("WATCHDOG=1", environ=environ):
        sent += 1
        assert sent < 10_000
    assert sent > 0


@pytest.mark.parametrize(
    ("environ", "interval"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_signs_of_life_come_twice_as_often_as_asked(environ, interval) -> None:
    assert sdnotify.watchdog_interval(environ) == interval


async def test_signs_of_life_go_on(manager) -> None:
    sock, environ = manager
    task = asyncio.create_task(sdnotify.watchdog(environ | {"WATCHDOG_USEC": "20000"}))
    for _ in range(3):
        assert await asyncio.to_thread(sock.recv, 100) == b"WATCHDOG=1"
    task.cancel()
    await asyncio.wait([task])


async def test_without_systemd_no_sign_of_life_is_given() -> None:
    async with asyncio.timeout(5):
        await sdnotify.watchdog({})
