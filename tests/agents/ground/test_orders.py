"""Whose orders count on a task's ground."""

import pytest

from byred.agents.ground.orders import HookName, Orders, OwnersOrders, asks, combine
from byred.workspace.orders.repofile import Command, Hooks, RepoFile, Setup

OWNERS = OwnersOrders(
    copy=(".env",),
    ports=("web", "api"),
    hooks={HookName.BEFORE_RUN: "make tools", HookName.AFTER_TURN: "  "},
)
SAID = RepoFile(
    copy=("*.local",),
    ports=("api", "db"),
    env={"MODE": "test", "DEBUG": "1"},
    hooks=Hooks(before_run=Command("npm ci", "10m"), after_turn="make format"),
    verify=("make test", Command("make lint", "30s")),
    verify_rounds=1,
    setup=Setup(run="npm ci", key=("package-lock.json",), keep=("node_modules",)),
    guidance="Be brief.",
)


def test_a_trusted_repository_adds_to_what_the_owner_wants() -> None:
    both = combine(OWNERS, SAID, trusted=True)
    assert both.copy == (".env", "*.local")
    assert both.ports == ("web", "api", "db")
    assert both.env == {"MODE": "test", "DEBUG": "1"}
    assert both.hooks[HookName.BEFORE_RUN] == (Command("make tools"), Command("npm ci", "10m"))
    assert both.hooks[HookName.AFTER_TURN] == (Command("make format"),)
    assert both.hooks[HookName.AFTER_CREATE] == ()
    assert both.checks == (Command("make test"), Command("make lint", "30s"))
    assert (both.rounds, both.setup, both.withheld) == (1, SAID.setup, ())


@pytest.mark.promise("only_the_trusted_run_commands")
def test_one_that_nobody_trusts_adds_names_and_words_and_its_wishes_are_told() -> None:
    own = combine(OWNERS, SAID, trusted=False)
    bare = combine(OWNERS, RepoFile(), trusted=True)
    for field in Orders.__struct_fields__:
        if field not in ("ports", "guidance", "trusted", "withheld", "rounds"):
            assert getattr(own, field) == getattr(bare, field), field
    assert own.ports == ("web", "api", "db")
    assert (own.guidance, own.trusted) == ("Be brief.", False)
    assert own.withheld == (
        "copy *.local from your checkout",
        "set DEBUG, MODE",
        "run `npm ci` once for its dependencies",
        "run `npm ci` as before_run",
        "run `make format` as after_turn",
        "run `make test` to verify",
        "run `make lint` to verify",
    )


def test_what_needs_no_trust_is_not_asked_for() -> None:
    assert list(asks(RepoFile(ports=("a",), guidance="Be brief."))) == []
    assert combine(OWNERS, RepoFile(), trusted=False).withheld == ()
