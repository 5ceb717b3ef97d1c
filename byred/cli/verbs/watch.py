"""`byre watch`: all tasks and open questions, as they change."""

import click

from byred.cli.app import App
from byred.cli.verb import Verb


@click.command(cls=Verb, section="Tasks")
@click.pass_obj
def command(app: App) -> None:
    """Watch all tasks and open questions; q ends it."""
    from byred.cli import watching  # noqa: PLC0415 - keeps byre --help from loading it

    if app.json or not app.is_interactive or app.environ.get("TERM") == "dumb":
        watching.append_lines(app)
    else:
        from byred.cli.screen import Screen  # noqa: PLC0415 - as above

        with Screen(app) as screen:
            watching.live(app, screen)
