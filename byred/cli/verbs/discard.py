"""`byre discard`: take one task's worktree away."""

import click

from byred.cli import words
from byred.cli.app import App
from byred.cli.arguments import task_argument
from byred.cli.verb import Verb


@click.command(
    cls=Verb, section="Results", short_help="Take an ended task's worktree and branch away."
)
@task_argument()
@click.pass_obj
def command(app: App, task_id: int) -> None:
    """Take an ended task's worktree and branch away; byre undelete brings them back."""
    reply = app.ask("task.discard", {"id": task_id}, doing=f"discard task {task_id}")
    if not app.json:
        app.out.say(words.sentence(reply.value))
        app.out.say(f"all that it held is kept: byre undelete {task_id} brings it back")
