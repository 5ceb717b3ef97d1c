"""A connection that outlives its daemon, and gives up when none comes back."""

import pytest

from byred.cli import client, steady
from byred.cli.errors import NoDaemonError, RefusedError
from byred.cli.steady import Steady


def opening(daemon):
    return lambda: client.connect([str(daemon.path)], "watch")


def test_a_call_that_met_the_end_is_made_again(daemon):
    told = []
    followed = []
    daemon.replies["task.get"] = {"id": 7}
    with Steady(opening(daemon), followed.append, told.append) as connection:
        daemon.stop()
        daemon.start()
        assert connection.call("task.get", {"id": 7}).value == {"id": 7}
    assert len(followed) == 2
    assert [text.split(";")[0] for text in told] == ["the daemon went away", "the daemon is back"]


def test_patience_ends(daemon, monkeypatch):
    monkeypatch.setattr(steady, "PATIENCE", 0.0)
    with Steady(opening(daemon), lambda _: None, lambda _: None) as connection:
        daemon.stop()
        with pytest.raises(NoDaemonError, match="no daemon answers"):
            connection.hear(20)
        daemon.start()


def test_a_refusal_is_no_reason_to_try_again(daemon, fault):
    daemon.replies["task.get"] = fault(-32001, "cannot find it", "not_found")
    with (
        Steady(opening(daemon), lambda _: None, lambda _: None) as connection,
        pytest.raises(RefusedError),
    ):
        connection.call("task.get", {"id": 7})
    assert len(daemon.calls) == 1


def test_a_follow_that_is_refused_ends_it(daemon, fault):
    daemon.replies["events.follow"] = fault(-32602, "cannot follow", "invalid")
    with pytest.raises(RefusedError):
        Steady(opening(daemon), lambda one: one.call("events.follow", {}), lambda _: None)


def test_a_daemon_that_ends_while_one_subscribes_is_waited_for(daemon):
    tries = []

    def follow(connection):
        tries.append(connection)
        if len(tries) == 1:
            daemon.stop()
            daemon.start()
        connection.call("events.follow", {"after": 1})

    daemon.replies["events.follow"] = {"seq": 1}
    with Steady(opening(daemon), follow, lambda _: None):
        assert len(tries) == 2
