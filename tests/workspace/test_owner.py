"""Two byreds in one repository, each with a task 1: neither has or harms what is the other's."""

import asyncio
import contextlib
import os
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from byred.workspace import owner, repository
from byred.workspace.errors import Kind, WorkspaceError
from byred.workspace.keeping import checkpoint, kept
from byred.workspace.trees import pool, worktree
from byred.workspace.trees.tidy import tidy
from tests.workspace.conftest import Ground

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
OTHER = "1@0000beef"
USERS = (60001, 60002)
GROUP = 60010


@pytest.fixture
async def repo(ground):
    return await ground.inspect()


async def task_of_other(ground, repo, name="1-fix", **options):
    """Give the task 1 of the other byred its worktree, by default below a root of its own."""
    start = await repository.resolve_base(repo, None)
    root = options.pop("root", ground.root.with_name("others"))
    return await worktree.ensure(
        repo,
        task_id=OTHER,
        path=root / "repo" / name,
        branch=options.pop("branch", f"byre/{name}"),
        base_commit=start.commit,
        root=root,
        **options,
    )


async def remove(ground, repo, task, task_id, **options):
    return await kept.remove(
        repo,
        path=task.path,
        root=task.path.parents[1],
        task_id=task_id,
        branch=task.branch,
        now=NOW,
        **options,
    )


async def undelete(repo, task, task_id):
    root = task.path.parents[1]
    return await kept.undelete(repo, task_id=task_id, path=task.path, root=root)


async def test_the_first_has_plain_numbers_and_every_other_its_own(repo):
    assert await owner.name_in(repo.common_dir, 1, "0123456789abcdef") == "1"
    assert await owner.name_in(repo.common_dir, 1, "fedcba980000beef") == OTHER
    assert await owner.name_in(repo.common_dir, 7, "0123456789abcdef") == "7"
    assert (repo.common_dir / owner.OWNER).read_text() == "0123456789abcdef\n"


async def test_of_many_at_once_exactly_one_is_the_first(repo):
    identities = [f"{number:016x}" for number in range(40)]
    names = await asyncio.gather(
        *(owner.name_in(repo.common_dir, 1, identity) for identity in identities)
    )
    assert names.count("1") == 1
    assert len(set(names)) == len(names)


async def test_what_one_keeps_the_other_neither_shows_nor_forgets(ground, repo):
    mine, theirs = await ground.task(), await task_of_other(ground, repo)
    for task, task_id in ((mine, 1), (theirs, OTHER)):
        ground.write({"whose": f"{task_id}\n"}, cwd=task.path)
        await checkpoint.record(task.path, task_id=task_id, number=1)
        ground.write({"whose": "nobody's\n"}, cwd=task.path)
        await checkpoint.restore(repo, task.path, task_id=task_id, number=1)
        assert (task.path / "whose").read_text() == f"{task_id}\n"
    assert (mine.branch, theirs.branch) == ("byre/1-fix", "byre/1-fix-2")
    assert len(list((repo.common_dir / owner.BRANCHES).iterdir())) == 2
    for task, task_id in ((mine, 1), (theirs, OTHER)):
        made = await remove(ground, repo, task, task_id)
        assert made.ref == f"refs/byre/kept/{task_id}"
    assert not list((repo.common_dir / owner.BRANCHES).iterdir())
    for task, task_id in ((mine, 1), (theirs, OTHER)):
        again = await undelete(repo, task, task_id)
        assert (again.path, again.branch) == (task.path, task.branch)
        assert (again.path / "whose").read_text() == f"{task_id}\n"
    await kept.forget(repo, 1)
    refs = ground.git("for-each-ref", "--format=%(refname)", "refs/byre").splitlines()
    assert len(refs) == 3
    assert all(OTHER in ref for ref in refs)
    assert [each.task_id for each in await kept.listed(repo)] == [OTHER]
    ground.clean()


async def test_a_branch_that_another_left_is_not_taken_up(ground, repo):
    theirs = await task_of_other(ground, repo)
    work = ground.commit("theirs", {"a": "1\n"}, cwd=theirs.path)
    await remove(ground, repo, theirs, OTHER, delete_branch=False)

    mine = await ground.task()

    assert mine.branch == "byre/1-fix-2"
    assert not (mine.path / "a").exists()
    assert "byre/1-fix is taken" in mine.mended[0]
    again = await undelete(repo, theirs, OTHER)
    assert again.branch == "byre/1-fix"
    assert ground.git("rev-parse", "HEAD", cwd=again.path) == work
    ground.clean()


