"""What the tests of rollouts share: the corpus, small rollouts made by hand, the real binary."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import codex_cli_bin
import msgspec
import pytest

from byred.codex.rollout import chain

CORPUS = Path(__file__).parent / "corpus"
VERSIONS = ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0")
MAIN = "01a00000-0000-7000-8000-000000000001"


class Tour:
    """One version's tour: its rollouts, and the other side of the story."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.paths = sorted((CORPUS / version).glob("rollout-*.jsonl"))
        told = json.loads((CORPUS / version / "tour.json").read_text())
        self.threads: dict[str, str] = told["threads"]
        self.asked: list[tuple[str, str]] = [tuple(pair) for pair in told["asked"]]
        self.given: list[dict[str, Any]] = told["given"]
        self.last_request: list[dict[str, Any]] = told["last_request"]
        self.outcomes: dict[str, str] = told["outcomes"]

    def of(self, name: str) -> Path:
        """The rollout that the thread of this name goes on in."""
        found = chain.latest(self.paths, self.threads[name])
        assert found is not None
        return found


@pytest.fixture(params=VERSIONS)
def tour(request) -> Tour:
    return Tour(request.param)


@pytest.fixture(scope="session")
def tours() -> dict[str, Tour]:
    return {version: Tour(version) for version in VERSIONS}


@pytest.fixture(scope="session")
def corpus() -> list[Path]:
    return sorted(CORPUS.glob("*/rollout-*.jsonl"))


@pytest.fixture(scope="session")
def known() -> dict[str, Any]:
    """What each version's binary says of its own records."""
    return json.loads((Path(__file__).parent / "known.json").read_text())


class Rollout:
    """A rollout written by hand, a line at a time."""

    def __init__(self, path: Path, thread_id: str = MAIN, **meta: Any) -> None:
        self.path = path
        self._clock = 0
        about = {"id": thread_id, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/work"}
        self.line("session_meta", {**about, "originator": "t", "cli_version": "0.136.0", **meta})

    def line(self, kind: str, payload: dict[str, Any], **more: Any) -> None:
        self._clock += 1
        stamp = f"2026-01-01T00:{self._clock // 60:02}:{self._clock % 60:02}.000Z"
        doc = {"timestamp": stamp, **more, "type": kind, "payload": payload}
        with self.path.open("ab") as out:
            out.write(msgspec.json.encode(doc) + b"\n")

    def event(self, tag: str, **payload: Any) -> None:
        self.line("event_msg", {"type": tag, **payload})

    def item(self, tag: str, **payload: Any) -> None:
        self.line("response_item", {"type": tag, **payload})

    def turn(self, turn_id: str, asked: str, said: str = "", *, end: bool = True) -> None:
        self.event("task_started", turn_id=turn_id, started_at=1767225600)
        part = {"type": "input_text", "text": asked}
        self.item("message", role="user", content=[part])
        self.event("user_message", message=asked)
        if said:
            self.event("agent_message", message=said)
            text = {"type": "output_text", "text": said}
            self.item("message", role="assistant", content=[text])
        if end:
            self.event("task_complete", turn_id=turn_id, last_agent_message=said or None)

    def tokens(self, total: int, spent: int) -> None:
        def usage(count: int) -> dict[str, int]:
            return {
                "input_tokens": count,
                "cached_input_tokens": 0,
                "output_tokens": 0,
                "reasoning_output_tokens": 0,
                "total_tokens": count,
            }

        info = {"total_token_usage": usage(total), "last_token_usage": usage(spent)}
        self.event("token_count", info=info)

    def raw(self, data: bytes) -> None:
        with self.path.open("ab") as out:
            out.write(data)


@pytest.fixture
def rollout(tmp_path) -> Rollout:
    return Rollout(tmp_path / f"rollout-2026-01-01T00-00-00-{MAIN}.jsonl")


@pytest.fixture
def new_rollout(tmp_path):
    """Make another rollout: `new_rollout(name, thread_id=…, …)`."""
    return lambda name, thread_id=MAIN, **meta: Rollout(tmp_path / name, thread_id, **meta)


@pytest.fixture(scope="session")
def real_codex() -> Path:
    """The codex that the checkout is pinned to, or the one named by CODEX_BIN."""
    named = os.environ.get("CODEX_BIN")
    if named:
        return Path(named)
    return Path(codex_cli_bin.bundled_codex_path())
