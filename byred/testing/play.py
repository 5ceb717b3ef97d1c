"""What the scripted model sends next, as values: pure functions of a script and a conversation.

Where the script is in a conversation. The place is read from the conversation (how, says
`byred.testing.conversation`), never counted, so it is the same for a request that is sent again,
for a thread that is resumed after its server or this model was killed, and for a fork:

- The step's items that are not in the conversation yet are sent, from the first missing one on; a
  step whose last item is there is over, whatever became of its calls: an aborted output is one.
- A shell command that still runs is waited for (`write_stdin`) before the script goes on.
- A new user text or `toolOutput` is one more request: it gets the next step.
- When the steps are used up, every request gets a closing message.

Only trouble leaves nothing in the conversation: how often an `error` or a `cut` has met a thread is
counted by the caller, in memory. After a restart of the model it meets the thread once more.
"""

import re
import shlex
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from byred.testing.conversation import Conversation, Item, Kind, Mark
from byred.testing.script import Ask, Error, Part, Script, Usage

_PLACEHOLDER = re.compile(r"\{(first_text|title|slug|last_output|answer|thread)\}")
_TITLE_LENGTH = 72
_SLUG_LENGTH = 40
# Codex caps what it accepts: a poll returns earlier when the command ends.
_POLL_MS = 30_000


class Action(StrEnum):
    """Why a reply is what it is."""

    PLAY = "play"
    POLL = "poll"
    COMPACT = "compact"
    ERROR = "error"
    CLOSE = "close"


class Reply(msgspec.Struct, frozen=True):
    """One reply, before it is bytes.

    `step` is the step that it belongs to, from 0, or None for a closing message and a compaction.
    `items` are whole output items in order; the item `streamed`, a message, comes in `chunks`.
    """

    action: Action
    script: str
    step: int | None
    items: tuple[Item, ...] = ()
    streamed: int | None = None
    chunks: tuple[str, ...] = ()
    pause: float = 0.0
    error: Error | None = None
    cut: int | None = None
    delay: float | str | None = None
    headers: Mapping[str, str] = {}
    usage: Usage = Usage()


def next_reply(
    script: Script,
    conversation: Conversation,
    *,
    met: Callable[[int], int],
    nonce: Callable[[], str],
) -> Reply:
    """What `conversation` gets from `script`.

    `met(step)` is how often this thread has met that step's trouble; `nonce` gives hexadecimal
    digits, new ones each time, that make the ids of this reply unlike those of any other.
    """
    place = _place(script, conversation, met)
    if conversation.kind is Kind.COMPACTION:
        return _compaction(script, conversation, place, nonce())
    if conversation.running and conversation.reached is not None:
        polls = _polls(script, conversation, nonce())
        if polls:
            return Reply(Action.POLL, script.name, conversation.reached.step, polls)
    if place.step >= len(script.steps):
        text = f"The script {script.name} is at its end: nothing is left to do."
        closing = _message(f"msg_closing.{nonce()}", text)
        return Reply(Action.CLOSE, script.name, None, (closing,))
    return _play(script, conversation, place, met(place.step), nonce())


def substitute(
    text: str, conversation: Conversation, quote: Callable[[str], str] | None = None
) -> str:
    """`text` with the known placeholders filled in, each value through `quote`; others stay."""

    def value(found: re.Match[str]) -> str:
        filled = _value(found[1], conversation)
        return quote(filled) if quote is not None else filled

    return _PLACEHOLDER.sub(value, text)


def _place(script: Script, conversation: Conversation, met: Callable[[int], int]) -> Mark:
    """The first item that is still to be sent."""
    place = Mark(0, 0)
    if conversation.reached is not None:
        place = Mark(conversation.reached.step, conversation.reached.item + 1)
    for _ in range(conversation.unmarked):
        place = _after_message(script, place)
    while place.step < len(script.steps):
        step = script.steps[place.step]
        to_come = place.item < step.count
        to_meet = place.item == 0 and met(place.step) < step.times and step.has_trouble
        if to_come or to_meet:
            break
        place = Mark(place.step + 1, 0)
    return place


def _after_message(script: Script, place: Mark) -> Mark:
    """The place after the first message from `place` on."""
    while place.step < len(script.steps):
        step = script.steps[place.step]
        message = int(step.reasoning is not None)
        if (step.say is not None or step.stream is not None) and place.item <= message:
            return Mark(place.step, message + 1)
        place = Mark(place.step + 1, 0)
    return place


