"""Arguments that several verbs take, and how the shell completes them."""

import os
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from byred.cli import words
from byred.cli.app import App
from byred.cli.errors import CommandError, WrongUsageError
from byred.cli.terminal import one_line

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_UNITS = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
}
_COMPLETION_LIMIT = 1.0  # seconds; somebody waits with a finger on the tab key


def task_argument(*, required: bool = True) -> Callable[[Any], Any]:
    """The argument ID, a task's number; the shell offers the tasks that there are."""
    return click.argument(
        "task_id",
        metavar="ID" if required else "[ID]",
        type=click.IntRange(min=1),
        required=required,
        shell_complete=complete_task,
    )


def turns_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose turns of a task's history: `--turn`, `--last`, `--since`."""
    since = click.option(
        "--since", metavar="TIME", help="What came since a time, or 30m, 2h, 3d ago."
    )
    last = click.option("--last", type=click.IntRange(min=1), metavar="N", help="The last N turns.")
    one = click.option(
        "--turn",
        callback=_turn,
        metavar="N|TURN",
        help="One turn: its number, -1 for the last one, or its id.",
    )
    return one(last(since(command)))


def turns_wanted(
    doing: str, turn: int | str | None, last: int | None, since: str | None
) -> dict[str, Any]:
    """The params for what `turns_options` were given; WrongUsageError for what cannot be."""
    wanted = {"turn": turn, "last": last, "since": since and _moment(doing, since)}
    given = {name: value for name, value in wanted.items() if value is not None}
    if len(given) > 1:
        raise WrongUsageError(f"cannot {doing}: --{' and --'.join(given)} exclude each other")
    return given


def _turn(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> int | str | None:
    """Take digits for a number, everything else for an id."""
    return int(value) if value and value.removeprefix("-").isdecimal() else value


def _moment(doing: str, text: str) -> str:
    ago = re.fullmatch(r"(\d{1,6})([smhd])", text)
    if ago:
        moment = datetime.now(UTC) - int(ago[1]) * _UNITS[ago[2]]
    else:
        try:
            moment = datetime.fromisoformat(text).astimezone(UTC)
        except (ValueError, OverflowError):
            raise WrongUsageError(
                f"cannot {doing}: --since {text} is no time; give 2026-01-31T12:00, or 90s, 30m,"
                " 2h, 3d for so long ago"
            ) from None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def question_argument() -> Callable[[Any], Any]:
    """The argument QID, a question's number; the shell offers the open ones."""
    return click.argument(
        "question_id", metavar="QID", type=click.IntRange(min=1), shell_complete=_complete_question
    )


def repository(given: str | None, *, doing: str) -> str:
    """The folder that was given, or the top of the repository around the current directory."""
    try:
        here = os.getcwd()  # noqa: PTH109 - pathlib costs 6 ms at the start
    except FileNotFoundError as error:
        raise WrongUsageError(
            f"cannot {doing}: the current directory is gone; change to another one"
        ) from error
    if given:
        return os.path.normpath(os.path.join(here, given))  # noqa: PTH118 - as above
    folder = here
    while True:
        if os.path.exists(f"{folder}/.git"):  # noqa: PTH110 - as above
            return folder
        if folder == (above := os.path.dirname(folder)):  # noqa: PTH120 - as above
            return here
        folder = above


def complete_task(
    ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """The ids of the newest tasks that begin with what is typed, with their titles."""
    reply = _quietly(ctx, "task.list", {})
    return _items(
        [(task.get("id"), words.title(task)) for task in reply.get("tasks", [])], incomplete
    )


def _complete_question(
    ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    reply = _quietly(ctx, "question.list", {"states": ["open"]})
    return _items(
        [
            (found.get("id"), one_line(str(found.get("text"))))
            for found in reply.get("questions", [])
        ],
        incomplete,
    )


def _quietly(ctx: click.Context, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """One call for a completion: with no daemon there is nothing to offer, and nothing to say."""
    app: App = ctx.obj
    try:
        with app.daemon("complete") as daemon:
            value = daemon.call(method, params, limit=_COMPLETION_LIMIT).value
    except CommandError:
        return {}
    return value if isinstance(value, dict) else {}


def _items(found: list[tuple[Any, str]], incomplete: str) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem  # noqa: PLC0415 - only completion needs it

    return [
        CompletionItem(str(number), help=text)
        for number, text in found
        if str(number).startswith(incomplete)
    ]
