"""Hold the end of an act to what byred promises: what was done, and what is left.

Reads everything by itself: it shares no code with byred.
"""

import json
import re
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.chaos import checker
from tests.failpoints.scenario import Journal, Mortal, Person

BY_CHANCE = re.compile(r"refs/byre/checkpoints/|\.pool/\.making/")
"""A turn more than without a kill is no fault, nor is a tree that the stop found half made."""
TABLES = ("tasks", "questions", "leases", "processes", "events", "inputs")


def check(daemon: Mortal, person: Person, requests: list[dict[str, Any]]) -> list[str]:
    """Hold the end of a life to what byred promises."""
    with closing(
        sqlite3.connect(f"file:{daemon.state / 'byred.sqlite3'}?mode=ro", uri=True)
    ) as connection:
        connection.row_factory = sqlite3.Row
        rows = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in TABLES}
    last = newest_requests(requests)
    own = rows | {"tasks": [row for row in rows["tasks"] if row["id"] not in person.forks]}
    forked = {row["thread_id"] for row in rows["tasks"] if row["id"] in person.forks}
    apart = {thread: items for thread, items in last.items() if thread not in forked}
    repo = person.repo
    found = {
        "task lost": tasks_lost(own, person.journal),
        "task run twice": run_twice(own, apart),
        "question": questions(rows, requests),
        "answer": answers(own, person.journal, apart),
        "text": texts(own, person.journal, apart),
        "events": checker.gaps(rows["events"]),
        "fsck": checker.fsck(repo),
        "lock": [str(path) for path in (repo / ".git").rglob("*.lock")],
        "port": [f"{row['number']} of {row['task_id']}" for row in rows["leases"]],
        "server": [str(row["pid"]) for row in rows["processes"] if row["ended_at"] is None],
        "fork": forks(rows, person, last),
        "commit": commits(rows, repo, last),
        "worktree": worktrees(repo),
        "temporary": [str(path) for path in daemon.temporary.iterdir()],
    }
    return [f"{name}: {each}" for name, wrong in found.items() for each in wrong]


def forks(rows: Any, person: Person, last: dict[str, list[dict[str, Any]]]) -> list[str]:
    wrong = []
    for row in rows["tasks"]:
        if row["id"] not in person.forks:
            continue
        if row["state"] != "succeeded":
            wrong.append(f"{row['id']} is {row['state']}")
        said = [text for text in checker.user_texts(last[row["thread_id"]]) if "goes on." in text]
        if len(said) != 1:
            wrong.append(f"{row['id']} was given its prompt {len(said)} times")
    if len([row for row in rows["tasks"] if row["title"] == "The fork"]) > 1:
        wrong.append("there are several")
    return wrong


