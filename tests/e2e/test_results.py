"""A task's work comes home, or goes away and comes back, and nothing of anyone's is lost."""

import asyncio
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from byred.testing.script import Script, Step
from tests.e2e.conftest import COMMIT, SCRIPTS, Daemon, command_runs, git

Byre = Callable[..., subprocess.CompletedProcess[str]]

RESOLVE = "git merge -q main || { echo both > README && git add -A && git commit -q --no-edit; }"


@pytest.fixture
def scripts() -> tuple[Script, ...]:
    work = Script(
        name="work",
        match="(?i)work",
        steps=(
            Step(
                shell="printf 'a\\nb\\nc\\n' > new.txt && git rm -q README && git add -A"
                " && git commit -q -m 'A new file'"
                " && echo loose > loose.txt && echo cache > .cache.log"
            ),
            Step(say="Worked."),
            Step(shell="echo more > more.txt && " + COMMIT),
            Step(say="Worked more."),
        ),
    )
    clash = Script(
        name="clash",
        match="(?i)clash",
        steps=(
            Step(shell="echo theirs > README && " + COMMIT),
            Step(say="Changed."),
            Step(shell=RESOLVE),
            Step(say="Resolved."),
        ),
    )
    return (work, clash, *SCRIPTS)


@pytest.fixture
def repo(repo: Path) -> Path:
    """The repository of a person who has an identity, and ignores something."""
    git("config", "user.name", "A Person", cwd=repo)
    git("config", "user.email", "person@example.org", cwd=repo)
    (repo / ".gitignore").write_text("*.log\n")
    git("add", "-A", cwd=repo)
    git("commit", "-q", "-m", "Ignore logs", cwd=repo)
    return repo


async def worked(daemon: Daemon, repo: Path, prompt: str = "Work") -> dict[str, Any]:
    task = await daemon.submit(repo, prompt)
    done = await daemon.wait(task["id"], "succeeded", "failed")
    assert done["state"] == "succeeded", done
    return done


def commit(repo: Path, name: str, text: str) -> None:
    (repo / name).write_text(text)
    git("add", "-A", cwd=repo)
    git("commit", "-q", "-m", f"Change {name}", cwd=repo)


def state_of(repo: Path) -> tuple[str, ...]:
    """Give all that a person sees of their checkout."""
    return (
        git("rev-parse", "HEAD", cwd=repo),
        git("symbolic-ref", "HEAD", cwd=repo),
        git("status", "--porcelain", "--ignored", cwd=repo),
        *sorted(f"{path.name}: {path.read_text()}" for path in repo.iterdir() if path.is_file()),
    )


async def test_the_result_is_what_git_says(daemon: Daemon, repo: Path, byre: Byre) -> None:
    done = await worked(daemon, repo)
    result = done["result"]
    assert result["commits"] == [git("rev-parse", done["branch"], cwd=repo)]
    figures = ("files_changed", "insertions", "deletions", "dirty", "uncommitted_count")
    assert [result[figure] for figure in figures] == [2, 3, 1, True, 1]
    assert result["uncommitted"] == ["loose.txt"]
    shown = await asyncio.to_thread(byre, "show", str(done["id"]))
    assert "made        1 commit, 2 files changed (+3 -1)" in shown.stdout
    assert "uncommitted loose.txt" in shown.stdout


@pytest.mark.parametrize("how", ["merge", "ff", "squash", "rebase"])
async def test_work_comes_into_the_checked_out_base(
    daemon: Daemon, repo: Path, byre: Byre, how: str
) -> None:
    done = await worked(daemon, repo)
    if how != "ff":
        commit(repo, "other.txt", "Meanwhile.\n")
    before = git("rev-parse", "main", cwd=repo)
    options = [] if how == "merge" else [f"--{how}"]
    merged = await asyncio.to_thread(byre, "merge", str(done["id"]), *options)
    assert merged.returncode == 0, merged.stderr
    after = git("rev-parse", "main", cwd=repo)
    assert f"merged into main: {before[:12]}..{after[:12]}" in merged.stdout
    assert "not committed, so not merged: 1 file (loose.txt)" in merged.stdout
    assert git("status", "--porcelain", cwd=repo) == ""
    assert (repo / "new.txt").read_text() == "a\nb\nc\n"
    assert not (repo / "README").exists()
    parents = git("log", "-1", "--format=%P", "main", cwd=repo).split()
    tip = git("rev-parse", done["branch"], cwd=repo)
    assert (
        parents
        == {
            "merge": [before, tip],
            "ff": [before],
            "squash": [before],
            "rebase": [before],
        }[how]
    )
    author = git("log", "-1", "--format=%an", "main", cwd=repo)
    assert author == ("A Person" if how == "merge" else done["identity"]["name"])
    if how != "ff":
        assert git("log", "-1", "--format=%cn", "main", cwd=repo) == "A Person"
    task = await daemon.call("task.get", id=done["id"])
    assert (task["merged"]["into"], task["merged"]["how"]) == ("main", how)
    assert (task["merged"]["before"], task["merged"]["after"]) == (before, after)
    event = await daemon.event("task.merged", task_id=done["id"])
    assert event["data"]["path"] == str(repo)
    again = await asyncio.to_thread(byre, "merge", str(done["id"]), "--into", "main", *options)
    assert again.returncode == 0, again.stderr
    assert "main has all of it already" in again.stdout


