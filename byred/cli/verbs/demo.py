"""`byre demo`: the whole way of three tasks, on a throw-away daemon with a scripted model."""

import signal
import sys
from types import FrameType

import click

from byred.cli.app import App
from byred.cli.verb import Verb


@click.command(cls=Verb, section="Daemon")
@click.option("--keep", is_flag=True, help="Keep worktrees, state and log to be looked at.")
@click.pass_context
def command(ctx: click.Context, keep: bool) -> None:  # noqa: FBT001 - click passes options by name
    """Show byred at work: no account, no network, nothing left."""
    app: App = ctx.obj
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGHUP, _end)
    if not _perform(app, keep=keep):
        ctx.exit(1)


def _perform(app: App, *, keep: bool) -> bool:
    """Run it from the empty folder to the picture; whether all of it went well."""
    from byred.cli.demo import play  # noqa: PLC0415 - keeps byre --help from loading it
    from byred.cli.demo.ground import Ground  # noqa: PLC0415 - as above
    from byred.cli.demo.server import Server, undisturbed  # noqa: PLC0415 - as above

    out = app.err if app.json else app.out
    ground = Ground(app.environ)
    try:
        ground.prepare()
        out.say(f"a throw-away repository and its own daemon are in {ground.folder}", "dim")
        out.flush()
        with Server(ground) as server:
            tasks = play.perform(app, out, ground, server)
            in_order = server.stop()
        play.show_picture(out, ground, tasks)
        if not keep:
            ground.remove_all_but_the_repository()
    except BaseException:
        if not keep:
            with undisturbed():
                ground.remove()
        raise
    play.show_how_to_look(out, ground, keep=keep)
    if not in_order:
        app.err.say(f"the daemon did not end as it should: {server.ending}", "red")
    return in_order and all(task["state"] == "succeeded" for task in tasks)


def _end(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)
