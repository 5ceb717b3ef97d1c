"""The manual of the settings says what is so."""

import re
import tomllib
from pathlib import Path

import pytest

from byred.settings import load, reload
from byred.settings.load import NOT_YET

MANUAL = Path(__file__).parents[2] / "docs" / "configuration.md"
ROW = re.compile(r"^\| `([a-z_.]+)` \| (.+?) \| (now|next|restart) \| (.+) \|$", re.MULTILINE)


@pytest.fixture
def rows() -> dict[str, tuple[str, str, str]]:
    """Give the rows of the manual by key: default, when a change applies, meaning."""
    return {row[0]: row[1:] for row in ROW.findall(MANUAL.read_text())}


def test_every_key_is_in_it_and_no_other(rows: dict[str, tuple[str, str, str]]) -> None:
    assert list(rows) == [key for key, _ in reload.keys(load(None))]


def test_the_defaults_are_those_of_the_shipped_file(
    rows: dict[str, tuple[str, str, str]], shipped: Path
) -> None:
    content = tomllib.loads(shipped.read_text())
    for key, (default, _, _) in rows.items():
        value = content
        for part in key.split("."):
            value = value[part]
        told = {} if default == "empty" else tomllib.loads(f"v = {default.strip('`')}")["v"]
        assert told == value, key


def test_what_needs_a_restart_is_said_so(rows: dict[str, tuple[str, str, str]]) -> None:
    said = {key for key, (_, when, _) in rows.items() if when == "restart"}
    assert said == reload.NEEDS_RESTART


def test_the_example_of_a_bad_file_is_what_is_said(write) -> None:
    from byred.settings import SettingsError  # noqa: PLC0415

    path = write("[scheduler]\nmax_runing = 1\n")
    with pytest.raises(SettingsError) as raised:
        load(path)
    told = str(raised.value).replace(str(path), "/etc/byred/byred.toml")
    assert f"byred: {told}\n" in MANUAL.read_text()


def test_what_nothing_acts_on_is_marked(rows: dict[str, tuple[str, str, str]]) -> None:
    marked = {key for key, (_, _, meaning) in rows.items() if meaning.endswith("*Not yet.*")}
    assert marked == {
        key for key in rows if any(key == late or key.startswith(f"{late}.") for late in NOT_YET)
    }
