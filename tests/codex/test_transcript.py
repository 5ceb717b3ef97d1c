"""What is recorded of a session: every line, nothing secret, at no cost to the session."""

import asyncio
import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byred.codex import Client, ClientInfo, open_transcript
from byred.codex.transcript import redact
from byred.testing.fake_server import fake_server
from byred.testing.script import Step


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


async def test_every_line_of_a_session_is_recorded_in_both_directions(
    connect, home, script, tmp_path
):
    await script(Step(stream=("a", "b", "c")))
    path = tmp_path / "t.jsonl"
    async with open_transcript(path) as transcript, connect(transcript=transcript) as client:
        thread = await client.start_thread(home.options())
        turn = await thread.start_turn("hi")
        events = [event.method async for event in turn]
    entries = lines(path)
    sent = [entry["msg"]["method"] for entry in entries if entry["dir"] == "send"]
    assert sent[:4] == ["initialize", "initialized", "thread/start", "turn/start"]
    received = [entry["msg"].get("method") for entry in entries if entry["dir"] == "recv"]
    assert received.count("item/agentMessage/delta") == 3
    assert [each for each in received if each in set(events)][-1] == "turn/completed"
    assert all(abs(entry["t"] - time.time()) < 300 for entry in entries)
    assert transcript.dropped == 0


SECRETS = [
    {"email": "me@example.org"},
    {"account": {"email": "me@example.org", "planType": "plus"}},
    {"a": [{"accessToken": "s3cret"}, {"refresh_token": "s3cret"}]},
    {"apiKey": "s3cret", "OPENAI_API_KEY": "s3cret"},
    {"headers": {"Authorization": "Bearer s3cret", "Cookie": "s3cret"}},
    {"client_secret": "s3cret", "password": 's3cr\\et"s3cret'},
    {"arguments": json.dumps({"email": "me@example.org", "token": "s3cret"})},
    {"outer": json.dumps({"inner": json.dumps({"password": 's3cret "quoted"'})})},
    {"userEmail": "me@example.org", "e-mail": "me@example.org"},
]


@pytest.mark.parametrize("value", SECRETS)
@pytest.mark.parametrize("indent", [None, 1])
def test_secrets_are_redacted_at_any_depth(value, indent):
    line = json.dumps({"method": "m", "params": value}, indent=indent).encode()
    clean = redact(line)
    assert b"s3cret" not in clean
    assert b"example.org" not in clean
    assert b"[redacted]" in clean
    json.loads(clean)


def test_figures_and_words_that_only_sound_like_secrets_stay():
    value = {"totalTokens": 15, "tokenBudget": None, "text": "my email is here", "tokens": [1]}
    line = json.dumps(value).encode()
    assert redact(line) == line


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["email", "accessToken", "a", "text", "totalTokens"]) | st.text(),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


def hidden(value):
    if isinstance(value, dict):
        return {
            name: "[redacted]"
            if name in ("email", "accessToken") and isinstance(each, str)
            else hidden(each)
            for name, each in value.items()
        }
    return [hidden(each) for each in value] if isinstance(value, list) else value


@given(JSON)
def test_redaction_keeps_json_json_and_everything_else(value):
    clean = json.loads(redact(json.dumps(value).encode()))
    expected = json.loads(json.dumps(hidden(value)))
    names = {"email", "accessToken"}

    def known(each) -> set[str]:
        if isinstance(each, dict):
            return set(each) | {name for inner in each.values() for name in known(inner)}
        if isinstance(each, list):
            return {name for inner in each for name in known(inner)}
        return {each} if isinstance(each, str) and '"' in each else set()

    words = ("mail", "token", "key", "secret", "password", "authorization", "cookie")
    if not any(word in name.lower() for name in known(value) - names for word in words):
        assert clean == expected


async def test_a_file_that_is_full_is_moved_aside(tmp_path):
    path = tmp_path / "t.jsonl"
    async with open_transcript(path, max_bytes=1000, keep=2) as transcript:
        for number in range(4):
            for _ in range(30):
                transcript.record("recv", b'{"n":%d}' % number)
            await transcript.flush()
        transcript.record("recv", b'{"n":9}')
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "t.jsonl",
        "t.jsonl.1",
        "t.jsonl.2",
    ]
    assert [entry["msg"]["n"] for entry in lines(path)] == [9]
    assert {entry["msg"]["n"] for entry in lines(tmp_path / "t.jsonl.1")} == {3}
    assert {entry["msg"]["n"] for entry in lines(tmp_path / "t.jsonl.2")} == {2}


