"""`make chaos N=300 SEED=1`: trouble at random, then check; prints what was done what failed."""

import argparse
import asyncio
import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from byred.testing.model import ScriptedModel
from tests.chaos.checker import Items, check, files_left
from tests.chaos.ground import INSIDE, Clock, Disk, enter_namespace, make_repositories, ports_of
from tests.chaos.people import End, Journal, People
from tests.chaos.scripts import SCRIPTS
from tests.chaos.troubles import Guarded, Troubles

SETTLE = 150.0
"""Seconds for everything to end once nothing goes wrong any more."""


def settings(daemon: Guarded, transport: str, ports: range) -> None:
    """Let attempts be plenty and waits short: a run kills far more often than a life does."""
    daemon.settings["codex"]["transport"] = transport
    daemon.settings["scheduler"] = {
        "max_running": 8,
        "retry": {"attempts": 1000, "first": "50ms", "cap": "200ms"},
    }
    daemon.settings["workspace"] = {
        "port_range": f"{ports.start}-{ports.stop - 1}",
        "min_free": "8MB",
        "pool": {"trees": 2, "homes": 2, "load": 0},
        "retention": {"count": 40},
        "hooks": {"after_create": "sleep 0.1"},
    }


async def run(
    folder: Path, *, seed: int, kills: int, flight: int, transport: str, pause: float
) -> tuple[Journal, dict[str, list[str]]]:
    """Make one run in a folder; give its journal and what is wrong, by promise."""
    disk = Disk(folder / "k")
    clock = Clock(folder / "clock")
    temporary = disk.path / "tmp"
    temporary.mkdir()
    repos = make_repositories(disk.path, 3)
    journal = Journal()
    requests: list[tuple[str, Items]] = []
    async with ScriptedModel(SCRIPTS, record=folder / "requests.jsonl", keep=sys.maxsize) as model:
        daemon = Guarded(folder, model, clock=clock, temporary=temporary)
        daemon.state = disk.path / "state"
        daemon.settings["daemon"]["state_dir"] = str(daemon.state)
        settings(daemon, transport, ports_of(seed))
        people = People(daemon, repos, journal, seed=seed, flight=flight)
        troubles = Troubles(daemon, journal, disk=disk, clock=clock, seed=seed, kills=kills)
        try:
            await daemon.start()
            await daemon.call("repo.trust", repo=str(repos[0]))
            async with asyncio.TaskGroup() as group:
                group.create_task(people.live())
                await people.full.wait()
                try:
                    await troubles.run(pause)
                finally:
                    people.enough = True
            await settle(people, troubles)
            # What a crash left is cleared up at the next start at the latest.
            await asyncio.to_thread(daemon.stop)
            await daemon.start()
            await settle(people, troubles)
            await housekeeping(people, lambda: files_left(daemon.state, temporary, repos))
            await asyncio.to_thread(daemon.stop)
            leftovers = daemon.leftovers()
        finally:
            await asyncio.to_thread(daemon.end)
            daemon.shoot_leftovers()
        requests = [
            (sent.thread, [msgspec.to_builtins(item) for item in sent.input])
            for sent in model.requests
        ]
        calls = {
            item["call_id"]
            for sent in model.requests
            for item in sent.reply
            if item.get("name") == "ask_human"
        }
    wrong = await asyncio.to_thread(
        lambda: check(
            state=daemon.state,
            temporary=temporary,
            repos=repos,
            ports=ports_of(seed),
            journal=journal,
            requests=requests,
            calls=calls,
            leftovers=leftovers,
            log=daemon.log.read_text(errors="replace"),
        )
    )
    return journal, wrong


async def settle(people: People, troubles: Troubles) -> None:
    """Let everything come to its end; what has none is found by the checks."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SETTLE):
            while not await people.finish():
                await troubles.back()
                await asyncio.sleep(0.2)


async def housekeeping(people: People, left: Callable[[], list[str]]) -> None:
    """Let what is done beside the tasks be done; what is not is found by the checks."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(60):
            while not await people.tidied() or await asyncio.to_thread(left):
                await asyncio.sleep(0.2)


def report(journal: Journal, wrong: dict[str, list[str]], *, title: str) -> str:
    """Give the table of a run."""
    told = [end for each in journal.told.values() for _, end in each]
    answers = [end for each in journal.answers.values() for _, end in each]
    done = (
        f"{title}: {len(journal.tasks)} tasks, {answers.count(End.DONE)} answers, "
        f"{told.count(End.DONE)} texts told, {len(journal.merges)} merges, {journal.calls} calls, "
        f"{journal.lost} replies lost"
    )
    lines = [done]
    for name, counts in (
        ("troubles", journal.troubles),
        ("people", journal.counts),
        ("refused", journal.refusals),
    ):
        lines.append(f"{name}: " + ", ".join(f"{each} {n}" for each, n in sorted(counts.items())))
    lines += [f"{name:32} {len(found)}" for name, found in wrong.items()]
    lines += [f"  {name}: {each[:4000]}" for name, found in wrong.items() for each in found[:20]]
    return "\n".join(lines)


def main() -> int:
    """Run; the status is 0 when nothing is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--flight", type=int, default=20)
    parser.add_argument("--transport", choices=("stdio", "unix"), default="unix")
    parser.add_argument("--pause", type=float, default=1.5, help="most seconds between kills")
    parser.add_argument("--keep", action="store_true", help="keep the folder")
    options = parser.parse_args()
    enter_namespace(sys.argv[1:])
    if os.environ[INSIDE] != "yes":
        print("no mount namespace may be made here: the disk is never filled")
    if shutil.which("cc") is None:
        print("there is no C compiler here: the clock never jumps")
    folder = Path(tempfile.mkdtemp(prefix="byre-chaos-"))
    begin = time.monotonic()
    failed = True
    try:
        journal, wrong = asyncio.run(
            run(
                folder,
                seed=options.seed,
                kills=options.kills,
                flight=options.flight,
                transport=options.transport,
                pause=options.pause,
            )
        )
        title = (
            f"seed {options.seed}, transport {options.transport}, {options.flight} in flight, "
            f"{options.kills} kills in {time.monotonic() - begin:.0f} s"
        )
        print(report(journal, wrong, title=title))
        failed = any(wrong.values())
    finally:
        if options.keep or failed:
            keep(folder)
        if os.path.ismount(folder / "k"):
            os.system(f"umount -l {folder / 'k'}")
        if not (options.keep or failed):
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


def keep(folder: Path) -> None:
    """Copy what lies on the small disk, which ends with this process, beside it."""
    with contextlib.suppress(shutil.Error, OSError):
        shutil.copytree(folder / "k", folder / "kept", symlinks=True, ignore_dangling_symlinks=True)
    print(f"kept: {folder}")


if __name__ == "__main__":
    sys.exit(main())
