"""`byre cancel`: end one task."""

import click

from byred.cli.app import App
from byred.cli.arguments import task_argument
from byred.cli.verb import Verb


@click.command(cls=Verb, section="Tasks")
@task_argument()
@click.pass_obj
def command(app: App, task_id: int) -> None:
    """End a task; its worktree and branch stay."""
    app.change("task.cancel", {"id": task_id}, doing=f"cancel task {task_id}")
