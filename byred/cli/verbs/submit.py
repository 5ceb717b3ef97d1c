"""`byre submit`: a new task in the queue."""

import contextlib
from collections.abc import Iterator
from typing import Any

import click

from byred.cli import words
from byred.cli.app import App
from byred.cli.arguments import complete_task, repository
from byred.cli.errors import WrongUsageError
from byred.cli.verb import Verb
from byred.cli.writing import edited_text, given_text

_DOING = "submit the task"
_ADVICE = """\
Write above this line what the agent is to do, in Markdown if you like.
Everything from the line with the scissors on is cut off.
An empty text submits nothing.

repository: {repo}
base: {base}
"""


@click.command(cls=Verb, section="Tasks")
@click.argument("prompt", metavar="[PROMPT|-]", required=False)
@click.option(
    "--repo", metavar="DIR", type=click.Path(), help="The git repository; else the one here."
)
@click.option("--base", metavar="REF", help="Where the task's branch begins.")
@click.option("--title", metavar="T", help="A short name for the task.")
@click.option("--priority", type=int, metavar="N", help="Higher runs earlier; 0 is usual.")
@click.option(
    "--after",
    type=click.IntRange(min=1),
    multiple=True,
    metavar="ID",
    shell_complete=complete_task,
    help="Only when this task has succeeded; may be repeated.",
)
@click.option("--label", "labels", multiple=True, metavar="L", help="A label; may be repeated.")
@click.option("--key", metavar="K", help="The same key again gives the same task.")
@click.option("--wait", is_flag=True, help="Stay until the task has ended; status 1 if it failed.")
@click.pass_context
def command(ctx: click.Context, /, prompt: str | None, *, wait: bool, **options: Any) -> None:
    """Queue a task; without PROMPT your editor opens."""
    app: App = ctx.obj
    params = _params(**options)
    with _prompt(app, prompt, params) as text, app.daemon(_DOING) as daemon:
        reply = daemon.call("task.submit", {"prompt": text, **params})
    if wait:
        from byred.cli.waiting import wait_for  # noqa: PLC0415 - only for those who wait

        if not app.json:
            app.out.say(words.sentence(reply.value))
            app.out.flush()
        ended = wait_for(app, reply.value["id"])
        if ended.value["state"] != "succeeded":
            ctx.exit(1)
    elif app.json:
        app.out.raw(reply.text)
    else:
        app.out.say(words.sentence(reply.value))


def _params(
    *,
    repo: str | None,
    base: str | None,
    title: str | None,
    priority: int | None,
    after: tuple[int, ...],
    labels: tuple[str, ...],
    key: str | None,
) -> dict[str, Any]:
    """The parameters beside the prompt; what was not given is the daemon's to choose."""
    given = {
        "base": base,
        "title": title,
        "priority": priority,
        "depends_on": list(after),
        "labels": list(labels),
        "key": key,
    }
    chosen = {name: value for name, value in given.items() if value not in (None, [])}
    return {"repo": repository(repo, doing=_DOING), **chosen}


@contextlib.contextmanager
def _prompt(app: App, prompt: str | None, params: dict[str, Any]) -> Iterator[str]:
    if prompt is not None:
        yield given_text(app, prompt, doing=_DOING)
    elif app.is_interactive:
        advice = _ADVICE.format(repo=params["repo"], base=params.get("base") or "what it has now")
        # A daemon that is not there is better known before somebody writes a page.
        app.daemon(_DOING).close()
        with edited_text(app, doing=_DOING, advice=advice) as text:
            yield text
    else:
        raise WrongUsageError(
            f"cannot {_DOING}: there is no prompt and no terminal to write one on;"
            " give the prompt, or - to read it from standard input"
        )
