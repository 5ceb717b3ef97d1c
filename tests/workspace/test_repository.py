"""A repository is looked at before anything is made in it, and every kind of one works."""

import asyncio
from pathlib import Path

import pytest

from byred.workspace import repository
from byred.workspace.errors import Kind, WorkspaceError
from byred.workspace.keeping import checkpoint
from byred.workspace.results import changes
from byred.workspace.trees import pool, worktree


async def test_the_top_level_is_found_from_any_folder_inside(ground):
    repo = await repository.inspect(ground.repo / "src")
    assert repo.root == ground.repo
    assert repo.common_dir == ground.repo / ".git"
    assert repo.default_branch == "main"
    assert repo.head == ground.git("rev-parse", "HEAD")
    assert not repo.bare


@pytest.mark.parametrize(
    ("make", "kind", "sentence"),
    [
        (lambda _: None, Kind.NOT_FOUND, "it does not exist"),
        (lambda path: path.write_text("x"), Kind.INVALID, "it is not a directory"),
        (lambda path: path.mkdir(), Kind.INVALID, "it is not a git repository"),
    ],
)
async def test_what_is_no_repository_is_refused_in_one_sentence(tmp_path, make, kind, sentence):
    path = tmp_path / "thing"
    make(path)
    with pytest.raises(WorkspaceError, match=sentence) as refused:
        await repository.inspect(path)
    assert refused.value.kind is kind
    assert refused.value.message.startswith(f"cannot use {path}: ")
    assert "\n" not in refused.value.message


async def test_a_repository_without_a_commit_is_refused(new_ground):
    with pytest.raises(WorkspaceError, match="no commit yet") as refused:
        await new_ground("empty").inspect()
    assert refused.value.kind is Kind.INVALID


async def test_a_git_directory_is_not_taken_for_a_work_tree(ground):
    with pytest.raises(WorkspaceError, match="inside a git directory"):
        await repository.inspect(ground.repo / ".git")


async def test_a_head_on_a_missing_branch_needs_a_base_by_name(ground):
    ground.git("symbolic-ref", "HEAD", "refs/heads/gone")
    repo = await ground.inspect()
    assert repo.head is None
    with pytest.raises(WorkspaceError, match=r"branch gone does not exist.*one of: main"):
        await repository.resolve_base(repo, None)
    assert (await repository.resolve_base(repo, "main")).ref == "main"


async def test_a_base_may_be_a_branch_a_tag_a_remote_branch_or_a_commit(ground):
    commit = ground.git("rev-parse", "HEAD")
    ground.git("tag", "-a", "v1", "-m", "one")
    ground.git("update-ref", "refs/remotes/origin/main", commit)
    repo = await ground.inspect()
    for base in ("main", "v1", "origin/main", commit, commit[:9], "HEAD", "main^{}"):
        found = await repository.resolve_base(repo, base)
        assert (found.ref, found.commit) == (base, commit)
    assert (await repository.resolve_base(repo, None)).ref == "main"


@pytest.mark.parametrize("base", ["nope", "", "-x", "--all", "main~9", "main:README", "a\0b", "é"])
async def test_an_unknown_base_is_refused(ground, base):
    with pytest.raises(WorkspaceError, match="no such commit") as refused:
        await repository.resolve_base(await ground.inspect(), base)
    assert refused.value.kind is Kind.INVALID


async def test_a_base_follows_a_head_that_moved_since(ground):
    repo = await ground.inspect()
    later = ground.commit("later", {"a": "1\n"})
    assert (await repository.resolve_base(repo, None)).commit == later


def test_two_repositories_of_the_same_name_have_different_folder_names():
    names = {
        repository.folder_name(Path(path))
        for path in (
            "/a/thing/.git",
            "/b/thing/.git",
            "/b/thing.git",
            "/c/日本語/.git",
            "/d/../.git",
        )
    }
    assert len(names) == 5
    assert all("/" not in name and not name.startswith(".") for name in names)
    assert any(name.startswith("日本語-") for name in names)


def test_a_folder_name_is_the_same_each_time_and_short():
    long = Path("/" + "x" * 200 + "/.git")
    assert repository.folder_name(long) == repository.folder_name(long)
    assert len(repository.folder_name(long)) < 60
    assert repository.folder_name(Path("/ - /.git")).startswith("repository-")


async def works(ground, name: str = "1-fix") -> worktree.Worktree:
    """Give a task a worktree, let it work, and check everything that byred reads from it."""
    base = ground.git("rev-parse", "HEAD")
    task = await ground.task(name)
    assert ground.git("status", "--porcelain", cwd=task.path) == ""
    head = ground.commit("agent's", {"made": "1\n"}, cwd=task.path)
    ground.write({"untracked": "2\n"}, cwd=task.path)
    result = await changes.status(task.path, base)
    assert [commit.sha for commit in result.commits] == [head]
    assert result.uncommitted == ("untracked",)
    kept = await checkpoint.record(task.path, task_id=1, number=1)
    (task.path / "untracked").unlink()
    await checkpoint.restore(await ground.inspect(), task.path, task_id=1, number=1)
    assert (task.path / "untracked").read_text() == "2\n"
    assert ground.git("cat-file", "-t", kept.ref) == "commit"
    ground.clean()
    return task


