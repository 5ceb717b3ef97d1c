"""What another version of codex adds, drops and changes in the surface that byred uses.

`python -m byred.codex.generate.diff BIN` compares the schema of BIN with that of the binary that
byred would run (or `--base`). It fails when something that byred uses is gone.
"""

import argparse
import asyncio
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from byred.codex.binary import find_binary, read_version
from byred.codex.errors import CodexError
from byred.codex.generate.schema import ClassModel, Protocol, Reader, ask_schema
from byred.codex.generate.surface import CLIENT_RESULTS, READ_FIELDS, SENT_FIELDS


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same; `breaks` when byred relies on what is gone."""

    text: str
    breaks: bool = False


def compare(old: Protocol, new: Protocol) -> Iterator[Difference]:
    """Yield the differences from `old` to `new`, methods first, then types by name."""
    yield from _methods("client method", old.client_methods, new.client_methods, CLIENT_RESULTS)
    yield from _methods("notification", old.notifications, new.notifications, _READ)
    yield from _methods("server request", old.server_requests, new.server_requests, ())
    for name in sorted(old.classes.keys() | new.classes.keys()):
        if name not in new.classes:
            yield Difference(f"- type {name}", breaks=name in READ_FIELDS or name in SENT_FIELDS)
        elif name not in old.classes:
            yield Difference(f"+ type {name}")
        else:
            yield from _fields(old.classes[name], new.classes[name])
    for name in sorted(old.enums.keys() & new.enums.keys()):
        before, after = old.enums[name].values, new.enums[name].values
        for value in before:
            if value not in after:
                yield Difference(f"- {name} {value!r}")
        for value in after:
            if value not in before:
                yield Difference(f"+ {name} {value!r}")


_READ = (
    "error",
    "item/started",
    "item/completed",
    "item/agentMessage/delta",
    "serverRequest/resolved",
    "thread/status/changed",
    "thread/tokenUsage/updated",
    "account/rateLimits/updated",
    "turn/started",
    "turn/completed",
)


def _methods(
    what: str,
    old: dict[str, str | None],
    new: dict[str, str | None],
    used: object,
) -> Iterator[Difference]:
    names: set[str] = set(used) if isinstance(used, (dict, tuple)) else set()
    for method in sorted(old.keys() - new.keys()):
        yield Difference(f"- {what} {method}", breaks=method in names)
    for method in sorted(new.keys() - old.keys()):
        yield Difference(f"+ {what} {method}")


def _fields(old: ClassModel, new: ClassModel) -> Iterator[Difference]:
    before = {item.wire: item for item in old.fields}
    after = {item.wire: item for item in new.fields}
    used = (*READ_FIELDS.get(old.name, ()), *SENT_FIELDS.get(old.name, ()))
    for wire in sorted(before.keys() - after.keys()):
        yield Difference(f"- {old.name}.{wire}", breaks=wire in used)
    for wire in sorted(after.keys() - before.keys()):
        breaks = after[wire].required and old.name in SENT_FIELDS
        yield Difference(f"+ {old.name}.{wire}{' (required)' if breaks else ''}", breaks=breaks)
    for wire in sorted(before.keys() & after.keys()):
        was, now = before[wire].shape, after[wire].shape
        if was.annotation != now.annotation:
            yield Difference(
                f"~ {old.name}.{wire}: {was.annotation} → {now.annotation}", breaks=wire in used
            )


def main(arguments: list[str] | None = None) -> int:
    """Print the differences; the status is 1 when something used is gone."""
    parser = argparse.ArgumentParser(prog="python -m byred.codex.generate.diff")
    parser.add_argument("bin", help="the codex program to compare with")
    parser.add_argument("--base", help="the codex program to compare from (default: byred's)")
    options = parser.parse_args(arguments)
    try:
        protocols = []
        for configured in (options.base, options.bin):
            binary = find_binary(configured)
            version = asyncio.run(read_version(binary.path))
            protocols.append((version, Reader(ask_schema(binary.path)).read()))
    except CodexError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    (old_version, old), (new_version, new) = protocols
    differences = list(compare(old, new))
    for each in differences:
        sys.stdout.write(f"{each.text}{'   <- byred uses it' if each.breaks else ''}\n")
    broken = sum(each.breaks for each in differences)
    sys.stdout.write(
        f"codex {old_version} → {new_version}: {len(differences)} differences in the surface,"
        f" {broken} of them in what byred uses\n"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
