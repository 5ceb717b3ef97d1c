"""Every broken situation, built by hand, and then met by a task."""

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from byred.workspace import lock
from byred.workspace.errors import Kind, WorkspaceError
from byred.workspace.results import advance
from byred.workspace.trees import mending, registration, tidy, worktree

MAKING = ".making"


def sound(ground, task):
    """Fail unless the task's worktree is a whole one."""
    assert ground.git("status", "--porcelain", cwd=task.path) == ""
    assert ground.git("branch", "--show-current", cwd=task.path) == task.branch
    ground.git("commit", "-q", "--allow-empty", "-m", "it can commit", cwd=task.path)
    making = task.path.parent / MAKING
    assert list(making.iterdir()) == []
    ground.clean()


async def test_a_registration_without_a_directory(ground):
    task = await ground.task()
    own = ground.commit("agent's", {"a": "1\n"}, cwd=task.path)
    ground.write({"staged": "s\n"}, cwd=task.path)
    ground.git("add", "staged", cwd=task.path)
    shutil.rmtree(task.path)

    again = await ground.task()

    assert not again.created
    assert "was gone" in again.mended[0]
    assert ground.git("rev-parse", "HEAD", cwd=again.path) == own
    assert ground.git("status", "--porcelain", cwd=again.path) == "A  staged"
    assert (again.path / "staged").read_text() == "s\n"


async def test_a_registration_without_a_directory_and_without_a_head(ground):
    task = await ground.task()
    shutil.rmtree(task.path)
    (task.git_dir / "HEAD").write_text("")
    again = await ground.task()
    assert again.created
    assert "without a HEAD" in again.mended[0]
    sound(ground, again)


async def test_a_directory_that_lost_its_git_file(ground):
    task = await ground.task()
    ground.write({"README": "edited\n"}, cwd=task.path)
    (task.path / ".git").unlink()
    again = await ground.task()
    assert not again.created
    assert again.mended == (f"{task.path} had lost its .git file",)
    assert ground.git("status", "--porcelain", cwd=again.path) == " M README"


async def test_an_empty_directory_that_was_never_a_worktree(ground):
    ground.place().mkdir(parents=True)
    task = await ground.task()
    assert task.created
    assert "empty folder" in task.mended[0]
    sound(ground, task)


async def test_files_that_belong_to_no_worktree_are_moved_aside_not_deleted(ground):
    ground.write({"precious": "p\n"}, cwd=ground.place())
    task = await ground.task()
    assert task.created
    kept = list((ground.root / "repo" / ".aside").iterdir())
    assert [(each / "precious").read_text() for each in kept] == ["p\n"]
    assert str(kept[0]) in task.mended[0]
    sound(ground, task)


async def test_a_directory_whose_registration_was_pruned_keeps_every_file(ground):
    task = await ground.task()
    own = ground.commit("agent's", {"a": "1\n"}, cwd=task.path)
    ground.write({"a": "edited\n", "u": "untracked\n"}, cwd=task.path)
    hidden = ground.root / "hidden"
    task.path.rename(hidden)
    ground.git("worktree", "prune", "--expire=now")
    hidden.rename(task.path)

    again = await ground.task()

    assert not again.created
    assert "pruned" in again.mended[0]
    assert ground.git("rev-parse", "HEAD", cwd=again.path) == own
    assert ground.git("status", "--porcelain", cwd=again.path) == " M a\n?? u"
    ground.clean()


async def test_a_directory_that_was_moved_behind_gits_back(ground, tmp_path):
    old = ground.root / "repo" / "0-old"
    task = await ground.task("0-old", branch="byre/1-fix")
    ground.write({"u": "untracked\n"}, cwd=task.path)
    old.rename(ground.place())
    again = await ground.task()
    assert not again.created
    assert "moved" in again.mended[0]
    assert ground.git("status", "--porcelain", cwd=again.path) == "?? u"
    ground.clean()


async def test_a_copy_of_another_worktree_is_refused(ground):
    task = await ground.task("0-old")
    shutil.copytree(task.path, ground.place())
    with pytest.raises(WorkspaceError, match="a copy of the worktree") as refused:
        await ground.task()
    assert refused.value.kind is Kind.CONFLICT


async def test_a_repository_of_its_own_is_refused(ground):
    ground.git("init", "-q", str(ground.place()), cwd=ground.repo)
    with pytest.raises(WorkspaceError, match="a repository of its own"):
        await ground.task()


