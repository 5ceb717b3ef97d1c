"""What a task did is asked from git, never from the agent; asking changes nothing."""

import subprocess

import pytest

from byred.workspace.errors import WorkspaceError
from byred.workspace.home import identity
from byred.workspace.home.environment import Identity
from byred.workspace.results import changes, export
from byred.workspace.results.changes import Who

WHO = Identity("task 1", "task-1@byre.invalid")
AGENT = {
    "GIT_AUTHOR_NAME": WHO.name,
    "GIT_AUTHOR_EMAIL": WHO.email,
    "GIT_COMMITTER_NAME": WHO.name,
    "GIT_COMMITTER_EMAIL": WHO.email,
}


@pytest.fixture
def base(ground):
    return ground.git("rev-parse", "main")


async def test_an_untouched_tree_has_no_result(ground, base):
    task = await ground.task()
    assert await changes.status(task.path, base) == changes.Result(
        head=base,
        commits=(),
        files_changed=0,
        insertions=0,
        deletions=0,
        dirty=False,
        uncommitted=(),
        uncommitted_count=0,
    )
    assert await changes.diff(task.path, base) == ""


async def test_commits_come_oldest_first_with_author_and_committer(ground, base):
    task = await ground.task()
    first = ground.commit("one\n\nbody", {"a": "1\n2\n"}, cwd=task.path)
    ground.write({"README": "other\n"}, cwd=task.path)
    ground.git("commit", "-qam", "twö", cwd=task.path, **AGENT)
    result = await changes.status(task.path, base)
    assert [commit.subject for commit in result.commits] == ["one", "twö"]
    assert result.commits[0].sha == first
    assert result.commits[0].author == Who("A Person", "person@example.org")
    assert result.commits[1].author == result.commits[1].committer == Who(WHO.name, WHO.email)
    assert (result.files_changed, result.insertions, result.deletions) == (2, 3, 1)
    assert not result.dirty


async def test_every_kind_of_uncommitted_file_is_named(ground, base):
    task = await ground.task()
    ground.write(
        {"staged": "1\n", "untracked": "1\n", "README": "2\n", "x.log": "x\n"}, cwd=task.path
    )
    ground.git("add", "staged", cwd=task.path)
    (task.path / "src" / "main.txt").unlink()
    result = await changes.status(task.path, base)
    assert result.dirty
    assert set(result.uncommitted) == {"staged", "untracked", "README", "src/main.txt"}
    assert result.files_changed == 0


async def test_a_listing_is_bounded_and_the_count_is_not(ground, base, monkeypatch):
    monkeypatch.setattr(changes, "LISTED", 3)
    task = await ground.task()
    ground.write({f"f{n}": "" for n in range(10)}, cwd=task.path)
    result = await changes.status(task.path, base)
    assert (len(result.uncommitted), result.uncommitted_count) == (3, 10)


async def test_a_diff_includes_commits_edits_and_untracked_files_and_applies(
    ground, base, tmp_path
):
    task = await ground.task()
    ground.commit("one", {"a": "1\n"}, cwd=task.path)
    ground.write({"README": "edited\n", "new/file": "new\n", "x.log": "ignored\n"}, cwd=task.path)
    (task.path / "binary").write_bytes(bytes(range(256)))
    said = await changes.diff(task.path, base)
    other = tmp_path / "other"
    ground.git("worktree", "add", "-q", "--detach", str(other), base)
    (tmp_path / "patch").write_text(said)
    ground.git("apply", str(tmp_path / "patch"), cwd=other)
    assert (other / "a").read_text() == "1\n"
    assert (other / "README").read_text() == "edited\n"
    assert (other / "new" / "file").read_text() == "new\n"
    assert (other / "binary").read_bytes() == bytes(range(256))
    assert not (other / "x.log").exists()


async def test_asking_touches_nothing_even_while_the_agent_holds_the_lock(ground, base):
    task = await ground.task()
    ground.write({"README": "edited\n", "u": "1\n"}, cwd=task.path)
    (task.git_dir / "index.lock").touch()
    before = (task.git_dir / "index").read_bytes()
    assert (await changes.status(task.path, base)).uncommitted_count == 2
    assert "+edited" in await changes.diff(task.path, base)
    assert (task.git_dir / "index").read_bytes() == before


