"""`byre interrupt`: stop the running turn of one task."""

import click

from byred.cli.app import App
from byred.cli.arguments import task_argument
from byred.cli.verb import Verb


@click.command(cls=Verb, section="Tasks")
@task_argument()
@click.pass_obj
def command(app: App, task_id: int) -> None:
    """Stop what the agent does now; the task stays."""
    app.change("task.interrupt", {"id": task_id}, doing=f"interrupt task {task_id}")
