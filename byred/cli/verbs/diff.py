"""`byre diff`: what a task has changed against its base, or one of its turns."""

import click

from byred.cli.app import App
from byred.cli.arguments import task_argument
from byred.cli.terminal import clean
from byred.cli.verb import Verb

_STYLES = (
    ("diff ", "bold"),
    ("index ", "bold"),
    ("--- ", "bold"),
    ("+++ ", "bold"),
    ("@@", "cyan"),
    ("+", "green"),
    ("-", "red"),
)


@click.command(cls=Verb, section="Results")
@task_argument()
@click.option(
    "--turn", type=click.IntRange(min=1), metavar="N", help="What this turn alone has changed."
)
@click.pass_obj
def command(app: App, task_id: int, turn: int | None) -> None:
    """Print what a task has changed, as a diff against its base."""
    params = {"id": task_id} if turn is None else {"id": task_id, "turn": turn}
    what = f"task {task_id}" if turn is None else f"turn {turn} of task {task_id}"
    reply = app.ask("task.diff", params, doing=f"show the changes of {what}")
    if app.json:
        return
    diff = str(reply.value["diff"])
    if not app.out.is_terminal and not app.out.colour:
        # A program reads: git apply wants every byte as it is.
        app.out.write(diff)
        return
    if not diff:
        app.out.say(f"{what} has changed nothing")
        return
    for line in clean(diff).removesuffix("\n").split("\n"):
        app.out.say(line, next((style for mark, style in _STYLES if line.startswith(mark)), ""))
