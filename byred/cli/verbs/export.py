"""`byre export`: a task's history as a page that can be read without byred."""

from typing import Any

import click

from byred.cli.app import App
from byred.cli.arguments import task_argument, turns_options, turns_wanted
from byred.cli.errors import RefusedError
from byred.cli.telling import LIMIT, sentence
from byred.cli.verb import Verb

_FORMATS = ("md", "html", "jsonl")


@click.command(cls=Verb, section="Results")
@task_argument()
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default="md",
    help="Markdown, a page for a browser, or JSON, a turn a line.",
)
@turns_options
@click.pass_obj
def command(app: App, /, task_id: int, form: str, **options: Any) -> None:
    """Print a task's history as a page, without secrets."""
    doing = f"export task {task_id}"
    params = {"id": task_id, "format": form, **turns_wanted(doing, **options)}
    with app.daemon(doing) as daemon:
        reply = daemon.call("task.record", params, limit=LIMIT)
        if app.json:
            app.out.raw(reply.text)
        else:
            app.out.text(reply.value["text"])
        more = bool(reply.value.get("more"))
        while more and (told := daemon.hear(None)) is not None:
            if told.params.get("id") != task_id:
                continue
            if app.json:
                app.out.raw(told.text)
            if told.method == "record.end":
                more = False
                if error := told.params.get("error"):
                    raise RefusedError(sentence(doing, error))
            elif not app.json:
                app.out.text(str(told.params["text"]))
