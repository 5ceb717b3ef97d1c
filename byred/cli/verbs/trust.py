"""`byre trust`: let a repository say what runs in its worktrees."""

from collections.abc import Mapping
from typing import Any

import click

from byred.cli import words
from byred.cli.app import App
from byred.cli.arguments import repository
from byred.cli.terminal import one_line
from byred.cli.verb import Verb


@click.command(cls=Verb, section="Daemon", short_help="Let a repository's .byre.toml run commands.")
@click.argument("repo", metavar="[REPO]", required=False, type=click.Path())
@click.option("--list", "listed", is_flag=True, help="Only list what is trusted.")
@click.pass_obj
def command(app: App, repo: str | None, listed: bool) -> None:  # noqa: FBT001 - click passes options by name
    """Let the .byre.toml of a repository (else of the one here) run commands."""
    if listed:
        _list(app)
        return
    doing = "trust the repository"
    path = repository(repo, doing=doing)
    reply = app.ask("repo.trust", {"repo": path}, doing=doing)
    if not app.json:
        for line in report(reply.value):
            app.out.say(line)


def report(found: Mapping[str, Any]) -> list[str]:
    """Say whether a repository is trusted, and what it asks for."""
    asks = [f"  {one_line(str(each))}" for each in found.get("asks") or []]
    if not found.get("trusted"):
        return [f"{found.get('repo')} is not trusted"]
    does = "its .byre.toml asks for nothing that needs it" if not asks else "its tasks now"
    return [f"{found.get('repo')} is trusted; {does}", *asks]


def _list(app: App) -> None:
    reply = app.ask("repo.list", {}, doing="list the trusted repositories")
    if app.json:
        return
    found = reply.value["repos"]
    for each in found:
        since = words.date(each.get("trusted_at"))
        app.out.say(f"{each.get('repo')}  by {each.get('trusted_by')}, {since}")
    if not found:
        app.out.say("no repository is trusted")
