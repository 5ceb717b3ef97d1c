"""The examples of the teach page run, on the real codex."""

import asyncio
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from byred.codex import BinaryError, Client, ClientInfo, serve, spawn
from byred.codex.approvals import auto
from byred.codex.requests import answer_with
from byred.testing.script import Call, Step

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "client.md"
EXAMPLES = dict(
    re.findall(r"<!-- example: (\w+) -->\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
)


def example(name: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(EXAMPLES[name], f"{PAGE}:{name}", "exec"), names)
    return names


@pytest.fixture(autouse=True)
def no_profile(monkeypatch, home):
    monkeypatch.setenv("HOME", str(home.root))


def test_the_way_from_nothing_to_questions_is_short():
    lines = [line for line in EXAMPLES["question"].splitlines() if line.strip()]
    assert len(lines) <= 60


async def test_the_first_example(home, script, capsys):
    await script(Step(say="Hello"))
    await example("first")["main"](home.root, home.work)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "turn/started"
    assert printed[-1] == "completed Hello 120"


async def test_the_example_of_events(home, script, open_stdio):
    await script(Step(stream=("Hel", "lo")))
    async with open_stdio() as client:
        thread = await client.start_thread(home.options())
        assert await example("events")["speak"](thread) == "Hello"


async def test_the_example_of_a_question(home, script, capsys):
    step = Step(call=Call("ask_human", namespace="people", arguments={"question": "Which?"}))
    model = await script(step, Step(say="Painted"))
    run = example("question")["work_with_a_person"]
    assert await run(home.root, home.work, asyncio.Queue()) == "Painted"
    assert capsys.readouterr().out == "asked: Which?\n"
    assert model.requests[1].new[-1]["output"] == "blue"


async def test_the_example_of_approvals(home, script, open_stdio, capsys):
    await script(Step(shell="echo made > made.txt"), Step(say="end"))
    async with open_stdio(example("approvals")["handler"]) as client:
        options = home.options(sandbox="workspace-write", approval_policy="untrusted")
        thread = await client.start_thread(options)
        assert (await (await thread.start_turn("hi")).result()).status == "completed"
    assert "May the agent run this command" in capsys.readouterr().out


async def test_the_example_of_control(home, script, open_stdio, capsys):
    await script(Step(say="one", delay="never"))
    async with open_stdio() as client:
        fork = await example("control")["control"](client, home.options())
        assert fork.id
    assert capsys.readouterr().out == "interrupted\n"


async def test_the_example_of_errors(home, script, open_stdio):
    await script(Step(say="one"))
    async with open_stdio() as client:
        thread = await client.start_thread(home.options())
        assert await example("errors")["try_it"](thread) == "completed"
    told = await example("errors")["try_it"](thread)
    assert told.endswith("(again: True, whose: machine)")


async def test_the_example_of_a_transcript(home, script, tmp_path):
    await script()
    await example("transcript")["recorded"](home.root, tmp_path / "t.jsonl")
    assert '"thread/list"' in (tmp_path / "t.jsonl").read_text()


async def test_a_server_of_ones_own_ends_with_its_block_and_needs_no_thread(home, script):
    await script()
    before = threading.active_count()
    async with (
        serve(home.root) as transport,
        Client.open(
            transport, client_info=ClientInfo("x", "0"), handler=answer_with(auto)
        ) as client,
    ):
        await client.start_thread(home.options())
        assert threading.active_count() <= before + 1  # find_binary's, in the pool
    with pytest.raises(BinaryError, match="cannot start /no/such/codex"):
        async with serve(home.root, binary="/no/such/codex"):
            pass


async def test_a_server_of_ones_own_that_ignores_every_hint_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(spawn, "_END_TIMEOUT", 0.2)
    stubborn = tmp_path / "codex"
    stubborn.write_text("#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 1; done\n")
    stubborn.chmod(0o755)
    async with asyncio.timeout(10):
        async with serve(tmp_path, binary=stubborn):
            pass


def test_every_row_of_the_coverage_names_a_test_that_exists():
    tests = {
        name
        for path in (ROOT / "tests" / "codex").glob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    named = re.findall(r"`(test_\w+)`", (ROOT / "docs" / "coverage.md").read_text())
    assert named
    assert sorted(set(named) - tests) == []


def test_the_reference_is_what_the_docstrings_say():
    tool = ROOT / "tests" / "tools" / "client_reference.py"
    done = subprocess.run([sys.executable, tool, "--check"], check=False, cwd=ROOT)
    assert done.returncode == 0, "make reference"
