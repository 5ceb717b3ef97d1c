"""Identities, signals that cannot hit a stranger, and what /proc says."""

import os
import resource
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from byred.agents import process
from byred.agents.process import ProcessIdentity


@pytest.fixture
def child():
    # A name with what a parser of /proc/PID/stat stumbles over.
    code = "open('/proc/self/comm', 'w').write('a) R (1 b'); print(flush=True); input()"
    with subprocess.Popen(
        (sys.executable, "-S", "-c", code),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"CODEX_HOME": "/somewhere", "OTHER": "x"},
    ) as child:
        child.stdout.readline()
        yield child
        child.kill()


def test_a_process_is_known_whatever_it_calls_itself(child):
    stat = process.read_stat(child.pid)
    assert (stat.pid, stat.parent) == (child.pid, os.getpid())
    assert stat.state in "SR"
    assert stat.start_time > 0


def test_an_identity_is_pid_start_time_and_boot_together(child):
    identity = ProcessIdentity.of(child.pid)
    assert identity.is_alive()
    assert not replace(identity, start_time=identity.start_time + 1).is_alive()
    assert not replace(identity, boot_id="another").is_alive()
    assert not replace(identity, pid=os.getpid()).is_alive()


def test_a_zombie_is_not_alive(child):
    identity = ProcessIdentity.of(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert process.read_stat(child.pid).state == "Z"
    assert not identity.is_alive()


def test_a_process_that_is_gone_has_no_identity(child):
    identity = ProcessIdentity.of(child.pid)
    child.kill()
    child.wait()
    assert not identity.is_alive()
    assert process.read_stat(child.pid) is None
    assert process.open_pidfd(identity) is None
    assert process.peak_memory(child.pid) == 0
    assert process.read_environment(child.pid) == b""
    with pytest.raises(ProcessLookupError, match="cannot identify process"):
        ProcessIdentity.of(child.pid)


def test_a_signal_reaches_the_process_that_was_meant(child):
    assert process.send_signal(ProcessIdentity.of(child.pid), signal.SIGUSR1)
    assert child.wait(10) == -signal.SIGUSR1


@pytest.mark.promise("no_foreign_process_signalled")
@pytest.mark.parametrize("change", [{"start_time": 1}, {"boot_id": "another"}])
def test_a_signal_reaches_nobody_who_only_has_the_pid(child, change):
    stranger = replace(ProcessIdentity.of(child.pid), **change)
    assert not process.send_signal(stranger, signal.SIGKILL)
    assert child.poll() is None


def test_a_pid_that_became_a_threads_is_nobody():
    # /proc knows a thread of our own; pidfd_open refuses it.
    ready, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: (ready.set(), done.wait()))
    thread.start()
    ready.wait()
    try:
        stranger = ProcessIdentity.of(thread.native_id)
        assert process.open_pidfd(stranger) is None
    finally:
        done.set()
        thread.join()


def test_the_environment_and_the_memory_of_a_process_are_seen(child):
    assert set(process.read_environment(child.pid).split(b"\0")) == {
        b"CODEX_HOME=/somewhere",
        b"OTHER=x",
        b"",
    }
    assert process.peak_memory(child.pid) > 1_000_000


def test_we_are_among_the_processes():
    assert os.getpid() in process.pids()


def test_the_limit_of_open_files_is_raised_to_what_is_allowed():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        assert process.raise_file_limit() == before[1]
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
