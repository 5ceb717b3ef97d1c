"""Ports are chosen by trying: on IPv4 and IPv6, loopback and wildcard."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byred.workspace.errors import Kind, WorkspaceError
from byred.workspace.home import ports

RANGE = range(20000, 20010)


def listen(family, address, port=0):
    server = socket.socket(family, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    server.bind((address, port))
    server.listen()
    return server


@pytest.mark.parametrize(
    ("family", "address"),
    [
        (socket.AF_INET, "127.0.0.1"),
        (socket.AF_INET, "0.0.0.0"),
        (socket.AF_INET6, "::1"),
        (socket.AF_INET6, "::"),
    ],
)
def test_a_server_on_any_address_is_noticed(family, address):
    with listen(family, address) as server:
        port = server.getsockname()[1]
        assert not ports.is_free(port)
    assert ports.is_free(port)


def test_the_remains_of_a_connection_do_not_count():
    with listen(socket.AF_INET, "127.0.0.1") as server:
        port = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        accepted, _ = server.accept()
        accepted.close()  # this side closes first and goes to TIME_WAIT
        client.recv(1)
        client.close()
    assert ports.is_free(port)


def test_names_get_the_lowest_free_ports_in_order():
    chosen = ports.choose(["web", "api"], RANGE, {20000, 20002}, lambda port: port != 20003)
    assert chosen == {"web": 20001, "api": 20004}
    assert list(chosen) == ["web", "api"]


def test_no_names_no_ports_and_no_trying():
    assert ports.choose([], RANGE, set(), lambda _: pytest.fail("tried")) == {}


def test_the_same_name_twice_is_one_port():
    assert ports.choose(["web", "web"], RANGE, set(), lambda _: True) == {"web": 20000}


def test_a_range_without_enough_is_refused_with_what_to_do():
    with pytest.raises(
        WorkspaceError, match=r"between 20000 and 20009.*workspace\.port_range"
    ) as no:
        ports.choose(["a", "b"], RANGE, set(range(20000, 20009)), lambda _: True)
    assert no.value.kind is Kind.LIMIT


@pytest.mark.promise("no_port_doubled")
@given(
    st.lists(st.text(min_size=1), max_size=6, unique=True),
    st.sets(st.sampled_from(RANGE)),
    st.sets(st.sampled_from(RANGE)),
)
def test_no_port_is_ever_given_twice_or_while_taken(names, taken, busy):
    free = set(RANGE) - taken - busy
    if len(names) > len(free):
        with pytest.raises(WorkspaceError):
            ports.choose(names, RANGE, taken, lambda port: port not in busy)
        return
    chosen = ports.choose(names, RANGE, taken, lambda port: port not in busy)
    assert list(chosen) == names
    assert len(set(chosen.values())) == len(names)
    assert set(chosen.values()) <= free
