"""The one table of commands: the socket, the page and `byre` are three faces of it."""

from typing import Any

from byred.api import events, history, questions, repositories, results, service, tasks
from byred.api.contract import Command
from byred.api.parts import Parts


def table(parts: Parts) -> dict[str, Command[Any]]:
    """Give every command by its name."""
    nouns = (tasks, results, repositories, history, questions, events, service)
    return {command.name: command for noun in nouns for command in noun.commands(parts)}
