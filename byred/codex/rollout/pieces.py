"""Turns in pieces that can be sent one by one, however long a turn is."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from byred.codex.rollout.story import Change, Step, Turn

MOST = 1 << 20
"""Characters of a piece, more or less; codex cuts off what a command prints at as many bytes."""


def pieces(turn: Turn, most: int = MOST) -> Iterator[Turn]:
    """Yield a turn as it is, or, when its steps are long, again and again with some of them.

    A single step that is longer is shortened in the middle of its texts, and says by how much.
    """
    held: list[Step] = []
    size = 0
    for step in turn.steps:
        length = _length(step)
        if length > most:
            step = _shortened(step, most)  # noqa: PLW2901 - the same step, shorter
            length = most
        if held and size + length > most:
            yield msgspec.structs.replace(turn, steps=tuple(held))
            held, size = [], 0
        held.append(step)
        size += length
    yield msgspec.structs.replace(turn, steps=tuple(held))


def _texts(step: Step) -> list[str]:
    changes = [text for change in step.changes for text in (change.path, change.diff)]
    return [step.text, step.output, *step.images, *changes]


def _length(step: Step) -> int:
    return sum(map(len, _texts(step)))


def _shortened(step: Step, most: int) -> Step:
    share = most // len([text for text in _texts(step) if text])
    return msgspec.structs.replace(
        step,
        text=_cut(step.text, share),
        output=_cut(step.output, share),
        images=tuple(_cut(image, share) for image in step.images),
        changes=tuple(
            Change(_cut(each.path, share), each.kind, _cut(each.diff, share), each.moved_to)
            for each in step.changes
        ),
    )


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    end = most // 2
    return f"{text[:end]}\n[{len(text) - 2 * end:,} characters left out]\n{text[len(text) - end :]}"
