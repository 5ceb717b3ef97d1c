"""Trees are made ahead, claimed by a rename, and nothing of a task is found by the next one."""

import asyncio
import os
import shutil
from datetime import UTC, datetime

import pytest

from byred.workspace import lock, repository
from byred.workspace.errors import WorkspaceError
from byred.workspace.keeping import checkpoint, kept
from byred.workspace.trees import pool, worktree

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Warm:
    """A repository's pool, and tasks that use it."""

    def __init__(self, ground):
        self.ground = ground
        self.folder = ground.root / "repo" / pool.POOL

    async def fill(self, size=1, base="main", **options):
        repo = await self.ground.inspect()
        commit = self.ground.git("rev-parse", base)
        return await pool.fill(repo, self.folder, commit=commit, size=size, **options)

    async def task(self, name="1-fix", base=None, **options):
        repo = await self.ground.inspect()
        start = await repository.resolve_base(repo, base)
        return await worktree.ensure(
            repo,
            task_id=name.split("-")[0],
            path=self.ground.place(name),
            branch=options.pop("branch", f"byre/{name}"),
            base_commit=start.commit,
            root=self.ground.root,
            pool=self.folder,
            **options,
        )

    async def end(self, task, task_id="1"):
        return await kept.remove(
            await self.ground.inspect(),
            path=task.path,
            root=self.ground.root,
            task_id=task_id,
            branch=task.branch,
            now=NOW,
            pool=self.folder,
        )

    def ready(self):
        return sorted(p for p in self.folder.iterdir() if not p.name.startswith("."))


@pytest.fixture
def warm(ground):
    return Warm(ground)


def same_as_plain(ground, tree, base, plain):
    """Fail unless git says of the tree what it says of one that it made itself."""
    ground.git("worktree", "add", "-q", "--detach", str(plain), base)
    for question in (
        ("status", "--porcelain", "--ignored", "--untracked-files=all"),
        ("ls-files", "--stage", "-v"),
        ("rev-parse", "HEAD"),
        ("write-tree",),
        ("diff", "--stat", "HEAD"),
        ("stash", "list"),
        ("for-each-ref", "refs/worktree", "refs/bisect"),
    ):
        assert ground.git(*question, cwd=tree) == ground.git(*question, cwd=plain), question
    listing = lambda top: sorted(  # noqa: E731 - used twice, here only
        (str(p.relative_to(top)), p.lstat().st_mode, p.read_bytes() if p.is_file() else b"")
        for p in top.rglob("*")
        if p.name != ".git"
    )
    assert listing(tree) == listing(plain)
    ground.clean()


async def test_a_claimed_tree_is_what_plain_git_makes(warm, ground, tmp_path):
    assert await warm.fill(2) == 2
    taken = warm.ready()[0].stat().st_ino, warm.ready()[1].stat().st_ino
    task = await warm.task()
    assert task.created
    assert task.path.stat().st_ino in taken
    assert len(warm.ready()) == 1
    assert ground.git("branch", "--show-current", cwd=task.path) == "byre/1-fix"
    assert len(ground.git("reflog", "HEAD", cwd=task.path).splitlines()) == 1
    same_as_plain(ground, task.path, "main", tmp_path / "plain")


async def test_a_tree_at_another_commit_is_brought_to_the_base(warm, ground, tmp_path):
    await warm.fill()
    later = ground.commit("later", {"README": "later\n", "new": "n\n"})
    ground.git("rm", "-q", "src/main.txt")
    ground.commit("less", {})
    task = await warm.task(base=later)
    assert not warm.ready()
    assert ground.git("rev-parse", "byre/1-fix") == later
    same_as_plain(ground, task.path, later, tmp_path / "plain")


async def test_without_a_ready_tree_a_task_gets_a_cold_one(warm, ground, tmp_path):
    task = await warm.task()
    same_as_plain(ground, task.path, "main", tmp_path / "plain")


async def test_a_claim_is_found_again_and_made_once(warm, ground):
    await warm.fill(2)
    first = await warm.task()
    second = await warm.task()
    assert (first.created, second.created) == (True, False)
    assert len(warm.ready()) == 1