@pytest.mark.promise("conflicts_change_nothing")
async def test_a_merge_that_cannot_be_changes_nothing(
    daemon: Daemon, repo: Path, byre: Byre
) -> None:
    done = await worked(daemon, repo, "Clash")
    commit(repo, "README", "mine\n")
    clean = state_of(repo)
    refused = await asyncio.to_thread(byre, "--json", "merge", str(done["id"]))
    assert refused.returncode == 4
    assert json.loads(refused.stdout)["data"] == {"kind": "conflict", "files": ["README"]}
    assert "both sides changed README" in refused.stderr
    assert f"byre merge {done['id']} --tell" in refused.stderr
    assert state_of(repo) == clean
    ff = await daemon.call_refused("task.merge", id=done["id"], how="ff")
    assert ff["data"]["kind"] == "conflict"
    nowhere = await daemon.call_refused("task.merge", id=done["id"], into="nowhere")
    assert nowhere["data"]["kind"] == "not_found"
    assert state_of(repo) == clean
    other = await worked(daemon, repo)
    (repo / "README").write_text("not committed\n")
    dirty = state_of(repo)
    refused_dirty = await daemon.call_refused("task.merge", id=other["id"])
    assert "it has changes in README" in refused_dirty["message"]
    assert state_of(repo) == dirty


async def test_conflicts_are_handed_back_to_the_agent(
    daemon: Daemon, repo: Path, byre: Byre
) -> None:
    done = await worked(daemon, repo, "Clash")
    commit(repo, "README", "mine\n")
    told = await asyncio.to_thread(byre, "merge", str(done["id"]), "--tell")
    assert told.returncode == 0, told.stderr
    assert "its agent was told to resolve the conflicts" in told.stdout
    done = await daemon.wait(done["id"], "succeeded", "failed")
    assert done["result"]["summary"] == "Resolved."
    merged = await asyncio.to_thread(byre, "merge", str(done["id"]), "--ff")
    assert merged.returncode == 0, merged.stderr
    assert (repo / "README").read_text() == "both\n"
    assert git("status", "--porcelain", cwd=repo) == ""


@pytest.mark.promise("nothing_of_a_task_deleted")
async def test_a_discarded_task_comes_back_to_the_byte(
    daemon: Daemon, repo: Path, byre: Byre
) -> None:
    done = await worked(daemon, repo)
    worktree = Path(done["worktree"])
    tip = git("rev-parse", done["branch"], cwd=repo)
    git("add", "loose.txt", cwd=worktree)
    status = git("status", "--porcelain", cwd=worktree)
    diff = await asyncio.to_thread(byre, "diff", str(done["id"]))
    gone = await asyncio.to_thread(byre, "discard", str(done["id"]))
    assert gone.returncode == 0, gone.stderr
    assert f"byre undelete {done['id']}" in gone.stdout
    assert not worktree.exists()
    assert git("branch", "--list", "byre/*", cwd=repo) == ""
    assert git("worktree", "list", cwd=repo).count("\n") == 0
    task = await daemon.call("task.get", id=done["id"])
    assert task["removed_at"] is not None
    event = await daemon.event("task.removed", task_id=done["id"])
    assert event["data"]["ref"] == f"refs/byre/kept/{done['id']}"
    # Also without a worktree its work can be seen and merged.
    assert (await asyncio.to_thread(byre, "diff", str(done["id"]))).stdout == diff.stdout
    opened = await asyncio.to_thread(byre, "open", str(done["id"]))
    assert opened.returncode == 1
    assert "byre undelete" in opened.stderr
    explained = await daemon.call("task.explain", id=done["id"])
    assert explained["next"][0]["command"] == f"byre undelete {done['id']}"
    again = await asyncio.to_thread(byre, "discard", str(done["id"]))
    assert again.returncode == 0, again.stderr
    merged = await asyncio.to_thread(byre, "merge", str(done["id"]))
    assert merged.returncode == 0, merged.stderr
    assert git("merge-base", "--is-ancestor", tip, "main", cwd=repo) == ""
    back = await asyncio.to_thread(byre, "undelete", str(done["id"]))
    assert back.returncode == 0, back.stderr
    assert git("rev-parse", done["branch"], cwd=repo) == tip
    assert git("status", "--porcelain", cwd=worktree) == status
    assert (worktree / "loose.txt").read_text() == "loose\n"
    task = await daemon.call("task.get", id=done["id"])
    assert task["removed_at"] is None
    twice = await daemon.call_refused("task.undelete", id=done["id"])
    assert twice["data"]["kind"] == "wrong_state"
    assert git("fsck", "--no-dangling", cwd=repo) == ""


