"""What every verb is: a click command with the options that all verbs share."""

from collections.abc import Callable
from typing import Any

import click

SECTIONS = ("Tasks", "Questions", "Results", "Daemon")


class Verb(click.Command):
    """One verb. `section` says under which heading `byre --help` lists it."""

    def __init__(self, *args: Any, section: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self.section = section
        self.params += common_options()


def common_options() -> list[click.Parameter]:
    """The options that may stand before a verb and after it; both end in the App."""
    return [
        click.Option(
            ["--socket"],
            metavar="PATH",
            type=click.Path(),
            expose_value=False,
            callback=_note("socket"),
            help="The daemon's socket, instead of BYRE_SOCKET or the usual places.",
        ),
        click.Option(
            ["--json"],
            is_flag=True,
            expose_value=False,
            callback=_note("json"),
            help="Print the daemon's reply as it came, for programs.",
        ),
    ]


def _note(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def keep(ctx: click.Context, _parameter: click.Parameter, value: Any) -> None:
        if value and ctx.obj is not None:
            setattr(ctx.obj, name, value)

    return keep
