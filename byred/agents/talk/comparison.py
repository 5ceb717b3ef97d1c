"""The store brought to what a thread's record holds, whatever was noted before.

What the record holds is `reconcile`'s to read, how a text or a reply is known in it `known`'s.
"""

from byred.agents.talk import known
from byred.agents.talk.reconcile import ThreadRecord
from byred.core.event import NewEvent
from byred.core.question import Question, QuestionKind
from byred.store import inputs, questions
from byred.store.database import Transaction
from byred.store.inputs import InputKind


def compare(
    transaction: Transaction, task_id: int, thread_id: str, record: ThreadRecord | None
) -> list[Question]:
    """Note what the thread holds and what it lost; give the closed questions whose reply it lacks.

    Without a record the thread is new: what was said to an earlier one is to be said again.
    """
    if record is None:
        _nothing_taken(transaction, task_id)
    else:
        _take_texts(transaction, task_id, record)
    lacking: list[Question] = []
    for question in questions.closed_for_thread(transaction, task_id, thread_id):
        if record is not None and known.holds_reply(record, question):
            if question.delivered_at is None:
                questions.delivered(transaction, question)
                found = f"the thread holds the reply to question {question.id}"
                _repaired(transaction, task_id, found, "noted as delivered")
        elif question.kind is QuestionKind.QUESTION and not known.settled(question):
            lacking.append(question)
            found = f"the thread lacks the reply to question {question.id}"
            _repaired(transaction, task_id, found, "given again")
    return lacking


def _nothing_taken(transaction: Transaction, task_id: int) -> None:
    said = [
        text.id
        for text in inputs.of_task(transaction, task_id)
        if text.kind is not InputKind.CONTINUE and text.taken_at is not None
    ]
    inputs.untaken(transaction, said)


def _take_texts(transaction: Transaction, task_id: int, record: ThreadRecord) -> None:
    unnamed = list(record.unnamed)
    for text in inputs.of_task(transaction, task_id):
        held = known.client_id(text) in record.client_ids
        if not held and text.text in unnamed:
            unnamed.remove(text.text)
            held = True
        if held and text.taken_at is None:
            inputs.taken(transaction, [text.id], record.last_turn or "")
            _repaired(transaction, task_id, f"the thread holds text {text.id}", "not said again")
        elif not held and text.taken_at is not None and text.kind is not InputKind.CONTINUE:
            inputs.untaken(transaction, [text.id])
            _repaired(transaction, task_id, f"the thread lost text {text.id}", "to be said again")


def _repaired(transaction: Transaction, task_id: int, found: str, repair: str) -> None:
    data = {"found": found, "repair": repair}
    transaction.emit(NewEvent(kind="task.repaired", task_id=task_id, data=data))
