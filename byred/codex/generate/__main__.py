"""`python -m byred.codex.generate [--bin PATH] [--out FOLDER]`: write the protocol's types."""

import argparse
import asyncio
import sys
from pathlib import Path

from byred.codex.binary import find_binary, read_version
from byred.codex.errors import CodexError
from byred.codex.generate.render import render_methods, render_types
from byred.codex.generate.schema import Reader, ask_schema

_INIT = '''"""The app-server's protocol as codex {version} describes it.

Written by `make protocol`; do not edit. `methods` has the names, `types` the types, which nothing
imports before it needs them.
"""
'''


def main(arguments: list[str] | None = None) -> int:
    """Write `protocol/` from the binary's schema."""
    parser = argparse.ArgumentParser(prog="python -m byred.codex.generate")
    parser.add_argument("--bin", help="the codex program (default: the one byred would run)")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "protocol")
    options = parser.parse_args(arguments)
    try:
        binary = find_binary(options.bin)
        version = str(asyncio.run(read_version(binary.path)))
        protocol = Reader(ask_schema(binary.path)).read()
    except CodexError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    (out / "__init__.py").write_text(_INIT.format(version=version))
    (out / "methods.py").write_text(render_methods(protocol, version))
    (out / "types.py").write_text(render_types(protocol, version))
    sys.stdout.write(
        f"codex {version}: {len(protocol.client_methods)} methods,"
        f" {len(protocol.notifications)} notifications,"
        f" {len(protocol.server_requests)} server requests; {len(protocol.classes)} types\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
