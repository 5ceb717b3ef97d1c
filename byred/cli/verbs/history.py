"""`byre history`: what happened in a task, turn by turn, from codex's own records."""

from typing import Any

import click

from byred.cli import words
from byred.cli.app import App
from byred.cli.arguments import task_argument, turns_options, turns_wanted
from byred.cli.errors import WrongUsageError
from byred.cli.telling import LIMIT, tell
from byred.cli.terminal import one_line
from byred.cli.verb import Verb

_KIND_WIDTH = 18


@click.command(cls=Verb, section="Results")
@task_argument(required=False)
@turns_options
@click.option("-f", "--follow", is_flag=True, help="Go on until the task has ended.")
@click.option("--search", metavar="TEXT", help="Say where TEXT stands, in all tasks or in ID.")
@click.option("--case", is_flag=True, help="Search: capitals count.")
@click.option(
    "--limit", type=click.IntRange(1, 1000), metavar="N", help="Search: show N places, not 100."
)
@click.pass_obj
def command(app: App, /, task_id: int | None, follow: bool, **options: Any) -> None:  # noqa: FBT001 - click passes options by name
    """Tell a task turn by turn: asked, said, run, changed."""
    words_, case, limit = (options.pop(name) for name in ("search", "case", "limit"))
    if words_ is not None:
        if follow or any(value is not None for value in options.values()):
            raise WrongUsageError("cannot search and tell at once; leave out --search or the rest")
        _search(app, task_id, {"words": words_, "exact_case": case, "limit": limit or 100})
        return
    if case or limit:
        raise WrongUsageError("cannot use --case or --limit without --search TEXT")
    if task_id is None:
        raise WrongUsageError("cannot tell a history: give a task's ID, or --search TEXT")
    doing = f"tell the history of task {task_id}"
    wanted = turns_wanted(doing, **options)
    if follow and "turn" in wanted:
        raise WrongUsageError(f"cannot {doing}: --turn and --follow exclude each other")
    tell(
        app, {"id": task_id, **wanted, **({"follow": True} if follow else {})}, doing, follow=follow
    )


def _search(app: App, task_id: int | None, params: dict[str, Any]) -> None:
    doing = "search the histories" if task_id is None else f"search the history of task {task_id}"
    if task_id is not None:
        params["id"] = task_id
    with app.daemon(doing) as daemon:
        reply = daemon.call("history.search", params, limit=LIMIT)
    if app.json:
        app.out.raw(reply.text)
        return
    before: tuple[Any, Any] | None = None
    for hit in reply.value["hits"]:
        place = hit.get("task_id"), hit.get("turn_id")
        if place != before:
            turn = f"  byre history {place[0]} --turn {place[1]}" if place[1] else ""
            heading = app.out.paint(f"task {place[0]}", "bold")
            app.out.say(f"{heading}  {words.date(hit.get('at'))}{app.out.paint(turn, 'dim')}")
            before = place
        what = one_line(str(hit.get("what"))).ljust(_KIND_WIDTH)
        app.out.say(f"  {app.out.paint(what, 'cyan')}  {one_line(str(hit.get('excerpt')))}")
    if not reply.value["hits"]:
        app.out.say("it stands nowhere")
    if reply.value.get("more"):
        app.out.say(f"there are more than these {params['limit']}; --limit shows more", "yellow")
    for each in reply.value.get("unread") or ():
        app.err.say(f"not searched: {one_line(str(each.get('reason')))}")
