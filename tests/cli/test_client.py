"""The connection: where the socket is looked for, and what can go wrong on it."""

import json
import os
import socket
import threading

import pytest

from byred.cli import client
from byred.cli.errors import (
    NO_DAEMON,
    REFUSED,
    USAGE,
    DaemonLostError,
    NoDaemonError,
    RefusedError,
    WrongUsageError,
)


@pytest.fixture
def pair():
    """A connection of the client, and the daemon's end of it."""
    ours, theirs = socket.socketpair()
    theirs.settimeout(20)
    with client.Daemon(ours, "/there", "try it") as daemon, theirs:
        yield daemon, theirs


@pytest.mark.parametrize(
    ("given", "environ", "expected"),
    [
        ("/g", {"BYRE_SOCKET": "/b", "XDG_RUNTIME_DIR": "/x"}, ["/g"]),
        (None, {"BYRE_SOCKET": "/b", "XDG_RUNTIME_DIR": "/x"}, ["/b"]),
        (None, {"XDG_RUNTIME_DIR": "/x"}, ["/x/byred.sock", "/run/byred/byred.sock"]),
        (None, {"BYRE_SOCKET": "", "XDG_RUNTIME_DIR": ""}, ["/run/byred/byred.sock"]),
        (None, {}, ["/run/byred/byred.sock"]),
    ],
)
def test_the_socket_is_looked_for_in_the_promised_order(given, environ, expected):
    assert client.candidates(given, environ) == expected


def test_the_first_socket_that_answers_is_taken(daemon, tmp_path):
    daemon.replies["daemon.status"] = {"version": "1"}
    with client.connect([str(tmp_path / "nothing"), str(daemon.path)], "try it") as found:
        assert found.path == str(daemon.path)
        assert found.call("daemon.status", {}).value == {"version": "1"}


def test_with_no_daemon_every_place_is_named_with_its_reason(tmp_path):
    stale = tmp_path / "stale.sock"
    with socket.socket(socket.AF_UNIX) as closed:
        closed.bind(str(stale))
    missing = tmp_path / "missing.sock"
    long = "/" + "x" * 200
    with pytest.raises(NoDaemonError) as caught:
        client.connect([str(missing), str(stale), long], "list the tasks")
    sentence = str(caught.value)
    assert sentence.startswith("cannot list the tasks: no daemon answers at ")
    assert f"{missing} (no such file)" in sentence
    assert f"{stale} (nobody listens)" in sentence
    assert "too long" in sentence
    assert "systemctl start byred" in sentence
    assert caught.value.status == NO_DAEMON


