"""`byre undelete`: bring a worktree back that was taken away."""

import click

from byred.cli.app import App
from byred.cli.arguments import task_argument
from byred.cli.verb import Verb


@click.command(cls=Verb, section="Results", short_help="Bring back a worktree that was taken away.")
@task_argument()
@click.pass_obj
def command(app: App, task_id: int) -> None:
    """Bring back a task's worktree and branch that were taken away."""
    reply = app.ask("task.undelete", {"id": task_id}, doing=f"bring back task {task_id}")
    if not app.json:
        app.out.say(f"task {task_id} is back in {reply.value['worktree']}")
