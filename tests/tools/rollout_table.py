"""The table of variants in docs/rollouts.md: what each version's corpus has, what its schema knows.

    python tests/tools/rollout_table.py

writes it anew between its two marks; a test fails when it is out of date.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "rollouts.md"
FOLDER = ROOT / "tests" / "codex" / "rollout"
BEGIN, END = "<!-- variants -->\n", "<!-- end of variants -->\n"
TITLES = {
    "lines": "Lines",
    "EventMsg": "`event_msg`: EventMsg",
    "ResponseItem": "`response_item`: ResponseItem",
    "TurnItem": "`item_completed`: TurnItem",
}


def seen(version: str) -> Counter[tuple[str, str]]:
    """Count what a version's corpus has: (family, tag)."""
    found: Counter[tuple[str, str]] = Counter()
    for path in (FOLDER / "corpus" / version).glob("rollout-*.jsonl"):
        for raw in path.read_bytes().splitlines():
            line = json.loads(raw)
            payload = line["payload"]
            found["lines", line["type"]] += 1
            if line["type"] == "event_msg":
                found["EventMsg", payload["type"]] += 1
                if payload["type"] == "item_completed":
                    found["TurnItem", payload["item"]["type"]] += 1
            elif line["type"] == "response_item":
                found["ResponseItem", payload["type"]] += 1
    return found


def table() -> str:
    """Return the table: a number for what a corpus has, ○ for what the schema alone knows."""
    known = json.loads((FOLDER / "known.json").read_text())
    counts = {version: seen(version) for version in known}
    head = f"| | {' | '.join(known)} |\n|---|{'---:|' * len(known)}\n"
    parts: list[str] = []
    for family, title in TITLES.items():
        tags = sorted({tag for tables in known.values() for tag in tables[family]})
        rows = []
        for tag in tags:
            cells = [
                str(counts[version][family, tag])
                if counts[version][family, tag]
                else ("○" if tag in known[version][family] else "")
                for version in known
            ]
            rows.append(f"| `{tag}` | {' | '.join(cells)} |\n")
        parts.append(f"### {title}\n\n{head}{''.join(rows)}")
    return "\n".join(parts)


def main() -> None:
    """Write the table into the page."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}")


if __name__ == "__main__":
    main()