async def test_no_older_file_is_kept_when_none_is_wanted(tmp_path):
    path = tmp_path / "t.jsonl"
    async with open_transcript(path, max_bytes=10, keep=0) as transcript:
        transcript.record("recv", b'{"n":1}')
        await transcript.flush()
        transcript.record("recv", b'{"n":2}')
    assert [each.name for each in tmp_path.iterdir()] == []


async def test_a_second_session_appends(tmp_path):
    path = tmp_path / "t.jsonl"
    for number in (1, 2):
        async with open_transcript(path, clock=lambda: 5.0) as transcript:
            transcript.record("send", b'{"n":%d}' % number)
    assert lines(path) == [
        {"t": 5.0, "dir": "send", "msg": {"n": 1}},
        {"t": 5.0, "dir": "send", "msg": {"n": 2}},
    ]


async def test_what_the_disk_cannot_take_is_dropped_and_counted(tmp_path):
    path = tmp_path / "t.jsonl"
    async with open_transcript(path, max_pending=100) as transcript:
        for _ in range(20):
            transcript.record("recv", b'{"n":12345}')
        assert transcript.dropped == 11
        await transcript.flush()
        transcript.record("recv", b"{}")
    entries = lines(path)
    assert len([entry for entry in entries if "msg" in entry]) == 10
    assert [entry["dropped"] for entry in entries if "dropped" in entry] == [11]


async def test_trouble_with_the_disk_ends_the_record_and_not_the_session(fake, tmp_path):
    async with open_transcript(tmp_path / "no" / "such" / "folder") as transcript:
        async with fake(transcript=transcript) as (server, client):
            await transcript.flush()
            assert isinstance(transcript.failure, FileNotFoundError)
            async with asyncio.TaskGroup() as group:
                call = group.create_task(client.call("ping"))
                await server.reply(await server.expect("ping"), 1)
                assert await call == 1
        assert transcript.dropped > 0


async def test_lines_that_are_no_json_are_recorded_as_text(fake, tmp_path):
    path = tmp_path / "t.jsonl"
    async with (
        open_transcript(path) as transcript,
        fake(transcript=transcript) as (
            server,
            client,
        ),
    ):
        await server.raw(b'not {json" at all\n')
        async with asyncio.TaskGroup() as group:
            call = group.create_task(client.call("ping"))
            await server.reply(await server.expect("ping"), 1)
            await call
    assert 'not {json" at all' in [entry["msg"] for entry in lines(path)]


async def test_a_transcript_can_be_played_again(home, script, open_stdio, tmp_path):
    await script(Step(stream=("Hello ", "again")))
    path = tmp_path / "t.jsonl"
    async with open_transcript(path) as transcript, open_stdio(transcript=transcript) as client:
        thread = await client.start_thread(home.options())
        first = await (await thread.start_turn("hi")).result()

    async def nobody(request):
        raise NotImplementedError

    async with fake_server() as (server, transport):
        server.handshake = False
        playing = asyncio.create_task(server.play(path.read_bytes().split(b"\n")))
        async with Client.open(
            transport, client_info=ClientInfo("x", "0"), handler=nobody
        ) as client:
            thread = await client.start_thread(home.options())
            again = await (await thread.start_turn("hi")).result()
            assert again.final_text == first.final_text == "Hello again"
            assert again.items == first.items
            await playing


async def test_a_secret_among_many_lines_is_found_wherever_it_stands(tmp_path):
    path = tmp_path / "t.jsonl"
    async with open_transcript(path) as transcript:
        for number in range(100):
            secret = {"apiKey": "xyzzy"} if number % 7 == 3 else {"text": "plain"}
            transcript.record("recv", json.dumps({"n": number} | secret).encode())
    entries = lines(path)
    assert [entry["msg"]["n"] for entry in entries] == list(range(100))
    assert b"xyzzy" not in path.read_bytes()
    found = [entry["msg"]["n"] for entry in entries if entry["msg"].get("apiKey") == "[redacted]"]
    assert found == list(range(3, 100, 7))