async def test_thirty_tasks_at_once_share_ten_trees(warm, ground):
    await warm.fill(10)
    made = await asyncio.gather(*(warm.task(f"{number}-x") for number in range(30)))
    assert len({task.git_dir for task in made}) == 30
    assert warm.ready() == []
    for task in made:
        assert ground.git("status", "--porcelain", cwd=task.path) == ""
        assert ground.git("branch", "--show-current", cwd=task.path) == task.branch
    ground.clean()


async def test_a_branch_with_work_on_it_is_not_taken_for_a_new_one(warm, ground):
    task = await ground.task()
    own = ground.commit("agent's", {"a": "1\n"}, cwd=task.path)
    ground.git("worktree", "remove", str(task.path))
    await warm.fill()
    again = await warm.task(base="main")
    assert ground.git("rev-parse", "HEAD", cwd=again.path) == own


async def test_a_branch_that_is_taken_gets_a_number_here_too(warm, ground):
    ground.git("switch", "-q", "-c", "byre/1-fix")
    await warm.fill()
    task = await warm.task()
    assert task.branch == "byre/1-fix-2"
    assert ground.git("branch", "--show-current", cwd=task.path) == "byre/1-fix-2"


async def test_refreshing_moves_ready_trees_to_the_new_commit(warm, ground):
    await warm.fill(2)
    before = {p.stat().st_ino for p in warm.ready()}
    later = ground.commit("later", {"new": "n\n"})
    assert await warm.fill(2) == 2
    assert {p.stat().st_ino for p in warm.ready()} == before
    for tree in warm.ready():
        assert ground.git("rev-parse", "HEAD", cwd=tree) == later
        assert (tree / "new").exists()


async def test_a_stale_lock_on_the_branch_does_not_stop_a_claim(warm, ground):
    await warm.fill()
    later = ground.commit("later", {"README": "later\n"})
    ground.git("branch", "byre/1-fix")
    held = ground.repo / ".git" / "refs" / "heads" / "byre" / "1-fix.lock"
    held.touch()
    task = await warm.task()
    assert warm.ready() == []
    assert not held.exists()
    assert ground.git("rev-parse", "HEAD", cwd=task.path) == later
    assert ground.git("status", "--porcelain", cwd=task.path) == ""


async def test_a_smaller_pool_gives_trees_back_to_the_disk(warm, ground):
    await warm.fill(3)
    assert await warm.fill(1) == 1
    assert len(warm.ready()) == 1
    assert await warm.fill(0) == 0
    ground.clean()
    assert len(ground.git("worktree", "list").splitlines()) == 1


async def test_filling_stops_when_the_machine_is_busy(warm):
    answers = iter([True, True, False, False])
    assert await warm.fill(5, go_on=lambda: next(answers)) == 2


def litter(ground, tree, outside):
    """Do everything to a tree that an agent may do."""
    ground.write(
        {
            "README": "edited\n",
            "x.log": "ignored\n",
            "build/out.log": "ignored\n",
            "untracked/deep/file": "u\n",
            ".env": "secret\n",
            "-dash": "d\n",
        },
        cwd=tree,
    )
    (tree / "empty" / "folder").mkdir(parents=True)
    (tree / "locked").mkdir()
    (tree / "locked" / "f").touch()
    (tree / "locked").chmod(0o500)
    (tree / "link").symlink_to(outside)
    os.mkfifo(tree / "pipe")
    ground.git("init", "-q", str(tree / "nested"))
    ground.commit("nested", {"n": "n\n"}, cwd=tree / "nested")
    ground.commit("committed", {"committed": "c\n", ".gitattributes": "* text\n"}, cwd=tree)
    ground.git("switch", "-q", "-c", "another", cwd=tree)
    ground.write({"staged": "s\n"}, cwd=tree)
    ground.git("add", "staged", cwd=tree)
    ground.git("update-ref", "refs/worktree/mine", "HEAD", cwd=tree)
    ground.git("bisect", "start", cwd=tree)