async def test_a_branch_that_another_left_is_not_removed_for_a_task_without_a_tree(ground, repo):
    theirs = await task_of_other(ground, repo)
    work = ground.commit("theirs", {"a": "1\n"}, cwd=theirs.path)
    await remove(ground, repo, theirs, OTHER, delete_branch=False)
    with pytest.raises(WorkspaceError) as refused:
        await kept.remove(
            repo,
            path=ground.place(),
            root=ground.root,
            task_id=1,
            branch="byre/1-fix",
            now=NOW,
        )
    assert refused.value.kind is Kind.NOT_FOUND
    assert ground.git("rev-parse", "byre/1-fix") == work


async def test_what_was_taken_away_comes_back_beside_a_branch_of_another(ground, repo):
    mine = await ground.task()
    ground.write({"mine": "1\n"}, cwd=mine.path)
    await remove(ground, repo, mine, 1)
    theirs = await task_of_other(ground, repo)
    assert theirs.branch == "byre/1-fix"
    work = ground.commit("theirs", {"a": "1\n"}, cwd=theirs.path)
    await remove(ground, repo, theirs, OTHER, delete_branch=False)

    again = await undelete(repo, mine, 1)

    assert again.branch == "byre/1-fix-2"
    assert (again.path / "mine").exists()
    assert not (again.path / "a").exists()
    await remove(ground, repo, again, 1)
    assert ground.git("rev-parse", "byre/1-fix") == work


async def test_a_worktree_of_another_is_refused(ground, repo):
    theirs = await task_of_other(ground, repo, root=ground.root)
    ground.write({"u": "theirs\n"}, cwd=theirs.path)
    with pytest.raises(WorkspaceError, match="it is the worktree of task 1@0000beef") as refused:
        await ground.task()
    assert refused.value.kind is Kind.CONFLICT
    with pytest.raises(WorkspaceError, match=r"give each its own workspace\.root"):
        await remove(ground, repo, theirs, 1)
    assert (theirs.path / "u").read_text() == "theirs\n"


async def test_worktree_and_branch_from_before_there_were_owners_are_the_tasks(ground, repo):
    task = await ground.task()
    records = repo.common_dir / owner.BRANCHES
    for file in records.iterdir():
        file.unlink()
    assert not (await ground.task()).created
    assert owner.holder(repo.common_dir, task.branch) == "1"


async def test_what_was_kept_before_there_were_owners_is_known_by_its_place(ground, repo):
    theirs = await task_of_other(ground, repo)
    ground.write({"u": "theirs\n"}, cwd=theirs.path)
    await remove(ground, repo, theirs, OTHER)
    ground.git("update-ref", "refs/byre/kept/1", f"refs/byre/kept/{OTHER}")
    ground.git("update-ref", "-d", f"refs/byre/kept/{OTHER}")
    with pytest.raises(WorkspaceError, match="cannot find anything kept"):
        await kept.find(repo, OTHER, ground.place())
    assert (await kept.find(repo, OTHER, theirs.path)).ref == "refs/byre/kept/1"
    again = await undelete(repo, theirs, OTHER)
    assert (again.path / "u").read_text() == "theirs\n"


async def test_a_checkpoint_is_the_commit_that_it_is_known_by(ground, repo):
    """Before there were owners, another one's may be at the ref."""
    task = await ground.task()
    ground.write({"whose": "mine\n"}, cwd=task.path)
    mine = await checkpoint.record(task.path, task_id=1, number=1)
    ground.write({"whose": "theirs\n"}, cwd=task.path)
    await checkpoint.record(task.path, task_id=1, number=1)
    commit = mine.snapshot.commit
    await checkpoint.restore(repo, task.path, task_id=1, number=1, commit=commit)
    assert (task.path / "whose").read_text() == "mine\n"


