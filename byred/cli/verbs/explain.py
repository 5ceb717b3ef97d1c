"""`byre explain`: why a task is in the state that it is in, and what can be done."""

import click

from byred.cli.app import App
from byred.cli.arguments import task_argument
from byred.cli.table import fill
from byred.cli.terminal import clean, one_line
from byred.cli.verb import Verb


@click.command(cls=Verb, section="Tasks")
@task_argument()
@click.pass_obj
def command(app: App, task_id: int) -> None:
    """Say why a task is where it is, and what you can do."""
    reply = app.ask("task.explain", {"id": task_id}, doing=f"explain task {task_id}")
    if app.json:
        return
    told = reply.value
    app.out.say(clean(str(told.get("why") or f"task {task_id} is {told.get('state')}")))
    facts = [(f["name"], one_line(str(f["value"]))) for f in told.get("facts") or []]
    steps = [(s["command"], one_line(str(s["what"]))) for s in told.get("next") or []]
    for heading, pairs in (("facts", facts), ("what you can do", steps)):
        if not pairs:
            continue
        app.out.say()
        app.out.say(heading, "bold")
        width = max(len(name) for name, _ in pairs)
        for name, value in pairs:
            app.out.say(f"  {fill(one_line(name), width)}  {value}")
