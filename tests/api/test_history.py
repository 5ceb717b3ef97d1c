"""Histories over the socket: bounded replies, streams behind them, refusals that say what to do."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from byred.agents import records
from byred.agents.records import Records, known_secrets
from byred.api import history
from byred.api.parts import Parts
from byred.api.socket import serve
from byred.core.task import Identity, Task
from byred.store import tasks, turns
from byred.store.database import Database, Transaction, open_database
from tests.api.conftest import BOUND, Client, Server, World

THREAD = "01a00000-0000-7000-8000-000000000001"


class Home:
    """A task's rollout, written as codex does."""

    def __init__(self, folder: Path, task_id: int) -> None:
        sessions = folder / "tasks" / str(task_id) / "home" / "sessions"
        sessions.mkdir(parents=True)
        self.path = sessions / f"rollout-2026-01-01T00-00-00-{THREAD}.jsonl"
        self._clock = 0
        about = {"id": THREAD, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/work"}
        self.line("session_meta", {**about, "cli_version": "0.163.0"})

    def line(self, kind: str, payload: dict[str, Any]) -> None:
        stamp = f"2026-01-01T00:{self._clock // 60:02}:{self._clock % 60:02}.000Z"
        self._clock += 1
        doc = {"timestamp": stamp, "type": kind, "payload": payload}
        with self.path.open("ab") as out:
            out.write(msgspec.json.encode(doc) + b"\n")

    def turn(self, turn_id: str, asked: str, *said: str, end: bool = True) -> None:
        self.line("event_msg", {"type": "task_started", "turn_id": turn_id})
        self.line("event_msg", {"type": "user_message", "message": asked})
        for text in said:
            self.line("event_msg", {"type": "agent_message", "message": text})
        if end:
            self.line("event_msg", {"type": "task_complete", "turn_id": turn_id})


@pytest.fixture
async def database(folder: Path) -> AsyncIterator[Database]:
    async with open_database(folder / "byred.sqlite3") as opened:
        yield opened


@pytest.fixture
async def add(database: Database, folder: Path) -> Callable[..., Any]:
    """Add a task that is queued, with a home that has a rollout."""

    async def add(**fields: Any) -> Home:
        def insert(transaction: Transaction) -> int:
            number = tasks.next_id(transaction)
            task = Task(
                id=number,
                title=f"Title {number}",
                slug=f"task-{number}",
                prompt="Mend the door.\nWell.",
                repo="/r",
                common_dir="/r/.git",
                base="main",
                base_commit="0" * 40,
                branch=f"byre/{number}",
                worktree=f"/w/{number}",
                home=f"/s/{number}/home",
                identity=Identity(name="byre", email="byre@localhost"),
                owner="ada",
                created_at=datetime(2026, 1, 1, tzinfo=UTC),
            )
            tasks.insert(transaction, msgspec.structs.replace(task, **fields))
            return number

        return Home(folder, await database.write(insert))

    return add


@pytest.fixture
async def client(database: Database, folder: Path) -> AsyncIterator[Client]:
    """A client of a server that has only the commands on histories."""
    owned = dict.fromkeys(Parts.__struct_fields__)
    owned["database"] = database
    owned["records"] = Records(folder / "tasks", secrets=lambda: ["swordfish"])
    table = {command.name: command for command in history.commands(Parts(**owned))}
    path = folder / "byred.sock"
    async with serve(path, table):
        client = await Server(path, World()).connect()
        try:
            yield client
        finally:
            client.close()


async def result(client: Client, method: str, **params: Any) -> Any:
    reply = await client.call(method, **params)
    assert "error" not in reply, reply
    return reply["result"]


async def refused(client: Client, method: str, **params: Any) -> tuple[Any, str]:
    error = (await client.call(method, **params))["error"]
    return error.get("data", {}).get("kind"), error["message"]


def texts(told: list[dict[str, Any]]) -> list[str]:
    return [step["text"] for turn in told for step in turn.get("steps", ())]


async def test_a_history_is_one_reply_with_everything_in_it(client, add, eventually, children):
    home = await add()
    home.turn("t1", "one", "1")
    home.turn("t2", "two", "2")
    told = await result(client, "task.history", id=1)
    assert [turn["number"] for turn in told["turns"]] == [1, 2]
    assert texts(told["turns"]) == ["one", "1", "two", "2"]
    assert (told["id"], told["more"], told["turn_count"]) == (1, False, 2)
    assert (told["thread_ids"], told["versions"], told["cwd"]) == ([THREAD], ["0.163.0"], "/work")
    assert told["tokens"] == {
        "input": 0, "cached_input": 0, "output": 0, "reasoning": 0, "total": 0
    }  # fmt: skip
    assert (told["breaks"], told["missing"], told["sub_agents"]) == ([], [], [])
    await eventually(lambda: not children())


async def test_turns_can_be_chosen(client, add):
    home = await add()
    for name in ("one", "two", "three"):
        home.turn(f"id-{name}", name)

    async def asked(**wanted: Any) -> list[str]:
        return texts((await result(client, "task.history", id=1, **wanted))["turns"])

    assert await asked(turn=2) == ["two"]
    assert await asked(turn=-1) == ["three"]
    assert await asked(turn="id-one") == ["one"]
    assert await asked(last=2) == ["two", "three"]
    # Another zone, and no fraction: the same moment as the records have it.
    assert await asked(since="2026-01-01T01:00:06+01:00") == ["two", "three"]
    assert await asked(since="2026-01-01T00:00:07") == ["three"]
    assert await asked(since="2027-01-01T00:00:00Z") == []


async def test_turns_have_the_numbers_by_which_the_task_counts_them(client, add, database):
    home = await add()
    for name in ("t1", "t2", "t3"):
        home.turn(name, name)

    def count(transaction: Transaction) -> None:
        for name in ("t2", "t3"):
            turns.start(transaction, 1, name, thread_id=THREAD, attempt=1)

    await database.write(count)
    told = (await result(client, "task.history", id=1))["turns"]
    assert [(turn["number"], turn["id"]) for turn in told] == [(0, "t1"), (1, "t2"), (2, "t3")]
    assert texts((await result(client, "task.history", id=1, turn=1))["turns"]) == ["t2"]
    (last,) = (await result(client, "task.history", id=1, last=1))["turns"]
    assert (last["number"], last["id"]) == (2, "t3")
    told = await refused(client, "task.history", id=1, turn=3)
    assert told == ("not_found", "there is no turn 3 of task 1; its turns are 1 to 2")


@pytest.mark.parametrize(
    ("params", "kind", "says"),
    [
        ({"id": 9}, "not_found", "no task 9"),
        ({"id": 1, "turn": 7}, "not_found", "cannot show turn 7: the history has 1 turns"),
        ({"id": 1, "turn": 1, "last": 1}, "invalid", "turn and last at once; leave out"),
        ({"id": 1, "since": "yesterday"}, "invalid", "since must be a time like 2026-"),
        ({"id": 1, "follow": True, "turn": 1}, "invalid", "cannot follow one turn"),
        ({"id": 1, "follow": True, "speed": 1}, "invalid", "cannot follow one turn or a replay"),
        ({"id": 1, "speed": 0}, "invalid", "speed must be above 0"),
        ({"id": 1, "last": -1}, None, "params.last"),
    ],
)
@pytest.mark.promise("errors_say_what_to_do")
async def test_what_cannot_be_told_is_refused(
    client, add, params, kind, says, eventually, children
):
    (await add()).turn("t1", "one")
    told = await refused(client, "task.history", **params)
    assert told[0] == kind
    assert says in told[1]
    await eventually(lambda: not children())


async def test_a_task_without_a_record_has_an_empty_history(client, add, folder):
    home = await add()
    home.path.unlink()
    told = await result(client, "task.history", id=1)
    assert (told["turns"], told["more"], told["turn_count"]) == ([], False, 0)
    assert (await result(client, "history.search", words="x")) == {
        "hits": [], "more": False, "unread": []
    }  # fmt: skip


async def test_what_is_beyond_a_reply_comes_behind_it(
    client, add, monkeypatch, eventually, children
):
    monkeypatch.setattr(history, "PAGE", 5000)
    home = await add()
    for number in range(40):
        home.turn(f"t{number}", f"ask {number}", "x" * 500)
    told = await result(client, "task.history", id=1)
    assert told["more"]
    assert "turn_count" not in told
    found = told["turns"]
    assert 5 < len(found) < 12
    while (line := await client.line())["method"] == "history":
        found.append(line["params"]["turn"])
    assert [turn["number"] for turn in found] == list(range(1, 41))
    assert (line["method"], line["params"]["id"]) == ("history.end", 1)
    assert line["params"]["turn_count"] == 40
    await eventually(lambda: not children())


async def test_a_turn_of_any_length_comes_in_pieces_of_a_bounded_size(client, add):
    home = await add()
    said = [f"{number} " + "x" * 300_000 for number in range(30)]
    home.turn("t1", "one", *said)
    told = await result(client, "task.history", id=1)
    pieces, longest = told["turns"], len(json.dumps(told))
    while (line := await client.line())["method"] == "history":
        pieces.append(line["params"]["turn"])
        longest = max(longest, len(json.dumps(line)))
    assert len(pieces) > 5
    assert longest < 7_000_000
    assert {(piece["number"], piece["id"]) for piece in pieces} == {(1, "t1")}
    assert texts(pieces) == ["one", *said]
    assert line["params"]["turn_count"] == 1


async def test_a_client_that_goes_away_takes_its_reader_along(client, add, eventually, children):
    home = await add()
    home.turn("t1", "one", "1", end=False)
    await result(client, "task.history", id=1, follow=True)
    assert len(children()) == 1
    client.close()
    await eventually(lambda: not children())


async def test_a_followed_history_goes_on_until_the_task_has_ended(
    client, add, database, eventually, children
):
    home = await add()
    home.turn("t1", "one", "1")
    told = await result(client, "task.history", id=1, follow=True)
    assert told == {"id": 1, "turns": [], "more": True}

    async def turn() -> tuple[int, list[str]]:
        line = await client.line()
        assert (line["method"], line["params"]["id"]) == ("history", 1)
        return line["params"]["turn"]["number"], texts([line["params"]["turn"]])

    assert await turn() == (1, ["one", "1"])
    home.turn("t2", "two", end=False)
    assert await turn() == (2, ["two"])
    # Whatever else happens to the task does not end it.
    await database.write(lambda tx: tasks.apply(tx, 1, lambda task: task.told(by="ada")))
    home.line("event_msg", {"type": "agent_message", "message": "2"})
    assert await turn() == (2, ["2"])
    home.line("event_msg", {"type": "agent_message", "message": "last"})

    await _finish(database)
    assert await turn() == (2, ["last"])
    line = await client.line()
    assert (line["method"], line["params"]["turn_count"]) == ("history.end", 2)
    await eventually(lambda: not children())


async def _finish(database: Database) -> None:
    await database.write(
        lambda tx: tasks.apply(tx, 1, lambda task: task.cancel(by="a", now=tx.now))
    )


async def test_a_replay_sends_a_step_at_a_time(client, add):
    home = await add()
    home.turn("t1", "one", "1", "more")
    told = await result(client, "task.history", id=1, speed=100)
    assert (texts(told["turns"]), told["more"]) == (["one"], True)
    lines = [await client.line() for _ in range(3)]
    assert texts([line["params"]["turn"] for line in lines[:2]]) == ["1", "more"]
    assert lines[2]["method"] == "history.end"


async def test_only_so_many_are_read_at_once(client, add, monkeypatch):
    monkeypatch.setattr(records, "MOST", 2)
    home = await add()
    home.turn("t1", "one", "1", end=False)
    for _ in range(2):
        await result(client, "task.history", id=1, follow=True)
        assert (await client.line())["method"] == "history"
    kind, message = await refused(client, "task.history", id=1)
    assert kind == "limit"
    assert message.startswith("cannot read more than 2 histories at once; end one")


async def test_a_reader_that_dies_is_an_error_and_leaves_nothing(client, add, eventually, children):
    home = await add()
    home.turn("t1", "one", "1", end=False)
    await result(client, "task.history", id=1, follow=True)
    assert (await client.line())["method"] == "history"
    (pid,) = children()
    os.kill(pid, 9)
    line = await client.line()
    assert line["method"] == "history.end"
    assert line["params"]["error"]["kind"] == "invalid"
    assert line["params"]["error"]["message"].startswith("cannot read the record: its reader ended")
    await eventually(lambda: not children())
    assert (await result(client, "task.history", id=1))["turn_count"] == 1


@pytest.mark.parametrize(
    ("form", "begins"), [("md", "# Task 1: Title 1"), ("html", "<!DOCTYPE"), ("jsonl", '{"number"')]
)
@pytest.mark.promise("secrets_stay_out")
async def test_a_document_has_everything_but_secrets(client, add, form, begins, monkeypatch):
    monkeypatch.setattr(history, "PAGE", 3000)
    home = await add()
    home.turn("t1", "The word is swordfish", "y" * 2000)
    home.turn("t2", "again", "z" * 400_000)
    told = await result(client, "task.record", id=1, format=form)
    text = told["text"]
    assert (told["format"], told["more"]) == (form, True)
    while (line := await client.line())["method"] == "record":
        text += line["params"]["text"]
    assert line == {"jsonrpc": "2.0", "method": "record.end", "params": {"id": 1}}
    assert text.startswith(begins)
    assert "swordfish" not in text
    assert "z" * 400_000 in text
    if form == "jsonl":
        assert [json.loads(each)["id"] for each in text.splitlines()] == ["t1", "t2"]


async def test_a_small_document_is_one_reply_and_can_be_of_one_turn(client, add):
    home = await add()
    home.turn("t1", "one", "1")
    home.turn("t2", "two", "2")
    told = await result(client, "task.record", id=1, format="md", turn=2)
    assert not told["more"]
    assert "> two" in told["text"]
    assert "> one" not in told["text"]
    kind, message = await refused(client, "task.record", id=1, format="md", turn=3)
    assert (kind, message) == ("not_found", "cannot show turn 3: the history has 2 turns")
    _, message = await refused(client, "task.record", id=1, format="pdf")
    assert "params.format" in message


async def test_words_are_found_in_every_task_newest_first(client, add):
    for words in ("The needle is here", "nothing", "A NEEDLE again"):
        home = await add()
        home.turn(f"t-{words[:5]}", words)
    found = await result(client, "history.search", words="needle")
    assert [(hit["task_id"], hit["excerpt"]) for hit in found["hits"]] == [
        (3, "A NEEDLE again"),
        (1, "The needle is here"),
    ]
    assert (found["more"], found["unread"]) == (False, [])
    exact = await result(client, "history.search", words="needle", exact_case=True)
    assert [hit["task_id"] for hit in exact["hits"]] == [1]
    one = await result(client, "history.search", words="needle", limit=1)
    assert (len(one["hits"]), one["more"]) == (1, True)
    only = await result(client, "history.search", words="needle", id=1)
    assert [hit["task_id"] for hit in only["hits"]] == [1]
    assert await refused(client, "history.search", words="x", id=8) == (
        await refused(client, "task.history", id=8)
    )
    for bad in ({"words": "  "}, {"words": "x" * 1001}, {"words": "x", "limit": 0}):
        assert (await refused(client, "history.search", **bad))[0] == "invalid"


async def test_what_lies_about_is_not_taken_for_code(client, add, tmp_path, monkeypatch):
    for name in ("msgspec.py", "json.py", "sitecustomize.py"):
        (tmp_path / name).write_text("raise SystemExit('a trap')\n")
    monkeypatch.chdir(tmp_path)
    (await add()).turn("t1", "one")
    assert texts((await result(client, "task.history", id=1))["turns"]) == ["one"]


async def test_others_are_served_while_a_long_record_is_read(client, add, folder):
    home = await add()
    block = home.path.read_bytes()
    home.turn("t1", "one", "x" * 1000)
    turn = home.path.read_bytes()[len(block) :]
    with home.path.open("ab") as out:
        for _ in range(200):
            out.write(turn * 400)
    other = await Server(folder / "byred.sock", World()).connect()
    reading = asyncio.create_task(result(client, "history.search", words="no such words"))
    loop = asyncio.get_running_loop()
    slowest = 0.0
    asked = 0
    try:
        while not reading.done():
            began = loop.time()
            await refused(other, "task.history", id=99)
            slowest = max(slowest, loop.time() - began)
            asked += 1
        assert (await reading)["hits"] == []
    finally:
        other.close()
    assert asked > 5
    assert slowest < BOUND / 4


def test_the_daemon_knows_its_login_and_what_is_named_like_a_secret(tmp_path):
    auth = tmp_path / "auth.json"
    auth.write_text('{"OPENAI_API_KEY": null, "tokens": {"access_token": "aaa"}, "list": ["bbb"]}')
    environ = {"GITHUB_TOKEN": "one", "MY_PASSWORD": "two", "PATH": "/bin", "AWS_ACCESS_KEY": "3"}
    assert sorted(known_secrets(auth, environ)) == ["3", "aaa", "bbb", "one", "two"]
    assert known_secrets(tmp_path / "none", {}) == known_secrets(None, {}) == []
    auth.write_text("no json")
    assert known_secrets(auth, {}) == []