async def test_a_bare_repository_works(ground, new_ground, tmp_path):
    bare = new_ground("bare.git", "--bare")
    ground.git("push", "-q", str(bare.repo), "main")
    repo = await bare.inspect()
    assert repo.bare
    assert repo.root == repo.common_dir == bare.repo
    await works(bare)


async def test_a_sha256_repository_works(new_ground):
    made = new_ground("sha256", "--object-format=sha256")
    made.commit("first", {"README": "hello\n"})
    assert (await made.inspect()).object_format == "sha256"
    await works(made)


async def test_a_repository_that_is_itself_a_worktree_works(ground, tmp_path):
    linked = tmp_path / "linked"
    ground.git("worktree", "add", "-q", "-b", "side", str(linked))
    ground.commit("on the side", {"side": "1\n"}, cwd=linked)
    repo = await repository.inspect(linked)
    assert repo.root == linked
    assert repo.name == (await ground.inspect()).name
    base = await repository.resolve_base(repo, None)
    assert base.ref == "side"
    task = await worktree.ensure(
        repo,
        task_id=1,
        path=ground.place(),
        branch="byre/x",
        base_commit=base.commit,
        root=ground.root,
    )
    assert (task.path / "side").exists()
    ground.clean()


async def test_a_repository_with_a_separate_git_directory_works(new_ground, tmp_path):
    made = new_ground("apart", f"--separate-git-dir={tmp_path / 'somewhere'}")
    made.commit("first", {"README": "hello\n"})
    assert (await made.inspect()).common_dir == tmp_path / "somewhere"
    await works(made)


@pytest.mark.parametrize(
    "name", ["with space", "-dash", "日本語", "new\nline", "quote'\"", "a;b#c"]
)
async def test_a_repository_with_any_name_works(new_ground, name):
    made = new_ground(name)
    made.commit("first", {"README": "hello\n"})
    await works(made)


@pytest.mark.parametrize("name", ["-dash", "日本語", "with space", "1-ünï", "new\nline"])
async def test_a_worktree_with_any_name_works(ground, name):
    base = ground.git("rev-parse", "HEAD")
    repo = await ground.inspect()
    task = await worktree.ensure(
        repo,
        task_id=1,
        path=ground.place(name),
        branch="byre/x",
        base_commit=base,
        root=ground.root,
    )
    assert ground.git("rev-parse", "--show-toplevel", cwd=task.path) == str(task.path)
    again = await worktree.ensure(
        repo,
        task_id=1,
        path=ground.place(name),
        branch="byre/x",
        base_commit=base,
        root=ground.root,
    )
    assert not again.created


async def test_a_branch_in_any_script_works(ground):
    task = await ground.task("1-x", branch="byre/1-größe-日本語")
    assert task.branch == "byre/1-größe-日本語"
    assert (await ground.task("1-x", branch="byre/1-größe-日本語")).branch == task.branch


async def test_a_partial_clone_fetches_what_a_worktree_needs(ground, tmp_path):
    ground.git("config", "uploadpack.allowFilter", "true")
    ground.git("config", "uploadpack.allowAnySHA1InWant", "true")
    ground.commit("second", {"big": "b\n"})
    clone = tmp_path / "partial"
    url = ground.repo.as_uri()
    ground.git("clone", "-q", "--filter=blob:none", "--no-checkout", url, str(clone))
    partial = type(ground)(repo=clone, root=ground.root)
    task = await partial.task()
    assert (task.path / "big").read_text() == "b\n"
    assert ground.git("status", "--porcelain", cwd=task.path) == ""
    ground.write({"new": "1\n"}, cwd=task.path)
    kept = await checkpoint.record(task.path, task_id=1, number=1)
    assert ground.git("show", f"{kept.ref}:new", cwd=clone) == "1"


async def test_a_sparse_checkout_stays_sparse(ground, tmp_path):
    ground.commit("more", {"in/a": "1\n", "out/b": "1\n"})
    ground.git("sparse-checkout", "set", "in")
    plain = tmp_path / "plain"
    ground.git("worktree", "add", "-q", "-b", "plain", str(plain))
    task = await ground.task()
    assert sorted(p.name for p in task.path.iterdir()) == sorted(p.name for p in plain.iterdir())
    assert not (task.path / "out").exists()
    assert ground.git("status", "--porcelain", cwd=task.path) == ""
    ground.write({"in/a": "2\n"}, cwd=task.path)
    kept = await checkpoint.record(task.path, task_id=1, number=1)
    assert ground.git("show", f"{kept.ref}:out/b") == "1"
    ground.git("checkout", "-q", "in/a", cwd=task.path)
    await checkpoint.restore(await ground.inspect(), task.path, task_id=1, number=1)
    assert (task.path / "in/a").read_text() == "2\n"
    assert not (task.path / "out").exists()
    assert ground.git("status", "--porcelain", cwd=task.path) == " M in/a"


