"""`byre answer`: a person's answer to an agent's question."""

from collections.abc import Mapping
from typing import Any

import click

from byred.cli import words
from byred.cli.app import App
from byred.cli.arguments import question_argument
from byred.cli.asking import read_answer, show_question
from byred.cli.errors import RefusedError, WrongUsageError
from byred.cli.terminal import one_line
from byred.cli.verb import Verb
from byred.cli.writing import given_text


@click.command(cls=Verb, section="Questions")
@question_argument()
@click.argument("text", metavar="[TEXT|-]", required=False)
@click.pass_obj
def command(app: App, question_id: int, text: str | None) -> None:
    """Answer a question; without TEXT it is shown and asked here."""
    doing = f"answer question {question_id}"
    if text is not None:
        text = given_text(app, text, doing=doing)
    elif app.is_interactive:
        question = _open_question(app, question_id, doing)
        show_question(app.out, question)
        text = read_answer(app.out, question, doing=doing)
    else:
        raise WrongUsageError(f"cannot {doing}: there is no terminal to ask on; give the text or -")
    reply = app.ask("question.answer", {"id": question_id, "text": text}, doing=doing)
    if not app.json:
        app.out.say(
            f"question {question_id} of task {reply.value.get('task_id')} answered:"
            f" {one_line(str(reply.value.get('answer') or text))}"
        )


def _open_question(app: App, question_id: int, doing: str) -> Mapping[str, Any]:
    with app.daemon(doing) as daemon:
        # The newest question up to this one is this one, or there is none with this number.
        listed = daemon.call("question.list", {"before": question_id + 1, "limit": 1}).value
    found: Mapping[str, Any] | None = next(
        (question for question in listed["questions"] if question["id"] == question_id), None
    )
    if found is None:
        raise RefusedError(f"cannot {doing}: there is no such question; see byre questions")
    if found["state"] != "open":
        who = f" by {one_line(found['answered_by'])}" if found.get("answered_by") else ""
        when = words.date(found.get("answered_at"))
        raise RefusedError(
            f"cannot {doing}: it is {found['state']}{who}{f' on {when}' if when else ''};"
            " see byre questions --all"
        )
    return found
