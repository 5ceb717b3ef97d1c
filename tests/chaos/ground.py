"""What a chaos run stands on: a small disk of its own, a clock that jumps, repositories.

The disk is a tmpfs in a mount namespace of this process alone, which ends with it. The clock is the
wall clock of the daemon and of its git commands: a library that is loaded before libc adds what a
file says. What this machine does not allow is said, and the run goes on without it.
"""

import ctypes
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

from tests.e2e.conftest import git

INSIDE = "BYRE_CHAOS_INSIDE"
DISK_BYTES = 1_500_000_000


def ports_of(seed: int) -> range:
    """Give the ports of a run's tasks, others for each seed: runs may go on beside each other."""
    first = 26000 + seed % 25 * 150
    return range(first, first + 150)


CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("BYRE_CHAOS_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *map = mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) offset = map;
    close(file);
}

int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int status = real ? real(id, now) : (int)syscall(SYS_clock_gettime, id, now);
    if (!status && offset && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        now->tv_sec += *offset;
    return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *into) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (into) *into = exact.tv_sec;
    return exact.tv_sec;
}
"""


def enter_namespace(arguments: list[str]) -> None:
    """Start this program again in a mount namespace of its own, where that is allowed."""
    if INSIDE in os.environ:
        return
    os.environ[INSIDE] = "no"
    unshare = shutil.which("unshare")
    if unshare is None:
        return
    for user in ([], ["-U", "-r"]):
        inside = [unshare, *user, "-m"]
        tried = subprocess.run(
            [*inside, "sh", "-c", "mount -t tmpfs -o size=1m none /mnt"],
            capture_output=True,
            check=False,
        )
        if tried.returncode == 0:
            os.environ[INSIDE] = "yes"
            os.execv(unshare, [*inside, sys.executable, "-m", "tests.chaos", *arguments])


class Disk:
    """A small disk, and how it is filled; without a namespace it is a folder that never fills."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.small = os.environ.get(INSIDE) == "yes"
        self._ballast = path / ".ballast"
        path.mkdir()
        if self.small:
            mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=755", "none", str(path)]
            subprocess.run(mount, check=True)

    def fill(self) -> None:
        """Leave not a byte."""
        while True:
            there = os.statvfs(self.path)
            free = there.f_bavail * there.f_frsize
            if not free:
                return
            with self._ballast.open("ab") as file:
                try:
                    os.posix_fallocate(file.fileno(), file.tell(), free)
                except OSError:
                    # Somebody was faster: the rest goes page by page.
                    _stuff(file.fileno())

    def free(self) -> None:
        """Give the room back."""
        self._ballast.unlink(missing_ok=True)


def _stuff(descriptor: int) -> None:
    try:
        while os.write(descriptor, bytes(1 << 16)):
            pass
    except OSError:
        return


class Clock:
    """The wall clock of a daemon; without a C compiler it never jumps."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._file = folder / "offset"
        self._file.write_bytes(struct.pack("q", 0))
        library = folder / "clock.so"
        source = folder / "clock.c"
        source.write_text(CLOCK)
        compiler = shutil.which("cc")
        self.jumps = compiler is not None
        self.environment: dict[str, str] = {}
        if compiler is None:
            return
        command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
        subprocess.run(command, check=True)
        ctypes.CDLL(str(library))  # one that cannot be loaded would be passed over in silence
        self.environment = {"LD_PRELOAD": str(library), "BYRE_CHAOS_CLOCK": str(self._file)}

    def jump(self, seconds: int) -> None:
        """Let the clock be so many seconds off from now on."""
        with self._file.open("r+b") as file:
            file.write(struct.pack("q", seconds))


REPO_FILE = """
verify = ["test -f README"]

[hooks]
before_run = "sleep 0.1"
after_turn = "sleep 0.1"

[setup]
run = "mkdir -p deps && sleep 0.2 && cp README deps/made"
key = ["README"]
keep = ["deps"]
"""


def make_repositories(folder: Path, count: int) -> list[Path]:
    """Make repositories; the first says in its `.byre.toml` how its tasks are set up."""
    made = []
    for number in range(count):
        path = folder / f"repo{number}"
        path.mkdir(parents=True)
        git("init", "-q", "-b", "main", cwd=path)
        # Who merges is whom git names; what runs here must not depend on the machine's own.
        git("config", "user.name", "A Person", cwd=path)
        git("config", "user.email", "person@example.org", cwd=path)
        git("config", "gc.auto", "0", cwd=path)
        (path / "README").write_text(f"Repository {number}.\n")
        (path / ".gitignore").write_text("deps/\n")
        if number == 0:
            (path / ".byre.toml").write_text(REPO_FILE)
        for name in range(20):
            (path / f"file{name}.txt").write_text(f"File {name}.\n" * 20)
        git("add", "-A", cwd=path)
        git("commit", "-q", "-m", "First", cwd=path)
        git("branch", "released", cwd=path)
        made.append(path)
    return made
