"""Hold a chaos run's own journal against database, git, /proc, ports and what the model saw.

Reads everything by itself: it shares no code with byred.
"""

import contextlib
import json
import os
import re
import sqlite3
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chaos.people import End, Journal

TABLES = ("tasks", "grounds", "questions", "leases", "processes", "events", "inputs", "attempts")
OK = ("succeeded", "cancelled")
SHA = re.compile(r"\b[0-9a-f]{40}\b")
LITTER = re.compile(
    r"^byre-(index|merge|objects|export)-|^\.tmp|\.byre$|\.byre-copy$|\.tmp$|\.lock$|-journal$"
)

Row = sqlite3.Row
Items = list[dict[str, Any]]


@dataclass
class Found:
    """All that the checks look at."""

    rows: dict[str, list[Row]]
    journal: Journal
    last: dict[str, Items]
    repos: list[Path]
    state: Path

    @property
    def tasks(self) -> dict[int, Row]:
        """The stored tasks by id."""
        return {row["id"]: row for row in self.rows["tasks"]}

    @property
    def parents(self) -> dict[int, int]:
        """Of which task each forked one was."""
        return {
            row["task_id"]: row["forked_task"]
            for row in self.rows["grounds"]
            if row["forked_task"] is not None
        }

    @property
    def lost_threads(self) -> dict[str, int]:
        """Of which task each thread was whose record codex could not begin, on a full disk."""
        return {
            json.loads(row["data"])["thread_id"]: row["task_id"]
            for row in self.rows["events"]
            if row["kind"] == "task.thread_lost"
        }

    def thread_of(self, question: Row) -> str:
        """Give the thread that is to hold the reply to a question."""
        thread = question["thread_id"]
        if thread in self.lost_threads:
            thread = self.tasks[question["task_id"]]["thread_id"]
        return str(thread)

    @property
    def removed(self) -> set[int]:
        """The tasks whose worktree was taken away."""
        return {row["task_id"] for row in self.rows["grounds"] if row["removed_at"] is not None}

    def family(self, task_id: int) -> list[int]:
        """Give a task and those that it was forked from, one after the other."""
        line = [task_id]
        while line[-1] in self.parents:
            line.append(self.parents[line[-1]])
        return line