def _play(script: Script, conversation: Conversation, place: Mark, met: int, nonce: str) -> Reply:
    step = script.steps[place.step]
    troubled = met < step.times
    if step.error is not None and troubled:
        return Reply(
            Action.ERROR,
            script.name,
            place.step,
            error=step.error,
            delay=step.delay,
            headers=step.headers,
        )
    items: list[Item] = []
    chunks: tuple[str, ...] = ()
    streamed = None

    def mark(kind: str) -> str:
        return f"{kind}_{script.name}.{place.step}.{len(items)}.{nonce}"

    if step.reasoning is not None:
        items.append(_reasoning(mark("rs"), substitute(step.reasoning, conversation)))
    if step.say is not None:
        items.append(_message(mark("msg"), substitute(step.say, conversation)))
    if step.stream is not None:
        chunks = tuple(substitute(chunk, conversation) for chunk in _chunks(step.stream))
        streamed = len(items)
        items.append(_message(mark("msg"), "".join(chunks)))
    for part in step.parts:
        items.append(_call(mark("call"), part, conversation))  # noqa: PERF401 - mark() counts items
    return Reply(
        Action.PLAY,
        script.name,
        place.step,
        tuple(items[place.item :]),
        None if streamed is None or streamed < place.item else streamed - place.item,
        chunks,
        step.pause,
        cut=step.cut if troubled else None,
        delay=step.delay,
        headers=step.headers,
        usage=step.usage,
    )


def _compaction(script: Script, conversation: Conversation, place: Mark, nonce: str) -> Reply:
    summary = substitute(script.compact, conversation)
    text = f"{summary}\n[scripted {script.name}.{place.step}]"
    return Reply(Action.COMPACT, script.name, None, (_message(f"msg_summary.{nonce}", text),))


def _polls(script: Script, conversation: Conversation, nonce: str) -> tuple[Item, ...]:
    """A look at each command of the last step that still runs, if `shell` started it."""
    polls = []
    for mark, session in sorted(conversation.running.items()):
        if conversation.reached is None or mark.step != conversation.reached.step:
            continue
        if _is_shell(script, mark):
            arguments = {"session_id": session, "chars": "", "yield_time_ms": _POLL_MS}
            identity = f"poll_{script.name}.{mark.step}.{mark.item}.{nonce}"
            polls.append(_function_call(identity, "write_stdin", None, arguments))
    return tuple(polls)


def _is_shell(script: Script, mark: Mark) -> bool:
    if mark.step >= len(script.steps):
        return False
    step = script.steps[mark.step]
    before = step.count - len(step.parts)
    return any(part.shell is not None for part in step.parts[max(mark.item - before, 0) :][:1])


def _call(identity: str, part: Part, conversation: Conversation) -> Item:
    if part.shell is not None:
        command = substitute(part.shell, conversation, shlex.quote)
        return _function_call(identity, "exec_command", None, {"cmd": command})
    if part.ask is not None:
        ask = Ask(part.ask) if isinstance(part.ask, str) else part.ask
        arguments = _filled(msgspec.to_builtins(ask), conversation)
        return _function_call(identity, "ask_human", "byre", arguments)
    if part.call is None:
        raise AssertionError("a part of a script is a shell, an ask or a call")
    given = part.call.arguments
    sent = given if isinstance(given, str) else _filled(given, conversation)
    return _function_call(identity, part.call.name, part.call.namespace, sent)


def _function_call(identity: str, name: str, namespace: str | None, arguments: Any) -> Item:
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    item = {"type": "function_call", "call_id": identity, "name": name, "arguments": text}
    return item if namespace is None else item | {"namespace": namespace}


def _message(identity: str, text: str) -> Item:
    content = [{"type": "output_text", "text": text}]
    return {"type": "message", "role": "assistant", "id": identity, "content": content}


def _reasoning(identity: str, text: str) -> Item:
    summary = [{"type": "summary_text", "text": text}]
    return {"type": "reasoning", "id": identity, "summary": summary, "encrypted_content": None}


def _chunks(stream: str | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(re.findall(r"\S+\s*|\s+", stream)) if isinstance(stream, str) else stream


def _filled(value: Any, conversation: Conversation) -> Any:
    if isinstance(value, str):
        return substitute(value, conversation)
    if isinstance(value, Mapping):
        return {key: _filled(each, conversation) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_filled(each, conversation) for each in value]
    return value


def _value(name: str, conversation: Conversation) -> str:
    match name:
        case "first_text":
            return conversation.first_text
        case "title":
            return _title(conversation.first_text)
        case "slug":
            words = re.findall(r"[a-z0-9]+", _title(conversation.first_text).lower())
            return "-".join(words)[:_SLUG_LENGTH].strip("-") or "task"
        case "last_output":
            return conversation.last_output
        case "answer":
            return conversation.answer
        case "thread":
            return conversation.thread
        case _:
            raise AssertionError(f"no placeholder is called {name}")


def _title(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0].strip()[:_TITLE_LENGTH] if lines else ""
