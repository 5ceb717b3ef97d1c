"""`byre patches`: a task's work as patches."""

import base64
import os

import click

from byred.cli.app import App
from byred.cli.arguments import task_argument
from byred.cli.errors import CommandError, WrongUsageError
from byred.cli.verb import Verb

_NOT_WRITTEN = 1


@click.command(cls=Verb, section="Results", short_help="Write a patch for each commit of a task.")
@task_argument()
@click.argument("folder", metavar="DIR", type=click.Path())
@click.pass_obj
def command(app: App, task_id: int, folder: str) -> None:
    """Write a patch for each commit of a task, and one for the rest, into a new folder."""
    doing = f"write patches of task {task_id}"
    # Looked at before the daemon works, and made after it has.
    if os.path.exists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):  # noqa: PTH110, PTH112, PTH208 - pathlib costs 6 ms at the start
        raise WrongUsageError(f"cannot {doing}: {folder} is not an empty folder; name a new one")
    reply = app.ask("task.patches", {"id": task_id}, doing=doing)
    if app.json:
        return
    patches = reply.value["patches"]
    try:
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - as above
        for patch in patches:
            # A name is the daemon's word for a file here, and no path.
            name = os.path.basename(str(patch["name"]))  # noqa: PTH119 - as above
            with open(f"{folder}/{name}", "xb") as file:  # noqa: PTH123 - as above
                file.write(base64.b64decode(patch["content"]))
            app.out.say(f"{folder}/{name}")
    except OSError as error:
        why = error.strerror or "it failed"
        raise CommandError(
            f"cannot {doing}: {folder}: {why}; name another folder", status=_NOT_WRITTEN
        ) from error
    if not patches:
        app.out.say(f"task {task_id} has changed nothing")