async def test_nothing_of_a_task_is_found_in_the_next_ones_tree(warm, ground, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "theirs").touch()
    await warm.fill()
    first = await warm.task("1-a")
    inode = first.path.stat().st_ino
    litter(ground, first.path, tmp_path / "outside")
    await warm.end(first)
    assert await warm.fill() == 1
    second = await warm.task("2-b")
    assert second.path.stat().st_ino == inode
    same_as_plain(ground, second.path, "main", tmp_path / "plain")
    assert (tmp_path / "outside" / "theirs").exists()
    assert ground.git("branch", "--show-current", cwd=second.path) == "byre/2-b"


@pytest.mark.parametrize("hide", ["--assume-unchanged", "--skip-worktree"])
async def test_an_edit_that_the_agents_index_hides_is_undone(warm, ground, tmp_path, hide):
    first = await warm.task("1-a")
    ground.git("update-index", hide, "README", cwd=first.path)
    (first.path / "README").write_text("hidden edit\n")
    await warm.end(first)
    await warm.fill()
    second = await warm.task("2-b")
    same_as_plain(ground, second.path, "main", tmp_path / "plain")


async def test_an_edit_of_the_same_size_and_time_is_undone(warm, ground, tmp_path):
    first = await warm.task("1-a")
    inode = first.path.stat().st_ino
    file = first.path / "README"
    stat = file.stat()
    with file.open("r+") as stream:
        stream.write("HELLO\n")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    (first.path / "src" / "main.txt").chmod(0o600)
    (first.path / "src").chmod(0o700)
    await warm.end(first)
    await warm.fill()
    second = await warm.task("2-b")
    assert second.path.stat().st_ino == inode
    same_as_plain(ground, second.path, "main", tmp_path / "plain")


async def test_a_submodule_that_a_task_filled_is_empty_again(warm, ground, new_ground, tmp_path):
    library = new_ground("library")
    library.commit("library", {"lib.c": "int x;\n"})
    ground.git("submodule", "--quiet", "add", str(library.repo), "sub")
    ground.commit("with a submodule", {})
    first = await warm.task("1-a")
    ground.git("submodule", "--quiet", "update", "--init", cwd=first.path)
    (first.path / "sub" / "lib.c").write_text("edited\n")
    await warm.end(first)
    await warm.fill()
    second = await warm.task("2-b")
    assert list((second.path / "sub").iterdir()) == []
    same_as_plain(ground, second.path, "main", tmp_path / "plain")


async def test_what_a_task_left_can_be_undeleted_after_its_tree_went_to_another(warm, ground):
    first = await warm.task("1-a")
    ground.commit("agent's", {"a": "1\n"}, cwd=first.path)
    ground.write({"u": "untracked\n"}, cwd=first.path)
    await warm.end(first)
    await warm.fill()
    await warm.task("2-b")
    again = await kept.undelete(
        await ground.inspect(), task_id="1", path=first.path, root=ground.root
    )
    assert (again.path / "u").read_text() == "untracked\n"
    assert (again.path / "a").read_text() == "1\n"


@pytest.mark.parametrize(
    "setting",
    [("core.autocrlf", "true"), ("core.eol", "crlf"), ("filter.x.smudge", "cat")],
)
async def test_trees_made_under_other_settings_are_not_used(warm, ground, setting, tmp_path):
    await warm.fill()
    inode = warm.ready()[0].stat().st_ino
    ground.git("config", *setting)
    task = await warm.task()
    assert task.path.stat().st_ino != inode
    same_as_plain(ground, task.path, "main", tmp_path / "plain")
    assert await warm.fill() == 1


async def test_attributes_of_the_repository_count_as_a_setting(warm, ground, tmp_path):
    await warm.fill()
    (ground.repo / ".git" / "info" / "attributes").write_text("*.txt eol=crlf\n")
    task = await warm.task()
    assert (task.path / "src" / "main.txt").read_bytes() == b"one\r\n"


