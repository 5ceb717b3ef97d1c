"""`byre open`: go to where a task works."""

import os
import shlex
from collections.abc import Mapping
from typing import Any

import click

from byred.cli.app import App
from byred.cli.arguments import task_argument
from byred.cli.errors import CommandError, WrongUsageError
from byred.cli.verb import Verb

_NOT_STARTED = 1


@click.command(
    cls=Verb, section="Results", short_help="Print the path of a task's worktree, or open it."
)
@task_argument()
@click.option("--shell", is_flag=True, help="Start your shell there, with the task's ports.")
@click.option("--editor", is_flag=True, help="Start your editor on it.")
@click.pass_context
def command(ctx: click.Context, task_id: int, shell: bool, editor: bool) -> None:  # noqa: FBT001 - click passes options by name
    """Print the path of a task's worktree, or open it in your shell or editor."""
    app: App = ctx.obj
    doing = f"open task {task_id}"
    if shell and editor:
        raise WrongUsageError(f"cannot {doing}: choose one of --shell and --editor")
    reply = app.ask("task.get", {"id": task_id}, doing=doing)
    task = reply.value
    path = str(task.get("worktree") or "")
    if task.get("removed_at"):
        raise CommandError(
            f"cannot {doing}: its worktree was taken away; byre undelete {task_id} brings it back",
            status=_NOT_STARTED,
        )
    if not os.path.isdir(path):  # noqa: PTH112 - pathlib costs 6 ms at the start
        raise CommandError(
            f"cannot {doing}: {path} is not there; it is made when the task first runs, and again "
            "when it goes on",
            status=_NOT_STARTED,
        )
    if shell or editor:
        ctx.exit(_start(app, task, path, doing, shell=shell))
    if not app.json:
        app.out.say(path)


def _start(app: App, task: Mapping[str, Any], path: str, doing: str, *, shell: bool) -> int:
    """Run the person's program there until it ends, and give its status."""
    import subprocess  # noqa: PLC0415 - only who opens something needs it

    if shell:
        argv = [app.environ.get("SHELL") or "/bin/sh"]
    else:
        chosen = app.environ.get("VISUAL") or app.environ.get("EDITOR")
        if not chosen:
            raise WrongUsageError(f"cannot {doing}: set EDITOR to the editor that you want")
        argv = [*shlex.split(chosen), path]
    app.out.flush()
    environ = {**app.environ, **_of_task(task, path)}
    try:
        return subprocess.run(argv, cwd=path, env=environ, check=False).returncode
    except OSError as error:
        raise CommandError(
            f"cannot {doing}: {argv[0]} does not start ({error.strerror})", status=_NOT_STARTED
        ) from error


def _of_task(task: Mapping[str, Any], path: str) -> dict[str, str]:
    """What tells the task apart; the identity stays the person's, who commits as himself."""
    ports = {str(name): str(port) for name, port in (task.get("ports") or {}).items()}
    named = {f"PORT_{name.upper().replace('-', '_')}": port for name, port in ports.items()}
    first = {"PORT": next(iter(ports.values()))} if ports else {}
    return {"BYRE_TASK_ID": str(task["id"]), "BYRE_WORKTREE": path, **first, **named}
