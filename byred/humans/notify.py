"""How people hear of questions and of what agents want to tell them: Apprise does the sending.

A notification is a courtesy: the queue holds the truth. One that cannot be sent is logged and
never delays or fails a task.
"""

import asyncio
import importlib
from collections.abc import Sequence

import structlog

from byred.core.question import Question
from byred.failpoint import reach

# Beyond this many unsent notices the oldest are dropped: a dead service must not fill the memory.
MOST_WAITING = 1000
SEND_SECONDS = 30.0

_log = structlog.get_logger("byred.humans")


class Notifier:
    """Sends notices one after the other; `targets` are Apprise URLs."""

    def __init__(self, targets: Sequence[str]) -> None:
        self.targets = tuple(targets)
        self._notices: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    @property
    def waiting(self) -> int:
        """How many notices wait to be sent."""
        return self._notices.qsize()

    def question(self, question: Question) -> None:
        """Tell people that an agent waits for them."""
        options = "".join(f"\n- {option}" for option in question.options)
        self.send(
            f"byred: task {question.task_id} asks (question {question.id})",
            f"{question.text}{options}\n\nbyre answer {question.id} TEXT",
        )

    def send(self, title: str, body: str) -> None:
        """Queue a notice; nothing happens when nobody wants any."""
        if not self.targets:
            return
        if self._notices.qsize() >= MOST_WAITING:
            dropped, _ = self._notices.get_nowait()
            _log.warning("notice dropped", action="notify.drop", title=dropped)
        self._notices.put_nowait((title, body))

    async def run(self) -> None:
        """Send what is queued, until cancelled."""
        while True:
            title, body = await self._notices.get()
            try:
                async with asyncio.timeout(SEND_SECONDS):
                    sent = await _send(self.targets, title, body)
            # Other people's code for services elsewhere: what it raises is a notice unsent.
            except Exception as error:  # noqa: BLE001
                _log.warning("sending failed", action="notify.error", error=repr(error))
                sent = False
            if not sent:
                _log.warning(
                    "a notice could not be sent; check human.notify",
                    action="notify.failed",
                    title=title,
                )


async def _send(targets: Sequence[str], title: str, body: str) -> bool:
    # Imported where it is used, and off the loop: it brings a hundred services' code.
    apprise = await asyncio.to_thread(importlib.import_module, "apprise")
    sender = apprise.Apprise()
    for target in targets:
        sender.add(target)
    reach("before", "notice")
    sent = bool(await sender.async_notify(title=title, body=body))
    reach("after", "notice")
    return sent
