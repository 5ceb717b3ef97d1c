"""Finding codex, and judging its version."""

import asyncio
import contextlib
import os
import signal
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byred.codex import (
    BinaryError,
    Version,
    VersionError,
    check_version,
    find_binary,
    read_version,
)
from byred.codex import binary as module
from byred.codex.binary import NEWEST_TESTED


def program(path: Path, text: str = "#!/bin/sh\necho codex-cli 0.163.0\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_setting_wins_over_the_wheel(tmp_path):
    mine = program(tmp_path / "mine")
    found = find_binary(str(mine))
    assert (found.path, found.source) == (mine, "setting")


def test_without_a_setting_it_is_the_wheels_own_program():
    found = find_binary()
    assert found.source == "wheel"
    assert found.path.name == "codex"


def test_without_a_wheel_it_is_the_one_on_path(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_wheel_program", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BinaryError, match=r"no codex is on PATH; install byred\[codex\]"):
        find_binary()
    mine = program(tmp_path / "codex")
    found = find_binary()
    assert (found.path, found.source) == (mine, "PATH")


def test_a_setting_can_be_a_name_on_path_or_below_the_home(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    mine = program(tmp_path / "my-codex")
    assert find_binary("my-codex").path == mine
    assert find_binary("~/my-codex").path == mine


@pytest.mark.parametrize("what", ["missing", "folder", "not executable"])
def test_a_setting_that_cannot_be_run_is_an_error_that_names_it(tmp_path, what):
    path = tmp_path / "thing"
    if what == "folder":
        path.mkdir()
    elif what == "not executable":
        path.write_text("x")
    with pytest.raises(BinaryError, match="is not a program that can be run"):
        find_binary(str(path))


@pytest.mark.parametrize("layout", ["inside", "beside"])
def test_the_node_wrapper_is_resolved_to_the_native_program(tmp_path, layout):
    package = tmp_path / "node_modules" / "@openai" / "codex"
    shim = program(package / "bin" / "codex.js", "#!/usr/bin/env node\n")
    machine = "aarch64" if os.uname().machine in ("aarch64", "arm64") else "x86_64"
    place = (
        package / "node_modules" / "@openai" / "codex-linux"
        if layout == "inside"
        else (package.parent / "codex-linux")
    )
    native = program(place / "vendor" / f"{machine}-unknown-linux-musl" / "bin" / "codex")
    program(place / "vendor" / "riscv-unknown-linux-musl" / "bin" / "codex")
    link = tmp_path / "bin" / "codex"
    link.parent.mkdir()
    link.symlink_to(shim)
    assert find_binary(str(link)).path == native


def test_a_wrapper_without_its_native_program_is_an_error(tmp_path):
    shim = program(tmp_path / "a" / "b" / "codex.js", "#!/usr/bin/env node\n")
    with pytest.raises(BinaryError, match="cannot find the native codex behind the Node wrapper"):
        find_binary(str(shim))


async def test_the_version_is_what_the_program_prints(codex_program, tmp_path):
    assert str(await read_version(find_binary().path)) == "0.163.0"
    pre = program(tmp_path / "codex", "#!/bin/sh\necho codex-cli 0.164.0-alpha.3\n")
    assert await read_version(pre) == Version(0, 164, 0, "alpha.3")


async def test_asking_for_the_version_writes_into_no_home(codex_program, tmp_path, monkeypatch):
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    home.mkdir()
    temporary.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("CODEX_HOME", str(home))
    # codex leaves a home alone that is below the directory for temporary files.
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    writer = '#!/bin/sh\necho x >"$CODEX_HOME/x"; echo 0.163.0\n'
    for path in (codex_program, program(tmp_path / "codex", writer)):
        await read_version(path)
    assert [*home.iterdir(), *temporary.iterdir()] == []


async def test_asking_for_the_version_needs_no_disk(codex_program, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path / "none"))
    assert str(await read_version(codex_program)) == "0.163.0"


@pytest.mark.parametrize(("said", "found"), [("codex-cli 0.163.0", "0.163.0"), ("", "")])
async def test_a_child_that_the_program_leaves_behind_holds_nothing_up(tmp_path, said, found):
    noted = tmp_path / "pid"
    body = f"setsid sh -c 'exec sleep 60' & echo $! >{noted}; printf '{said}'"
    path = program(tmp_path / "codex", f"#!/bin/sh\n{body}\n")
    begun = time.monotonic()
    try:
        if found:
            assert str(await read_version(path)) == found
        else:
            with pytest.raises(BinaryError, match="cannot read a codex version from ''"):
                await read_version(path)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(noted.read_text()), signal.SIGKILL)
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "#!/bin/sh\necho hello\n",
            "'hello.n', which is what .*/codex --version says",
        ),
        ("#!/bin/sh\necho codex-cli 0.163.0; exit 3\n", "exit status 3"),
        ("#!/no/such/interpreter\n", "cannot run"),
    ],
)
async def test_a_program_that_is_no_codex_is_an_error(tmp_path, text, problem):
    with pytest.raises(BinaryError, match=problem):
        await read_version(program(tmp_path / "codex", text))


