"""Histories as pages that can be read without byred."""

from __future__ import annotations

import html.parser
import json
import re
from functools import partial

import msgspec
import pytest

from byred.codex.rollout import history
from byred.codex.rollout.redact import redacted
from byred.codex.rollout.render import jsonl, markdown, page, plain, words
from byred.codex.rollout.replay import LONGEST, beats
from byred.codex.rollout.story import Change, History, Kind, Step, Tokens, Turn, TurnStatus

SECRET = "sk-" + "x" * 30
RENDERERS = {
    "markdown": lambda told: "".join(markdown.document(told, redacted, "The <title>")),
    "html": lambda told: "".join(page.page(told, redacted, "The <title>")),
}


def one(*steps, **fields):
    turn = Turn(1, "t1", TurnStatus.COMPLETED, "2026-01-01T00:00:01.000Z", steps=steps, **fields)
    return History(turns=(turn,), tokens=Tokens(1000, 10, 5, 1, 1005))


class Outline(html.parser.HTMLParser):
    """Checks that every element is closed where it was opened, and keeps the text."""

    VOID = ("meta", "img", "br")

    def __init__(self):
        super().__init__()
        self.open, self.words, self.tags = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def outline(text):
    parser = Outline()
    parser.feed(text)
    parser.close()
    assert not parser.open
    return parser


@pytest.mark.parametrize("form", RENDERERS)
def test_a_page_has_everything_that_was_asked_said_and_run(tour, form):
    told = history.of_task(tour.paths)
    text = RENDERERS[form](told)
    if form == "html":
        text = "".join(outline(text).words)
    for turn in told.turns:
        assert f"Turn {turn.number}:" in text
        for step in turn.steps:
            first = next(iter(step.text.splitlines()), "")
            if step.kind in (Kind.ASKED, Kind.SAID, Kind.RAN, Kind.QUESTION):
                assert first in text
            assert not step.output or step.output.splitlines()[0] in text or step.changes


def test_a_page_runs_nothing_and_loads_nothing():
    nasty = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    told = one(
        Step(Kind.ASKED, "t", nasty, images=("javascript:alert(1)", "data:image/svg+xml,<svg/>")),
        Step(Kind.RAN, "t", nasty, output=nasty, name=nasty, status="failed"),
        Step(Kind.CHANGED, "t", changes=(Change(nasty, "update", f"+{nasty}\n-{nasty}", nasty),)),
        Step(Kind.CHANGED, "t", changes=(Change("a", nasty, nasty),)),
        Step(Kind.SAID, "t", "x", phase=nasty),
        error=nasty,
    )
    found = outline("".join(page.page(told, title=nasty)))
    assert {tag for tag, _ in found.tags}.isdisjoint({"script", "img", "iframe", "link", "object"})
    for tag, attributes in found.tags:
        assert not any(name.startswith("on") for name in attributes), tag
        assert "src" not in attributes
    policy = next(a["content"] for tag, a in found.tags if "http-equiv" in a)
    assert policy.startswith("default-src 'none'")


def test_only_turns_that_are_counted_have_an_anchor():
    turns = tuple(Turn(n, f"t{n}", TurnStatus.COMPLETED) for n in (0, 0, 1))
    found = outline("".join(page.page(History(turns=turns))))
    assert [a.get("id") for tag, a in found.tags if tag == "section"] == [None, None, "turn1"]


def test_a_picture_that_is_in_the_record_is_in_the_page():
    told = one(Step(Kind.PICTURED, "t", images=("data:image/png;base64,aGk=", "/tmp/x.png")))
    found = outline("".join(page.page(told)))
    assert [a["src"] for tag, a in found.tags if tag == "img"] == ["data:image/png;base64,aGk="]
    assert "/tmp/x.png" in found.words


