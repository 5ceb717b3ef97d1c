"""The codex client against OpenAI's SDK and against a bare loop, in one run on one machine.

Each figure comes from a process of its own, the best of several for times. The SDK lives in a
throw-away environment in the cache, at the version of the pinned binary.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

from byred.codex import find_binary

HERE = Path(__file__).parent
SDK = "openai-codex==0.163.0"
STREAM_BYTES = 100 * 1024 * 1024
LIMIT = 1800


def sdk_python() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = base / "byred" / "bench" / SDK.replace("==", "-")
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", SDK],
            check=True,
            timeout=LIMIT,
        )
        (home / "ready").touch()
    return python


def probe(python: Path, *arguments: str | Path) -> dict[str, Any]:
    done = subprocess.run(
        [python, HERE / "_codex_probe.py", *arguments],
        check=True,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def best(python: Path, *arguments: str | Path, times: int = 3) -> dict[str, Any]:
    """Run a probe several times and return the lowest of each figure."""
    runs = [probe(python, *arguments) for _ in range(times)]
    return {name: min(run[name] for run in runs) for name in runs[0]}


class Table:
    """Rows of what was measured, what it is compared with, and what was promised."""

    def __init__(self) -> None:
        self.failed = 0
        sys.stdout.write(f"{'':44}{'ours':>10}{'other':>10}{'ratio':>8}  promised\n")

    def row(
        self, name: str, ours: float, other: float, ratio: float, promise: str, ok: bool
    ) -> None:
        self.failed += not ok
        mark = "" if ok else "   MISSED"
        sys.stdout.write(f"{name:44}{ours:>10.2f}{other:>10.2f}{ratio:>8.2f}  {promise}{mark}\n")


def main() -> int:
    ours, sdk = Path(sys.executable), sdk_python()
    table = Table()

    # Once unmeasured: both have their bytecode then.
    for python, which in ((ours, "ours"), (sdk, "sdk")):
        probe(python, which, "import")
    a, b = best(ours, "ours", "import", times=5), best(sdk, "sdk", "import", times=5)
    ratio = a["seconds"] / b["seconds"]
    table.row("import, ms", a["seconds"] * 1e3, b["seconds"] * 1e3, ratio, "<= 0.20", ratio <= 0.2)
    ratio = a["mb"] / b["mb"]
    table.row("memory after import, MB", a["mb"], b["mb"], ratio, "<= 0.50", ratio <= 0.5)

    with tempfile.TemporaryDirectory(prefix="byred-bench-") as folder:
        stream, peer = Path(folder) / "stream.jsonl", HERE / "_codex_peer.py"
        subprocess.run(
            [ours, HERE / "_codex_record.py", stream, str(STREAM_BYTES)], check=True, timeout=LIMIT
        )
        size = stream.stat().st_size / 1e6
        a = best(ours, "ours", "stream", stream, peer)
        b = best(sdk, "sdk", "stream", stream, peer, times=2)
        bare = best(ours, "bare", "stream", stream, peer)
        if (a["events"], a["read"]) != (b["events"], b["read"]):
            raise SystemExit(f"the two read different streams: {a} against {b}")
        rate, other = size / a["seconds"], size / b["seconds"]
        table.row(
            "stream against the SDK, MB/s", rate, other, rate / other, ">= 3", rate >= 3 * other
        )
        loop = size / bare["json_seconds"]
        table.row(
            "  against a bare json loop, MB/s",
            rate,
            loop,
            rate / loop,
            ">= 0.40",
            rate >= 0.4 * loop,
        )
        fast = size / bare["seconds"]
        table.row(
            "  against a bare msgspec loop, MB/s", rate, fast, rate / fast, "(no promise)", True
        )

        homes = Path(folder) / "homes"
        for which in ("ours", "sdk"):
            for number in range(20):
                (homes / f"{which}-{number}").mkdir(parents=True)
        codex = find_binary().path
        a = probe(ours, "ours", "sessions", codex, homes)
        b = probe(sdk, "sdk", "sessions", codex, homes)
        ratio = a["threads"] / b["threads"]
        ok = a["threads"] == 1
        table.row("threads of 20 sessions", a["threads"], b["threads"], ratio, "1", ok)
        ratio = a["mb"] / b["mb"]
        table.row("memory of 20 sessions, MB", a["mb"], b["mb"], ratio, "<= 0.50", ratio <= 0.5)
    return int(table.failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