@pytest.fixture
def as_a_stranger():
    """Root may use every socket: be nobody for the length of a test."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(65534)
    yield
    os.seteuid(was)


def test_a_socket_that_one_may_not_use_is_not_called_missing(daemon, request):
    daemon.path.chmod(0)
    request.getfixturevalue("as_a_stranger")
    with pytest.raises(NoDaemonError, match="you may not use the socket"):
        client.connect([str(daemon.path)], "try it")


def test_a_reply_may_come_in_pieces_and_be_large(pair):
    daemon, theirs = pair
    text = "x" * 3_000_000
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"text": text}}).encode() + b"\n"

    def play():
        for at in range(0, len(line), 70_001):
            theirs.sendall(line[at : at + 70_001])

    playing = threading.Thread(target=play)
    playing.start()
    assert daemon.call("task.diff", {"id": 1}).value == {"text": text}
    playing.join(20)


def test_notifications_that_come_before_a_reply_are_kept_in_order(pair):
    daemon, theirs = pair
    for number in (1, 2):
        theirs.sendall(b'{"method":"event","params":{"seq":%d}}\n' % number)
    theirs.sendall(b'{"id":1,"result":{"seq":2}}\n{"method":"event","params":{"seq":3}}\n')
    assert daemon.call("events.follow", {"after": 0}).value == {"seq": 2}
    assert daemon.has_heard
    assert [daemon.hear(5).params["seq"] for _ in range(3)] == [1, 2, 3]
    assert not daemon.has_heard
    assert daemon.hear(0) is None


def test_a_reply_to_another_call_is_passed_over(pair):
    daemon, theirs = pair
    theirs.sendall(b'{"id":99,"result":"old"}\n{"id":1,"result":"new"}\n')
    assert daemon.call("x", {}) == ("new", '"new"')


def test_silence_ends_with_its_limit(pair):
    daemon, _ = pair
    with pytest.raises(NoDaemonError, match="gave no answer within 0 s"):
        daemon.call("task.list", {}, limit=0.01)


def test_a_daemon_that_reads_nothing_is_silent_too(pair):
    daemon, _ = pair
    with pytest.raises(NoDaemonError, match="gave no answer"):
        daemon.call("task.tell", {"text": "x" * 20_000_000}, limit=0.05)


def test_hanging_up_is_told_apart_from_silence(pair):
    daemon, theirs = pair
    theirs.close()
    with pytest.raises(DaemonLostError, match="hung up before it answered"):
        daemon.call("task.list", {})
    with pytest.raises(DaemonLostError):
        daemon.hear(1)


def test_why_one_was_turned_away_is_read_even_after_the_end(pair):
    daemon, theirs = pair
    theirs.sendall(b'{"id":null,"error":{"code":-32003,"message":"cannot serve user eve"}}\n')
    theirs.close()
    with pytest.raises(RefusedError, match=r"^cannot serve user eve$"):
        daemon.call("task.list", {})


@pytest.mark.parametrize("line", [b"hello", b"[1]", b'{"id":1', b"\xff\xfe", b'{"a":\xff}'])
def test_another_program_on_the_socket_is_recognised(pair, line):
    daemon, theirs = pair
    theirs.sendall(line + b"\n")
    with pytest.raises(NoDaemonError, match="does not speak byred's protocol"):
        daemon.call("task.list", {})


def test_a_refusal_is_the_daemons_sentence_on_one_line(pair):
    daemon, theirs = pair
    theirs.sendall(
        b'{"id":1,"error":{ "code":-32001, "message":"cannot find task 9;\\n see byre ls" }}\n'
    )
    with pytest.raises(RefusedError) as caught:
        daemon.call("task.get", {"id": 9})
    assert str(caught.value) == "cannot find task 9; see byre ls"
    assert caught.value.text == '{ "code":-32001, "message":"cannot find task 9;\\n see byre ls" }'
    assert caught.value.status == REFUSED


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        ('{"code":-32002,"message":"it has ended"}', "cannot try it: it has ended"),
        ('{"code":-32000}', "cannot try it: the daemon gave no reason"),
        ('"broken"', "cannot try it: the daemon gave no reason"),
    ],
)
def test_a_refusal_without_a_whole_sentence_gets_one(pair, error, sentence):
    daemon, theirs = pair
    theirs.sendall(b'{"id":1,"error":%s}\n' % error.encode())
    with pytest.raises(RefusedError) as caught:
        daemon.call("x", {})
    assert str(caught.value) == sentence


def test_a_method_that_the_daemon_does_not_know_is_its_age(pair):
    daemon, theirs = pair
    theirs.sendall(b'{"id":1,"error":{"code":-32601,"message":"no such method"}}\n')
    with pytest.raises(RefusedError, match=r"older than the command and does not offer task\.fork"):
        daemon.call("task.fork", {"id": 1})


def test_what_is_not_text_is_not_sent(pair):
    daemon, theirs = pair
    with pytest.raises(WrongUsageError, match="not text in UTF-8") as caught:
        daemon.call("task.tell", {"text": "\udcff"})
    assert caught.value.status == USAGE
    theirs.setblocking(False)
    with pytest.raises(BlockingIOError):
        theirs.recv(1)
