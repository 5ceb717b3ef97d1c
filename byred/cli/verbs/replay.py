"""`byre replay`: a task's history at the speed at which it happened, or faster."""

from typing import Any

import click

from byred.cli.app import App
from byred.cli.arguments import task_argument, turns_options, turns_wanted
from byred.cli.telling import tell
from byred.cli.verb import Verb


@click.command(cls=Verb, section="Results")
@task_argument()
@turns_options
@click.option(
    "--speed",
    type=click.FloatRange(0, 1000, min_open=True),
    default=1.0,
    metavar="X",
    help="X times as fast as it was; a pause lasts 3 s at most.",
)
@click.pass_obj
def command(app: App, /, task_id: int, speed: float, **options: Any) -> None:
    """Play a task's history again, step by step."""
    doing = f"replay task {task_id}"
    tell(app, {"id": task_id, "speed": speed, **turns_wanted(doing, **options)}, doing)
