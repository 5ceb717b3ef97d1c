"""Hold the run to the promises of `tests/promises.py`; most fixtures live beside their tests."""

import runpy
import signal
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from hypothesis import settings

HERE = Path(__file__).parent
PROMISES: dict[str, str] = runpy.run_path(str(HERE / "promises.py"))["PROMISES"]

# What a shell starts in the background inherits an ignored Ctrl-C, and all that it starts in turn.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A machine that is shared is slow at times; pytest's own limit ends what hangs.
settings.register_profile("byred", deadline=None)
settings.load_profile("byred")


class PromiseKeeper:
    """Notes which promises were proven, and whether the run could have proven all."""

    def __init__(self) -> None:
        self.proven: set[str] = set()
        self.partial = False

    def pytest_deselected(self) -> None:
        """A run that leaves tests out owes nothing."""
        self.partial = True

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        unknown = {
            f"{item.nodeid}: {name}"
            for item in items
            for name in named(item)
            if name not in PROMISES
        }
        if unknown:
            listed = "\n  ".join(sorted(unknown))
            raise pytest.UsageError(f"not in tests/promises.py:\n  {listed}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        report.user_properties.extend(("promise", name) for name in sorted(named(item)))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take what was proven here or, in a run on several cores, by a worker."""
        if report.when == "call" and report.passed:
            self.proven.update(
                str(name) for key, name in report.user_properties if key == "promise"
            )

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.owed(session.config) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> None:
        for name in self.owed(config):
            terminalreporter.write_line(f"PROMISE NOT PROVEN {name}: {PROMISES[name]}", red=True)

    def owed(self, config: pytest.Config) -> list[str]:
        """Give the promises that this run should have proven and did not."""
        chosen = [Path(config.invocation_params.dir, argument) for argument in config.args]
        whole = any(HERE.is_relative_to(path.resolve()) for path in chosen)
        option = config.option
        left_out = (
            option.ignore
            or option.ignore_glob
            or option.collectonly
            or option.keyword
            or option.markexpr
        )
        is_worker = hasattr(config, "workerinput")
        if self.partial or not whole or left_out or is_worker:
            return []
        return sorted(PROMISES.keys() - self.proven)


def named(item: pytest.Item) -> set[str]:
    """Give the promises that a test says it proves."""
    return {name for mark in item.iter_markers("promise") for name in mark.args}


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(PromiseKeeper(), "promises")


@pytest.fixture
def children() -> Callable[[], set[int]]:
    """Give the pids of what this process started since the test began and nobody has reaped yet."""
    before = _children()
    return lambda: _children() - before


def _children() -> set[int]:
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        try:
            found |= {int(pid) for pid in (task / "children").read_text().split()}
        except (FileNotFoundError, ProcessLookupError):  # a thread that has ended
            continue
    return found
