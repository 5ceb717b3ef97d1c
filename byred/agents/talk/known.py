"""How what was said to an agent is known again in its thread's own record.

Texts go out under a client id. A reply to a question is known by its call, or by the words in which
a late one is given.
"""

from typing import Any

from byred.agents.talk import tools
from byred.agents.talk.reconcile import ThreadRecord
from byred.core.question import Question, QuestionState, reply_text
from byred.store.inputs import Input

# Characters of a reply that codex keeps in any case.
COMPARED = 2000

_INPUT = "byre-input-"


def client_id(text: Input) -> str:
    """Give the id under which a text goes out."""
    return f"{_INPUT}{text.id}"


def answer_id(question: Question) -> str:
    """Give the id under which a late reply goes out as text."""
    return f"byre-answer-{question.id}"


def input_number(client_id: Any) -> int | None:
    """Give the number of the text that went out under an id, if one of byred's did."""
    if isinstance(client_id, str) and client_id.startswith(_INPUT):
        number = client_id.removeprefix(_INPUT)
        return int(number) if number.isdecimal() else None
    return None


def settled(question: Question) -> bool:
    """Whether nobody waits for the reply: it was withdrawn with the turn that asked."""
    return question.state is QuestionState.WITHDRAWN and question.delivered_at is not None


def holds_reply(record: ThreadRecord, question: Question) -> bool:
    """Whether the agent has been given the reply to a question.

    A call that was cut off has an output too, in words of codex's that differ by how it was cut; so
    only the reply itself counts. A long one is compared by its start, since codex may cut it.
    """
    reply = reply_text(question)
    output = record.outputs.get(question.call_id)
    if output is not None and output[:COMPARED] == reply[:COMPARED]:
        return True
    if answer_id(question) in record.client_ids or tools.late_reply(question) in record.unnamed:
        return True
    start = tools.late_reply_start(question)
    return any(said.startswith(start) for said in record.authored_outputs)