@pytest.mark.parametrize(
    "body", ["exec sleep 60", "echo codex-cli 0.163.0; exec sleep 60", "sleep 60"]
)
async def test_a_program_that_hangs_is_given_up_in_time(tmp_path, body):
    hung = program(tmp_path / "codex", f"#!/bin/sh\n{body}\n")
    begun = time.monotonic()
    with pytest.raises(BinaryError, match=r"no answer in 0\.3 s"):
        await read_version(hung, timeout=0.3)
    assert time.monotonic() - begun < 10


def test_too_old_is_an_error_that_names_both_versions():
    with pytest.raises(VersionError, match=r"cannot use codex 0\.136\.0: byred needs 0\.144\.0"):
        check_version(Version(0, 136, 0))


def test_tested_versions_pass_and_a_newer_one_is_warned_of():
    for good in (Version(0, 144, 0), Version(0, 144, 4), Version(0, 163, 0), NEWEST_TESTED):
        assert check_version(good) is None
    warning = check_version(Version(0, 172, 0))
    assert warning is not None
    assert "0.172.0 is newer than 0.171.0" in warning


@pytest.mark.parametrize(
    ("version", "can"), [("0.144.4", False), ("0.153.9", False), ("0.154.0", True), ("1.0.0", True)]
)
def test_tool_output_is_known_from_0_154_on(version, can):
    assert Version.parse(version).supports_tool_output is can


def test_versions_are_ordered_pre_releases_before_their_release():
    texts = [
        "0.9.9",
        "0.10.0-alpha.2",
        "0.10.0-alpha.10",
        "0.10.0-beta",
        "0.10.0",
        "0.10.1",
        "1.0.0",
    ]
    versions = [Version.parse(text) for text in texts]
    backwards = versions[::-1]
    assert sorted(backwards) == versions
    assert [str(each) for each in versions] == texts


NUMBER = st.integers(0, 999)


@given(NUMBER, NUMBER, NUMBER, st.sampled_from(["", "alpha.1", "rc2"]))
def test_a_version_reads_back_as_it_prints(major, minor, patch, pre):
    version = Version(major, minor, patch, pre)
    assert Version.parse(f"codex-cli {version}\n") == version


async def test_a_bad_config_ends_the_server_when_it_is_strict(home):
    (home.root / "config.toml").write_text('no_such_key = "x"\n')
    pipe = asyncio.subprocess.PIPE
    process = await home.spawn("--strict-config", stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    async with asyncio.timeout(20):
        assert await process.stdout.read() == b""
        assert await process.wait() != 0
    assert "no_such_key" in (home.root / "stderr.log").read_text()
