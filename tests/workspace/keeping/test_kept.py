"""What is taken away is kept before, all of it, and comes back."""

from datetime import UTC, datetime

import pytest

from byred.workspace.errors import Kind, WorkspaceError
from byred.workspace.keeping import kept
from byred.workspace.trees import registration

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


async def remove(ground, task, **options):
    return await kept.remove(
        await ground.inspect(),
        path=task.path,
        root=ground.root,
        task_id=1,
        branch=task.branch,
        now=NOW,
        **options,
    )


async def undelete(ground, task):
    return await kept.undelete(await ground.inspect(), task_id=1, path=task.path, root=ground.root)


def reachable(ground, ref="refs/byre/kept/1"):
    return ground.git("rev-list", "--objects", ref)


async def test_a_removed_worktree_is_gone_and_everything_in_it_is_kept(ground):
    task = await ground.task()
    head = ground.commit("agent's", {"a": "1\n"}, cwd=task.path)
    ground.write({"u": "untracked\n"}, cwd=task.path)

    made = await remove(ground, task)

    assert not task.path.exists()
    assert not task.git_dir.exists()
    assert ground.git("branch", "--list", "byre/*") == ""
    assert (made.tip, made.path, made.at) == (head, task.path, NOW)
    assert ground.git("show", f"{made.ref}:u") == "untracked"
    ground.clean()


async def test_undelete_brings_back_branch_head_index_and_files(ground):
    task = await ground.task()
    ground.commit("agent's", {"a": "1\n", "b": "1\n"}, cwd=task.path)
    ground.write({"a": "staged\n", "u": "untracked\n"}, cwd=task.path)
    ground.git("add", "a", cwd=task.path)
    ground.write({"a": "edited\n"}, cwd=task.path)
    (task.path / "b").unlink()
    before = ground.git("status", "--porcelain=v2", "--branch", cwd=task.path)
    await remove(ground, task)

    again = await undelete(ground, task)

    assert again.created
    assert again.branch == "byre/1-fix"
    assert ground.git("status", "--porcelain=v2", "--branch", cwd=again.path) == before
    assert (again.path / "a").read_text() == "edited\n"
    assert (again.path / "u").read_text() == "untracked\n"
    ground.clean()


async def test_commits_that_only_a_reflog_knew_are_kept(ground):
    task = await ground.task()
    dropped = ground.commit("dropped by a reset", {"a": "1\n"}, cwd=task.path)
    ground.git("reset", "-q", "--hard", "HEAD^", cwd=task.path)
    ground.git("switch", "-q", "--detach", cwd=task.path)
    loose = ground.commit("on no branch", {"b": "1\n"}, cwd=task.path)
    ground.git("switch", "-q", "byre/1-fix", cwd=task.path)
    amended = ground.commit("to be amended", {"c": "1\n"}, cwd=task.path)
    ground.git("commit", "-q", "--amend", "-m", "amended", cwd=task.path)

    await remove(ground, task)
    ground.git("reflog", "expire", "--expire=now", "--all")
    ground.git("gc", "-q", "--prune=now")

    everything = reachable(ground)
    assert all(commit in everything for commit in (dropped, loose, amended))


async def test_a_detached_head_comes_back_detached(ground):
    task = await ground.task()
    ground.git("switch", "-q", "--detach", cwd=task.path)
    loose = ground.commit("on no branch", {"b": "1\n"}, cwd=task.path)
    await remove(ground, task)

    again = await undelete(ground, task)

    assert ground.git("rev-parse", "HEAD", cwd=again.path) == loose
    assert ground.git("branch", "--show-current", cwd=again.path) == ""
    assert ground.git("rev-parse", "byre/1-fix") == ground.git("rev-parse", "main")


async def test_a_second_removal_keeps_what_the_first_one_kept(ground):
    task = await ground.task()
    first = ground.commit("first life", {"a": "1\n"}, cwd=task.path)
    await remove(ground, task)
    task = await ground.task()
    second = ground.commit("second life", {"b": "1\n"}, cwd=task.path)
    await remove(ground, task)
    everything = reachable(ground)
    assert first in everything
    assert second in everything


async def test_a_removal_may_be_asked_for_again(ground):
    task = await ground.task()
    ground.commit("agent's", {"a": "1\n"}, cwd=task.path)
    first = await remove(ground, task)
    assert await remove(ground, task) == first


async def test_removing_what_never_was_is_not_found(ground):
    task = await ground.task()
    await remove(ground, task)
    with pytest.raises(WorkspaceError) as refused:
        await kept.find(await ground.inspect(), 2)
    assert refused.value.kind is Kind.NOT_FOUND


