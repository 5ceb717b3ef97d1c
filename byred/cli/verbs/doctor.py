"""`byre doctor`: what is wrong with this machine's set-up, and how to mend it."""

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import click

from byred.cli import words
from byred.cli.app import App
from byred.cli.errors import RefusedError
from byred.cli.table import Cell, table
from byred.cli.terminal import one_line
from byred.cli.verb import Verb


class Check(NamedTuple):
    """One thing that was looked at; `mend` says what to do when it is not as it should be."""

    name: str
    status: str
    found: str
    mend: str


_LIMIT = 120  # seconds; the slowest check starts codex once
_SHOWN = 5  # places of one record that are named, before the rest is only counted
_STYLES = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command(cls=Verb, section="Daemon")
@click.option("--config", metavar="FILE", type=click.Path(), help="The daemon's configuration.")
@click.option("--db", is_flag=True, help="Look through the whole database, too.")
@click.option("--rollouts", is_flag=True, help="Look for damage in codex's records of all tasks.")
@click.pass_context
def command(ctx: click.Context, config: str | None, db: bool, rollouts: bool) -> None:  # noqa: FBT001 - click passes options by name
    """Check codex, git, the state directory and more."""
    app: App = ctx.obj
    if rollouts:
        if not _show_rollouts(app, config):
            ctx.exit(1)
        return
    text = _examine(config, *(("--db",) if db else ()))
    try:
        checks = [_check(told) for told in json.loads(text)["checks"]]
    except (ValueError, KeyError, TypeError) as error:
        raise RefusedError(
            "cannot examine the set-up: byred.doctor gave no report that can be read;"
            f" run {sys.executable} -m byred.doctor to see why"
        ) from error
    if app.json:
        app.out.raw(text.strip())
    else:
        rows = [
            [
                Cell(check.status, _STYLES.get(check.status, "")),
                Cell(check.name),
                Cell(check.found),
            ]
            for check in checks
        ]
        for line in table(app.out, ("", "CHECK", "FOUND"), rows, flexible=(2,)):
            app.out.say(line)
        _advise(app, checks)
    if any(check.status == "fail" for check in checks):
        ctx.exit(1)


def _check(told: Mapping[str, Any]) -> Check:
    return Check(
        name=told["name"],
        status=told["status"],
        found=str(told.get("found") or ""),
        mend=str(told.get("mend") or ""),
    )


def _examine(config: str | None, *more: str, limit: float | None = _LIMIT) -> str:
    """Run the examination: it needs the daemon's own parts, which this command does not load."""
    # Safe: whatever lies where the person stands is not taken for byred.
    args = [sys.executable, "-P", "-m", "byred.doctor", "--json", *more]
    if config:
        args += ["--config", config]
    try:
        ended = subprocess.run(
            args, check=False, capture_output=True, timeout=limit, encoding="utf-8"
        )
    except subprocess.TimeoutExpired as error:
        raise RefusedError(
            f"cannot examine the set-up: it took more than {_LIMIT} s; look for a full disk or a"
            " network drive that hangs"
        ) from error
    if not ended.stdout.strip():
        last = (ended.stderr.strip().splitlines() or [f"status {ended.returncode}"])[-1]
        raise RefusedError(
            f"cannot examine the set-up: byred.doctor ended without a report"
            f" ({one_line(last)}); run {' '.join(args)} to see why"
        )
    return ended.stdout


def _advise(app: App, checks: list[Check]) -> None:
    advised = [check for check in checks if check.status != "ok" and check.mend]
    if advised:
        app.out.say()
        app.out.say("how to mend it", "bold")
    for check in advised:
        app.out.say(f"  {check.name}: {one_line(check.mend)}")
    failed = sum(check.status == "fail" for check in checks)
    app.out.say()
    if failed:
        app.out.say(f"{words.count(failed, 'check')} failed", "red")
    else:
        app.out.say("all is well" if not advised else "good enough to run", "green")


def _show_rollouts(app: App, config: str | None) -> bool:
    """Say which records are broken, and what of them can be saved; whether all are whole."""
    # No limit: there may be a terabyte of them, and whoever waits can end it.
    text = _examine(config, "--rollouts", limit=None)
    try:
        told = json.loads(text)
        if "error" in told:
            raise RefusedError(f"cannot examine the records: {one_line(str(told['error']))}")
        found = told["rollouts"]
        broken = [each for each in found if not each["healthy"]]
        if app.json:
            app.out.raw(text.strip())
            return not broken
        for each in broken:
            _show_broken(app, each)
        whole = len(found) - len(broken)
        app.out.say(f"{words.count(whole, 'record')} whole", "green" if not broken else "")
        if broken:
            app.out.say(f"{words.count(len(broken), 'record')} broken", "red")
    except (ValueError, KeyError, TypeError) as error:
        raise RefusedError(
            "cannot examine the records: byred.doctor gave no report that can be read;"
            f" run {sys.executable} -m byred.doctor --rollouts to see why"
        ) from error
    return not broken


def _show_broken(app: App, found: Mapping[str, Any]) -> None:
    path = one_line(str(found["path"]))
    app.out.say(f"task {found['task_id']}  {path}", "bold")
    for gap in found["gaps"][:_SHOWN]:
        place = f"{gap['length']:,} bytes at {gap['offset']:,} cannot be read"
        app.out.say(f"  {place}: {one_line(str(gap['reason']))}", "red")
    if more := found["gaps"][_SHOWN:]:
        app.out.say(f"  and {words.count(len(more), 'such place')} more", "red")
    for problem in found["problems"]:
        app.out.say(f"  {one_line(str(problem))}", "red")
    if found["lines"]:
        app.out.say(
            f"  {words.count(found['lines'], 'line')} of {words.count(found['turns'], 'turn')}"
            f" can be saved: {sys.executable} -m byred.codex.rollout salvage {path} NEW"
        )
    else:
        app.out.say("  nothing of it can be saved")
    app.out.say()
