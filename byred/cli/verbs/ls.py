"""`byre ls`: the tasks, newest first."""

from collections.abc import Mapping
from typing import Any

import click

from byred.cli import words
from byred.cli.app import App
from byred.cli.table import Cell, table
from byred.cli.terminal import one_line
from byred.cli.verb import Verb

HEAD = ("ID", "STATE", "AGE", "TRY", "REPO", "TITLE")
FLEXIBLE = (5, 4)
WIDE_HEAD = (*HEAD[:-1], "DISK", "TURNS", "BRANCH", "TITLE")
WIDE_FLEXIBLE = (8, 7, 4)


@click.command(cls=Verb, section="Tasks")
@click.option("--all", "every", is_flag=True, help="Ended tasks too.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(words.STATES),
    metavar="S",
    help="Only tasks in this state; may be repeated.",
)
@click.option("--label", metavar="L", help="Only tasks with this label.")
@click.option("--wide", is_flag=True, help="Branch, turns and what each takes on the disk, too.")
@click.pass_obj
def command(
    app: App, /, *, every: bool, states: tuple[str, ...], label: str | None, wide: bool
) -> None:
    """List the tasks that have not ended, newest first."""
    params: dict[str, Any] = {}
    if states or not every:
        params["states"] = list(states or words.ACTIVE)
    if label:
        params["label"] = label
    tasks = app.read_all("task.list", params, "tasks", doing="list the tasks")
    if app.json:
        return
    if tasks:
        head, flexible = (WIDE_HEAD, WIDE_FLEXIBLE) if wide else (HEAD, FLEXIBLE)
        rows = [wide_row(task) if wide else row(task) for task in tasks]
        for line in table(app.out, head, rows, flexible=flexible):
            app.out.say(line)
    elif every or states or label:
        app.out.say("no such task")
    else:
        app.out.say("no task is queued or running; byre ls --all shows the ended ones")


def row(task: Mapping[str, Any]) -> list[Cell]:
    """A task as a row of the table."""
    state = str(task.get("state"))
    return [
        Cell(str(task.get("id"))),
        Cell(words.state(task), words.STYLES.get(state, "")),
        Cell(words.ago(task.get("ended_at") or task.get("started_at") or task.get("created_at"))),
        Cell(str(task.get("attempt") or "")),
        Cell(str(task.get("repo") or "").rstrip("/").rpartition("/")[2]),
        Cell(words.title(task)),
    ]


def wide_row(task: Mapping[str, Any]) -> list[Cell]:
    """A task as a row of the wide table."""
    *first, title = row(task)
    disk = task.get("disk") or {}
    taken = words.size(int(disk.get("worktree") or 0) + int(disk.get("home") or 0)) if disk else ""
    gone = " (kept)" if task.get("removed_at") else ""
    return [
        *first,
        Cell(taken),
        Cell(str(task.get("turns") or "")),
        Cell(f"{one_line(str(task.get('branch') or ''))}{gone}"),
        title,
    ]
