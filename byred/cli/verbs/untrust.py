"""`byre untrust`: let a repository run no commands any more."""

import click

from byred.cli.app import App
from byred.cli.arguments import repository
from byred.cli.verb import Verb


@click.command(cls=Verb, section="Daemon", short_help="Let a repository's .byre.toml run nothing.")
@click.argument("repo", metavar="[REPO]", required=False, type=click.Path())
@click.pass_obj
def command(app: App, repo: str | None) -> None:
    """Let the .byre.toml of a repository (else of the one here) run nothing any more."""
    doing = "trust the repository no more"
    path = repository(repo, doing=doing)
    reply = app.ask("repo.untrust", {"repo": path}, doing=doing)
    if not app.json:
        app.out.say(f"{reply.value.get('repo')} is not trusted")
