"""Histories as one page of HTML: no script, nothing loaded from elsewhere, safe to open."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator

from byred.codex.rollout.render import words
from byred.codex.rollout.story import History, Kind, Step, Turn

FOLDED = 400
"""Characters of an output from which it is folded away until somebody wants to see it."""
_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+\Z")
_QUIET = (Kind.THOUGHT, Kind.CONTEXT, Kind.NOTED, Kind.COMPACTED)
_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;
color:#1c1c1c;background:#fff}
h1{font-size:1.5rem}
h2{font-size:1.15rem;margin-top:2.5rem;border-top:1px solid #ccc;padding-top:1rem}
h3{font-size:.8rem;margin:1rem 0 .25rem;color:#555;font-weight:600}
pre{background:#f5f5f3;padding:.6rem .8rem;overflow-x:auto;white-space:pre-wrap;
overflow-wrap:anywhere;font:13px/1.45 ui-monospace,monospace;margin:.25rem 0}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}dt{color:#555}dd{margin:0}
.text{white-space:pre-wrap;overflow-wrap:anywhere}
.asked .text{background:#eaf2fb;padding:.5rem .8rem}
.wrong{color:#a40000}.undone{opacity:.55}.add{color:#176f2c}.del{color:#a40000}
.when,summary{color:#555;font-size:.85rem;margin:0}summary{cursor:pointer}
img{max-width:20rem;max-height:20rem;min-width:1rem;border:1px solid #ccc}
@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}pre{background:#222}
.asked .text{background:#1d2c3d}h3,dt,.when,summary{color:#aaa}
.wrong,.del{color:#ff8a80}.add{color:#8bd49c}}
"""


def page(
    told: History,
    clean: Callable[[str], str] = str,
    title: str = "History",
    one_by_one: Iterable[Turn] | None = None,
) -> Iterator[str]:
    """Yield a page of a history, a piece a turn; `clean` redacts every text.

    `one_by_one` are the turns where the history itself has none, because it is too large.
    """
    name = html.escape(clean(title))
    rows = "".join(
        f"<dt>{html.escape(label)}</dt><dd>{html.escape(clean(value))}</dd>"
        for label, value in words.summary(told)
    )
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    yield (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{name}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{name}</h1><dl>{rows}</dl>\n"
    )
    yield from turns(told.turns if one_by_one is None else one_by_one, clean)
    yield "</body></html>\n"


def turns(told: Iterable[Turn], clean: Callable[[str], str] = str) -> Iterator[str]:
    """Yield the HTML of each turn."""
    for turn in told:
        style = ' class="undone"' if turn.undone else ""
        anchor = f' id="turn{turn.number}"' if turn.number else ""
        when = html.escape(" to ".join(filter(None, (turn.started_at, turn.ended_at))))
        error = f'<p class="wrong">{html.escape(clean(turn.error))}</p>' if turn.error else ""
        steps = "".join(_step(step, clean) for step in turn.steps)
        yield (
            f"<section{style}{anchor}><h2>{html.escape(words.turn_title(turn))}</h2>"
            f'<p class="when">{when}</p>{error}{steps}</section>\n'
        )


def _step(step: Step, clean: Callable[[str], str]) -> str:
    parts: list[str] = []
    code = step.kind in (Kind.RAN, Kind.CHANGED, Kind.CALLED)
    if step.text and not (step.kind is Kind.CHANGED and step.changes):
        text = html.escape(clean(step.text))
        parts.append(f"<pre>{text}</pre>" if code else f'<div class="text">{text}</div>')
    for change in step.changes:
        moved = f" → {change.moved_to}" if change.moved_to else ""
        where = html.escape(clean(change.path + moved))
        parts.append(f"<p>{html.escape(change.kind)} <code>{where}</code></p>")
        if change.diff:
            parts.append(_diff(clean(change.diff), change.kind))
    parts += [_image(image) for image in step.images]
    if step.output and not step.changes:
        output = html.escape(clean(step.output))
        body = f"<pre>{output}</pre>" if code else f'<div class="text">{output}</div>'
        parts.append(_folded(body, len(output), "output"))
    inner = "".join(parts)
    title = html.escape(words.step_title(step))
    if step.kind in _QUIET and inner:
        return f"<details><summary>{title}</summary>{inner}</details>"
    wrong = " wrong" if step.kind is Kind.WENT_WRONG else ""
    return f'<div class="{step.kind}{wrong}"><h3>{title}</h3>{inner}</div>'


def _diff(text: str, kind: str) -> str:
    marks = {"+": "add", "-": "del"}
    if kind != "update":
        style = "add" if kind == "add" else "del"
        return _folded(f'<pre class="{style}">{html.escape(text)}</pre>', len(text), "content")
    lines = [
        f'<span class="{marks[line[0]]}">{html.escape(line)}</span>'
        if line[:1] in marks
        else html.escape(line)
        for line in text.splitlines()
    ]
    return _folded("<pre>" + "\n".join(lines) + "</pre>", len(text), "diff")


def _folded(body: str, length: int, what: str) -> str:
    if length <= FOLDED:
        return body
    return f"<details><summary>{what}, {length:,} characters</summary>{body}</details>"


def _image(where: str) -> str:
    if _PICTURE.match(where):
        return f'<p><img alt="picture" src="{where}"></p>'
    return f"<p><code>{html.escape(where[:200])}</code></p>"
