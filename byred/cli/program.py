"""The program behind the entry point: the verbs found by their files, and every ending.

Here, and only here, an error becomes a sentence and an exit status.
"""

import os
import sys
from importlib import import_module
from typing import Any

import click

from byred.cli import app as application
from byred.cli import verbs
from byred.cli.errors import REFUSED, USAGE, CommandError, RefusedError
from byred.cli.verb import SECTIONS, Verb, common_options

PROGRAM = "byre"
COMPLETE = "_BYRE_COMPLETE"
_CLOSED_PIPE = 141  # what a shell reports for a program that SIGPIPE ended
_NOT_DONE = 1
_EPILOG = "Exit status: 0 done, 1 the task did not succeed, 2 wrong usage, 3 no daemon, 4 refused."


class Verbs(click.Group):
    """The command itself; a verb's module is loaded when somebody names it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The verbs that there are: the files of their folder."""
        return sorted(
            name.removesuffix(".py")
            for folder in verbs.__path__
            for name in os.listdir(folder)  # noqa: PTH208 - pathlib costs 6 ms at the start
            if name.endswith(".py") and not name.startswith("_")
        )

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one verb, or None when there is none of that name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command = import_module(f"{verbs.__name__}.{cmd_name}").command
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs under their headings."""
        rows: dict[str, list[tuple[str, str]]] = {section: [] for section in SECTIONS}
        for name in self.list_commands(ctx):
            if isinstance(command := self.get_command(ctx, name), Verb):
                rows[command.section].append((name, command.get_short_help_str(60)))
        for section, listed in rows.items():
            if listed:
                with formatter.section(section):
                    formatter.write_dl(listed)


def build() -> click.Group:
    """The whole command, with no verb loaded yet."""
    return Verbs(
        PROGRAM,
        params=[*common_options(), _version()],
        no_args_is_help=False,
        invoke_without_command=True,
        callback=_help_without_verb,
        help="Queue tasks for coding agents, watch them and answer their questions.",
        epilog=_EPILOG,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def run(args: list[str]) -> int:
    """Run the command with its arguments and return its exit status.

    Every failure is one sentence on stderr. KeyboardInterrupt is left to the caller.
    """
    app = application.from_process(os.environ)
    try:
        status = _run(app, args)
        app.out.flush()
    except BrokenPipeError:
        _forget_output()
        return _CLOSED_PIPE
    except OSError as error:
        _forget_output()
        what = f"use {error.filename}" if error.filename else "write the output"
        reason = os.strerror(error.errno) if error.errno else str(error)
        app.err.say(f"{PROGRAM}: cannot {what}: {reason}; mend that, or choose another place")
        return _NOT_DONE
    return status


def _run(app: application.App, args: list[str]) -> int:
    command = build()
    try:
        if instruction := os.environ.get(COMPLETE):
            return _complete(app, command, instruction)
        with command.make_context(PROGRAM, args, obj=app) as context:
            command.invoke(context)
    except click.exceptions.Exit as ending:
        return ending.exit_code
    except click.ClickException as error:
        return _fail(app, _usage_sentence(error), USAGE)
    except CommandError as error:
        if app.json and isinstance(error, RefusedError) and error.text:
            app.out.raw(error.text)
        return _fail(app, str(error), error.status)
    except OSError:
        raise
    except Exception as error:
        # The boundary: whatever else went wrong is a defect here or a daemon of another kind, and
        # a person at a prompt gets a sentence for it too. `python -X dev` shows where it was.
        if sys.flags.dev_mode:
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        advice = "compare byre --version with the version in byre status"
        return _fail(
            app, f"cannot go on: something unexpected came up ({reason}); {advice}", REFUSED
        )
    return 0


def _fail(app: application.App, sentence: str, status: int) -> int:
    app.out.flush()
    app.err.say(f"{PROGRAM}: {sentence}")
    return status


def _forget_output() -> None:
    """Point our output elsewhere, so that what is still unwritten makes no noise at the end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


def _complete(app: application.App, command: click.Group, instruction: str) -> int:
    from click.shell_completion import shell_complete  # noqa: PLC0415 - only the shell asks for it

    return shell_complete(command, {"obj": app}, PROGRAM, COMPLETE, instruction)


def _version() -> click.Option:
    def show(ctx: click.Context, _parameter: click.Parameter, value: Any) -> None:
        if not value or ctx.resilient_parsing:
            return
        from importlib.metadata import version  # noqa: PLC0415 - slow, and seldom asked for

        click.echo(f"{PROGRAM} {version('byred')}")
        ctx.exit()

    return click.Option(
        ["--version"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=show,
        help="Show the version of this command.",
    )


def _help_without_verb() -> None:
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _usage_sentence(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context else PROGRAM
    reason = " ".join(error.format_message().split()).rstrip(".")
    reason = reason.replace("a valid integer range", "a whole number")
    reason = reason[:1].lower() + reason[1:]
    return f"cannot run {path}: {reason}; see {path} --help"
