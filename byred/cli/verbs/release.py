"""`byre release`: let a held task run."""

import click

from byred.cli.app import App
from byred.cli.arguments import task_argument
from byred.cli.verb import Verb


@click.command(cls=Verb, section="Tasks")
@task_argument()
@click.pass_obj
def command(app: App, task_id: int) -> None:
    """Let a task that was held run again."""
    app.change("task.release", {"id": task_id}, doing=f"release task {task_id}")
