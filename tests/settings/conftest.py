"""Settings files to try, in a world where nothing is set."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("BYRED_", "XDG_")) or name.endswith("_DIRECTORY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    """Give a function that writes a settings file."""

    def write(text: str) -> Path:
        path = tmp_path / "etc" / "byred.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return write


@pytest.fixture
def shipped() -> Path:
    """Give the commented file of the repository."""
    return REPOSITORY / "config" / "byred.toml"
