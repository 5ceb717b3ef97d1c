"""What is logged, and that logging waits for nobody."""

import io
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
import structlog

from byred import log


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    factory = structlog.get_config()["logger_factory"]
    if isinstance(factory, log.Output):
        factory.close()
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def written(stream: io.StringIO) -> list[str]:
    structlog.get_config()["logger_factory"].close()
    return stream.getvalue().splitlines()


def test_a_line_for_people_has_its_words_and_its_values() -> None:
    stream = io.StringIO()
    log.configure(level="info", form="console", stream=stream)
    structlog.get_logger().info("task claimed", action="claim", task=3)
    (line,) = written(stream)
    assert "task claimed" in line
    assert line.endswith("action=claim task=3")
    assert "\x1b" not in line


def test_a_line_for_programs_is_an_object() -> None:
    stream = io.StringIO()
    log.configure(level="info", form="json", stream=stream)
    structlog.get_logger().info("task claimed", action="claim", task=3, odd=object)
    line = json.loads(written(stream)[0])
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "task claimed",
        "level": "info",
        "action": "claim",
        "task": 3,
        "odd": "<class 'object'>",
    }


@pytest.mark.parametrize("form", ["console", "json"])
def test_every_line_has_an_action(form: str) -> None:
    stream = io.StringIO()
    log.configure(level="debug", form=form, stream=stream)
    structlog.get_logger().warning("without")
    logging.getLogger("a.library").warning("of the standard %s", "library")
    lines = written(stream)
    assert len(lines) == 2
    assert all("action" in line for line in lines)
    assert "of the standard library" in lines[1]
    assert "a.library" in lines[1]


def test_a_change_of_the_level_reaches_loggers_that_exist() -> None:
    stream = io.StringIO()
    logger = structlog.get_logger("early")
    library = logging.getLogger("a.library")
    log.configure(level="warning", form="console", stream=stream)
    logger.info("one")
    library.info("one")
    log.configure(level="info", form="console", stream=stream)
    logger.info("two")
    library.info("two")
    logger.debug("three")
    log.configure(level="error", form="json", stream=stream)
    logger.warning("four")
    logger.error("five")
    lines = written(stream)
    assert [
        word for line in lines for word in ("one", "two", "three", "four", "five") if word in line
    ] == [
        "two",
        "two",
        "five",
    ]


def test_libraries_that_talk_much_are_heard_from_warnings_on() -> None:
    stream = io.StringIO()
    log.configure(level="debug", form="console", stream=stream)
    logging.getLogger("watchfiles.main").info("1 change detected")
    logging.getLogger("watchfiles.main").warning("trouble")
    assert len(written(stream)) == 1


@pytest.mark.parametrize("form", ["console", "json"])
def test_an_exception_is_logged_without_the_values_of_variables(form: str) -> None:
    stream = io.StringIO()
    log.configure(level="info", form=form, stream=stream)

    def fail(secret: str) -> None:
        raise ValueError(len(secret))

    try:
        fail("hunter-{}".format("2"))
    except ValueError:
        structlog.get_logger().exception("it broke", action="break")
        logging.getLogger("a.library").exception("it broke there")
    text = "\n".join(written(stream))
    assert "ValueError" in text
    assert "test_log.py" in text
    assert "hunter-2" not in text


class Stopped(io.StringIO):
    """A terminal that somebody has stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()
        self.asked = threading.Event()

    def write(self, text: str) -> int:
        self.asked.set()
        assert self.go_on.wait(20)
        return super().write(text)


def test_a_reader_that_does_not_read_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "QUEUE", 100)
    monkeypatch.setattr(log, "LAST_LINES", 20.0)
    stream = Stopped()
    log.configure(level="info", form="console", stream=stream)
    logger = structlog.get_logger()
    logger.info("first")
    assert stream.asked.wait(20)
    for number in range(250):
        logger.info("line %d", number)
    stream.go_on.set()
    lines = written(stream)
    assert len(lines) == 102
    assert "line 99" in lines[-2]
    assert lines[-1] == "150 lines are lost: nobody read them in time"


def test_a_reader_that_has_gone_is_no_trouble() -> None:
    code = (
        "import structlog\nfrom byred import log\n"
        "log.configure(level='info', form='json')\n"
        "for number in range(1000): structlog.get_logger().info('x' * 1000)\n"
        "print('done')"
    )
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=writing,
        timeout=60,
        check=False,
    )
    os.close(writing)
    assert done.stdout == b"done\n"


def test_the_last_lines_are_written_before_the_end() -> None:
    code = (
        "import structlog\nfrom byred import log\n"
        "log.configure(level='info', form='json')\n"
        "for number in range(5000): structlog.get_logger().info('x', number=number)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, timeout=60, check=True
    )
    assert json.loads(done.stderr.splitlines()[-1])["number"] == 4999


def test_colours_are_for_terminals_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    for no_color, coloured in (("", True), ("1", False)):
        monkeypatch.setenv("NO_COLOR", no_color)
        stream = Terminal()
        log.configure(level="info", form="console", stream=stream)
        structlog.get_logger().info("hello")
        assert ("\x1b[" in written(stream)[0]) is coloured
