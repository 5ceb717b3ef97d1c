"""Homes are made ahead with the real codex, claimed by a rename, and cleaned without loss."""

import asyncio
import os
import subprocess
import threading
import tomllib

import codex_cli_bin
import pytest

from byred.workspace.home import homes
from byred.workspace.home.home import ensure_home

HELLO = (
    b'{"id":0,"method":"initialize","params":{"clientInfo":{"name":"byred-test","version":"0"},'
    b'"capabilities":{"experimentalApi":true}}}\n'
)


def start(path):
    """Start the real server on a home until it has answered, then end it."""
    with subprocess.Popen(
        [str(codex_cli_bin.bundled_codex_path()), "app-server", "--strict-config"],
        env={"PATH": os.environ["PATH"], "CODEX_HOME": str(path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(HELLO)
        server.stdin.flush()
        answer = server.stdout.readline()
        server.communicate(timeout=60)
    return answer


async def warm(path):
    assert b'"result"' in await asyncio.to_thread(start, path)


async def cold(path):
    """Stand for a warm-up where the server itself doesn't matter."""
    (path / "state").write_text("made\n")


async def make(folder, size, how=cold, **options):
    return await homes.make_ahead(folder, size=size, config={}, warm=how, **options)


async def test_the_real_codex_runs_in_a_home_that_was_made_elsewhere(tmp_path):
    assert await make(tmp_path / "ahead", 1, warm) == 1
    made = homes.ready(tmp_path / "ahead")[0]
    databases = {path.name for path in made.glob("*.sqlite")}
    assert databases

    assert homes.claim(tmp_path / "ahead", tmp_path / "task" / "home")
    path = await ensure_home(tmp_path / "task" / "home", config={"model": "m"}, auth_file=None)

    assert {path.name for path in path.glob("*.sqlite")} == databases
    assert tomllib.loads((path / "config.toml").read_text())["model"] == "m"
    answer = await asyncio.to_thread(start, path)
    assert str(path).encode() in answer


async def test_a_home_that_is_there_is_never_replaced(tmp_path):
    await make(tmp_path / "ahead", 1)
    (tmp_path / "home").mkdir()
    assert not homes.claim(tmp_path / "ahead", tmp_path / "home")
    assert len(homes.ready(tmp_path / "ahead")) == 1


def test_without_a_ready_home_nothing_is_claimed(tmp_path):
    assert not homes.claim(tmp_path / "ahead", tmp_path / "home")
    assert not (tmp_path / "home").exists()


async def test_no_home_is_claimed_twice(tmp_path):
    await make(tmp_path / "ahead", 10)
    together = threading.Barrier(20)

    def one(number):
        together.wait(20)
        return homes.claim(tmp_path / "ahead", tmp_path / str(number))

    done = []
    threads = [
        threading.Thread(target=lambda n=number: done.append(one(n))) for number in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(done) == [False] * 10 + [True] * 10
    assert len({p.stat().st_ino for p in tmp_path.iterdir() if p.name.isdigit()}) == 10


async def test_a_warm_up_that_fails_leaves_nothing(tmp_path):
    async def broken(path):
        (path.parent / "stderr.log").touch()
        raise RuntimeError("no server")

    with pytest.raises(RuntimeError):
        await make(tmp_path / "ahead", 1, broken)
    assert homes.ready(tmp_path / "ahead") == []
    assert list((tmp_path / "ahead" / ".making").iterdir()) == []


async def test_a_warm_up_that_is_cancelled_leaves_nothing(tmp_path):
    at_work = asyncio.Event()

    async def endless(path):
        at_work.set()
        await asyncio.Event().wait()

    making = asyncio.ensure_future(make(tmp_path / "ahead", 1, endless))
    await at_work.wait()
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    assert homes.ready(tmp_path / "ahead") == []
    assert list((tmp_path / "ahead" / ".making").iterdir()) == []


async def test_what_a_killed_call_left_is_removed_by_the_next(tmp_path):
    left = tmp_path / "ahead" / ".making" / "1"
    left.mkdir(parents=True)
    (left / "config.toml").touch()
    assert await make(tmp_path / "ahead", 1) == 1
    assert list((tmp_path / "ahead" / ".making").iterdir()) == []


async def test_making_stops_when_the_machine_is_busy_and_shrinks_when_told(tmp_path):
    answers = iter([True, False])
    assert await make(tmp_path / "ahead", 5, go_on=lambda: next(answers)) == 1
    assert await make(tmp_path / "ahead", 3) == 3
    assert await make(tmp_path / "ahead", 1) == 1


async def test_cleaning_removes_only_what_codex_makes_again(tmp_path):
    path = await ensure_home(tmp_path / "home", config={}, auth_file=tmp_path / "auth.json")
    await warm(path)
    (path / "sessions").mkdir(exist_ok=True)
    (path / "sessions" / "rollout").write_text("x" * 10_000)
    (path / "log").mkdir(exist_ok=True)
    (path / "log" / "big").write_text("x" * 500_000)
    before = homes.clean(path, 1 << 40)
    assert (path / "log" / "big").exists()

    after = homes.clean(path, 100_000)

    assert after <= before - 500_000
    assert (path / "sessions" / "rollout").exists()
    assert (path / "auth.json").is_symlink()
    assert list(path.glob("state_*.sqlite"))
    await warm(path)