async def test_a_huge_diff_is_cut_and_says_so(ground, base):
    task = await ground.task()
    ground.write({"big": "line\n" * 10_000}, cwd=task.path)
    said = await changes.diff(task.path, base, limit=1000)
    assert len(said) < 1200
    assert said.endswith("[cut here: the diff is longer than 1000 bytes]\n")


async def test_the_owners_taste_in_diffs_changes_nothing(ground, base):
    for setting in ("diff.noprefix", "diff.mnemonicPrefix", "color.ui"):
        ground.git("config", setting, "always" if setting == "color.ui" else "true")
    ground.git("config", "core.pager", "false")
    task = await ground.task()
    ground.write({"README": "edited\n"}, cwd=task.path)
    assert (await changes.diff(task.path, base)).startswith("diff --git a/README b/README\n")


async def test_text_that_is_no_utf8_still_makes_a_diff(ground, base):
    task = await ground.task()
    (task.path / "latin").write_bytes(b"caf\xe9\n")
    assert "+caf\ufffd" in await changes.diff(task.path, base)


async def test_commits_by_somebody_else_are_found(ground, base):
    task = await ground.task()
    ground.write({"a": "1\n"}, cwd=task.path)
    ground.git("add", "a", cwd=task.path)
    ground.git("commit", "-qm", "right", cwd=task.path, **AGENT)
    assert await identity.deviating(task.path, base, task.branch, WHO) == ()
    ground.git("commit", "-q", "--allow-empty", "-m", "as the person", cwd=task.path)
    wrong = {**AGENT, "GIT_COMMITTER_EMAIL": "x@example.com"}
    ground.git("commit", "-q", "--allow-empty", "-m", "half", cwd=task.path, **wrong)
    found = await identity.deviating(task.path, base, task.branch, WHO)
    assert [commit.subject for commit in found] == ["as the person", "half"]


async def test_commits_that_came_with_a_merge_from_elsewhere_are_not_the_tasks(ground, base):
    task = await ground.task()
    ground.commit("the person's, on main", {"c": "1\n"})
    ground.git("merge", "-q", "--no-edit", "main", cwd=task.path, **AGENT)
    ground.git("commit", "-q", "--allow-empty", "-m", "wrong", cwd=task.path)
    found = await identity.deviating(task.path, base, task.branch, WHO)
    assert [commit.subject for commit in found] == ["wrong"]


async def test_an_export_applies_elsewhere_and_gives_the_same_tree(ground, base, tmp_path):
    ground.git("config", "format.signature", "none of byred's")
    ground.git("config", "format.outputDirectory", str(tmp_path / "wrong"))
    task = await ground.task()
    ground.write({"a": "1\n"}, cwd=task.path)
    ground.git("add", "a", cwd=task.path)
    ground.git("commit", "-qm", "one", cwd=task.path, **AGENT)
    (task.path / "bin").write_bytes(bytes(range(256)))
    ground.git("add", "bin", cwd=task.path)
    ground.git("commit", "-qm", "two", cwd=task.path, **AGENT)
    ground.write({"README": "uncommitted\n", "u": "untracked\n"}, cwd=task.path)

    made = await export.export(task.path, base, tmp_path / "patches")

    assert [path.name for path in made] == ["0001-one.patch", "0002-two.patch", "uncommitted.patch"]
    other = tmp_path / "other"
    ground.git("worktree", "add", "-q", "--detach", str(other), base)
    ground.git("am", "-q", *map(str, made[:2]), cwd=other)
    ground.git("apply", str(made[2]), cwd=other)
    assert ground.git("log", "--format=%an %s", f"{base}..", cwd=other) == "task 1 two\ntask 1 one"
    compared = ["diff", "-r", "--exclude=.git", str(other), str(task.path)]
    assert subprocess.run(compared, capture_output=True, check=False).stdout == b""


async def test_an_export_overwrites_nothing(ground, base, tmp_path):
    task = await ground.task()
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches" / "mine").touch()
    with pytest.raises(WorkspaceError, match="not empty"):
        await export.export(task.path, base, tmp_path / "patches")
