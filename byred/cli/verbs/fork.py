"""`byre fork`: a new task that goes on from where another one was."""

from typing import Any

import click

from byred.cli.app import App
from byred.cli.arguments import task_argument
from byred.cli.verb import Verb
from byred.cli.writing import given_text


@click.command(cls=Verb, section="Tasks", short_help="Start a new task from where another one was.")
@task_argument()
@click.argument("prompt", metavar="[PROMPT|-]", required=False)
@click.option(
    "--turn",
    type=click.IntRange(min=1),
    metavar="N",
    help="At the end of this turn; else of the last one.",
)
@click.option("--title", metavar="T", help="A short name for the new task.")
@click.pass_obj
def command(
    app: App, task_id: int, prompt: str | None, turn: int | None, title: str | None
) -> None:
    """Start a new task with the files and the thread that another one had after a turn.

    Without PROMPT it waits for what you tell it.
    """
    doing = f"fork task {task_id}"
    params: dict[str, Any] = {"id": task_id}
    given = {
        "turn": turn,
        "prompt": None if prompt is None else given_text(app, prompt, doing=doing),
        "title": title,
    }
    params |= {name: value for name, value in given.items() if value is not None}
    app.change("task.fork", params, doing=doing)