@pytest.mark.parametrize("form", RENDERERS)
def test_no_renderer_lets_a_secret_out(form):
    told = one(
        Step(Kind.ASKED, "t", SECRET),
        Step(Kind.RAN, "t", f"curl {SECRET}", output=SECRET),
        Step(Kind.CHANGED, "t", changes=(Change("a", "add", f"key={SECRET}"),)),
        Step(Kind.QUESTION, "t", SECRET, output=SECRET),
        error=SECRET,
    )
    assert SECRET not in RENDERERS[form](told)
    assert SECRET.encode() not in b"".join(jsonl.told(told.turns))


def test_a_fence_is_longer_than_any_in_what_it_holds():
    told = one(Step(Kind.RAN, "t", "x", output="```\nnot the end\n````\nstill not"))
    text = "".join(markdown.document(told))
    fences = re.findall(r"^`{3,}$", text, re.MULTILINE)
    assert fences[-1] == "`" * 5


def test_lines_of_json_are_turns_that_can_be_read_again(tour):
    told = history.of_task(tour.paths)
    lines = list(jsonl.told(told.turns))
    assert [msgspec.json.decode(line, type=Turn).id for line in lines] == [t.id for t in told.turns]
    assert json.loads(msgspec.json.encode(jsonl.plain(told)))["turns"]


def test_plain_text_shortens_what_is_long_and_leaves_out_what_nobody_wrote():
    told = one(
        Step(Kind.CONTEXT, "t", "hidden"),
        Step(
            Kind.RAN, "t", "make", output="a" * 5000, exit_code=2, status="failed", duration_ms=90
        ),
        Step(Kind.CHANGED, "t", changes=(Change("a", "update", "+x", "b"),)),
        error="it broke",
    )
    text = "".join(plain.history(told))
    assert "hidden" not in text
    assert "Ran (failed, exit 2, 90 ms)" in text
    assert "$ make" in text
    assert "[3,000 characters more]" in text
    assert "update a -> b" in text
    assert "! it broke" in text
    assert "Cost: 1,005 tokens (1,000 in, 10 of them cached; 5 out, 1 of them reasoning)" in text


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(None, ""), (90, "90 ms"), (1234, "1.2 s"), (185_000, "3 min 5 s"), (7_800_000, "2 h 10 min")],
)
def test_durations_are_in_words(milliseconds, text):
    assert words.span(milliseconds) == text


def test_a_title_says_what_became_of_a_turn():
    title = partial(Turn, 3, "t")
    assert words.turn_title(title(TurnStatus.LOST)) == "Turn 3: its process ended"
    assert words.turn_title(Turn(0, "t", TurnStatus.OPEN)) == "Turn: open"
    undone = title(TurnStatus.COMPLETED, undone=True, inherited=True, duration_ms=1000)
    assert words.turn_title(undone) == "Turn 3: completed, 1.0 s, taken back, inherited"


def test_a_replay_waits_as_long_as_things_took_and_never_long():
    steps = [
        Step(Kind.ASKED, "2026-01-01T00:00:00.000Z", "a"),
        Step(Kind.CONTEXT, "2026-01-01T00:00:00.500Z", "hidden"),
        Step(Kind.SAID, "2026-01-01T00:00:01.000Z", "b"),
        Step(Kind.SAID, "2026-01-01T01:00:00.000Z", "c"),
        Step(Kind.SAID, "no time", "d"),
        Step(Kind.SAID, "2026-01-01T00:30:00.000Z", "e"),
    ]
    turn = Turn(1, "t1", TurnStatus.COMPLETED, steps=tuple(steps))
    played = list(beats([turn]))
    assert [(beat.step.text, beat.wait) for beat in played] == [
        ("a", 0.0),
        ("b", 1.0),
        ("c", LONGEST),
        ("d", 0.0),
        ("e", 0.0),
    ]
    assert [beat.first for beat in played] == [True, False, False, False, False]
    assert [beat.wait for beat in beats([turn], speed=4)][1] == 0.25
    assert all(beat.wait == 0 for beat in beats([turn], speed=0))


def test_a_replay_of_a_tour_has_every_step_in_order(tour):
    told = history.of_task(tour.paths)
    shown = [s for turn in told.turns for s in turn.steps if s.kind is not Kind.CONTEXT]
    assert [beat.step for beat in beats(told.turns)] == shown