async def test_a_task_that_goes_on_after_it_was_discarded_has_its_ground_back(
    daemon: Daemon, repo: Path
) -> None:
    done = await worked(daemon, repo)
    await daemon.call("task.discard", id=done["id"])
    await daemon.call("task.tell", id=done["id"], text="More, please")
    done = await daemon.wait(done["id"], "succeeded", "failed")
    assert done["result"]["summary"] == "Worked more."
    assert len(done["result"]["commits"]) == 2
    assert done["removed_at"] is None
    # What was not committed was there again, so the second commit has it.
    assert "loose.txt" in git("ls-tree", "--name-only", done["branch"], cwd=repo)


@pytest.mark.promise("nothing_of_a_task_deleted")
async def test_a_killed_removal_is_finished_or_undone(daemon: Daemon, repo: Path) -> None:
    done = await worked(daemon, repo)
    for _ in range(3):
        async with daemon.client() as client:
            await client.send(
                b'{"jsonrpc":"2.0","id":1,"method":"task.discard","params":{"id":%d}}\n'
                % done["id"]
            )
            await daemon.event("task.removing", task_id=done["id"])
        daemon.kill()
        await daemon.start()
        await daemon.call("task.discard", id=done["id"])
        assert not Path(done["worktree"]).exists()
        await daemon.call("task.undelete", id=done["id"])
        assert (Path(done["worktree"]) / "loose.txt").read_text() == "loose\n"


async def test_a_killed_removal_is_finished_by_the_next_daemon(daemon: Daemon, repo: Path) -> None:
    done = await worked(daemon, repo)
    async with daemon.client() as client:
        await client.send(
            b'{"jsonrpc":"2.0","id":1,"method":"task.discard","params":{"id":%d}}\n' % done["id"]
        )
        removing = await daemon.event("task.removing", task_id=done["id"])
    daemon.kill()
    await daemon.start()
    await daemon.event("task.removed", after=removing["seq"], task_id=done["id"])
    assert not Path(done["worktree"]).exists()
    assert done["worktree"] not in git("worktree", "list", "--porcelain", cwd=repo)
    assert git("branch", "--list", done["branch"], cwd=repo) == ""
    await daemon.call("task.undelete", id=done["id"])
    assert (Path(done["worktree"]) / "loose.txt").read_text() == "loose\n"


async def test_what_came_back_unknown_to_the_store_is_taken_away_again(
    daemon: Daemon, repo: Path
) -> None:
    done = await worked(daemon, repo)
    await daemon.call("task.discard", id=done["id"])
    removed = await daemon.event("task.removed", task_id=done["id"])
    # A daemon that is killed here has made the worktree and not stored that it did.
    git("worktree", "add", "-q", done["worktree"], f"refs/byre/kept/{done['id']}", cwd=repo)
    daemon.kill()
    await daemon.start()
    await daemon.event("task.removed", after=removed["seq"], task_id=done["id"])
    assert not Path(done["worktree"]).exists()


