"""What can go wrong in the command, each with its sentence and its exit status."""

from collections.abc import Mapping
from typing import Any

USAGE = 2
NO_DAEMON = 3
REFUSED = 4


class CommandError(Exception):
    """A verb could not do what was asked; the text is one sentence for a person."""

    def __init__(self, sentence: str, *, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class WrongUsageError(CommandError):
    """What was typed can't be meant; nothing was sent to the daemon."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, status=USAGE)


class NoDaemonError(CommandError):
    """Nothing answers on the socket, or what answers is not byred."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, status=NO_DAEMON)


class DaemonLostError(NoDaemonError):
    """The daemon was there and went away; a live view waits for it to come back."""


class RefusedError(CommandError):
    """The daemon answered with an error.

    `text` is the error object exactly as it came, for `--json`; `data` what is in it beside the
    sentence.
    """

    def __init__(
        self, sentence: str, *, text: str = "", data: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(sentence, status=REFUSED)
        self.text = text
        self.data = data or {}