def check(
    *,
    state: Path,
    temporary: Path,
    repos: list[Path],
    ports: range,
    journal: Journal,
    requests: list[tuple[str, Items]],
    calls: set[str],
    leftovers: list[str],
    log: str,
) -> dict[str, list[str]]:
    """Give what is wrong, by promise; every list is empty when all is well.

    `requests` are the threads and inputs that the model was sent, in order, and `calls` the ids
    under which it asked people.
    """
    connection = sqlite3.connect(f"file:{state / 'byred.sqlite3'}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    rows = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in TABLES}
    integrity = [row[0] for row in connection.execute("PRAGMA integrity_check")]
    foreign = connection.execute("PRAGMA foreign_key_check").fetchall()
    connection.close()
    last = dict(requests)
    found = Found(rows, journal, last, repos, state)
    return {
        "tasks lost": tasks_lost(found),
        "tasks run twice": run_twice(found),
        "questions lost or doubled": questions(found, calls),
        "answers lost or doubled": answers(found),
        "texts lost or doubled": texts(found),
        "commits lost or doubled": commits(found),
        "merges lost or doubled": merges(found),
        "kept work lost": kept(found),
        "processes left": leftovers,
        "ports left": ports_left(found, ports),
        "servers not known to be gone": [
            f"pid {row['pid']} of task {row['task_id']}"
            for row in rows["processes"]
            if row["ended_at"] is None
        ],
        "attempts without an end": [
            f"attempt {row['number']} of task {row['task_id']}"
            for row in rows["attempts"]
            if row["ended_at"] is None
        ],
        "locks left": [str(path) for repo in repos for path in (repo / ".git").rglob("*.lock")],
        "files left": files_left(state, temporary, repos),
        "worktrees wrong": [each for repo in repos for each in worktrees(found, repo)],
        "events with a gap": gaps(rows["events"]),
        "database damaged": [each for each in integrity if each != "ok"] + [*map(str, foreign)],
        "git fsck": [each for repo in repos for each in fsck(repo)],
        "daemon ended by itself": journal.deaths,
        "faults of byred in its log": faults(log),
    }


def tasks_lost(found: Found) -> list[str]:
    stored = found.tasks
    wrong = []
    for task_id, prompt in found.journal.tasks.items():
        row = stored.get(task_id)
        if row is None or row["prompt"] != prompt:
            wrong.append(f"task {task_id} is not there")
    prompts = set(found.journal.keys.values()) | set(found.journal.forks)
    for row in stored.values():
        if row["state"] not in OK:
            wrong.append(f"task {row['id']} is {row['state']}: {row['reason']} {row['error']}")
        elif row["state"] == "cancelled" and row["id"] not in found.journal.cancels:
            wrong.append(f"task {row['id']} was cancelled by nobody")
        if row["prompt"] not in prompts:
            wrong.append(f"task {row['id']} was submitted by nobody")
    for what in ("key", "prompt"):
        counted = Counter(row[what] for row in stored.values() if row[what] is not None)
        wrong += [f"{what} {each} has {n} tasks" for each, n in counted.items() if n > 1]
    return wrong


def run_twice(found: Found) -> list[str]:
    """A prompt reaches the thread of its task, once, and those forked from it; so do calls."""
    wrong = []
    threads = found.lost_threads | {row["thread_id"]: row["id"] for row in found.tasks.values()}
    for row in found.tasks.values():
        holders = [
            thread for thread, items in found.last.items() if times_said(row["prompt"], items)
        ]
        strange = [
            thread
            for thread in holders
            if thread not in threads or row["id"] not in found.family(threads[thread])
        ]
        if strange:
            wrong.append(f"task {row['id']} has its prompt in other threads too: {strange}")
        own = found.last.get(row["thread_id"], [])
        times = times_said(row["prompt"], own)
        if times > 1 or (times == 0 and row["state"] == "succeeded"):
            wrong.append(f"task {row['id']} was given its prompt {times} times")
        made = Counter(
            (item.get("name"), item.get("arguments"))
            for item in own
            if item.get("type") == "function_call" and item.get("name") != "write_stdin"
        )
        wrong += [f"task {row['id']} called {call} {n} times" for call, n in made.items() if n > 1]
    return wrong


def user_texts(items: Items) -> list[str]:
    return [
        part.get("text", "")
        for item in items
        if item.get("role") == "user"
        for part in item.get("content", ())
        if isinstance(part, dict)
    ]


def times_said(text: str, items: Items) -> int:
    """Count how often a text was said; a fork's prompt has words of byred's before it."""
    return sum(said == text or said.endswith(f"\n\n{text}") for said in user_texts(items))


def outputs(items: Items) -> list[str]:
    return [
        json.dumps(item.get("output"))
        for item in items
        if item.get("type") in ("function_call_output", "custom_tool_call_output")
    ]


def questions(found: Found, calls: set[str]) -> list[str]:
    """Every question that was asked is a row, once, and none is open at the end.

    The model may have asked and the server died before byred could hear of it: such a call is in no
    row, and it was answered as aborted. So rows are counted against calls, not the other way.
    """
    asked = Counter((row["task_id"], row["call_id"]) for row in found.rows["questions"])
    wrong = [
        f"call {call} of task {task} has {n} rows" for (task, call), n in asked.items() if n > 1
    ]
    for row in found.rows["questions"]:
        if row["state"] == "open":
            wrong.append(f"question {row['id']} is still open")
        heard = row["call_id"] in calls or row["thread_id"] in found.lost_threads
        if not heard and found.tasks[row["task_id"]]["state"] == "succeeded":
            wrong.append(f"question {row['id']} was never asked by the model")
    return wrong


def answers(found: Found) -> list[str]:
    wrong = []
    stored = {row["id"]: row for row in found.rows["questions"]}
    for number, given in found.journal.answers.items():
        row = stored.get(number)
        done = [text for text, end in given if end is End.DONE]
        refused = [text for text, end in given if end is End.REFUSED]
        if len(done) > 1:
            wrong.append(f"question {number}: {done} were all acknowledged")
        if row is None or (done and row["answer"] != done[0]):
            wrong.append(f"question {number}: {done} was acknowledged, but another is stored")
        elif row["answer"] in refused:
            wrong.append(f"question {number}: {row['answer']} was refused and is stored")
    for row in stored.values():
        if row["state"] != "answered":
            continue
        items = found.last.get(found.thread_of(row), [])
        times = sum(row["answer"] in text for text in outputs(items) + user_texts(items))
        succeeded = found.tasks[row["task_id"]]["state"] == "succeeded"
        if times > 1 or (times == 0 and succeeded):
            wrong.append(f"question {row['id']}: the model has its answer {times} times")
        if succeeded and row["delivered_at"] is None:
            wrong.append(f"question {row['id']}: its answer is not known to be delivered")
    return wrong


def texts(found: Found) -> list[str]:
    """What was told: once if acknowledged, never if refused, once at most if the reply was lost."""
    wrong = []
    for task_id, told in found.journal.told.items():
        row = found.tasks[task_id]
        said = user_texts(found.last.get(row["thread_id"], []))
        for text, end in told:
            times = said.count(text)
            most = 0 if end is End.REFUSED else 1
            least = 1 if end is End.DONE and row["state"] == "succeeded" else 0
            if not least <= times <= most:
                wrong.append(f"task {task_id} was told {text} {times} times, which was {end}")
    return wrong


def commits(found: Found) -> list[str]:
    """Every commit that an agent saw is there; none is there twice or by another name."""
    wrong = []
    for row in found.tasks.values():
        repo = Path(row["repo"])
        family = [found.tasks[each] for each in found.family(row["id"])]
        seen = {
            sha
            for text in outputs(found.last.get(row["thread_id"], []))
            for sha in SHA.findall(text)
        }
        if row["id"] in found.removed:
            tips = [f"refs/byre/kept/{each['id']}" for each in family] + [
                f"refs/heads/{each['branch']}" for each in family
            ]
        else:
            tips = [f"refs/heads/{row['branch']}"]
        tips = [tip for tip in tips if exists(tip, repo)]
        if not tips:
            if seen:
                wrong.append(f"task {row['id']} has no branch, and lost {sorted(seen)}")
            continue
        # A note of what was kept is a commit of byred's own, with the tip among its parents.
        listed = run(
            "git", "log", "--format=%H%x09%ae%x09%s", *tips, f"^{row['base_commit']}", cwd=repo
        )
        lines = [line.split("\t") for line in listed.splitlines()]
        shas = {sha for sha, _, _ in lines}
        wrong += [f"task {row['id']} lost commit {sha}" for sha in seen - shas]
        if row["id"] in found.removed:
            continue
        emails = {json.loads(each["identity"])["email"] for each in family}
        wrong += [f"{sha} is by {who}, not {emails}" for sha, who, _ in lines if who not in emails]
        subjects = Counter(subject for _, _, subject in lines)
        wrong += [
            f"task {row['id']} has {n} commits {subject!r}"
            for subject, n in subjects.items()
            if n > 1
        ]
    return wrong


def merges(found: Found) -> list[str]:
    """What was acknowledged as merged is in its target, with the work, once."""
    wrong = []
    for merge in found.journal.merges:
        name = f"the merge of task {merge.task} into {merge.into} by {merge.how}"
        target = f"refs/heads/{merge.into}"
        if not is_ancestor(merge.after, target, merge.repo):
            wrong.append(f"{name} is not there")
        if merge.how in ("merge", "ff"):
            if not is_ancestor(merge.tip, target, merge.repo):
                wrong.append(f"{name} lacks {merge.tip}")
            continue
        base = found.tasks[merge.task]["base_commit"]
        names = run("git", "diff", "--name-only", base, merge.tip, cwd=merge.repo).split()
        for path in names:
            ours, theirs = (
                run("git", "rev-parse", "--verify", f"{tip}:{path}", cwd=merge.repo)
                for tip in (merge.tip, merge.after)
            )
            if ours != theirs:
                wrong.append(f"{name} has another {path}")
    for row in found.rows["events"]:
        if row["kind"] == "task.merged":
            wrong += doubled(json.loads(row["data"]), found.tasks[row["task_id"]])
    return wrong


def doubled(merge: dict[str, str], task: Row) -> list[str]:
    """Say which work a merge brought into a branch that had it.

    A merge of commits as they are cannot; a copy of them can. Copies of one commit may all the same
    come together in a branch, by a merge of others' that were based on either.
    """
    before, after, how = merge["before"], merge["after"], merge["how"]
    repo = Path(task["repo"])
    if how in ("merge", "ff") or before == after:
        return []
    name = f"the merge of task {task['id']} into {merge['into']} by {how}"
    brought = said_by(f"{before}..{after}", task, repo)
    had = Counter(said_by(before, task, repo))
    if how == "rebase":
        twice = [commit for commit, n in Counter(brought).items() if n > 1 or had[commit]]
        return [f"{name} brought {commit} again" for commit in twice]
    trees = [run("git", "rev-parse", f"{tip}^{{tree}}", cwd=repo) for tip in (before, after)]
    return [f"{name} brought nothing"] if trees[0] == trees[1] else []


def said_by(commits: str, task: Row, repo: Path) -> list[str]:
    """List author and subject of the commits that are a task's own."""
    author = json.loads(task["identity"])["email"]
    listed = run("git", "log", "--no-merges", "--format=%ae %s", commits, cwd=repo).splitlines()
    return [line for line in listed if line.startswith(f"{author} ")]


def kept(found: Found) -> list[str]:
    """What was taken away lies under its ref, whole; what is not, lies in its place."""
    wrong = []
    for row in found.tasks.values():
        ref = f"refs/byre/kept/{row['id']}"
        if row["id"] in found.removed:
            if not exists(ref, Path(row["repo"])):
                wrong.append(f"task {row['id']} was taken away and is not kept")
            if Path(row["worktree"]).exists():
                wrong.append(f"the worktree of task {row['id']} is said to be gone and is there")
        elif row["started_at"] is not None and row["state"] == "succeeded":
            if not Path(row["worktree"]).is_dir():
                wrong.append(f"the worktree of task {row['id']} is gone")
            elif not exists(f"refs/heads/{row['branch']}", Path(row["repo"])):
                wrong.append(f"the branch of task {row['id']} is gone")
    return wrong


def worktrees(found: Found, repo: Path) -> list[str]:
    listing = run("git", "worktree", "list", "--porcelain", cwd=repo)
    wrong = [line for line in listing.splitlines() if line.startswith(("prunable", "locked"))]
    known = {row["worktree"] for row in found.tasks.values() if row["id"] not in found.removed}
    there = [line.split(" ", 1)[1] for line in listing.splitlines() if line.startswith("worktree ")]
    pool = "/.pool/"
    wrong += [
        f"{path} is no task's" for path in there[1:] if path not in known and pool not in path
    ]
    of_here = {
        row["worktree"]
        for row in found.tasks.values()
        if row["repo"] == str(repo) and Path(row["worktree"]).exists()
    }
    wrong += [f"{path} is no worktree" for path in of_here - set(there)]
    for path in there:
        if Path(path).is_dir():
            changed = run("git", "status", "--porcelain", cwd=Path(path))
            if path == there[0] and changed:
                wrong.append(f"the checkout {path} has changed: {changed!r}")
            if pool in path and changed:
                wrong.append(f"{path} is not clean: {changed!r}")
    return wrong


def ports_left(found: Found, ports: range) -> list[str]:
    wrong = [f"port {row['number']} of task {row['task_id']}" for row in found.rows["leases"]]
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(FileNotFoundError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                port = int(fields[1].rsplit(":", 1)[1], 16)
                if fields[3] == "0A" and port in ports:
                    wrong.append(f"somebody listens on port {port}")
    return wrong


def files_left(state: Path, temporary: Path, repos: list[Path]) -> list[str]:
    """Give what lies about; the daemon may be at work meanwhile."""
    wrong = [str(path) for path in temporary.iterdir()]
    homes = state / "tasks"
    for top in (state, *(repo / ".git" for repo in repos)):
        for folder, folders, files in os.walk(top):
            for path in (Path(folder, name) for name in (*folders, *files)):
                # What codex keeps in its home is its own.
                inside = path.is_relative_to(homes) and "home" in path.relative_to(homes).parts[1:2]
                if LITTER.search(path.name) and not inside:
                    wrong.append(str(path))
                if path.parent.name == ".making":
                    wrong.append(str(path))
    return wrong


def gaps(events: list[Row]) -> list[str]:
    numbers = [row["seq"] for row in events]
    return [] if numbers == list(range(1, len(numbers) + 1)) else ["the events have a gap"]


def faults(log: str) -> list[str]:
    """Give the first line of each trace and of what else must never be said, with what follows."""
    signs = ("Traceback (most recent call last)", "by a fault of byred", "never awaited")
    lines = log.splitlines()
    found: list[str] = []
    shown = 0
    for number, line in enumerate(lines):
        if number >= shown and any(sign in line for sign in signs):
            shown = number + 60
            found.append("\n    ".join(lines[number:shown]))
    return found


def fsck(repo: Path) -> list[str]:
    done = subprocess.run(
        ["git", "fsck", "--no-dangling", "--no-progress"],
        cwd=repo,
        capture_output=True,
        text=True,
        check=False,
    )
    said = (done.stdout + done.stderr).strip()
    return [f"{repo.name}: {said}"] if done.returncode or said else []


def exists(name: str, repo: Path) -> bool:
    command = ["git", "rev-parse", "--quiet", "--verify", f"{name}^{{commit}}"]
    return not subprocess.run(command, cwd=repo, capture_output=True, check=False).returncode


def is_ancestor(commit: str, of: str, repo: Path) -> bool:
    command = ["git", "merge-base", "--is-ancestor", commit, of]
    return not subprocess.run(command, cwd=repo, capture_output=True, check=False).returncode


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    return done.stdout if not done.returncode else f"{' '.join(command)}: {done.stderr}"