async def test_a_submodule_is_left_as_plain_git_leaves_it(ground, new_ground, tmp_path):
    library = new_ground("library")
    library.commit("library", {"lib.c": "int x;\n"})
    ground.git("submodule", "--quiet", "add", str(library.repo), "sub")
    ground.commit("with a submodule", {})
    task = await ground.task()
    assert list((task.path / "sub").iterdir()) == []
    assert ground.git("status", "--porcelain", cwd=task.path) == ""
    await works(ground, "2-fix")


async def test_hooks_filters_and_fsmonitor_of_the_repository_start_nothing_but_filters(
    ground, tmp_path
):
    witness = tmp_path / "ran"
    hook = ground.repo / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {witness}\n")
    hook.chmod(0o755)
    ground.git("config", "core.fsmonitor", str(hook))
    ground.git("config", "diff.external", f"touch {witness}")
    ground.git("config", "filter.upper.smudge", "tr a-z A-Z")
    ground.git("config", "filter.upper.clean", "tr A-Z a-z")
    ground.commit("filtered", {".gitattributes": "*.up filter=upper\n", "x.up": "shout\n"})
    witness.unlink(missing_ok=True)
    base = ground.git("rev-parse", "HEAD")
    witness.unlink(missing_ok=True)

    task = await ground.task()
    ground.write({"x.up": "OTHER\n"}, cwd=task.path)
    said = await changes.diff(task.path, base)
    await changes.status(task.path, base)

    assert not witness.exists()
    assert "+other" in said
    ground.git("checkout", "-q", "x.up", cwd=task.path)
    assert (task.path / "x.up").read_text() == "SHOUT\n"


LARGE = """#!/bin/sh
# As git-lfs does: the content lies beside git's objects, git itself has a pointer.
store=$(git rev-parse --path-format=absolute --git-common-dir)/large
mkdir -p "$store"
if test "$1" = clean; then
  cat > "$store/new.$$"
  name=$(sha1sum < "$store/new.$$" | cut -c1-40)
  mv "$store/new.$$" "$store/$name"
  echo "pointer $name"
else
  read -r _ name
  cat "$store/$name"
fi
"""


async def test_large_files_come_as_files_and_are_kept_as_pointers(ground, tmp_path):
    program = tmp_path / "large"
    program.write_text(LARGE)
    program.chmod(0o755)
    for what in ("clean", "smudge"):
        ground.git("config", "--global", f"filter.large.{what}", f"'{program}' {what}")
    ground.git("config", "--global", "filter.large.required", "true")
    ground.write({".gitattributes": "*.bin filter=large -text\n"})
    ground.commit("large", {"big.bin": "large\n" * 1000})
    assert ground.git("show", "HEAD:big.bin").startswith("pointer ")
    repo = await ground.inspect()
    folder = pool.folder_of(ground.root, repo)
    assert await pool.fill(repo, folder, commit=str(repo.head), size=1) == 1
    for name, ahead in (("1-warm", folder), ("2-cold", None)):
        task = await worktree.ensure(
            repo,
            task_id=1,
            path=ground.root / repo.name / name,
            branch=f"byre/{name}",
            base_commit=str(repo.head),
            root=ground.root,
            pool=ahead,
        )
        assert (task.path / "big.bin").read_text() == "large\n" * 1000
        assert ground.git("status", "--porcelain", cwd=task.path) == ""
        ground.write({"big.bin": "larger\n" * 1000}, cwd=task.path)
        kept = await checkpoint.record(task.path, task_id=name, number=1)
        assert ground.git("show", f"{kept.ref}:big.bin").startswith("pointer ")
        ground.git("checkout", "-q", "big.bin", cwd=task.path)
        assert (task.path / "big.bin").read_text() == "large\n" * 1000
        await checkpoint.restore(repo, task.path, task_id=name, number=1)
        assert (task.path / "big.bin").read_text() == "larger\n" * 1000
    assert not list(folder.glob("pool-*"))


async def test_ten_tasks_each_on_three_repositories_at_once(new_ground):
    grounds = [new_ground(f"repository {number}") for number in range(3)]
    for each in grounds:
        each.commit("first", {"README": "hello\n"})

    async def one(ground, number):
        repo = await ground.inspect()
        base = await repository.resolve_base(repo, None)
        return await worktree.ensure(
            repo,
            task_id=1,
            path=ground.root / repo.name / f"{number}-x",
            branch=f"byre/{number}-x",
            base_commit=base.commit,
            root=ground.root,
        )

    made = await asyncio.gather(*(one(each, n) for each in grounds for n in range(10)))
    assert len({task.path for task in made}) == 30
    for each in grounds:
        each.clean()
        assert len(each.git("worktree", "list").splitlines()) == 11