async def test_a_branch_that_a_person_has_checked_out_stays(ground):
    task = await ground.task()
    ground.git("switch", "-q", "--detach", cwd=task.path)
    ground.git("switch", "-q", task.branch)
    await remove(ground, task)
    assert ground.git("branch", "--show-current") == task.branch
    assert ground.git("status", "--porcelain") == ""


async def test_the_branch_stays_when_only_the_tree_is_to_go(ground):
    task = await ground.task()
    head = ground.commit("agent's", {"a": "1\n"}, cwd=task.path)
    await remove(ground, task, delete_branch=False)
    assert ground.git("rev-parse", task.branch) == head
    again = await undelete(ground, task)
    assert ground.git("rev-parse", "HEAD", cwd=again.path) == head


async def test_a_branch_without_a_tree_is_kept_before_it_goes(ground):
    task = await ground.task()
    head = ground.commit("agent's", {"a": "1\n"}, cwd=task.path)
    ground.git("worktree", "remove", str(task.path))
    made = await remove(ground, task)
    assert made.tip == head
    assert ground.git("branch", "--list", "byre/*") == ""
    again = await undelete(ground, task)
    assert ground.git("rev-parse", "HEAD", cwd=again.path) == head


async def test_a_registration_without_a_directory_gives_up_its_index_too(ground):
    task = await ground.task()
    ground.write({"staged": "only in the index\n"}, cwd=task.path)
    ground.git("add", "staged", cwd=task.path)
    task.path.rename(ground.root / "lost")
    made = await remove(ground, task)
    assert ground.git("show", f"{made.ref}:staged") == "only in the index"
    ground.clean()


async def test_work_in_a_submodule_survives_removal(ground, new_ground):
    library = new_ground("library")
    library.commit("library", {"lib.c": "int x;\n"})
    ground.git("submodule", "--quiet", "add", str(library.repo), "sub")
    ground.commit("with a submodule", {})
    task = await ground.task()
    ground.git("submodule", "--quiet", "update", "--init", cwd=task.path)
    sub = task.path / "sub"
    own = ground.commit("in the submodule", {"lib.c": "int y;\n"}, cwd=sub)
    ground.write({"lib.c": "int dirty;\n"}, cwd=sub)
    await remove(ground, task)
    assert not sub.exists()

    again = await undelete(ground, task)

    assert (again.path / "sub" / "lib.c").read_text() == "int dirty;\n"
    assert ground.git("rev-parse", "HEAD", cwd=again.path / "sub") == own


async def test_read_only_folders_are_removed_too(ground):
    task = await ground.task()
    ground.write({"deep/er/file": "x\n"}, cwd=task.path)
    (task.path / "deep" / "er").chmod(0o500)
    await remove(ground, task)
    assert not task.path.exists()
    assert list((ground.root / "repo" / ".making").iterdir()) == []


async def test_what_is_kept_is_listed(ground):
    task = await ground.task()
    await remove(ground, task)
    repo = await ground.inspect()
    assert [each.task_id for each in await kept.listed(repo)] == ["1"]


async def test_what_was_kept_goes_only_when_it_is_told_to(ground):
    task = await ground.task()
    ground.commit("agent's", {"a": "1\n"}, cwd=task.path)
    await remove(ground, task)
    repo = await ground.inspect()
    await kept.forget(repo, 1)
    await kept.forget(repo, 1)
    assert ground.git("for-each-ref", "refs/byre") == ""
    with pytest.raises(WorkspaceError):
        await undelete(ground, task)


@pytest.mark.parametrize("cut", ["registration moved", "tree moved", "half deleted"])
async def test_a_removal_that_was_cut_is_finished_and_can_be_undone(ground, cut):
    task = await ground.task()
    ground.write({"u": "untracked\n"}, cwd=task.path)
    making = task.path.parent / ".making" / task.path.name
    real = registration.unregister

    def cut_there(common_dir, place, known=None):
        if place != making or not (making / "u").exists():
            real(common_dir, place, known)
            return
        if cut == "registration moved":
            making.rename(task.path)
        if cut == "half deleted":
            (making / "README").unlink()
        raise RuntimeError("killed")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(kept, "unregister", cut_there)
        with pytest.raises(RuntimeError):
            await remove(ground, task)
    made = await remove(ground, task)
    assert not task.path.exists()
    assert not making.exists()
    assert ground.git("show", f"{made.ref}:u") == "untracked"
    again = await undelete(ground, task)
    assert (again.path / "u").read_text() == "untracked\n"
    assert ground.git("status", "--porcelain", cwd=again.path) == "?? u"
    ground.clean()