async def test_a_worktree_of_another_repository_is_refused(ground, new_ground):
    other = new_ground("other")
    other.commit("other", {"a": "1\n"})
    other.git("worktree", "add", "-q", str(ground.place()))
    with pytest.raises(WorkspaceError, match="is a worktree of"):
        await ground.task()


async def test_a_file_in_its_place_is_refused(ground):
    ground.place().parent.mkdir(parents=True)
    ground.place().write_text("precious\n")
    with pytest.raises(WorkspaceError, match="something else is there"):
        await ground.task()
    assert ground.place().read_text() == "precious\n"


async def test_a_branch_without_a_worktree_at_the_base_is_used(ground):
    ground.git("branch", "byre/1-fix")
    task = await ground.task()
    assert task.created
    assert task.branch == "byre/1-fix"
    assert task.mended == ()
    sound(ground, task)


async def test_a_branch_without_a_worktree_that_has_work_is_taken_up(ground):
    task = await ground.task()
    own = ground.commit("agent's", {"a": "1\n"}, cwd=task.path)
    ground.git("worktree", "remove", str(task.path))
    again = await ground.task(base=f"{own}^")
    assert again.created
    assert ground.git("rev-parse", "HEAD", cwd=again.path) == own
    sound(ground, again)


async def test_a_branch_with_something_else_on_it_is_left_alone(ground):
    ground.git("switch", "-q", "--orphan", "byre/1-fix")
    theirs = ground.commit("a stranger's", {"a": "1\n"})
    ground.git("switch", "-q", "main")
    task = await ground.task()
    assert task.branch == "byre/1-fix-2"
    assert "taken by something else" in task.mended[0]
    assert ground.git("rev-parse", "byre/1-fix") == theirs
    sound(ground, task)
    assert (await ground.task()).branch == "byre/1-fix-2"


async def test_a_branch_that_is_checked_out_elsewhere(ground):
    ground.git("switch", "-q", "-c", "byre/1-fix")
    task = await ground.task()
    assert task.branch == "byre/1-fix-2"
    assert ground.git("branch", "--show-current") == "byre/1-fix"
    sound(ground, task)


async def test_a_branch_that_is_being_rebased_elsewhere(ground, tmp_path):
    ground.git("worktree", "add", "-q", "-b", "byre/1-fix", str(tmp_path / "elsewhere"))
    ground.commit("one", {"README": "one\n"}, cwd=tmp_path / "elsewhere")
    ground.commit("main goes on", {"README": "two\n"})
    with pytest.raises(AssertionError):
        ground.git("rebase", "main", cwd=tmp_path / "elsewhere")
    task = await ground.task(base="main~1")
    assert task.branch == "byre/1-fix-2"


async def test_a_name_that_collides_with_a_branch_above_it_is_refused_in_one_sentence(ground):
    ground.git("branch", "byre")
    with pytest.raises(WorkspaceError, match="byre/1-fix"):
        await ground.task()
    assert not ground.place().exists()


@pytest.mark.parametrize("name", ["index.lock", "HEAD.lock", "logs/HEAD.lock"])
async def test_a_stale_lock_of_a_dead_process_in_its_git_directory(ground, name):
    task = await ground.task()
    (task.git_dir / name).parent.mkdir(exist_ok=True)
    (task.git_dir / name).touch()
    again = await ground.task()
    sound(ground, again)


@pytest.mark.parametrize("switched", [False, True])
async def test_a_stale_lock_on_the_branch_of_a_killed_commit(ground, switched):
    task = await ground.task()
    branch = task.branch
    if switched:
        branch = "agents-own"
        ground.git("checkout", "-q", "-b", branch, cwd=task.path)
    held = ground.repo / ".git" / "refs" / "heads" / f"{branch}.lock"
    held.touch()
    await ground.task()
    assert not held.exists()
    ground.commit("goes on", {"more": "1\n"}, cwd=task.path)


async def test_a_lock_whose_owner_lives_is_left_alone(ground):
    task = await ground.task()
    held = task.git_dir / "index.lock"
    with held.open("w"):
        await ground.task()
        assert held.exists()
    await ground.task()
    assert not held.exists()


