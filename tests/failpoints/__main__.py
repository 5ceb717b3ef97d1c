"""`make failpoints`: the standard scenario killed at every failpoint, one after the other.

Prints each with how it went, and what is wrong; ends with 1 if anything is. `--list` shows them
without a kill; `--only WORD` takes those with a word in their name, `--act NAME` those of an act,
`--part 1/2` every second one.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
from pathlib import Path

from byred.testing.model import ScriptedModel
from tests.failpoints.running import Stage, put
from tests.failpoints.scenario import ACTS, SCRIPTS

TRIES = 4


async def go_through(options: argparse.Namespace, folder: Path) -> bool:
    """Kill at each failpoint; True when all is well."""
    async with ScriptedModel(SCRIPTS) as model:
        stage = Stage(folder, model, transport=options.transport)
        acts = options.act or ACTS
        await stage.rehearse(ACTS[: max(ACTS.index(act) for act in acts) + 1])
        part, parts = map(int, options.part.split("/"))
        chosen = [
            (name, act)
            for name, act in stage.failpoints().items()
            if act in acts
            and (not options.only or any(word in f"{name}$" for word in options.only))
        ][part - 1 :: parts]
        good = 0
        for number, (name, act) in enumerate(chosen, 1):
            if options.list:
                print(f"{act:10} {name}")
                continue
            lived = await stage.kill_at(name, act)
            for _ in range(TRIES - 1):
                if lived.died or lived.wrong:
                    break
                # What happens at once with something else is not passed every time.
                lived = await stage.kill_at(name, act)
            how = "ok" if lived.died and not lived.wrong else "WRONG"
            good += how == "ok"
            print(f"{number:3} {how:5} {lived.seconds:5.1f} s  {act:10} {name}", flush=True)
            if not lived.died:
                print("      it was not reached", flush=True)
            for each in lived.wrong:
                print(f"      {each[:3000]}", flush=True)
            if how == "WRONG" and options.keep:
                put(folder / "life", folder / f"wrong-{number}")
    print(f"{options.transport}: {len(chosen)} failpoints, {good} green")
    return options.list or good == len(chosen)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transport", choices=("stdio", "unix"), default="stdio")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--act", action="append", choices=ACTS)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--keep", action="store_true", help="keep the folders of what is wrong")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="byre-fp-"))
    try:
        return 0 if asyncio.run(go_through(options, folder)) else 1
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
