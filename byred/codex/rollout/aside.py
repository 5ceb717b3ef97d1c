"""Reading rollouts in a process of its own, beside an event loop: `python -m …rollout.aside`.

A line of JSON on stdin is the request (`requests`), lines on stdout are the answer. Stdin stays
open for as long as somebody wants the answer: at its end a follower looks a last time and ends,
everything else ends at once.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from byred.codex.rollout import chain, history
from byred.codex.rollout.errors import NoTurnError, RolloutError
from byred.codex.rollout.follow import Tale
from byred.codex.rollout.pieces import pieces
from byred.codex.rollout.requests import Request, Search, Tell, Write
from byred.codex.rollout.selection import Selected
from byred.codex.rollout.story import Tokens, Turn

PAUSE = 0.25
"""Seconds between two looks of a follower: soon for a person, nothing for a machine."""
SHARE = 4
"""A follower pauses so many times as long as its last look took, so that it stays cheap."""
CHUNK = 1 << 18
"""Characters of a piece of text."""


def main() -> None:
    """Answer one request, and end with 0, or with 1 after an `error`."""
    over = threading.Event()
    try:
        request = msgspec.json.decode(sys.stdin.buffer.readline(), type=Request)
        follows = isinstance(request, Tell) and request.follow
        threading.Thread(target=_watch, args=(over, follows), daemon=True).start()
        for line in answer(request, over):
            say(line)
    except BrokenPipeError:
        os._exit(1)  # nobody reads: not even an ending can be said
    except (RolloutError, OSError, msgspec.DecodeError) as error:
        say({"error": str(error), "missing": isinstance(error, NoTurnError)})
        sys.exit(1)


def answer(request: Request, over: threading.Event) -> Iterator[dict[str, Any]]:
    """Yield the lines of the answer; `over` is set when nobody wants more of it.

    Raises RolloutError, OSError.
    """
    if isinstance(request, Write):
        return _write(request)
    if isinstance(request, Search):
        return _search(request)
    if request.follow:
        return _follow(request, over)
    return _tell(request, over)


def say(line: dict[str, Any]) -> None:
    """Write one line of the answer."""
    try:
        raw = msgspec.json.encode(line)
    except UnicodeEncodeError:
        # Half of a surrogate pair, which JSON can escape and UTF-8 cannot hold.
        text = json.dumps(msgspec.to_builtins(line), ensure_ascii=False)
        raw = text.encode(errors="replace")
    sys.stdout.buffer.write(raw + b"\n")
    sys.stdout.buffer.flush()


def _watch(over: threading.Event, follows: bool) -> None:  # noqa: FBT001 - a thread's argument
    while os.read(0, 1 << 16):
        pass
    if not follows:
        os._exit(1)
    over.set()


def _tell(request: Tell, over: threading.Event) -> Iterator[dict[str, Any]]:
    told = Selected(chain.find(Path(request.home)), request.wanted)
    if request.speed is None:
        yield from _turns(told.turns())
    else:
        from byred.codex.rollout.replay import beats  # noqa: PLC0415 - few ask for it

        for beat in beats(told.turns(), request.speed):
            over.wait(beat.wait)
            yield from _turns([msgspec.structs.replace(beat.turn, steps=(beat.step,))])
    yield {"end": told.summary()}


def _turns(turns: Iterable[Turn]) -> Iterator[dict[str, Any]]:
    return ({"turn": piece} for turn in turns for piece in pieces(turn))


def _follow(request: Tell, over: threading.Event) -> Iterator[dict[str, Any]]:
    home = Path(request.home)
    paths = chain.find(home)
    newest = chain.latest(paths)
    # It remembers where the record ends now, so that what comes during the telling comes after it.
    tale = Tale(newest, paths) if newest is not None else None
    thread_id = chain.meta(newest).thread_id if newest is not None else ""
    told = Selected(paths, request.wanted)
    numbers = dict(request.wanted.numbers)
    costs: dict[str, Tokens] = {}
    for turn in told.turns():
        numbers[turn.id], costs[turn.id] = turn.number, turn.tokens
        fresh = tale.tell(turn) if tale and turn.thread_id == thread_id else turn
        yield from _turns([fresh or msgspec.structs.replace(turn, steps=())])
    pause = PAUSE
    ended = False
    while not ended:
        ended = over.wait(pause)
        began = time.monotonic()
        turns = tale.new() if tale is not None else []
        if len(now := chain.find(home)) != len(paths):
            paths, newest = now, chain.latest(now)
            if newest is not None and (tale is None or newest != tale.path):
                tale = Tale(newest, paths, start=0)
                turns += tale.new()
        for turn in turns:
            number = numbers.setdefault(turn.id, _next(numbers))
            costs[turn.id] = turn.tokens
            yield from _turns([msgspec.structs.replace(turn, number=number)])
        pause = max(PAUSE, SHARE * (time.monotonic() - began))
    end = history.last_of_task(paths, 1)
    total = sum(costs.values(), Tokens())
    sums = {"turn_count": len(costs), "tokens": total, "counted": end.counted}
    about = told.summary()
    yield {"end": msgspec.structs.replace(about, **sums, ended_at=end.ended_at or about.ended_at)}


def _next(numbers: dict[str, int]) -> int:
    """Return the number of a new turn, 0 where those before it were counted from the end."""
    newest = max(numbers.values(), default=0)
    return newest + 1 if newest >= 0 else 0


def _write(request: Write) -> Iterator[dict[str, Any]]:
    from byred.codex.rollout.redact import redacted  # noqa: PLC0415 - only documents need these
    from byred.codex.rollout.render import jsonl, markdown, page  # noqa: PLC0415 - as above

    paths = chain.find(Path(request.home))
    turns = Selected(paths, request.wanted).turns()
    if request.form == "jsonl":
        text: Iterable[str] = (
            line.decode(errors="replace") for line in jsonl.told(turns, request.known)
        )
    else:
        # What stands at the top is known at the end, so the record is read twice, never held.
        before = Selected(paths, request.wanted)
        for _ in before.turns():
            pass
        document = markdown.document if request.form == "md" else page.page
        clean = partial(redacted, known=request.known)
        text = document(before.summary(), clean, request.title, turns)
    for whole in text:
        for start in range(0, len(whole), CHUNK):
            yield {"text": whole[start : start + CHUNK]}
    yield {"end": {}}


def _search(request: Search) -> Iterator[dict[str, Any]]:
    from byred.codex.rollout.search import Unread, search  # noqa: PLC0415 - only searches need it

    found = 0
    for name, home in request.homes.items():
        for place in search(chain.find(Path(home)), request.words, exact_case=request.exact_case):
            if isinstance(place, Unread):
                yield {"unread": place}
                continue
            if found == request.most:
                yield {"end": {"more": True}}
                return
            found += 1
            yield {"hit": {"home": name, **msgspec.structs.asdict(place)}}
    yield {"end": {"more": False}}


if __name__ == "__main__":
    main()
