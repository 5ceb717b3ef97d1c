"""`byre completion`: the script that teaches a shell to complete this command."""

import click

from byred.cli.app import App
from byred.cli.verb import Verb

_HOW = {
    "bash": 'eval "$(byre completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(byre completion zsh)" in ~/.zshrc',
    "fish": "byre completion fish > ~/.config/fish/completions/byre.fish",
}


@click.command(
    cls=Verb, section="Daemon", epilog="\b\n" + "\n".join(f"{s}: {how}" for s, how in _HOW.items())
)
@click.argument("shell", type=click.Choice(list(_HOW)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415 - only here

    app: App = ctx.obj
    root = ctx.find_root()
    if completion := get_completion_class(shell):
        app.out.say(completion(root.command, {}, "byre", "_BYRE_COMPLETE").source())
