"""The real codex on rollouts that this library wrote: it is the judge of what can be read."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from byred.codex.rollout import chain, doctor, history, reader
from byred.codex.rollout.follow import Follower
from byred.codex.rollout.line import Dialect, Line
from byred.codex.rollout.story import Kind, TurnStatus

TOOLS = Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
from rollout_model import Model, call, say, serve  # noqa: E402 - it is beside the corpus's maker
from rollout_peer import Peer, sweep  # noqa: E402 - as above

CONFIG = """
model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false
[features]
plugins = false
apps = false
[model_providers.scripted]
name = "scripted"
base_url = "{url}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""


@pytest.fixture
def stage(tmp_path, real_codex):
    """A home with a scripted model, and peers on it that end with the test."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    model = Model()
    peers: list[Peer] = []
    asked: list[tuple[str, str]] = []

    def peer() -> Peer:
        peers.append(Peer(real_codex, home, work, lambda *_: {"decision": "accept"}, asked))
        return peers[-1]

    with serve(model) as url:
        (home / "config.toml").write_text(CONFIG.format(url=url))
        peer.home, peer.work, peer.model, peer.asked = home, work, model, asked
        yield peer
        for one in peers:
            one.close()
        sweep(home)


def start(peer, stage, **more):
    params = {"cwd": str(stage.work), "sandbox": "danger-full-access", "approvalPolicy": "never"}
    return peer.call("thread/start", **params, **more)["thread"]["id"]


def running(peer, thread):
    peer.until(
        lambda message: (
            message.get("method") == "item/started"
            and message["params"]["item"]["type"] == "commandExecution"
        )
    )


def rewritten(path: Path, dialect: Dialect) -> None:
    lines = [line.respelled(dialect).write() for line in reader.whole(path)]
    path.write_bytes(b"".join(lines))


@pytest.mark.parametrize("mode", ["legacy", "paginated"])
def test_codex_reads_the_other_dialect_as_its_own(stage, mode):
    peer = stage()
    thread = start(peer, stage, historyMode=mode)
    stage.model.queue([say("First.")], [say("Second.")])
    assert peer.turn(thread, "One") == peer.turn(thread, "Two") == "completed"
    peer.close()
    (path,) = chain.find(stage.home)
    before = path.read_bytes()
    rewritten(path, Dialect.TURN)
    assert path.read_bytes().count(b'"turn_started"') == 2
    for database in stage.home.glob("thread_history*"):
        database.unlink()  # it remembers what it read; it is to read again
    peer = stage()
    resumed = peer.call("thread/resume", threadId=thread)["thread"]
    assert [turn["status"] for turn in resumed.get("turns", [])] in (["completed"] * 2, [])
    stage.model.queue([say("Third.")])
    assert peer.turn(thread, "Three") == "completed"
    assert [
        i["content"][0]["text"]
        for i in stage.model.requests[-1]["input"]
        if i.get("role") == "assistant"
    ] == ["First.", "Second."]
    told = history.of_thread(path)
    assert [step.text for turn in told.turns for step in turn.steps if step.kind is Kind.SAID] == [
        "First.",
        "Second.",
        "Third.",
    ]
    rewritten(path, Dialect.TASK)
    assert path.read_bytes().startswith(before)


def test_codex_resumes_a_rollout_that_was_salvaged(stage, tmp_path):
    peer = stage()
    thread = start(peer, stage, historyMode="legacy")
    stage.model.queue([say("First.")])
    peer.turn(thread, "One")
    peer.close()
    (path,) = chain.find(stage.home)
    whole = path.read_bytes()
    path.write_bytes(whole[:-40] + b"\0\0\0\n" + b"garbage\n")
    target = tmp_path / "saved.jsonl"
    finding = doctor.salvage(path, target)
    assert finding.lost > 0
    assert not doctor.examine(target).gaps
    shutil.copyfile(target, path)
    peer = stage()
    peer.call("thread/resume", threadId=thread)
    stage.model.queue([say("Second.")])
    assert peer.turn(thread, "Two") == "completed"
    said = [s.text for t in history.of_thread(path).turns for s in t.steps if s.kind is Kind.SAID]
    assert said == ["First.", "Second."]


def test_a_task_killed_twice_resumed_forked_and_compacted_is_told_whole(stage):
    peer = stage()
    thread = start(peer, stage)
    stage.model.queue([call("exec_command", {"cmd": "echo one"}, "c1")], [say("One done.")])
    peer.turn(thread, "Do one")
    for number in (1, 2):
        stage.model.queue([call("exec_command", {"cmd": "sleep 60"}, f"k{number}")])
        text = [{"type": "text", "text": f"Hang {number}"}]
        peer.call("turn/start", threadId=thread, input=text)
        running(peer, thread)
        peer.kill()
        peer = stage()
        peer.call("thread/resume", threadId=thread, excludeTurns=True)
    stage.model.queue([say("A summary.")])
    peer.call("thread/compact/start", threadId=thread)
    peer.ended(thread)
    fork = peer.call("thread/fork", threadId=thread)["thread"]["id"]
    stage.model.queue([call("exec_command", {"cmd": "echo two"}, "c2")], [say("Two done.")])
    peer.turn(fork, "Do two")
    stage.model.queue([say("Three done.")])
    peer.turn(thread, "Do three")

    told = history.of_task(chain.find(stage.home))
    steps = [step for turn in told.turns for step in turn.steps]
    assert [s.text for s in steps if s.kind is Kind.ASKED] == [text for _, text in stage.asked]
    given = stage.model.given
    assert [s.call_id for s in steps if s.call_id] == [
        i["call_id"] for i in given if "call_id" in i
    ]
    assert [s.text for s in steps if s.kind is Kind.SAID] == [
        item["content"][0]["text"] for item in given if item["type"] == "message"
    ]
    assert [turn.status for turn in told.turns].count(TurnStatus.LOST) == 2
    assert sum(step.kind is Kind.COMPACTED for step in steps) == 1
    assert {s.call_id: s.output for s in steps if s.call_id} == {
        "c1": "one\n",
        "k1": "",
        "k2": "",
        "c2": "two\n",
    }
    of_fork = history.of_thread(chain.latest(chain.find(stage.home), fork), chain.find(stage.home))
    assert of_fork.tokens == of_fork.counted
    assert [turn.inherited for turn in of_fork.turns] == [True] * (len(of_fork.turns) - 1) + [False]


def test_a_rollout_can_be_followed_while_codex_writes_it(stage):
    peer = stage()
    thread = start(peer, stage, historyMode="legacy")
    stage.model.queue([say("First.")])
    peer.turn(thread, "One")
    (path,) = chain.find(stage.home)
    follower = Follower(path)
    seen = follower.new()
    stage.model.queue([say("Second.")])
    peer.turn(thread, "Two")
    peer.close()
    seen += follower.new()
    assert all(isinstance(piece, Line) for piece in seen)
    assert b"".join(piece.write() for piece in seen) == path.read_bytes()
