"""`byre restore`: the files of a task as they were."""

import click

from byred.cli.app import App
from byred.cli.arguments import task_argument
from byred.cli.verb import Verb


@click.command(
    cls=Verb, section="Results", short_help="Put a task's files back to the end of a turn."
)
@task_argument()
@click.option(
    "--turn",
    type=click.IntRange(min=1),
    metavar="N",
    required=True,
    help="The turn whose end is meant; byre turns lists them.",
)
@click.pass_obj
def command(app: App, task_id: int, turn: int) -> None:
    """Put a task's files and branch back to the end of a turn; what was there is kept."""
    params = {"id": task_id, "turn": turn}
    reply = app.ask("task.restore", params, doing=f"put task {task_id} back")
    if not app.json:
        app.out.say(f"task {task_id} is as after turn {turn}, in {reply.value['worktree']}")