@contextlib.contextmanager
def git_at_work(place):
    """A git that works in a repository until its input ends."""
    with subprocess.Popen(
        ["git", "cat-file", "--batch"], cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as alive:
        assert alive.stdin is not None
        assert alive.stdout is not None
        alive.stdin.write(b"HEAD\n")
        alive.stdin.flush()
        alive.stdout.readline()
        yield alive
        alive.stdin.close()


async def test_a_lock_is_left_alone_while_a_git_works_in_the_repository(ground, monkeypatch):
    task = await ground.task()
    held = task.git_dir / "index.lock"
    held.touch()
    monkeypatch.setattr(worktree, "PATIENCE", 0.0)
    with git_at_work(task.path):
        await ground.task()
        assert held.exists()
    await ground.task()
    assert not held.exists()


@pytest.fixture
async def looked(monkeypatch):
    """Set when it was looked for the owners of a lock."""
    event, loop, owners = asyncio.Event(), asyncio.get_running_loop(), lock._owners

    def look(*args):
        found = owners(*args)
        loop.call_soon_threadsafe(event.set)
        return found

    monkeypatch.setattr(lock, "_owners", look)
    return event


async def test_a_stale_lock_goes_in_a_repository_where_some_git_is_always_at_work(ground, looked):
    task = await ground.task()
    held = task.git_dir / "index.lock"
    held.touch()
    with contextlib.ExitStack() as others:
        with git_at_work(task.path):
            clearing = asyncio.ensure_future(mending.clear_locks(task.git_dir, patience=60))
            await looked.wait()
            others.enter_context(git_at_work(task.path))
        assert await clearing == [held]


async def test_waiting_for_the_owner_of_a_lock_ends_with_the_lock(ground, looked):
    task = await ground.task()
    held = task.git_dir / "index.lock"
    held.touch()
    with git_at_work(task.path):
        clearing = asyncio.ensure_future(mending.clear_locks(task.git_dir, patience=60))
        await looked.wait()
        held.unlink()
        assert await clearing == []


@pytest.mark.parametrize("age", [60, -24 * 3600])
@pytest.mark.parametrize("name", ["packed-refs.lock", "refs/heads/byre/1-fix.lock"])
async def test_a_stale_lock_in_the_shared_directory_is_cleared_when_it_is_met(ground, name, age):
    held = ground.repo / ".git" / name
    held.parent.mkdir(parents=True, exist_ok=True)
    held.touch()
    made = time.time() - age  # or the clock was put back since
    os.utime(held, (made, made))
    if name == "packed-refs.lock":
        gone = await lock.clear_stale([held], places=[ground.repo])
        assert gone == [held]
    task = await ground.task()
    assert not held.exists()
    sound(ground, task)


async def test_a_stale_lock_on_a_branch_that_is_taken_up_again(ground):
    ground.git("branch", "byre/1-fix")
    held = ground.repo / ".git" / "refs" / "heads" / "byre" / "1-fix.lock"
    held.touch()
    task = await ground.task()
    assert task.branch == "byre/1-fix"
    assert not held.exists()
    sound(ground, task)


async def test_a_young_lock_in_the_shared_directory_is_waited_for(ground):
    held = ground.repo / ".git" / "config.lock"
    held.touch()
    assert await lock.clear_stale([held], places=[ground.repo]) == []
    assert held.exists()


@pytest.mark.parametrize("cut", ["empty", "registered", "with files", "only admin", "no gitdir"])
async def test_a_tree_that_was_being_built_when_everything_was_killed(ground, cut):
    making = ground.place().parent / MAKING / "1-fix"
    making.parent.mkdir(parents=True)
    admin = ground.repo / ".git" / "worktrees" / "1-fix"
    if cut == "empty":
        making.mkdir()
    else:
        ground.git("worktree", "add", "-q", "--no-checkout", "-b", "byre/1-fix", str(making))
    if cut == "with files":
        ground.write({"half": "x\n"}, cwd=making)
        (admin / "index.lock").touch()
    if cut == "only admin":
        shutil.rmtree(making)
    if cut == "no gitdir":
        shutil.rmtree(making)
        (admin / "gitdir").unlink()
        (admin / "locked").write_text("initializing")

    task = await ground.task()

    assert task.created
    assert not (task.path / "half").exists()
    assert not (task.git_dir / "locked").exists()
    sound(ground, task)


async def test_a_tree_that_was_renamed_into_place_but_not_registered_there(ground):
    making = ground.place().parent / MAKING / "1-fix"
    making.parent.mkdir(parents=True)
    ground.git("worktree", "add", "-q", "-b", "byre/1-fix", str(making))
    making.rename(ground.place())
    task = await ground.task()
    sound(ground, task)


async def test_bringing_files_back_can_itself_be_cut(ground):
    task = await ground.task()
    own = ground.commit("agent's", {"a": "1\n"}, cwd=task.path)
    shutil.rmtree(task.path)
    making = task.path.parent / MAKING / "1-fix"
    making.mkdir()
    (making / ".git").write_text(f"gitdir: {task.git_dir}\n")
    (making / "half").touch()
    again = await ground.task()
    assert ground.git("rev-parse", "HEAD", cwd=again.path) == own
    sound(ground, again)


async def test_what_git_would_find_above_is_never_used(ground, tmp_path):
    """A worktree without .git inside the person's own checkout would be the person's."""
    inside = worktree.place(ground.repo / "worktrees" / "1-fix", ground.repo / "worktrees")
    inside.mkdir()
    with pytest.raises(WorkspaceError, match="git there works in"):
        await worktree.check(await ground.inspect(), inside)


def test_a_process_that_is_killed_gives_its_lock_back_to_the_next(tmp_path):
    held = tmp_path / "lock"
    program = (
        "import asyncio, pathlib, sys\n"
        "from byred.workspace.lock import file_lock\n"
        "async def main():\n"
        "    async with file_lock(pathlib.Path(sys.argv[1])):\n"
        "        print('held', flush=True)\n"
        "        await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(held)], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert lock._try(held) is None
        holder.kill()
        holder.wait(10)
        descriptor = lock._try(held)
        assert descriptor is not None
        os.close(descriptor)


async def test_a_lock_that_nobody_gives_back_is_named_when_the_time_is_over(tmp_path):
    held = tmp_path / "lock"
    async with lock.file_lock(held):
        with pytest.raises(WorkspaceError, match=r"cannot lock .* within 0\.05 s"):
            async with lock.file_lock(held, timeout=0.05):
                pytest.fail("it was held")


async def test_a_passing_lock_leaves_no_file_and_excludes_all_the_same(tmp_path):
    held = tmp_path / "lock"
    async with lock.file_lock(held, passing=True):
        assert lock._try(held) is None
    assert not held.exists()


def test_a_git_file_that_is_garbage_names_nothing(tmp_path: Path):
    (tmp_path / ".git").write_bytes(b"\xff\xfenonsense")
    assert registration.admin_of(tmp_path) is None


async def test_what_no_task_asks_for_again_is_swept_at_start(ground):
    task = await ground.task()
    making = ground.place().parent / MAKING
    ground.git("worktree", "add", "-q", "-b", "byre/9-x", str(making / "9-x"))
    (making / "8-y.guard").touch()
    (task.git_dir / "index.lock").touch()
    stale = ground.repo / ".git" / "refs" / "byre" / "restored" / "1" / "5.lock"
    stale.parent.mkdir(parents=True)
    stale.touch()

    await tidy.tidy(await ground.inspect(), ground.place().parent)

    assert list(making.iterdir()) == []
    assert not stale.exists()
    sound(ground, task)


async def test_a_tree_that_is_being_built_right_now_is_not_swept(ground):
    making = ground.place().parent / MAKING
    making.mkdir(parents=True)
    ground.git("worktree", "add", "-q", "-b", "byre/9-x", str(making / "9-x"))
    async with lock.file_lock(making / "9-x.guard", passing=True):
        await tidy.tidy(await ground.inspect(), ground.place().parent)
        assert (making / "9-x" / "README").exists()


async def test_a_cut_merge_is_finished_at_start(ground):
    task = await ground.task()
    after = ground.commit("agent's", {"a": "1\n"}, cwd=task.path)
    before = ground.git("rev-parse", "main")
    state = advance._UnderWay(str(ground.repo), "main", before, after)
    (ground.repo / ".git" / "byre-advance").write_bytes(advance.msgspec.json.encode(state))
    (ground.repo / ".git" / "ORIG_HEAD.lock").touch()
    await tidy.tidy(await ground.inspect(), ground.place().parent)
    assert ground.git("rev-parse", "main") == after
    assert ground.git("status", "--porcelain") == ""
    assert not (ground.repo / ".git" / "ORIG_HEAD.lock").exists()
