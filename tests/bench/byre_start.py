"""How long a person waits for `byre ls`, as a multiple of what Python itself takes to start.

A ratio in one run, because the machine is never the same twice: the commands take turns, and the
median of each is compared.
"""

import os
import statistics
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

from byred.cli.demo.ground import Ground
from byred.cli.demo.server import Server

_TURNS = 30
_MOST = 8.0  # times `python -c pass`
_LIMIT = 30  # seconds for one command


def main() -> int:
    """Measure against a daemon of its own, print a table, and return 0 when it is fast enough."""
    byre = Path(sysconfig.get_path("scripts")) / "byre"
    ground = Ground(os.environ)
    try:
        ground.prepare()
        with Server(ground) as server:
            server.connect().close()
            took = measure(
                {
                    "python -c pass": [sys.executable, "-c", "pass"],
                    "python -c 'import click'": [sys.executable, "-c", "import click"],
                    "byre ls": [str(byre), "--socket", str(ground.socket), "ls"],
                    "byre --json ls": [str(byre), "--socket", str(ground.socket), "--json", "ls"],
                },
                _TURNS,
            )
    finally:
        ground.remove()
    return report(took)


def measure(commands: dict[str, list[str]], turns: int) -> dict[str, float]:
    """The median seconds of each command; they take turns, so that a busy moment hits them all."""
    took: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(turns):
        for name, command in commands.items():
            began = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=_LIMIT)
            took[name].append(time.perf_counter() - began)
    return {name: statistics.median(seconds) for name, seconds in took.items()}


def report(took: dict[str, float]) -> int:
    """Print what each command took; returns 1 when `byre ls` takes too long."""
    base = took["python -c pass"]
    lines = [f"{'command':26} {'median':>10} {'ratio':>7}"]
    lines += [f"{name:26} {s * 1000:7.1f} ms {s / base:7.2f}" for name, s in took.items()]
    ratio = took["byre ls"] / base
    lines.append(f"byre ls takes {ratio:.2f} times Python's start; {_MOST:.0f} are allowed")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0 if ratio <= _MOST else 1


if __name__ == "__main__":
    sys.exit(main())
