"""`byre retry`: one more attempt at an ended task."""

import click

from byred.cli.app import App
from byred.cli.arguments import task_argument
from byred.cli.verb import Verb


@click.command(cls=Verb, section="Tasks")
@task_argument()
@click.pass_obj
def command(app: App, task_id: int) -> None:
    """Queue an ended task again, on its thread and worktree."""
    app.change("task.retry", {"id": task_id}, doing=f"retry task {task_id}")
