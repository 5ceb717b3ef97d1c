"""The page about rollouts: its example runs, its table is what the corpus has."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import rollout_table  # it writes what is checked here

PAGE = rollout_table.PAGE.read_text()


def test_the_example_runs_as_it_stands(tours, tmp_path, capsys):
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(example.splitlines()) <= 36
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    for path in tours["0.163.0"].paths:
        shutil.copy(path, sessions)
    exec(compile(example, "docs/rollouts.md", "exec"), {"CODEX_HOME": str(tmp_path)})
    printed = capsys.readouterr().out
    assert "Hello there." in printed
    assert "excerpt='Say hello'" in printed


def test_the_table_of_variants_is_up_to_date():
    _, _, rest = PAGE.partition(rollout_table.BEGIN)
    current, mark, _ = rest.partition(rollout_table.END)
    assert mark
    assert current.strip() == rollout_table.table().strip(), "run tests/tools/rollout_table.py"


def test_each_version_shows_most_of_what_it_records():
    """The tour leaves little out of what codex records at all."""
    for version in ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"):
        assert len(rollout_table.seen(version)) >= 28
