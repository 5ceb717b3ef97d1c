"""The keeper of the promises itself: run on small suites of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROVES = """
import pytest

@pytest.mark.promise({name!r})
def test_{name}():
    assert {holds}
"""


class Suite:
    """A suite of its own with two promises, run by a pytest of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tests = root / "tests"
        self.tests.mkdir()
        (root / "pytest.ini").write_text(
            "[pytest]\ntestpaths = tests\naddopts = --strict-markers --import-mode=importlib\n"
            "markers = promise(name): proves it\n"
        )
        shutil.copy(HERE / "conftest.py", self.tests)
        (self.tests / "promises.py").write_text('PROMISES = {"kept": "It is.", "sure": "It is."}\n')

    def write(self, name: str, *, holds: bool = True) -> None:
        """Write a test that says it proves a promise."""
        (self.tests / f"test_{name}.py").write_text(PROVES.format(name=name, holds=holds))

    def run(self, *arguments: str) -> tuple[int, str]:
        """Run it and give the exit status and what was printed."""
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
        done = subprocess.run(
            command,
            cwd=self.root,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


def test_a_whole_run_that_proves_every_promise_succeeds(suite: Suite) -> None:
    suite.write("kept")
    suite.write("sure")
    status, printed = suite.run()
    assert status == pytest.ExitCode.OK, printed


@pytest.mark.parametrize("arguments", [(), ("tests",), (".",)])
def test_a_whole_run_fails_when_a_promise_has_no_test(
    suite: Suite, arguments: tuple[str, ...]
) -> None:
    suite.write("kept")
    status, printed = suite.run(*arguments)
    assert status == pytest.ExitCode.TESTS_FAILED, printed
    assert "PROMISE NOT PROVEN sure: It is." in printed
    assert "PROMISE NOT PROVEN kept" not in printed


def test_a_test_that_was_skipped_proves_nothing(suite: Suite) -> None:
    suite.write("kept")
    suite.write("sure")
    path = suite.tests / "test_sure.py"
    path.write_text(path.read_text().replace("    assert True", "    pytest.skip('not today')"))
    status, printed = suite.run()
    assert status == pytest.ExitCode.TESTS_FAILED, printed
    assert "PROMISE NOT PROVEN sure" in printed


@pytest.mark.parametrize(
    "arguments",
    [("tests/test_kept.py",), ("-k", "kept"), ("--ignore", "tests/test_sure.py")],
)
def test_a_run_of_a_part_of_the_suite_owes_no_promise(
    suite: Suite, arguments: tuple[str, ...]
) -> None:
    suite.write("kept")
    suite.write("sure", holds=False)
    status, printed = suite.run(*arguments)
    assert status == pytest.ExitCode.OK, printed


def test_even_a_part_of_the_suite_fails_on_a_promise_that_nobody_made(suite: Suite) -> None:
    suite.write("kept")
    suite.write("dreamt")
    status, printed = suite.run("tests/test_dreamt.py")
    assert status == pytest.ExitCode.USAGE_ERROR, printed
    assert "test_dreamt.py::test_dreamt: dreamt" in printed


def test_a_failing_test_still_fails_the_run(suite: Suite) -> None:
    suite.write("kept")
    suite.write("sure", holds=False)
    status, printed = suite.run()
    assert status == pytest.ExitCode.TESTS_FAILED, printed
