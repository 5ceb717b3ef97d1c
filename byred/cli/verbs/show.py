"""`byre show`: everything about one task."""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from byred.cli import words
from byred.cli.app import App
from byred.cli.arguments import task_argument
from byred.cli.asking import show_question
from byred.cli.terminal import clean, one_line
from byred.cli.verb import Verb

_NAME_WIDTH = 11


@click.command(cls=Verb, section="Tasks")
@task_argument()
@click.pass_obj
def command(app: App, task_id: int) -> None:
    """Show everything about one task."""
    doing = f"show task {task_id}"
    with app.daemon(doing) as daemon:
        reply = daemon.call("task.get", {"id": task_id})
        if app.json:
            app.out.raw(reply.text)
            return
        task = reply.value
        questions = []
        if task.get("questions"):
            asked = {"states": ["open"], "task_id": task_id}
            questions = daemon.call("question.list", asked).value["questions"]
    app.out.say(words.sentence(task), words.STYLES.get(str(task.get("state")), ""))
    for name, value in facts(task):
        lines = clean(value).splitlines() or [""]
        app.out.say(f"  {app.out.paint(name.ljust(_NAME_WIDTH), 'bold')} {lines[0]}")
        for line in lines[1:]:
            app.out.say(" " * (_NAME_WIDTH + 3) + line)
    for question in questions:
        app.out.say()
        show_question(app.out, question)
        app.out.say(f"answer it with byre answer {question['id']}", "dim")


def facts(task: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and values of what is known of a task; what is not known is left out."""
    for name, value in _facts(task):
        if value:
            yield name, value


def _facts(task: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "prompt", str(task.get("prompt") or "").strip()
    yield "reason", str(task.get("reason") or "")
    if error := task.get("error"):
        yield "error", f"{error.get('kind')}: {error.get('message')}"
    yield from _result(task.get("result") or {})
    if merged := task.get("merged"):
        what = f"{str(merged.get('before'))[:12]}..{str(merged.get('after'))[:12]}"
        yield "merged", f"into {merged.get('into')} by {merged.get('merged_by')}: {what}"
    if forked := task.get("forked_from"):
        yield "forked from", f"turn {forked.get('turn')} of task {forked.get('task')}"
    for name in ("repo", "base", "branch", "worktree", "home"):
        yield name, str(task.get(name) or "")
    if gone := words.date(task.get("removed_at")):
        yield "removed", f"{gone}; byre undelete {task.get('id')} brings the worktree back"
    ports: Mapping[str, int] = task.get("ports") or {}
    yield "ports", "\n".join(f"{name} http://localhost:{port}" for name, port in ports.items())
    if identity := task.get("identity"):
        yield "commits as", f"{identity.get('name')} <{identity.get('email')}>"
    yield "priority", str(task.get("priority") or "")
    yield "labels", ", ".join(one_line(str(label)) for label in task.get("labels") or [])
    yield "after", ", ".join(f"task {number}" for number in task.get("depends_on") or [])
    yield "attempt", str(task.get("attempt") or "")
    yield "turns", str(task.get("turns") or "")
    yield "thread", str(task.get("thread_id") or "")
    yield "pid", str(task.get("pid") or "")
    for name in ("created", "started", "ended", "retry"):
        yield name, words.date(task.get(f"{name}_at"))
    yield "held until", words.date(task.get("held_until"))
    yield "tokens", words.cost(task.get("tokens") or {})


def _result(result: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "result", str(result.get("summary") or "").strip()
    commits = result.get("commits")
    if commits is not None:
        made = words.count(len(commits) if isinstance(commits, list) else int(commits), "commit")
        changed = result.get("files_changed")
        files = len(changed) if isinstance(changed, list) else int(changed or 0)
        more = ""
        if "insertions" in result:
            more = f" (+{result['insertions']} -{result.get('deletions')})"
        elif result.get("dirty"):
            more = ", changes that are not committed"
        yield "made", f"{made}, {words.count(files, 'file')} changed{more}"
        left = [one_line(str(name)) for name in result.get("uncommitted") or []]
        beyond = int(result.get("uncommitted_count") or 0) - len(left)
        yield "uncommitted", "\n".join([*left, *([f"and {beyond} more"] if beyond > 0 else [])])
