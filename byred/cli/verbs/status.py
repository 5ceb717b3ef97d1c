"""`byre status`: how the daemon is."""

import click

from byred.cli import words
from byred.cli.app import App
from byred.cli.terminal import one_line
from byred.cli.verb import Verb

_NAME_WIDTH = 9


@click.command(cls=Verb, section="Daemon")
@click.pass_obj
def command(app: App) -> None:
    """Say how the daemon is and what it has to do."""
    told = app.ask("daemon.status", {}, doing="ask for the status").value
    if app.json:
        return
    codex = told.get("codex") or {}
    tasks = told.get("tasks") or {}
    states = ", ".join(
        f"{tasks[state]} {app.out.paint(state, words.STYLES.get(state, ''))}"
        for state in [*words.STATES, *(s for s in tasks if s not in words.STATES)]
        if tasks.get(state)
    )
    draining = "; it is ending and starts nothing more" if told.get("draining") else ""
    lines = {
        "byred": f"{told.get('version')}, pid {told.get('pid')}{draining}",
        "since": words.date(told.get("started_at")),
        "socket": told.get("socket"),
        "state": told.get("state_dir"),
        "codex": f"{codex.get('version')} ({codex.get('source')}): {codex.get('path')}"
        if codex
        else "",
        "running": f"{told.get('running', 0)} of at most {told.get('max_running', '?')}",
        "tasks": states or "none",
    }
    for name, value in lines.items():
        if value:
            text = str(value) if name == "tasks" else one_line(str(value))
            app.out.say(f"{app.out.paint(name.ljust(_NAME_WIDTH), 'bold')} {text}")
    for why in (told.get("paused"), told.get("full")):
        if why:
            app.out.say(f"nothing new starts: {one_line(str(why))}", "yellow")
    if waiting := told.get("questions_open"):
        app.out.say(f"{words.count(waiting, 'open question')}: see byre questions", "yellow")
