"""Secrets that must not leave."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byred.codex.rollout import reader
from byred.codex.rollout.line import parse
from byred.codex.rollout.redact import MARK, redacted, redacted_line, redacted_value
from byred.codex.rollout.render import jsonl

# Put together here, so that nobody who scans the repository for keys finds one.
SECRETS = [
    "sk-" + "proj-abcdefghijklmnop1234",
    "ghp_" + "a" * 36,
    "github_pat_" + "b" * 40,
    "glpat-" + "c" * 20,
    "xoxb-" + "1234567890-abcdef",
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "AIza" + "d" * 35,
    "npm_" + "e" * 36,
    "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxIn0abc" + ".sig-nature",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_keys_of_a_known_shape_go_wherever_they_stand(secret):
    for text in (secret, f"the key is {secret}, keep it", f"curl -H 'x: {secret}'"):
        assert secret not in redacted(text)
        assert MARK in redacted(text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Authorization: Bearer abc123def456", "Authorization: Bearer "),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic "),
        ("export API_KEY=hunter2hunter2", "export API_KEY="),
        ('{"client_secret": "hunter2hunter2"}', '{"client_secret": "'),
        ("password: hunter2hunter2", "password: "),
        ("GITHUB_TOKEN='hunter2hunter2' make", "GITHUB_TOKEN='"),
        ("git clone https://user:hunter2hunter2@host/x", "git clone https://user:"),
    ],
)
def test_values_beside_a_telling_name_go_and_the_name_stays(text, kept):
    clean = redacted(text)
    assert clean.startswith(kept + MARK[:1])
    assert "hunter2" not in clean
    assert "abc123" not in clean
    assert "dXNlcjpw" not in clean


def test_private_keys_go_whole():
    text = "-----BEGIN RSA PRIVATE KEY-----\nabc\ndef\n-----END RSA PRIVATE KEY-----\nrest"
    assert redacted(text) == f"{MARK}\nrest"
    assert redacted("-----BEGIN PRIVATE KEY-----\ncut off") == MARK


def test_values_that_the_caller_knows_go_and_short_ones_do_not():
    assert redacted("a correct-horse b", ["correct-horse", "b"]) == f"a {MARK} b"


@pytest.mark.parametrize(
    "text",
    [
        "an ordinary sentence about tokens and keys",
        "total_tokens: 1234",
        "https://example.org/path?a=b",
        "task-sk-etch",
        "the author is unknown",
    ],
)
def test_ordinary_words_stay(text):
    assert redacted(text) == text


def test_members_under_a_telling_name_go_and_figures_stay():
    value = {
        "api_key": "short",
        "access_token": "x",
        "input_tokens": 12,
        "token_budget": "many",
        "nested": [{"password": "p", "note": "kept"}],
    }
    assert redacted_value(value) == {
        "api_key": MARK,
        "access_token": MARK,
        "input_tokens": 12,
        "token_budget": "many",
        "nested": [{"password": MARK, "note": "kept"}],
    }


@given(st.text())
def test_redacting_twice_changes_nothing_more(text):
    once = redacted(text)
    assert redacted(once) == once


def test_a_line_without_secrets_is_exported_byte_for_byte(corpus):
    for path in corpus:
        lines = list(reader.whole(path))
        assert b"".join(jsonl.recorded(lines)) == path.read_bytes()


def test_a_line_with_a_secret_is_exported_without_it_and_is_still_a_line():
    payload = {"type": "agent_message", "message": f"use {SECRETS[0]}", "n": 1.10}
    raw = json.dumps({"timestamp": "t", "type": "event_msg", "payload": payload}).encode()
    clean = redacted_line(parse(raw))
    assert SECRETS[0].encode() not in clean.raw
    assert clean.payload["message"] == f"use {MARK}"
    assert list(clean.doc) == ["timestamp", "type", "payload"]


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece", ["a.", "token", "sk-", "a-b:", "http://a:", "-----BEGIN ", "eyJ."]
)
def test_no_text_takes_long(piece):
    text = piece * 100_000
    assert redacted(text)
