"""`byre merge`: bring one task's work home."""

from collections.abc import Mapping
from typing import Any

import click

from byred.cli import words
from byred.cli.app import App
from byred.cli.arguments import task_argument
from byred.cli.client import Reply
from byred.cli.errors import RefusedError
from byred.cli.terminal import one_line
from byred.cli.verb import Verb


@click.command(
    cls=Verb, section="Results", short_help="Bring a task's commits into its base branch."
)
@task_argument()
@click.option("--into", metavar="BRANCH", help="The branch to merge into; else the task's base.")
@click.option("--ff", "how", flag_value="ff", help="Only move the branch forward, or refuse.")
@click.option("--squash", "how", flag_value="squash", help="Make one commit of all.")
@click.option("--rebase", "how", flag_value="rebase", help="Make each commit again on the branch.")
@click.option("--tell", is_flag=True, help="Hand conflicts back to the agent without asking.")
@click.pass_obj
def command(app: App, task_id: int, into: str | None, how: str | None, tell: bool) -> None:  # noqa: FBT001 - click passes options by name
    """Bring a task's commits into its base, by a merge commit unless told otherwise."""
    doing = f"merge task {task_id}"
    params: dict[str, Any] = {"id": task_id}
    given = {"into": into, "how": how, "tell": tell}
    params |= {name: value for name, value in given.items() if value}
    try:
        reply = app.ask("task.merge", params, doing=doing)
    except RefusedError as error:
        if app.json or not app.is_interactive or "files" not in error.data:
            raise
        reply = _offer(app, params, error, doing)
    if not app.json:
        for line in report(reply.value):
            app.out.say(line)


def _offer(app: App, params: Mapping[str, Any], error: RefusedError, doing: str) -> Reply:
    """Ask whether the agent is to resolve what conflicts."""
    from byred.cli.asking import agrees  # noqa: PLC0415 - only a conflict on a terminal needs it

    app.out.say("both sides changed, and nothing was merged:", "bold")
    for name in error.data["files"]:
        app.out.say(f"  {one_line(str(name))}")
    if not agrees(app.out, "let the agent resolve it?"):
        raise error
    return app.ask("task.merge", {**params, "tell": True}, doing=doing)


def report(task: Mapping[str, Any]) -> list[str]:
    """Say what became of a merge."""
    if task.get("state") not in words.ENDED:
        return [words.sentence(task), "its agent was told to resolve the conflicts; merge it then"]
    done = task.get("merged") or {}
    before, after = str(done.get("before"))[:12], str(done.get("after"))[:12]
    into = done.get("into")
    if before == after:
        lines = [f"task {task['id']}: {into} has all of it already"]
    else:
        lines = [f"task {task['id']} merged into {into}: {before}..{after}"]
    result = task.get("result") or {}
    if left := result.get("uncommitted_count"):
        named = ", ".join(one_line(str(name)) for name in result.get("uncommitted") or [])
        lines.append(f"not committed, so not merged: {words.count(left, 'file')} ({named})")
    return lines
