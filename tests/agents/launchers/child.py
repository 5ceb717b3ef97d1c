"""A server that misbehaves on request: child.py MODE MARKER REPORT.

Every process that comes from it keeps MARKER in its command line, so that a test can look for what
is left without asking the code under test. REPORT is an abstract datagram socket that gets one line
once the trouble is in place.
"""

import os
import signal
import socket
import sys
import time

MODE, MARKER, REPORT = sys.argv[1:4]
LISTENS = os.fstat(0).st_rdev == os.makedev(1, 3)


def report(text: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.sendto(text.encode(), "\0" + REPORT)


def sleep_on() -> None:
    """Wait for a signal's handler to end it."""
    while True:
        signal.pause()


def fork_sleeper() -> int:
    pid = os.fork()
    if pid == 0:
        sleep_on()
    return pid


def detach(then) -> None:
    """Double fork with a session of its own: the classical daemon."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            then()
        os._exit(0)
    os.wait()


def serve() -> None:
    """Echo lines until the input ends, as a server on stdio would."""
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


def live() -> None:
    # /dev/null as stdin is what a server on a socket gets: it lives until TERM.
    if LISTENS:
        sleep_on()
    else:
        serve()


def quiet_sleeper() -> None:
    null = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    report("ready")
    sleep_on()


def scrubbed_sleeper() -> None:
    """Shed the environment too: only a real container holds this one."""
    os.execve(sys.executable, [sys.executable, "-I", "-S", __file__, "sleeper", MARKER, REPORT], {})


def fleeing() -> None:
    """Never be the same process for long: fork, and let the parent die; for half a minute."""
    report("ready")
    for _ in range(3000):
        time.sleep(0.01)
        if os.fork():
            os._exit(0)
        os.setsid()
    os._exit(0)


if LISTENS:
    # Before anything is reported; whoever ignores or answers TERM otherwise does so below.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))

if MODE == "plain":
    report("ready")
    live()
elif MODE == "survivor":
    live()
elif MODE == "sleeper":
    quiet_sleeper()
elif MODE == "exit":
    sys.exit(int(REPORT))
elif MODE == "detached":
    detach(quiet_sleeper)
    live()
elif MODE == "orphans":
    # The pipe ends once the last orphan is gone, be it reaped or not.
    source, sink = os.pipe()
    for _ in range(20):
        detach(lambda: os._exit(0))
    os.close(sink)
    os.read(source, 1)
    report("ready")
    live()
elif MODE == "scrubbed":
    detach(scrubbed_sleeper)
    live()
elif MODE == "hundred":
    for _ in range(100):
        fork_sleeper()
    report("ready")
    live()
elif MODE == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    report("ready")
    sleep_on()
elif MODE == "deaf":
    # It takes TERM but not the end of its input.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
    report("ready")
    sleep_on()
elif MODE == "closes":
    os.close(0)
    os.close(1)
    report("ready")
    sleep_on()
elif MODE == "holder":
    # The grandchild keeps the pipes open after the server is gone.
    if os.fork() == 0:
        os.setsid()
        report("ready")
        sleep_on()
    live()
elif MODE == "fleeing":
    if os.fork() == 0:
        fleeing()
    live()
else:
    sys.exit(f"unknown mode {MODE}")
