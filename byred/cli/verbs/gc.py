"""`byre gc`: take away what ended tasks left on the disk."""

import re
from collections.abc import Mapping
from typing import Any

import click

from byred.cli import words
from byred.cli.app import App
from byred.cli.errors import WrongUsageError
from byred.cli.table import Cell, table
from byred.cli.verb import Verb

_DOING = "clear up"
_SECONDS = {"m": 60, "h": 3600, "d": 86_400}
_BYTES = {"MB": 10**6, "GB": 10**9, "TB": 10**12}
_LIMIT = 3600.0  # seconds; a hundred large worktrees take their time


@click.command(cls=Verb, section="Results")
@click.option("--dry-run", is_flag=True, help="Only say what would go, and why.")
@click.option("--older-than", metavar="AGE", help="What ended longer ago goes: 12h, 14d.")
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="Only the N youngest stay.")
@click.option("--within", metavar="SIZE", help="As many stay as fit: 500MB, 20GB.")
@click.pass_obj
def command(
    app: App, /, *, dry_run: bool, older_than: str | None, keep: int | None, within: str | None
) -> None:
    """Take away worktrees of ended tasks, by the settings or as told; byre undelete undoes it."""
    given = {
        "age": _quantity(older_than, _SECONDS, "--older-than", "12h or 14d"),
        "count": keep,
        "size": _quantity(within, _BYTES, "--within", "500MB or 20GB"),
    }
    params = {name: value for name, value in given.items() if value is not None}
    with app.daemon(_DOING) as daemon:
        reply = daemon.call("daemon.gc", {"dry_run": dry_run, **params}, limit=_LIMIT)
    if app.json:
        app.out.raw(reply.text)
        return
    tasks = reply.value.get("tasks") or []
    if tasks:
        head = ("ID", "STATE", "ENDED", "SIZE", "WHAT", "WHY")
        for line in table(app.out, head, [_row(task, dry_run) for task in tasks], flexible=(5,)):
            app.out.say(line)
    going = [task for task in tasks if task.get("goes") and not task.get("error")]
    would = "would free" if dry_run else "freed"
    taken = words.size(int(reply.value.get("freed") or 0))
    app.out.say(f"{would} {taken} of {words.count(len(going), 'worktree')}")
    if going and not dry_run:
        app.out.say("all that they held is kept: byre undelete ID brings one back")


def _row(task: Mapping[str, Any], dry_run: bool) -> list[Cell]:  # noqa: FBT001 - one caller
    if task.get("error"):
        what, why, style = "failed", str(task["error"]), "red"
    elif task.get("goes"):
        what, why, style = "would go" if dry_run else "gone", str(task.get("why")), "yellow"
    else:
        what, why, style = "stays", str(task.get("why")), ""
    return [
        Cell(str(task.get("id"))),
        Cell(str(task.get("state"))),
        Cell(words.ago(task.get("ended_at"))),
        Cell(words.size(int(task.get("size") or 0))),
        Cell(what, style),
        Cell(why),
    ]


def _quantity(
    text: str | None, units: Mapping[str, int], option: str, example: str
) -> float | int | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)([A-Za-z]+)", text)
    if found is None or found[2] not in units:
        raise WrongUsageError(f"cannot {_DOING}: {option} {text} is not understood; give {example}")
    return int(float(found[1]) * units[found[2]])