@pytest.mark.parametrize("cut", ["making", "unregistered", "moved", "no pristine", "gone", "used"])
async def test_what_an_interrupted_run_left_is_removed_by_the_next_fill(warm, ground, cut):
    await warm.fill(2)
    tree, other = warm.ready()
    if cut == "making":
        half = warm.folder / ".making" / "pool-x"
        ground.git("worktree", "add", "-q", "--detach", "--no-checkout", str(half), "main")
    if cut == "unregistered":
        (warm.folder / "pool-stray").mkdir()
    if cut == "moved":
        tree.rename(warm.folder / ".making" / tree.name)
    if cut == "no pristine":
        (ground.repo / ".git" / "worktrees" / tree.name / "byre-pristine").unlink()
    if cut == "gone":
        shutil.rmtree(tree)
    if cut == "used":
        (warm.folder / ".used" / "x").mkdir(parents=True)

    task = await warm.task()
    assert ground.git("status", "--porcelain", cwd=task.path) == ""
    assert await warm.fill(2) == 2

    assert list((warm.folder / ".making").iterdir()) == []
    assert len(warm.ready()) == 2
    assert other
    ground.clean()
    assert len(ground.git("worktree", "list").splitlines()) == 4


@pytest.mark.parametrize("step", ["adjust", "_settle"])
async def test_a_fill_that_is_cancelled_leaves_nothing(warm, ground, monkeypatch, step):
    at_work = asyncio.Event()

    async def endless(*args, **options):
        at_work.set()
        await asyncio.Event().wait()

    with monkeypatch.context() as patch:
        patch.setattr(pool, step, endless)
        filling = asyncio.ensure_future(warm.fill())
        await at_work.wait()
        filling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await filling
    assert warm.ready() == []
    assert list((warm.folder / ".making").iterdir()) == []
    assert len(ground.git("worktree", "list").splitlines()) == 1
    assert await warm.fill() == 1


async def test_a_fill_that_ends_while_another_works_there_leaves_the_rest_to_the_next(
    warm, ground, monkeypatch
):
    repo = await ground.inspect()
    held = lock.repository_lock(repo.common_dir)

    async def fails(*args, **options):
        await held.__aenter__()
        raise WorkspaceError("no space left")

    monkeypatch.setattr(pool, "_GIVE_UP", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(pool, "adjust", fails)
        with pytest.raises(WorkspaceError, match="no space left"):
            await warm.fill()
    await held.__aexit__(None, None, None)
    assert await warm.fill() == 1
    assert list((warm.folder / ".making").iterdir()) == []


async def test_a_bare_repository_may_have_a_pool(ground, new_ground):
    bare = new_ground("bare.git", "--bare")
    ground.git("push", "-q", str(bare.repo), "main")
    warm = Warm(bare)
    assert await warm.fill() == 1
    task = await warm.task()
    assert warm.ready() == []
    assert (task.path / "README").exists()


async def test_a_fork_may_start_on_a_claimed_tree(warm, ground):
    first = await warm.task("1-a")
    ground.write({"u": "untracked\n", "README": "edited\n"}, cwd=first.path)
    found = await checkpoint.record(first.path, task_id=1, number=1)
    await warm.fill()
    second = await warm.task("2-b", start=worktree.Start(found.snapshot))
    assert ground.git("status", "--porcelain", cwd=second.path) == " M README\n?? u"
    await warm.end(second, "2")
    await warm.fill()
    third = await warm.task("3-c")
    assert ground.git("status", "--porcelain", "--ignored", cwd=third.path) == ""


async def test_a_folder_that_became_a_link_leads_no_scrub_out(warm, ground, tmp_path):
    first = await warm.task("1-a")
    outside = tmp_path / "outside"
    (first.path / "src").rename(outside)
    (first.path / "src").symlink_to(outside)
    await warm.end(first)
    await warm.fill()
    second = await warm.task("2-b")
    assert (outside / "main.txt").read_text() == "one\n"
    same_as_plain(ground, second.path, "main", tmp_path / "plain")
