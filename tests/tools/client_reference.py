"""Write `docs/client-reference.md` from the docstrings of the client: `make reference`.

`python tests/tools/client_reference.py [--check]`; with --check it writes nothing and fails when
the page is out of date.
"""

import enum
import importlib
import inspect
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "client-reference.md"
MODULES = (
    *("session", "thread", "turn", "events", "options", "requests", "approvals", "tools"),
    *("functions", "bridge", "transcript", "transport", "spawn", "binary", "errors", "record"),
)


def page() -> str:
    parts = [
        "# Reference of the codex client",
        "",
        "Written from the docstrings by `make reference`; to learn, read [client.md](client.md).",
    ]
    for name in MODULES:
        module = importlib.import_module(f"byred.codex.{name}")
        parts += ["", f"## byred.codex.{name}", "", inspect.getdoc(module) or ""]
        for public, value in vars(module).items():
            if public.startswith("_") or getattr(value, "__module__", "") != module.__name__:
                continue
            if inspect.isclass(value):
                parts += describe_class(public, value)
            elif inspect.isfunction(value):
                parts += ["", f"### `{public}{signature(value)}`", "", inspect.getdoc(value) or ""]
    return "\n".join(parts) + "\n"


def describe_class(name: str, kind: type) -> list[str]:
    enumeration = issubclass(kind, enum.Enum)
    made_elsewhere = enumeration or issubclass(kind, Exception) or "made by" in (kind.__doc__ or "")
    shown = name if made_elsewhere else f"{name}{signature(kind)}"
    parts = ["", f"### class `{shown}`", "", inspect.getdoc(kind) or ""]
    if enumeration:
        parts += ["", ", ".join(f"`{each.value}`" for each in kind)]
    for public, value in vars(kind).items():
        if public.startswith("_"):
            continue
        function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if inspect.isfunction(function):
            parts += ["", f"- **`{public}{signature(function)}`** {one_line(function)}"]
        elif isinstance(value, property):
            parts += ["", f"- **`{public}`** {one_line(value)}"]
    return parts


def signature(value: object) -> str:
    text = str(inspect.signature(value)).replace("'", "")  # type: ignore[arg-type]
    text = re.sub(r"<object object at 0x\w+>|<factory>", "…", text)
    text = re.sub(r"\b(?:[a-z_]+\.)+(?=\w)", "", text)  # the modules of types
    return text.replace("(self, ", "(").replace("(self)", "()").replace("(cls, ", "(")


def one_line(value: object) -> str:
    return " ".join((inspect.getdoc(value) or "").split())


def main(arguments: list[str]) -> int:
    made = page()
    if "--check" in arguments:
        return int(not PAGE.exists() or PAGE.read_text() != made)
    PAGE.write_text(made)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
