"""What one request of codex says about its conversation.

Owns the reading: whose conversation it is, what its first user text was, which outputs it has, and
how far the script has come in it. Knows nothing of what is to be sent next.

Which conversation: the header `thread-id`, else the body's `prompt_cache_key`; codex sends both
with every request of a thread, before and after a resume, and a fork has its own.

How far: every item that the scripted model sends carries a mark `SCRIPT.STEP.ITEM.NONCE` in its id
(in `call_id` for a call), and codex sends items back with their ids as they came, also after a
resume in a new process. So the position is in the conversation itself: an item that codex never
stored before it was killed isn't there, and is sent again. A compaction throws the items away, but
it is the model that writes the summary, so the summary carries the position:
`[scripted SCRIPT.STEP]`. Older codex (0.144) sends messages back without their ids: those that
follow the last mark are counted.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

Item = Mapping[str, Any]

_MARK = re.compile(r"(?:call|msg|rs)_([A-Za-z0-9_-]+)\.(\d+)\.(\d+)\.[0-9a-f]+")
_POLL = re.compile(r"poll_([A-Za-z0-9_-]+)\.(\d+)\.(\d+)\.[0-9a-f]+")
_COMPACTED = re.compile(r"\[scripted ([A-Za-z0-9_-]+)\.(\d+)\]")
_SESSION = re.compile(r"^Process running with session ID (\d+)$", re.MULTILINE)
# What codex itself puts into the conversation in a person's name.
_INJECTED = re.compile(
    r"\s*<(environment_context|user_instructions|turn_aborted|user_shell_command|skill"
    r"|subagent_notification)>.*</\1>\s*|# AGENTS\.md instructions .*",
    re.DOTALL,
)
_COMPACTION_PROMPT = "You are performing a CONTEXT CHECKPOINT COMPACTION"
_SUMMARY = "Another language model started to solve this problem"
ABORTED = "aborted"


class Kind(StrEnum):
    """Why codex asks."""

    TURN = "turn"
    COMPACTION = "compaction"


class Mark(msgspec.Struct, frozen=True, order=True):
    """A place in a script: the item `item` (-1: before the first) of the step `step`, from 0."""

    step: int
    item: int


class Conversation(msgspec.Struct, frozen=True):
    """One request, read.

    `reached` is the furthest place of the script that the conversation holds, or None; `unmarked`
    is the number of the model's messages after it that came back without an id. `running` has the
    sessions of the commands that had not ended when codex last looked. `answer` is what a person
    said last, else the newest output of any call, else empty.
    """

    thread: str
    turn: str | None
    kind: Kind
    first_text: str
    script: str | None
    reached: Mark | None
    unmarked: int
    running: Mapping[Mark, int]
    last_output: str
    answer: str


def read(headers: Mapping[str, str], cache_key: str | None, items: Iterable[Item]) -> Conversation:
    """Read a request's headers (names in lower case), `prompt_cache_key` and `input`."""
    metadata = _metadata(headers)
    reading = _Reading()
    for item in items:
        reading.take(item)
    asked = metadata.get("request_kind")
    compaction = asked == "compaction" or (
        asked is None and reading.last_user_text.startswith(_COMPACTION_PROMPT)
    )
    turn = metadata.get("turn_id")
    return Conversation(
        thread=headers.get("thread-id") or cache_key or "",
        turn=turn if isinstance(turn, str) else None,
        kind=Kind.COMPACTION if compaction else Kind.TURN,
        first_text=reading.first_text or "",
        script=reading.script,
        reached=reading.reached,
        unmarked=reading.unmarked,
        running=reading.running,
        last_output=reading.last_output,
        answer=reading.last_output if reading.answer is None else reading.answer,
    )


class _Reading:
    """The state of one walk through a conversation's items, in order."""

    def __init__(self) -> None:
        self.first_text: str | None = None
        self.last_user_text = ""
        self.script: str | None = None
        self.reached: Mark | None = None
        self.unmarked = 0
        self.running: dict[Mark, int] = {}
        self.last_output = ""
        self.answer: str | None = None
        self._questions: set[str] = set()
        self._unanswered = False
        self._owners: dict[str, Mark] = {}

    def take(self, item: Item) -> None:
        match item.get("type"):
            case "message" if item.get("role") == "user":
                self._user_message(item)
            case "message" if item.get("role") == "assistant" and item.get("id") is None:
                self.unmarked += 1
            case "message" | "reasoning":
                self._advance(item.get("id"))
            case "function_call":
                self._call(item)
            case "function_call_output":
                self._output(item)
            case _:
                pass

    def _user_message(self, item: Item) -> None:
        text = "\n".join(part for part in _texts(item) if not _INJECTED.fullmatch(part))
        if not text:
            return
        if text.startswith(_SUMMARY):
            for script, step in _COMPACTED.findall(text):
                self.script = script
                self.reached = max(self.reached or Mark(-1, 0), Mark(int(step), -1))
                self.unmarked = 0
            return
        self.last_user_text = text
        if self.first_text is None:
            self.first_text = text
        elif self._unanswered:
            # Codex below 0.154 gets the answer to a question that a killed server lost as text.
            self.answer = text
            self._unanswered = False

    def _advance(self, identity: object) -> Mark | None:
        found = _MARK.fullmatch(identity) if isinstance(identity, str) else None
        if found is None:
            return None
        mark = Mark(int(found[2]), int(found[3]))
        self.script = self.script or found[1]
        self.reached = max(self.reached or mark, mark)
        self.unmarked = 0
        return mark

    def _call(self, item: Item) -> None:
        identity = str(item.get("call_id"))
        owner = self._advance(identity)
        polled = _POLL.fullmatch(identity)
        if polled is not None:
            owner = Mark(int(polled[2]), int(polled[3]))
        if owner is not None:
            self._owners[identity] = owner
        if item.get("name") == "ask_human":
            self._questions.add(identity)

    def _output(self, item: Item) -> None:
        identity = str(item.get("call_id"))
        raw = output_text(item.get("output"))
        head, has_head, rest = raw.partition("\nOutput:\n")
        self.last_output = (rest if has_head else raw).rstrip("\n")
        owner = self._owners.get(identity)
        if owner is not None:
            session = _SESSION.search(head)
            if has_head and session:
                self.running[owner] = int(session[1])
            else:
                self.running.pop(owner, None)
        if identity in self._questions or item.get("name") == "ask_human":
            self._unanswered = raw == ABORTED
            if not self._unanswered:
                self.answer = raw


def output_text(output: object) -> str:
    """The text of a `function_call_output`: a string, or a list of parts with `text`."""
    if isinstance(output, str):
        return output
    return "".join(_texts({"content": output}))


def _texts(item: Item) -> list[str]:
    content = item.get("content")
    if isinstance(content, str):
        return [content]
    if not isinstance(content, (list, tuple)):
        return []
    texts = [part.get("text") for part in content if isinstance(part, Mapping)]
    return [text for text in texts if isinstance(text, str)]


def _metadata(headers: Mapping[str, str]) -> Mapping[str, Any]:
    try:
        found = msgspec.json.decode(headers.get("x-codex-turn-metadata", "{}"))
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}