async def test_a_sweep_leaves_the_lock_of_a_git_at_work_in_a_tree_of_another(ground, repo):
    theirs = await task_of_other(ground, repo)
    lock = repo.common_dir / "refs" / "byre" / "checkpoints" / OTHER / "1.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    command = ["git", "hash-object", "--stdin"]
    with subprocess.Popen(
        command, cwd=theirs.path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as git:
        try:
            assert await tidy(repo, ground.root / "repo") == []
            assert lock.exists()
        finally:
            git.communicate(timeout=60)
    assert len(await tidy(repo, ground.root / "repo")) == 1
    assert not lock.exists()


async def test_a_sweep_leaves_a_broken_registration_of_another_whole(ground, repo):
    theirs = await task_of_other(ground, repo)
    (theirs.git_dir / "gitdir").unlink()
    await ground.task()
    assert (theirs.git_dir / "HEAD").exists()
    again = await task_of_other(ground, repo)
    assert (again.git_dir, again.created) == (theirs.git_dir, False)
    ground.clean()


@contextlib.contextmanager
def as_user(uid, umask):
    """Be another user, of the group that shares the repository."""
    groups, before = os.getgroups(), os.umask(umask)
    os.setgroups([GROUP])
    os.setresgid(GROUP, GROUP, 0)
    os.setresuid(uid, uid, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)
        os.setgroups(groups)
        os.umask(before)


@pytest.fixture
def common(monkeypatch):
    """A folder that every user may reach, with one of their own for each of two."""
    with tempfile.TemporaryDirectory(prefix="byre-users-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for place in ("repo", *map(str, USERS)):
            (folder / place).mkdir()
            os.chown(folder / place, int(place) if place.isdigit() else USERS[0], GROUP)
        (folder / "repo").chmod(0o2775)
        config = folder / "gitconfig"
        config.write_text(
            "[user]\n\tname = A Person\n\temail = person@example.org\n"
            "[init]\n\tdefaultBranch = main\n[safe]\n\tdirectory = *\n"
            '[protocol "file"]\n\tallow = always\n'
        )
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
        monkeypatch.setenv("HOME", name)
        yield folder


async def life(ground, identity):
    """Do with a task of a byred all that it ever does, and give its name in the repository."""
    repo = await ground.inspect()
    name = await owner.name_in(repo.common_dir, 1, identity)
    place = {"path": ground.place(), "root": ground.root}
    folder = ground.root / "repo" / pool.POOL
    assert await pool.fill(repo, folder, commit=repo.head, size=1) == 1
    task = await worktree.ensure(
        repo, task_id=name, branch="byre/1-fix", base_commit=repo.head, pool=folder, **place
    )
    ground.git("submodule", "update", "--init", "-q", cwd=task.path)
    ground.commit("agent's", {"whose": name}, cwd=task.path)
    await checkpoint.record(task.path, task_id=name, number=1)
    ground.write({"loose": name}, cwd=task.path)
    await checkpoint.restore(repo, task.path, task_id=name, number=1)
    ground.write({"loose": name}, cwd=task.path)
    await kept.remove(repo, task_id=name, branch=task.branch, now=NOW, pool=folder, **place)
    task = await kept.undelete(repo, task_id=name, **place)
    assert (task.path / "loose").read_text() == name
    assert (task.path / "inner" / "a").exists()
    assert await pool.fill(repo, folder, commit=repo.head, size=1) == 1
    assert await tidy(repo, ground.root / "repo") == []
    return name


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be other users")
async def test_the_byreds_of_two_users_work_in_one_repository(ground, common):
    await ground.task()  # loads what only root may read here
    grounds = [Ground(repo=common / "repo", root=common / str(user)) for user in USERS]
    with as_user(USERS[0], 0o022):
        first = grounds[0]
        inner = Ground(repo=common / str(USERS[0]) / "inner", root=common)
        inner.repo.mkdir()
        inner.git("init", "-q")
        inner.commit("first", {"a": "1\n"})
        first.git("init", "-q", "--shared=group")
        first.git("submodule", "add", "-q", str(inner.repo), "inner")
        first.commit("first", {"README": "hello\n"})
    # The second lets nobody read what it makes; git puts right what is shared.
    for user, umask, identity, name in (
        (USERS[0], 0o077, "a" * 16, "1"),
        (USERS[1], 0o077, "b" * 16, "1@bbbbbbbb"),
        (USERS[0], 0o022, "a" * 16, "1"),
    ):
        with as_user(user, umask):
            assert await life(grounds[USERS.index(user)], identity) == name
    grounds[0].clean()
