"""A restart of the daemon with ten agents in mid-command on sockets, against an empty one's start.

`python -m tests.bench.restart`. Real codex, the scripted model, `codex.transport = "unix"`. Five
agents more have asked something and wait. The daemon is killed and started again, several times,
and by turns with it a daemon with nothing in its database; ready is when `daemon.status` is
answered. Then the commands are let go and the questions answered.

Every command must have ended in the process in which it began, every question have been there all
the time, every task have ended well in its one turn. Of the starts the best of each kind counts,
since whatever else the machine does only adds to them. Exits with 1 when something did not hold, or
when the start with agents took twice as long as the empty one or longer.
"""

import asyncio
import statistics
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from byred.testing.script import Ask, Script, Step
from tests.bench._daemon import stopped
from tests.e2e.conftest import COMMIT, Daemon, command_runs

WORKING = 10
ASKING = 5
ROUNDS = 7
PROMISED = 2.0
SCRIPTS = (
    Script(
        name="works",
        match="(?i)until released",
        steps=(
            Step(
                shell="echo $$ > command.pid; until [ -e release ]; do sleep 0.1; done; "
                "echo $$ > ended.pid"
            ),
            Step(shell=COMMIT),
            Step(say="Done in one piece."),
        ),
    ),
    Script(
        name="asks",
        match="(?i)for the colour",
        steps=(
            Step(ask=Ask(text="Which colour?", options=("red", "blue"))),
            Step(shell="printf '%s\\n' {answer} > colour.txt && " + COMMIT),
            Step(say="Done: {answer}"),
        ),
    ),
)


async def start(daemon: Daemon) -> float:
    """Start a daemon, and give the seconds until it answers."""
    begun = time.monotonic()
    await daemon.start()
    return time.monotonic() - begun


async def look(daemon: Daemon, ids: list[int]) -> tuple[list[Any], list[Any]]:
    """Give what a restart must not change: of each task, and of the open questions."""
    tasks = [await daemon.call("task.get", id=task) for task in ids]
    questions = (await daemon.call("question.list", states=["open"]))["questions"]
    kept = ("id", "state", "attempt", "turn_id", "thread_id", "pid", "worktree", "home")
    return (
        [{name: task[name] for name in kept} for task in tasks],
        sorted([each["id"], each["task_id"], each["text"]] for each in questions),
    )


async def taken_over(daemon: Daemon, ids: list[int], after: int) -> None:
    """Wait until the new daemon has taken all tasks over."""
    for task in ids:
        await daemon.event("task.adopted", task_id=task, after=after)


async def restarts(
    daemon: Daemon, empty: Daemon, ids: list[int]
) -> tuple[list[float], list[float], list[str]]:
    """Kill and start both again and again; give the seconds of each start and what went wrong."""
    before = await look(daemon, ids)
    took: list[float] = []
    took_empty: list[float] = []
    wrong = []
    for number in range(ROUNDS):
        after = (await daemon.call("daemon.status"))["seq"]
        daemon.kill()
        empty.kill()
        for which, found in (
            ((daemon, took), (empty, took_empty))
            if number % 2
            else ((empty, took_empty), (daemon, took))
        ):
            found.append(await start(which))
            if which is daemon:
                await taken_over(daemon, ids, after)
        now = await look(daemon, ids)
        if now != before:
            wrong.append(f"restart {number + 1} changed {before} to {now}")
    return took, took_empty, wrong


async def finish(daemon: Daemon, working: list[dict], asking: list[dict]) -> list[str]:
    """Let all tasks come to their end; say which did not come to it well."""
    wrong = []
    for task in working:
        Path(task["worktree"], "release").touch()
    for question in (await daemon.call("question.list", states=["open"]))["questions"]:
        await daemon.call("question.answer", id=question["id"], text="blue")
    for task in (*working, *asking):
        done = await daemon.wait(task["id"], "succeeded", "failed", "held")
        if done["state"] != "succeeded" or done["attempt"] != 1:
            wrong.append(f"task {task['id']} {done['state']}, attempt {done['attempt']}")
        elif len(done["result"]["commits"]) != 1:
            wrong.append(f"task {task['id']} made {done['result']['commits']}")
    for task in working:
        first, last = (Path(task["worktree"], f"{name}.pid") for name in ("command", "ended"))
        if not last.exists() or first.read_text() != last.read_text():
            wrong.append(f"the command of task {task['id']} did not end in its process")
    return wrong


async def run() -> int:
    async with AsyncExitStack() as stack:
        empty, _repo = await stack.enter_async_context(stopped(SCRIPTS))
        daemon, repo = await stack.enter_async_context(stopped(SCRIPTS))
        for each in (empty, daemon):
            each.settings["codex"]["transport"] = "unix"
            each.settings["scheduler"]["max_running"] = WORKING + ASKING
            each.settings["human"] = {"park_after": "1h"}
            await each.start()
        working = [await daemon.submit(repo, f"Work until released {n}") for n in range(WORKING)]
        asking = [await daemon.submit(repo, f"Ask for the colour {n}") for n in range(ASKING)]
        ids = [task["id"] for task in (*working, *asking)]
        pids = [await command_runs(daemon, task) for task in working]
        for task in asking:
            await daemon.question(task["id"])
        took, took_empty, wrong = await restarts(daemon, empty, ids)
        gone = [pid for pid in pids if not Path(f"/proc/{pid}").exists()]
        if gone:
            wrong.append(f"commands ended by a restart: {gone}")
        wrong += await finish(daemon, working, asking)
        sent = daemon.model.requests
        turns: dict[str, set[str]] = {each.thread: set() for each in sent}
        for each in sent:
            turns[each.thread].add(each.turn)
        again = [thread for thread, those in turns.items() if len(those) != 1]
        if again or len(turns) != len(ids):
            wrong.append(f"{len(turns)} threads of {len(ids)} tasks, more than one turn in {again}")
        wrong += daemon.leftovers()
        daemon.stop()
        empty.stop()
    ratio = min(took) / min(took_empty)
    for name, found in (("empty", took_empty), (f"{len(ids)} agents", took)):
        median, worst = statistics.median(found), max(found)
        print(f"start, {name:12} {min(found):7.2f} s   (median {median:.2f}, worst {worst:.2f})")
    print(f"ratio               {ratio:7.2f}     (promised: below {PROMISED:g})")
    print(f"commands            {len(pids) - len(gone):7d}     of {WORKING} in their processes")
    print(f"went wrong          {len(wrong):7d}     {'; '.join(wrong[:3])[:600]}")
    return 0 if ratio < PROMISED and not wrong else 1


def main() -> int:
    return asyncio.run(run())


if __name__ == "__main__":
    raise SystemExit(main())
