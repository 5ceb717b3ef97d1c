"""Every side effect in the source has a failpoint, and stands in the list."""

from collections.abc import Iterator

import pytest

from tests.failpoints.places import PAGE, read, table, unheard


def test_every_side_effect_has_a_failpoint() -> None:
    found = read()
    assert found.wrong + unheard(found) == []


def test_the_list_of_places_is_that_of_the_source() -> None:
    text = PAGE.read_text(encoding="utf-8")
    written = text[text.index("| module |") :]
    assert written == table(read()), "python -m tests.failpoints.places --write"


@pytest.mark.parametrize(
    ("line", "effect"),
    [
        ("Path(folder).mkdir()", "mkdir"),
        ("asyncio.to_thread(path.unlink)", "remove"),
        ("os.replace(a, b)", "rename"),
        ("path.replace(other)", "rename"),
        ("path.open('ab')", "write"),
        ("os.open(path, os.O_CREAT | os.O_RDWR)", "write"),
        ("subprocess.Popen(argv)", "run"),
        ("git('update-ref', name, commit, cwd=path)", "git update-ref"),
        ("at.git('worktree', 'add', place)", "git worktree add"),
        ("self._database.write(lambda tx: tx.emit(event))", "commit"),
    ],
)
def test_a_new_side_effect_stands_in_the_list(line: str, effect: str) -> None:
    found = read(module(line))
    assert found.places == {"room.new.act": {effect}}
    assert found.wrong == []


@pytest.mark.parametrize(
    "line",
    [
        "path.open('rb')",
        "text.replace('a', 'b')",
        "os.getpid()",
        "git('rev-parse', 'HEAD', cwd=path)",
        "datetime.now().replace(tzinfo=UTC)",
    ],
)
def test_who_only_looks_stands_in_no_list(line: str) -> None:
    found = read(module(line))
    assert (found.places, found.wrong) == ({}, [])


@pytest.mark.parametrize(
    "line", ["signal.pidfd_send_signal(fd, 9)", "self._transport.send(b'x')", "os.mkfifo(path)"]
)
def test_what_no_audit_tells_of_needs_a_failpoint_of_its_own(line: str) -> None:
    assert unheard(read(module(line))) != []
    assert unheard(read(module(f"reach('before', 'it'); {line}"))) == []


def test_a_function_that_nobody_has_judged_is_a_finding() -> None:
    assert "os.setxattr" in read(module("os.setxattr(path, name, value)")).wrong[0]


def module(line: str) -> Iterator[tuple[str, str]]:
    yield "room.new", f"import os, signal, subprocess\nasync def act(self):\n    {line}\n"
