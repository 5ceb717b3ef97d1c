"""How fast rollouts are read, as ratios in one run.

`--last 3` on a huge rollout against a small one, by itself and in the process that the daemon
starts for it; a full read against a bare loop that splits and decodes (msgspec, the fastest decoder
that there is here); and what the import costs against that of OpenAI's
own models. A short version writes 100 MB; `BYRED_BENCH_LONG=1` writes 2 GB.
`BYRED_BENCH_SDK` names the Python of an environment that has `openai-codex`; without it one is made
for the run, and if that cannot be done the import is not compared.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import msgspec

from byred.codex.rollout import history, index, reader
from byred.codex.rollout.requests import Tell
from byred.codex.rollout.search import search
from byred.codex.rollout.selection import Selection

_CORPUS = Path(__file__).parents[1] / "codex" / "rollout" / "corpus" / "0.171.0"
_MB = 1024 * 1024
_SMALL, _SHORT, _LONG = 2 * _MB, 100 * _MB, 2048 * _MB
_LAST_MOST, _READ_LEAST, _IMPORT_MOST, _MEMORY_MOST = 3.0, 0.5, 0.1, 32.0
_ROUNDS = 15
_MINUTES = 10 * 60
_COMMANDS = 120
_THREAD = "01a00000-0000-7000-8000-000000000001"
_PARTS = (
    "byred.codex.rollout.history, byred.codex.rollout.ops, byred.codex.rollout.enums, "
    "byred.codex.rollout.types"
)
_IMPORT = "import time; a = time.process_time(); import {}; print(time.process_time() - a)"
_TELL = (
    "import sys; from pathlib import Path; from byred.codex.rollout import history\n"
    "sum(1 for _ in history.turns(Path(sys.argv[1])))\n"
    "status = Path('/proc/self/status').read_text()\n"
    "print(int(status.split('VmHWM:')[1].split()[0]) / 1024)"
)


def main() -> int:
    """Measure, print a table, and return 0 when every figure is within its bound."""
    size = _LONG if os.environ.get("BYRED_BENCH_LONG") else _SHORT
    with tempfile.TemporaryDirectory(prefix="byred-rollouts-") as folder:
        small, large = Path(folder, "rollout-small.jsonl"), Path(folder, "rollout-large.jsonl")
        grow(small, _SMALL)
        grow(large, size)
        rows = [
            *ends(small, large),
            *aside(small, large),
            *reads(large),
            *memory(small, large),
            *imports(folder),
        ]
    sys.stdout.write(f"a rollout of {size // _MB} MB against one of {_SMALL // _MB} MB\n")
    sys.stdout.write(f"{'what':44} {'figure':>16} {'bound':>8}\n")
    for name, figure, bound, _ in rows:
        sys.stdout.write(f"{name:44} {figure:>16} {bound:>8}\n")
    return 0 if all(good for *_, good in rows) else 1


def grow(path: Path, size: int) -> None:
    """Write a rollout of at least this many bytes: a tour, again and again, and a day's work.

    A tour's lines are short. To every round of it come commands with outputs of 1 to 10 kB, as
    codex cuts them, so that the mean of a line is that of ordinary sessions, some 2 kB.
    """
    source = max(_CORPUS.glob("rollout-*.jsonl"), key=lambda one: one.stat().st_size)
    head, _, turns = source.read_bytes().partition(b"\n")
    work = b"".join(command(number) for number in range(_COMMANDS))
    with path.open("wb") as out:
        out.write(head + b"\n")
        while out.tell() < size:
            out.write(turns + work)


def command(number: int) -> bytes:
    """Return the lines of one command."""
    call = {"type": "function_call", "name": "exec_command", "call_id": f"w{number}"}
    text = "".join(f'src/module_{n}.py:{n}: warning "{n * 7919}"\n' for n in range(number * 3))
    items = (
        {**call, "arguments": f'{{"cmd": "make check-{number}"}}'},
        {"type": "function_call_output", "call_id": f"w{number}", "output": text[:10_000]},
    )
    return b"".join(
        msgspec.json.encode(
            {"timestamp": "2026-01-01T00:00:00.000Z", "type": "response_item", "payload": item}
        )
        + b"\n"
        for item in items
    )


Row = tuple[str, str, str, bool]


def ends(small: Path, large: Path) -> list[Row]:
    """Compare the last three turns of a huge rollout with those of a small one."""
    took: dict[Path, list[float]] = {small: [], large: []}
    for _ in range(_ROUNDS):
        for path, seconds in took.items():
            seconds.append(timed(lambda path=path: history.last(path, 3)))
    small_ms, large_ms = (statistics.median(took[path]) * 1000 for path in (small, large))
    ratio = large_ms / small_ms
    return [
        ("the last 3 turns, small", f"{small_ms:.1f} ms", "", True),
        ("the last 3 turns, large", f"{large_ms:.1f} ms", "", True),
        ("large / small", f"{ratio:.2f}", f"<= {_LAST_MOST}", ratio <= _LAST_MOST),
    ]


def aside(small: Path, large: Path) -> list[Row]:
    """Ask the process that `byre history` is answered by for the last 3 turns, and for all."""
    homes = [home(path) for path in (small, large)]
    three = Tell("", Selection(last=3))
    took: list[list[float]] = [[], []]
    for _ in range(5):
        for at, place in enumerate(homes):
            took[at].append(asked(msgspec.structs.replace(three, home=place))[0])
    small_ms, large_ms = (statistics.median(each) * 1000 for each in took)
    ratio = large_ms / small_ms
    seconds, peak = asked(Tell(homes[1]))
    speed = large.stat().st_size / _MB / seconds
    grown = peak - asked(Tell(homes[0]))[1]
    return [
        ("byre history --last 3, small", f"{small_ms:.0f} ms", "", True),
        ("byre history --last 3, large", f"{large_ms:.0f} ms", "", True),
        ("large / small", f"{ratio:.2f}", f"<= {_LAST_MOST}", ratio <= _LAST_MOST),
        ("byre history of all, sent as JSON", f"{speed:.0f} MB/s", "", True),
        ("more memory for the large one", f"{grown:.1f} MB", f"<= {_MEMORY_MOST}",
         grown <= _MEMORY_MOST),
    ]  # fmt: skip


def home(rollout: Path) -> str:
    """Make a CODEX_HOME that has this rollout, and return its path."""
    sessions = rollout.with_suffix("") / "sessions"
    sessions.mkdir(parents=True)
    (sessions / f"rollout-2026-01-01T00-00-00-{_THREAD}.jsonl").symlink_to(rollout)
    return str(sessions.parent)


def asked(request: Tell) -> tuple[float, float]:
    """Return the seconds until the last line of an answer, and the process's peak in MB."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "byred.codex.rollout.aside"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        process.stdin.write(msgspec.json.encode(request) + b"\n")
        process.stdin.flush()
        deque(process.stdout, maxlen=0)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return time.perf_counter() - began, usage.ru_maxrss / 1024


