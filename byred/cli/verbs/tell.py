"""`byre tell`: a word to the agent, while it works or after it ended."""

import click

from byred.cli.app import App
from byred.cli.arguments import task_argument
from byred.cli.verb import Verb
from byred.cli.writing import given_text


@click.command(cls=Verb, section="Tasks")
@task_argument()
@click.argument("text", metavar="TEXT|-")
@click.pass_obj
def command(app: App, task_id: int, text: str) -> None:
    """Tell a task something; an ended one goes on with it."""
    doing = f"tell task {task_id} anything"
    text = given_text(app, text, doing=doing)
    app.change("task.tell", {"id": task_id, "text": text}, doing=doing)
