"""`byre questions`: what the agents want to know."""

from collections.abc import Mapping
from typing import Any

import click

from byred.cli import words
from byred.cli.app import App
from byred.cli.table import Cell, table
from byred.cli.verb import Verb

_ALL = ["open", "answered", "withdrawn", "expired"]
_STYLES = {"open": "yellow", "answered": "green", "withdrawn": "dim", "expired": "red"}
_HEAD = ("QID", "TASK", "AGE", "STATE", "QUESTION", "ANSWER")


@click.command(cls=Verb, section="Questions")
@click.option("--all", "every", is_flag=True, help="Answered, withdrawn and expired ones too.")
@click.pass_obj
def command(app: App, every: bool) -> None:  # noqa: FBT001 - click passes options by name
    """List the questions that wait for an answer."""
    params = {"states": _ALL if every else ["open"]}
    questions = app.read_all("question.list", params, "questions", doing="list the questions")
    if app.json:
        return
    if not questions:
        app.out.say("no question" if every else "no open question; byre questions --all shows all")
        return
    head, flexible = (_HEAD, (4, 5)) if every else (_HEAD[:-1], (4,))
    rows = [_row(question)[: len(head)] for question in questions]
    for line in table(app.out, head, rows, flexible=flexible):
        app.out.say(line)


def _row(question: Mapping[str, Any]) -> list[Cell]:
    state = str(question.get("state"))
    return [
        Cell(str(question.get("id"))),
        Cell(str(question.get("task_id"))),
        Cell(words.ago(question.get("asked_at"))),
        Cell(state, _STYLES.get(state, "")),
        Cell(str(question.get("text") or "")),
        Cell(str(question.get("answer") or "")),
    ]
