"""The tree at the end of a turn is kept without the agent noticing, and can be put back."""

import os
from pathlib import Path

import pytest

from byred.workspace.errors import Kind, WorkspaceError
from byred.workspace.keeping import checkpoint
from byred.workspace.trees import worktree


def files_of(tree: Path) -> dict[str, str]:
    """Return every file of a tree, git's own left out."""
    return {
        str(path.relative_to(tree)): path.read_text(errors="surrogateescape")
        for path in sorted(tree.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(tree).parts
    }


def state_of(ground, tree: Path) -> tuple[str, ...]:
    """Return what git says about index, HEAD and files."""
    questions = (
        ("rev-parse", "HEAD"),
        ("symbolic-ref", "-q", "HEAD"),
        ("ls-files", "--stage"),
        ("status", "--porcelain=v2"),
    )
    return tuple(ground.git(*question, cwd=tree) for question in questions)


async def test_a_checkpoint_holds_untracked_files_and_no_ignored_ones(ground):
    task = await ground.task()
    ground.write({"new.txt": "new\n", "noise.log": "noise\n", "README": "edited\n"}, cwd=task.path)

    kept = await checkpoint.record(task.path, task_id=1, number=1)

    names = ground.git("ls-tree", "-r", "--name-only", kept.ref).splitlines()
    assert names == [".gitignore", "README", "new.txt", "src/main.txt"]
    assert ground.git("show", f"{kept.ref}:README") == "edited"
    assert kept.snapshot.skipped == ()


@pytest.mark.promise("every_turn_is_kept")
async def test_a_checkpoint_touches_neither_index_nor_head(ground):
    task = await ground.task()
    ground.write({"staged": "1\n", "README": "staged\n"}, cwd=task.path)
    ground.git("add", "staged", "README", cwd=task.path)
    ground.write({"README": "and edited again\n", "untracked": "\n"}, cwd=task.path)
    before = state_of(ground, task.path)
    index = (task.git_dir / "index").read_bytes()

    await checkpoint.record(task.path, task_id=1, number=1)

    assert state_of(ground, task.path) == before
    assert (task.git_dir / "index").read_bytes() == index


@pytest.mark.promise("every_turn_is_kept")
async def test_an_edit_in_the_second_of_a_commit_that_keeps_the_size_is_kept(ground):
    """Git looks into a file that is as old as its index; a younger copy would hide the edit."""
    task = await ground.task()
    ground.git("config", "core.trustctime", "false")  # nobody can set a ctime
    second = 1_000_000_000
    readme, index = task.path / "README", task.git_dir / "index"
    readme.write_text("one\n")
    os.utime(readme, (second, second))
    ground.git("commit", "-qam", "one", cwd=task.path)
    os.utime(index, (second, second))
    with readme.open("r+") as stream:
        stream.write("two\n")
    os.utime(readme, (second, second))

    kept = await checkpoint.record(task.path, task_id=1, number=1)
    base = ground.git("rev-parse", "HEAD", cwd=task.path)

    assert ground.git("show", f"{kept.ref}:README") == "two"
    assert "+two" in await worktree.diff(task.path, base)
    ground.git("checkout", "-q", "README", cwd=task.path)
    await checkpoint.restore(await ground.inspect(), task.path, task_id=1, number=1)
    assert readme.read_text() == "two\n"


async def test_a_restore_puts_files_index_and_head_back(ground):
    task = await ground.task()
    ground.commit("agent's", {"a": "1\n", "b": "1\n"}, cwd=task.path)
    ground.write({"a": "staged\n", "u": "untracked\n"}, cwd=task.path)
    ground.git("add", "a", cwd=task.path)
    ground.write({"a": "edited\n"}, cwd=task.path)
    then = state_of(ground, task.path), files_of(task.path)
    await checkpoint.record(task.path, task_id=1, number=1)

    ground.git("rm", "-q", "-f", "b", "a", cwd=task.path)
    (task.path / "u").unlink()
    ground.commit("more", {"c/d": "2\n", "README": "gone on\n"}, cwd=task.path)
    ground.write({"later": "later\n", "x.log": "ignored\n"}, cwd=task.path)
    repo = await ground.inspect()
    before = await checkpoint.restore(repo, task.path, task_id=1, number=1)

    ignored = {"x.log": "ignored\n"}
    assert (state_of(ground, task.path), files_of(task.path)) == (then[0], then[1] | ignored)
    assert ground.git("show", f"{before.ref}:later") == "later"
    assert ground.git("show", f"{before.ref}^1:README") == "gone on"


async def test_a_restore_can_itself_be_undone(ground):
    task = await ground.task()
    await checkpoint.record(task.path, task_id=1, number=1)
    ground.commit("agent's", {"a": "1\n"}, cwd=task.path)
    ground.write({"b": "2\n"}, cwd=task.path)
    await checkpoint.record(task.path, task_id=1, number=2)
    now = state_of(ground, task.path), files_of(task.path)
    repo = await ground.inspect()

    await checkpoint.restore(repo, task.path, task_id=1, number=1)
    assert not (task.path / "b").exists()
    await checkpoint.restore(repo, task.path, task_id=1, number=2)

    assert (state_of(ground, task.path), files_of(task.path)) == now


async def test_a_conflict_under_way_is_kept_and_dropped_by_a_restore(ground):
    task = await ground.task()
    await checkpoint.record(task.path, task_id=1, number=1)
    ground.git("switch", "-q", "-c", "theirs", cwd=task.path)
    theirs = ground.commit("theirs", {"README": "theirs\n"}, cwd=task.path)
    ground.git("switch", "-q", "byre/1-fix", cwd=task.path)
    ground.commit("ours", {"README": "ours\n"}, cwd=task.path)
    with pytest.raises(AssertionError, match="git"):
        ground.git("merge", "theirs", cwd=task.path)
    repo = await ground.inspect()

    kept = await checkpoint.record(task.path, task_id=1, number=2)
    await checkpoint.restore(repo, task.path, task_id=1, number=1)

    assert kept.snapshot.index is None
    assert theirs in ground.git("rev-list", kept.ref).splitlines()
    assert "<<<<<<<" in ground.git("show", f"{kept.ref}:README")
    assert ground.git("status", "--porcelain=v2", "--branch", cwd=task.path).splitlines()[1:] == [
        "# branch.head byre/1-fix"
    ]


async def test_the_same_number_again_keeps_what_was_under_it(ground):
    task = await ground.task()
    ground.write({"a": "first\n"}, cwd=task.path)
    await checkpoint.record(task.path, task_id=1, number=1)
    ground.write({"a": "second\n"}, cwd=task.path)
    again = await checkpoint.record(task.path, task_id=1, number=1)
    assert ground.git("show", f"{again.ref}:a") == "second"
    assert ground.git("show", f"{again.ref}^2:a") == "first"


async def test_an_unknown_checkpoint_is_refused_with_those_that_there_are(ground):
    task = await ground.task()
    for number in (2, 10):
        await checkpoint.record(task.path, task_id=1, number=number)
    with pytest.raises(WorkspaceError, match="there are: 2, 10") as refused:
        await checkpoint.restore(await ground.inspect(), task.path, task_id=1, number=3)
    assert refused.value.kind is Kind.NOT_FOUND


async def test_a_fork_has_the_files_of_that_turn_and_its_own_branch(ground):
    task = await ground.task()
    ground.commit("agent's", {"a": "1\n"}, cwd=task.path)
    ground.write({"a": "edited\n", "u": "untracked\n"}, cwd=task.path)
    await checkpoint.record(task.path, task_id=1, number=1)
    then = files_of(task.path)
    ground.commit("later", {"a": "2\n", "b": "2\n"}, cwd=task.path)
    repo = await ground.inspect()

    made = await checkpoint.fork(
        repo,
        task_id=1,
        number=1,
        source=task.path,
        to=2,
        path=ground.place("2-fork"),
        branch="byre/2-fork",
        root=ground.root,
    )

    assert files_of(made.path) == then
    assert ground.git("branch", "--show-current", cwd=made.path) == "byre/2-fork"
    assert ground.git("status", "--porcelain", cwd=made.path) == " M a\n?? u"
    assert (task.path / "b").exists()
    ground.clean()


async def test_a_repository_that_the_agent_cloned_into_its_tree_is_kept_whole(ground, new_ground):
    other = new_ground("other")
    other.commit("other", {"lib.c": "int x;\n"})
    task = await ground.task()
    inner = task.path / "vendor" / "other"
    ground.git("clone", "-q", str(other.repo), str(inner))
    own = ground.commit("inner work", {"lib.c": "int y;\n"}, cwd=inner)
    ground.git("switch", "-q", "-c", "side", cwd=inner)
    ground.write({"lib.c": "int dirty;\n", "untracked.c": "u\n"}, cwd=inner)
    await checkpoint.record(task.path, task_id=1, number=1)
    then = files_of(task.path)
    repo = await ground.inspect()

    ground.git("clean", "-ffdxq", cwd=task.path)
    assert not inner.exists()
    await checkpoint.restore(repo, task.path, task_id=1, number=1)

    assert files_of(task.path) == then
    assert ground.git("branch", "--show-current", cwd=inner) == "side"
    assert ground.git("rev-parse", "main", cwd=inner) == own
    assert ground.git("status", "--porcelain", cwd=inner) == " M lib.c\n?? untracked.c"


async def test_a_repository_without_a_commit_in_the_tree_is_kept_too(ground):
    task = await ground.task()
    inner = task.path / "fresh"
    ground.git("init", "-q", str(inner))
    ground.write({"only": "here\n"}, cwd=inner)
    await checkpoint.record(task.path, task_id=1, number=1)
    ground.git("clean", "-ffdxq", cwd=task.path)

    await checkpoint.restore(await ground.inspect(), task.path, task_id=1, number=1)

    assert (inner / "only").read_text() == "here\n"


async def test_an_inner_repository_that_a_restore_does_not_know_is_moved_aside(ground):
    task = await ground.task()
    await checkpoint.record(task.path, task_id=1, number=1)
    inner = task.path / "fresh"
    ground.git("init", "-q", str(inner))
    ground.commit("inner", {"only": "here\n"}, cwd=inner)

    await checkpoint.restore(await ground.inspect(), task.path, task_id=1, number=1)

    assert not inner.exists()
    aside = list((ground.root / "repo" / ".aside").iterdir())
    assert [(each / "only").read_text() for each in aside] == ["here\n"]


@pytest.fixture
def with_submodule(ground, new_ground):
    """A repository with a submodule `sub`."""
    library = new_ground("library")
    library.commit("library", {"lib.c": "int x;\n"})
    ground.git("submodule", "--quiet", "add", str(library.repo), "sub")
    ground.commit("with a submodule", {})
    return ground


async def test_work_in_a_submodule_is_kept_and_put_back(with_submodule):
    ground = with_submodule
    task = await ground.task()
    ground.git("submodule", "--quiet", "update", "--init", cwd=task.path)
    sub = task.path / "sub"
    ground.git("switch", "-q", "-c", "work", cwd=sub)
    own = ground.commit("in the submodule", {"lib.c": "int y;\n"}, cwd=sub)
    ground.write({"lib.c": "int dirty;\n", "u.c": "untracked\n"}, cwd=sub)
    await checkpoint.record(task.path, task_id=1, number=1)
    then = files_of(task.path)
    ground.git("reset", "-q", "--hard", "main", cwd=sub)
    ground.git("clean", "-qfd", cwd=sub)

    await checkpoint.restore(await ground.inspect(), task.path, task_id=1, number=1)

    assert files_of(task.path) == then
    assert ground.git("rev-parse", "work", cwd=sub) == own
    assert ground.git("branch", "--show-current", cwd=sub) == "work"


async def test_a_fork_takes_the_submodules_work_with_it(with_submodule):
    ground = with_submodule
    task = await ground.task()
    ground.git("submodule", "--quiet", "update", "--init", cwd=task.path)
    ground.commit("in the submodule", {"lib.c": "int y;\n"}, cwd=task.path / "sub")
    ground.write({"lib.c": "int dirty;\n"}, cwd=task.path / "sub")
    await checkpoint.record(task.path, task_id=1, number=1)

    made = await checkpoint.fork(
        await ground.inspect(),
        task_id=1,
        number=1,
        source=task.path,
        to=2,
        path=ground.place("2-fork"),
        branch="byre/2-fork",
        root=ground.root,
    )

    assert (made.path / "sub" / "lib.c").read_text() == "int dirty;\n"
    assert ground.git("rev-parse", "--show-toplevel", cwd=made.path / "sub") == str(
        made.path / "sub"
    )
    ground.commit("in the fork", {"lib.c": "int fork;\n"}, cwd=made.path / "sub")
    assert (task.path / "sub" / "lib.c").read_text() == "int dirty;\n"


async def test_a_file_that_can_not_be_read_is_named_and_the_rest_is_kept(ground):
    task = await ground.task()
    ground.write({"good": "1\n"}, cwd=task.path)
    os.mkfifo(task.path / "pipe")
    broken = task.path / "broken"
    broken.mkdir()
    (broken / ".git").write_text("gitdir: /nowhere\n")
    (broken / "file").write_text("x\n")

    kept = await checkpoint.record(task.path, task_id=1, number=1)

    assert ground.git("show", f"{kept.ref}:good") == "1"


async def test_names_in_any_script_come_back_byte_for_byte(ground):
    task = await ground.task()
    names = ["naïve", "日本語/ファイル", " spaces  ", "-dash", "new\nline", "quote\"'", "\udcff"]
    for name in names:
        (task.path / name).parent.mkdir(exist_ok=True)
        (task.path / name).write_text("content")
    await checkpoint.record(task.path, task_id=1, number=1)
    then = sorted(task.path.rglob("*"))
    ground.git("clean", "-ffdxq", cwd=task.path)

    await checkpoint.restore(await ground.inspect(), task.path, task_id=1, number=1)

    assert sorted(task.path.rglob("*")) == then
    status = await worktree.status(task.path, ground.git("rev-parse", "main"))
    assert "日本語/ファイル" in status.uncommitted
    assert status.uncommitted_count == len(names)


async def test_what_a_turn_changed_can_be_shown(ground):
    task = await ground.task()
    ground.write({"a": "1\n"}, cwd=task.path)
    first = await checkpoint.record(task.path, task_id=1, number=1)
    ground.write({"a": "2\n", "b": "b\n"}, cwd=task.path)
    await checkpoint.record(task.path, task_id=1, number=2)
    repo = await ground.inspect()
    whole = await checkpoint.diff(repo, task_id=1, number=2, since=str(repo.head))
    turn = await checkpoint.diff(repo, task_id=1, number=2, since=first.snapshot.commit)
    assert "+2" in whole
    assert "-1" not in whole
    assert "-1\n+2" in turn
    assert "+b" in turn


async def test_checkpoints_go_only_when_they_are_told_to(ground):
    task = await ground.task()
    for number in (1, 2):
        await checkpoint.record(task.path, task_id=1, number=number)
    await checkpoint.record(task.path, task_id=11, number=1)
    repo = await ground.inspect()
    await checkpoint.restore(repo, task.path, task_id=1, number=1)
    assert await checkpoint.forget(repo, 1) == 3
    assert await checkpoint.forget(repo, 1) == 0
    assert await checkpoint.numbers(repo, 1) == []
    assert await checkpoint.numbers(repo, 11) == [1]