def reads(large: Path) -> list[Row]:
    """Compare whole reads with a bare loop; they take turns, the best of each counts.

    In processor time, which the neighbours on a shared machine disturb least: everything here
    comes from the page cache.
    """
    decode = msgspec.json.decode

    def bare() -> None:
        with large.open("rb") as lines:
            for line in lines:
                decode(line)

    works: dict[str, Callable[[], object]] = {
        "bare loop (msgspec)": bare,
        "read": lambda: deque(reader.read(large), maxlen=0),
        "told turn by turn": lambda: deque(history.turns(large), maxlen=0),
        "searched": lambda: deque(search([large], "no such words"), maxlen=0),
        "indexed": lambda: index.indexed(large),
    }
    rounds = 3 if large.stat().st_size < _LONG // 2 else 1
    best = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            best[name] = min(best[name], timed(work, time.process_time))
    size = large.stat().st_size / _MB
    base = best["bare loop (msgspec)"]
    rows = [(name, f"{size / s:.0f} MB/s, {base / s:.2f}", "", True) for name, s in best.items()]
    ratio = base / best["read"]
    return [*rows, ("read / bare", f"{ratio:.2f}", f">= {_READ_LEAST}", ratio >= _READ_LEAST)]


def memory(small: Path, large: Path) -> list[Row]:
    """Compare the memory of a process that tells either."""
    peaks = [float(run([sys.executable, "-c", _TELL, str(path)])) for path in (small, large)]
    grown = peaks[1] - peaks[0]
    return [
        ("memory of telling, small", f"{peaks[0]:.0f} MB", "", True),
        ("more for the large one", f"{grown:.1f} MB", f"<= {_MEMORY_MOST}", grown <= _MEMORY_MOST),
    ]


def imports(folder: str) -> list[Row]:
    """Compare the import of all record types and the reader with that of OpenAI's models."""
    ours = cpu(sys.executable, _PARTS)
    row = ("import, all of it", f"{ours * 1000:.0f} ms", "", True)
    sdk = os.environ.get("BYRED_BENCH_SDK") or made(folder)
    if sdk is None:
        return [row, ("against OpenAI's models", "not compared", "", True)]
    theirs = cpu(sdk, "openai_codex")
    ratio = ours / theirs
    return [
        row,
        ("import of openai_codex", f"{theirs * 1000:.0f} ms", "", True),
        ("ours / theirs", f"{ratio:.3f}", f"<= {_IMPORT_MOST}", ratio <= _IMPORT_MOST),
    ]


def cpu(python: str, module: str) -> float:
    """Return the median processor time of an import in a fresh process."""
    return statistics.median(float(run([python, "-c", _IMPORT.format(module)])) for _ in range(7))


def made(folder: str) -> str | None:
    """Make an environment with OpenAI's SDK; None when that cannot be done here."""
    place = Path(folder, "sdk")
    try:
        run([sys.executable, "-m", "venv", str(place)])
        run([str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "openai-codex"])
    except subprocess.SubprocessError:
        return None
    return str(place / "bin" / "python")


def run(command: list[str]) -> str:
    """Run a command and return what it printed."""
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=_MINUTES)
    return done.stdout


def timed(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds that a piece of work takes by a clock."""
    began = clock()
    work()
    return clock() - began


if __name__ == "__main__":
    raise SystemExit(main())
