"""Run the benchmarks: `python -m tests.bench [NAME …]`, all of them without a name.

Each module beside this one has a `main()` that prints its table and returns an exit status. Figures
are ratios within one run, since machines differ and drift.
"""

import importlib
import pkgutil
import sys
from pathlib import Path


def main(wanted: list[str]) -> int:
    here = Path(__file__).parent
    names = [module.name for module in pkgutil.iter_modules([str(here)])]
    names = [name for name in names if not name.startswith("_")]
    unknown = sorted(set(wanted) - set(names))
    if unknown:
        sys.stderr.write(f"no benchmark {', '.join(unknown)}; there are {', '.join(names)}\n")
        return 2
    worst = 0
    for name in wanted or names:
        sys.stdout.write(f"\n== {name} ==\n")
        sys.stdout.flush()
        worst = max(worst, importlib.import_module(f"tests.bench.{name}").main() or 0)
    return worst


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
