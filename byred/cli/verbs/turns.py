"""`byre turns`: the turns of a task, and which of them are kept."""

import click

from byred.cli import words
from byred.cli.app import App
from byred.cli.arguments import task_argument
from byred.cli.table import Cell, table
from byred.cli.verb import Verb

HEAD = ("TURN", "STATE", "AGE", "LASTED", "CHECKPOINT")


@click.command(
    cls=Verb, section="Results", short_help="List a task's turns and what keeps their files."
)
@task_argument()
@click.pass_obj
def command(app: App, task_id: int) -> None:
    """List a task's turns, each with the commit that keeps its files."""
    doing = f"list the turns of task {task_id}"
    params: dict[str, int] = {"id": task_id}
    rows: list[list[Cell]] = []
    with app.daemon(doing) as daemon:
        while True:
            reply = daemon.call("task.turns", params)
            if app.json:
                app.out.raw(reply.text)
            rows += [_row(turn) for turn in reply.value.get("turns") or []]
            if not (following := reply.value.get("next")):
                break
            params["after"] = following
    if app.json:
        return
    if not rows:
        app.out.say(f"task {task_id} has had no turn yet")
        return
    for line in table(app.out, HEAD, rows, flexible=()):
        app.out.say(line)


def _row(turn: dict[str, str | None]) -> list[Cell]:
    started, ended = words.instant(turn.get("started_at")), words.instant(turn.get("ended_at"))
    lasted = words.span((ended - started).total_seconds()) if started and ended else ""
    return [
        Cell(str(turn.get("number"))),
        Cell(str(turn.get("status") or "not ended")),
        Cell(words.ago(turn.get("ended_at") or turn.get("started_at"))),
        Cell(lasted),
        Cell(str(turn.get("checkpoint") or "")[:12]),
    ]
