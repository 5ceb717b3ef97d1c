"""`byre hold`: keep one task from running."""

import click

from byred.cli.app import App
from byred.cli.arguments import task_argument
from byred.cli.verb import Verb


@click.command(cls=Verb, section="Tasks")
@task_argument()
@click.pass_obj
def command(app: App, task_id: int) -> None:
    """Keep a task from running until it is released."""
    app.change("task.hold", {"id": task_id}, doing=f"hold task {task_id}")
