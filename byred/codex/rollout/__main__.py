"""Looking at rollouts and saving what is whole: `python -m byred.codex.rollout`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from byred.codex.rollout import doctor
from byred.codex.rollout.doctor import Finding
from byred.codex.rollout.errors import RolloutError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 when all is whole, 1 when something is broken or could not be done."""
    parser = argparse.ArgumentParser(prog="python -m byred.codex.rollout", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    examine = verbs.add_parser("examine", help="say what is broken in rollouts or CODEX_HOMEs")
    examine.add_argument("paths", nargs="+", type=Path, metavar="FILE|HOME")
    salvage = verbs.add_parser("salvage", help="write the whole lines of a rollout to a new file")
    salvage.add_argument("path", type=Path, metavar="FILE")
    salvage.add_argument("target", type=Path, metavar="NEW")
    options = parser.parse_args(arguments)
    try:
        if options.verb == "salvage":
            finding = doctor.salvage(options.path, options.target)
            sys.stdout.write(
                f"{options.target}: {finding.lines} lines saved, {finding.lost} bytes left out\n"
            )
            return 0
        broken = False
        for path in options.paths:
            for finding in doctor.examine_home(path) if path.is_dir() else [doctor.examine(path)]:
                broken = broken or not finding.healthy
                sys.stdout.writelines(f"{line}\n" for line in _lines(finding))
    except (RolloutError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return int(broken)


def _lines(finding: Finding) -> list[str]:
    state = "whole" if finding.healthy else "broken"
    found = [f"{state}  {finding.path}: {finding.turns} turns, {finding.lines} whole lines"]
    found += [f"  {gap.length} bytes at {gap.offset}: {gap.reason}" for gap in finding.gaps]
    found += [f"  {problem}" for problem in finding.problems]
    found += [f"  not known here: {kind}" for kind in finding.unknown]
    if finding.open_turn:
        found.append(f"  turn {finding.open_turn} has not ended: it runs, or its process ended")
    return found


if __name__ == "__main__":
    sys.exit(main())