async def test_files_go_back_to_a_turn_and_the_agent_hears_of_it(
    daemon: Daemon, repo: Path, byre: Byre, model: Any
) -> None:
    done = await worked(daemon, repo)
    worktree = Path(done["worktree"])
    first = git("rev-parse", "HEAD", cwd=worktree)
    await daemon.call("task.tell", id=done["id"], text="More, please")
    done = await daemon.wait(done["id"], "succeeded", "failed")
    second = git("rev-parse", "HEAD", cwd=worktree)
    assert len(done["result"]["commits"]) == 2
    (worktree / "mine.txt").write_text("a person's\n")
    back = await asyncio.to_thread(byre, "restore", str(done["id"]), "--turn", "1")
    assert back.returncode == 0, back.stderr
    assert git("rev-parse", "HEAD", cwd=worktree) == first
    assert git("rev-parse", done["branch"], cwd=repo) == first
    assert git("status", "--porcelain", "--ignored", cwd=worktree).splitlines() == [
        "?? loose.txt",
        "!! .cache.log",
    ]
    task = await daemon.call("task.get", id=done["id"])
    assert (len(task["result"]["commits"]), task["result"]["uncommitted"]) == (1, ["loose.txt"])
    event = await daemon.event("task.restored", task_id=done["id"])
    kept = event["data"]["kept"]
    assert git("show", f"{kept}:mine.txt", cwd=repo) == "a person's"
    assert git("merge-base", "--is-ancestor", second, kept, cwd=repo) == ""
    await daemon.call("task.tell", id=done["id"], text="Go on")
    await daemon.wait(done["id"], "succeeded", "failed")
    assert "end of turn 1" in json.dumps(model.requests[-1].input)
    unknown = await daemon.call_refused("task.restore", id=done["id"], turn=9)
    assert unknown["data"]["kind"] == "not_found"


@pytest.mark.promise("main_checkout_untouched")
async def test_nobody_touches_the_ground_of_an_agent_at_work(daemon: Daemon, repo: Path) -> None:
    task = await daemon.submit(repo, "Take long")
    task = await daemon.wait(task["id"], "running")
    await command_runs(daemon, task)
    for method, more in (
        ("merge", {}),
        ("discard", {}),
        ("undelete", {}),
        ("restore", {"turn": 1}),
    ):
        refused = await daemon.call_refused(f"task.{method}", id=task["id"], **more)
        assert refused["data"]["kind"] == "wrong_state", (method, refused)
        assert f"byre hold {task['id']}" in refused["message"]
    await daemon.call("task.hold", id=task["id"])
    held = await daemon.call_refused("task.discard", id=task["id"])
    assert "it has not ended" in held["message"]
    await daemon.call("task.restore", id=task["id"], turn=1)
    await daemon.call("task.cancel", id=task["id"])
    await daemon.call("task.discard", id=task["id"])


async def test_patches_are_a_series_that_git_takes(
    daemon: Daemon, repo: Path, byre: Byre, tmp_path: Path
) -> None:
    done = await worked(daemon, repo)
    folder = tmp_path / "patches"
    written = await asyncio.to_thread(byre, "patches", str(done["id"]), str(folder))
    assert written.returncode == 0, written.stderr
    names = [Path(line).name for line in written.stdout.splitlines()]
    assert names == ["0001-A-new-file.patch", "uncommitted.patch"]
    clone = tmp_path / "clone"
    git("clone", "-q", str(repo), str(clone), cwd=repo)
    git("am", "-q", str(folder / names[0]), cwd=clone)
    git("apply", str(folder / names[1]), cwd=clone)
    assert git("log", "-1", "--format=%an", cwd=clone) == done["identity"]["name"]
    assert (clone / "loose.txt").read_text() == "loose\n"
    again = await asyncio.to_thread(byre, "patches", str(done["id"]), str(folder))
    assert again.returncode == 2
    assert "is not an empty folder" in again.stderr


async def test_a_person_goes_to_where_a_task_works(
    daemon: Daemon, repo: Path, byre: Byre, tmp_path: Path
) -> None:
    done = await worked(daemon, repo)
    opened = await asyncio.to_thread(byre, "open", str(done["id"]))
    assert opened.stdout == f"{done['worktree']}\n"
    shell = tmp_path / "shell"
    shell.write_text("#!/bin/sh\npwd\necho $BYRE_TASK_ID $GIT_AUTHOR_NAME\nexit 7\n")
    shell.chmod(0o755)
    started = await asyncio.to_thread(
        byre, "open", str(done["id"]), "--shell", env={**os.environ, "SHELL": str(shell)}
    )
    assert started.stdout == f"{done['worktree']}\n{done['id']}\n"
    assert started.returncode == 7
    edited = await asyncio.to_thread(
        byre, "open", str(done["id"]), "--editor", env={**os.environ, "VISUAL": "echo opening"}
    )
    assert edited.stdout == f"opening {done['worktree']}\n"
