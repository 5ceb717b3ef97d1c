"""The entry point of `byre`, kept so small that Ctrl-C is quiet even while the rest is loading."""

import gc
import sys
from collections.abc import Sequence

_INTERRUPTED = 130


def main(args: Sequence[str] | None = None) -> int:
    """Run one `byre` command and return its exit status."""
    try:
        # What is loaded stays: looking through it for garbage, now and once more at the end, takes
        # a fifth of the time that a short verb needs.
        gc.disable()
        from byred.cli.program import run  # noqa: PLC0415 - Ctrl-C while it loads is caught here

        gc.freeze()
        gc.enable()
        return run(sys.argv[1:] if args is None else list(args))
    except KeyboardInterrupt:
        return _INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