def commits(rows: Any, repo: Path, last: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Every commit that an agent saw is there, and none is twice, by its own task's identity."""
    listed = checker.run("git", "log", "--all", "--format=%H%x09%ae%x09%s", cwd=repo)
    lines = [line.split("\t") for line in listed.splitlines()]
    shas = {sha for sha, _, _ in lines}
    subjects = ("before", "after", "quick")
    who = Counter((email, subject) for _, email, subject in lines if subject in subjects)
    wrong = [f"{times} commits {subject!r}" for subject, times in who.items() if times != 1]
    for items in last.values():
        for text in checker.outputs(items):
            wrong += [
                f"lost: {sha}" for sha in re.findall(r"\b[0-9a-f]{40}\b", text) if sha not in shas
            ]
    emails = {json.loads(row["identity"])["email"] for row in rows["tasks"]}
    wrong += [f"by a stranger: {email}" for email, _ in who if email not in emails]
    merged = Counter(checker.run("git", "log", "--format=%s", "main", cwd=repo).splitlines())
    wrong += [f"main has {times} of {subject!r}" for subject, times in merged.items() if times > 1]
    return wrong


def worktrees(repo: Path) -> list[str]:
    listing = checker.run("git", "worktree", "list", "--porcelain", cwd=repo)
    wrong = [line for line in listing.splitlines() if line.startswith(("prunable", "locked"))]
    status = checker.run("git", "status", "--porcelain", cwd=repo)
    return wrong + ([f"the checkout has {status}"] if status else [])


def left(daemon: Mortal, repo: Path) -> set[str]:
    """Name the files that there are at the end, apart from what has a name by chance."""
    found: set[str] = set()
    inside = {"objects", "logs", "home", "homes", "hooks", "worktrees", "tmp"}
    for top in (daemon.folder, repo / ".git", daemon.state / "worktrees"):
        for path in sorted(top.rglob("*")):
            parts = path.relative_to(top).parts
            name = f"{top.name}/{re.sub('[0-9a-f]{12,}', '*', '/'.join(parts))}"
            in_a_tree = top.name == "worktrees" and len(parts) > 2 and ".making" not in parts
            if not (inside & set(parts[:-1]) or in_a_tree or BY_CHANCE.search(name)):
                found.add(name)
    return found


def newest_requests(requests: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Give the newest conversation of each thread, as the model was sent it."""
    return {request["thread"]: request["input"] for request in requests}


def tasks_lost(rows: dict[str, list[sqlite3.Row]], journal: Journal) -> list[str]:
    stored = {row["id"]: row for row in rows["tasks"]}
    wrong = []
    for task_id, prompt in journal.tasks.items():
        row = stored.get(task_id)
        if row is None or row["prompt"] != prompt:
            wrong.append(f"task {task_id} is not there")
        elif row["state"] not in ("succeeded", "cancelled"):
            wrong.append(f"task {task_id} is {row['state']}: {row['reason']}")
        elif row["state"] == "cancelled" and task_id not in journal.cancelled:
            # A cancel whose reply was lost is known to the events alone.
            asked = any(
                event["task_id"] == task_id and event["kind"] == "task.cancelling"
                for event in rows["events"]
            )
            if not asked:
                wrong.append(f"task {task_id} was cancelled by nobody")
    doubled = [
        key for key, count in Counter(row["key"] for row in rows["tasks"]).items() if count > 1
    ]
    return wrong + [f"key {key} has several tasks" for key in doubled]


def run_twice(
    rows: dict[str, list[sqlite3.Row]], last: dict[str, list[dict[str, Any]]]
) -> list[str]:
    """A prompt reaches one thread, once; and a call of the script is made once in it."""
    wrong = []
    for row in rows["tasks"]:
        holders = [
            thread
            for thread, items in last.items()
            if any(row["prompt"] == text for text in checker.user_texts(items))
        ]
        if len(holders) > 1:
            wrong.append(f"task {row['id']} has {len(holders)} threads with its prompt")
        for thread in holders:
            times = checker.user_texts(last[thread]).count(row["prompt"])
            if times != 1:
                wrong.append(f"task {row['id']} was given its prompt {times} times")
            calls = Counter(
                (item.get("name"), item.get("arguments"))
                for item in last[thread]
                if item.get("type") == "function_call"
            )
            wrong += [
                f"task {row['id']} made the call {call} {count} times"
                for call, count in calls.items()
                if count > 1
            ]
    return wrong


def questions(rows: dict[str, list[sqlite3.Row]], requests: list[dict[str, Any]]) -> list[str]:
    """Every question that was asked is a row, once.

    The model may have asked and the server died before byred could hear of it: such a call is in no
    row, and it was answered as aborted. So rows are counted against calls, not the other way.
    """
    calls = {
        item["call_id"]
        for request in requests
        for item in request["input"]
        if item.get("type") == "function_call" and item.get("name") == "ask_human"
    }
    asked = [row["call_id"] for row in rows["questions"]]
    wrong = [f"call {call} has several rows" for call, n in Counter(asked).items() if n > 1]
    ended = {row["id"]: row["state"] for row in rows["tasks"]}
    wrong += [
        f"question {row['id']} is still open"
        for row in rows["questions"]
        if row["state"] == "open" and ended[row["task_id"]] in ("succeeded", "cancelled")
    ]
    return wrong + [
        f"question {row['id']} was never asked by the model"
        for row in rows["questions"]
        if row["call_id"] not in calls and ended[row["task_id"]] == "succeeded"
    ]


def answers(
    rows: dict[str, list[sqlite3.Row]], journal: Journal, last: dict[str, list[dict[str, Any]]]
) -> list[str]:
    wrong = []
    states = {row["id"]: row["state"] for row in rows["tasks"]}
    for row in rows["questions"]:
        given = journal.answered.get(row["id"])
        if given is not None and row["answer"] != given:
            wrong.append(f"question {row['id']}: {given} was acknowledged, {row['answer']} stored")
        if row["state"] != "answered" or states[row["task_id"]] != "succeeded":
            continue
        times = sum(
            row["answer"] in text for text in checker.outputs(last.get(row["thread_id"], []))
        )
        told = sum(
            row["answer"] in text for text in checker.user_texts(last.get(row["thread_id"], []))
        )
        if times + told != 1:
            wrong.append(f"question {row['id']}: the model has its answer {times + told} times")
        if row["delivered_at"] is None:
            wrong.append(f"question {row['id']}: its answer is not known to be delivered")
    return wrong


def texts(
    rows: dict[str, list[sqlite3.Row]], journal: Journal, last: dict[str, list[dict[str, Any]]]
) -> list[str]:
    wrong = []
    for row in rows["tasks"]:
        if row["state"] != "succeeded":
            continue
        said = checker.user_texts(last.get(row["thread_id"], []))
        wrong += [
            f"task {row['id']} was told {text} {said.count(text)} times"
            for text in journal.told.get(row["id"], ())
            if said.count(text) != 1
        ]
    return wrong
