"""Work comes back in four ways; a conflict or a dirty target changes nothing at all."""

import asyncio

import pytest

from byred.workspace.errors import Kind, WorkspaceError
from byred.workspace.home.environment import Identity
from byred.workspace.results import advance, merge
from byred.workspace.results.merge import How, MergeConflictError

AGENT = {
    "GIT_AUTHOR_NAME": "task 1",
    "GIT_AUTHOR_EMAIL": "task-1@byre.invalid",
    "GIT_COMMITTER_NAME": "task 1",
    "GIT_COMMITTER_EMAIL": "task-1@byre.invalid",
}
PERSON = Identity("A Person", "person@example.org")


def agent_commit(ground, tree, message, files):
    ground.write(files, cwd=tree)
    ground.git("add", "--all", cwd=tree)
    ground.git("commit", "-q", "-m", message, cwd=tree, **AGENT)
    return ground.git("rev-parse", "HEAD", cwd=tree)


async def run(ground, how, **options):
    return await merge.merge(await ground.inspect(), source="byre/1-fix", how=how, **options)


def everything(ground):
    """Return all that a refused merge must leave as it was."""
    return (
        ground.git("for-each-ref"),
        ground.git("status", "--porcelain=v2", "--branch"),
        {
            p: p.read_bytes()
            for p in ground.repo.rglob("*")
            if p.is_file() and ".git" not in p.parts
        },
        ground.git("worktree", "list"),
        {p.name for p in (ground.repo / ".git").iterdir()} - {"byre-lock", "ORIG_HEAD"},
    )


@pytest.fixture
async def task(ground):
    """A task with two commits of its own."""
    made = await ground.task()
    agent_commit(ground, made.path, "add a", {"a": "1\n"})
    agent_commit(ground, made.path, "add b\n\nwith a body", {"b": "1\n", "README": "agent\n"})
    return made


async def test_a_fast_forward_moves_the_branch_and_the_checkout(ground, task):
    ground.write({"mine": "untracked, and not in the way\n"})
    done = await run(ground, How.FAST_FORWARD)
    assert done.path == ground.repo
    assert done.after == ground.git("rev-parse", "main") == ground.git("rev-parse", "byre/1-fix")
    assert (ground.repo / "b").read_text() == "1\n"
    assert ground.git("status", "--porcelain") == "?? mine"
    ground.clean()


async def test_a_fast_forward_that_can_not_be_is_refused_with_the_choices(ground, task):
    ground.commit("main goes on", {"c": "1\n"})
    before = everything(ground)
    with pytest.raises(WorkspaceError, match="choose merge, squash or rebase") as refused:
        await run(ground, How.FAST_FORWARD)
    assert refused.value.kind is Kind.CONFLICT
    assert everything(ground) == before


@pytest.mark.parametrize("how", [How.MERGE, How.SQUASH, How.REBASE])
async def test_each_way_brings_the_files_and_keeps_the_persons(ground, task, how):
    ours = ground.commit("main goes on", {"c": "1\n"})
    done = await run(ground, how)
    assert done.before == ours
    assert ground.git("merge-base", "main", ours) == ours
    assert {p.name for p in ground.repo.iterdir()} >= {"a", "b", "c"}
    assert (ground.repo / "README").read_text() == "agent\n"
    assert ground.git("status", "--porcelain") == ""
    ground.clean()


async def test_a_merge_has_both_parents_even_where_a_fast_forward_would_do(ground, task):
    before, tip = ground.git("rev-parse", "main"), ground.git("rev-parse", "byre/1-fix")
    await run(ground, How.MERGE, message="Take it\n\nwith thanks")
    assert ground.git("log", "-1", "--format=%P", "main") == f"{before} {tip}"
    assert ground.git("log", "-1", "--format=%B", "main").strip() == "Take it\n\nwith thanks"
    assert ground.git("log", "-1", "--format=%an", "main") == "A Person"


async def test_a_squash_is_one_commit_by_the_agent_taken_in_by_the_person(ground, task):
    before = ground.git("rev-parse", "main")
    await run(ground, How.SQUASH, committer=PERSON)
    assert ground.git("log", "-1", "--format=%P %an %cn", "main") == f"{before} task 1 A Person"
    assert ground.git("log", "-1", "--format=%B", "main").strip() == "add a\n\n* add a\n* add b"


async def test_a_rebase_keeps_every_commit_with_author_date_and_message(ground, task):
    ours = ground.commit("main goes on", {"c": "1\n"})
    shape = "--format=%an %ae %ad %B"
    wanted = ground.git("log", shape, "main..byre/1-fix")
    await run(ground, How.REBASE, committer=PERSON)
    assert ground.git("log", shape, f"{ours}..main") == wanted
    assert ground.git("log", "--format=%cn", f"{ours}..main") == "A Person\nA Person"
    assert ground.git("rev-parse", "main~2") == ours


async def test_a_rebase_leaves_out_merges_and_what_is_there_already(ground, task):
    ground.git("cherry-pick", "byre/1-fix~1")
    ground.git("merge", "-q", "-m", "agent merges main", "main", cwd=task.path)
    agent_commit(ground, task.path, "add d", {"d": "1\n"})
    await run(ground, How.REBASE)
    subjects = ground.git("log", "--format=%s", "main").splitlines()
    assert subjects == ["add d", "add b", "add a", "first"]


@pytest.mark.parametrize("how", list(How))
async def test_merging_twice_changes_nothing_the_second_time(ground, task, how):
    first = await run(ground, how)
    before = everything(ground)
    if how in (How.FAST_FORWARD, How.MERGE):
        second = await run(ground, how)
        assert second.before == second.after == first.after
        assert everything(ground) == before
    else:
        second = await run(ground, How.REBASE)
        assert second.after == first.after


@pytest.mark.parametrize("how", [How.MERGE, How.SQUASH, How.REBASE])
async def test_a_conflict_changes_nothing_and_names_the_files(ground, task, how):
    ground.commit("main goes on", {"README": "person\n", "b": "2\n"})
    before = everything(ground)
    with pytest.raises(MergeConflictError) as refused:
        await run(ground, how)
    assert set(refused.value.files) == {"README", "b"}
    assert "README" in refused.value.message
    assert everything(ground) == before
    ground.clean()


async def test_conflicts_can_be_asked_for_without_merging(ground, task):
    repo = await ground.inspect()
    assert await merge.conflicts(repo, source="byre/1-fix") == ()
    ground.commit("main goes on", {"README": "person\n"})
    before = everything(ground)
    assert await merge.conflicts(repo, source="byre/1-fix") == ("README",)
    assert everything(ground) == before


@pytest.mark.parametrize("how", list(How))
@pytest.mark.parametrize("staged", [True, False])
async def test_a_dirty_target_is_refused_and_left_alone(ground, task, how, staged):
    ground.write({"src/main.txt": "the person is at work\n"})
    if staged:
        ground.git("add", "src/main.txt")
    before = everything(ground)
    with pytest.raises(WorkspaceError, match=r"changes in src/main\.txt") as refused:
        await run(ground, how)
    assert refused.value.kind is Kind.CONFLICT
    assert everything(ground) == before


@pytest.mark.parametrize("ignored", [True, False])
async def test_a_file_in_the_way_is_never_overwritten(ground, task, ignored):
    if ignored:
        (ground.repo / ".git" / "info" / "exclude").write_text("a\n")
    ground.write({"a": "the person's own\n"})
    before = everything(ground)
    with pytest.raises(WorkspaceError, match="in the way: a"):
        await run(ground, How.MERGE)
    assert everything(ground) == before


async def test_a_merge_under_way_in_the_target_is_refused(ground, task):
    ground.git("switch", "-q", "-c", "side")
    ground.commit("side", {"s": "1\n"})
    ground.git("switch", "-q", "main")
    ground.git("merge", "-q", "--no-ff", "--no-commit", "side")
    with pytest.raises(WorkspaceError, match="cannot merge into the checkout"):
        await run(ground, How.MERGE)


async def test_a_branch_that_is_checked_out_nowhere_moves_alone(ground, task):
    ground.git("branch", "release")
    before = ground.git("status", "--porcelain=v2", "--branch")
    done = await run(ground, How.MERGE, into="release")
    assert done.path is None
    assert ground.git("rev-parse", "release") == done.after
    assert ground.git("status", "--porcelain=v2", "--branch") == before


async def test_a_branch_that_is_checked_out_in_another_worktree_moves_there(ground, task, tmp_path):
    there = tmp_path / "there"
    ground.git("worktree", "add", "-q", "-b", "release", str(there))
    done = await run(ground, How.MERGE, into="release")
    assert done.path == there
    assert (there / "a").exists()
    assert ground.git("status", "--porcelain", cwd=there) == ""
    assert not (ground.repo / "a").exists()


async def test_a_bare_repository_takes_merges(ground, new_ground):
    bare = new_ground("bare.git", "--bare")
    ground.git("push", "-q", str(bare.repo), "main")
    made = await bare.task()
    agent_commit(bare, made.path, "add a", {"a": "1\n"})
    done = await run(bare, How.SQUASH)
    assert bare.git("rev-parse", "main") == done.after


@pytest.mark.parametrize(
    ("source", "into", "kind"),
    [
        ("nope", "main", Kind.NOT_FOUND),
        ("byre/1-fix", "nope", Kind.NOT_FOUND),
        ("-x", "main", Kind.NOT_FOUND),
    ],
)
async def test_unknown_branches_are_refused(ground, task, source, into, kind):
    with pytest.raises(WorkspaceError, match="has no such") as refused:
        await merge.merge(await ground.inspect(), source=source, into=into)
    assert refused.value.kind is kind


async def test_a_detached_head_needs_a_branch_by_name(ground, task):
    ground.git("switch", "-q", "--detach")
    with pytest.raises(WorkspaceError, match="name the one to merge into"):
        await run(ground, How.MERGE)


def under_way(ground, before, after):
    """Leave what a merge leaves that is killed between its note and its end."""
    state = advance._UnderWay(str(ground.repo), "main", before, after)
    (ground.repo / ".git" / "byre-advance").write_bytes(advance.msgspec.json.encode(state))


@pytest.mark.parametrize("cut", ["before", "half", "files", "after"])
async def test_a_move_that_was_killed_is_finished_by_the_next(ground, task, cut):
    before, after = ground.git("rev-parse", "main"), ground.git("rev-parse", "byre/1-fix")
    under_way(ground, before, after)
    if cut == "half":
        ground.write({"a": "1\n"})
        (ground.repo / ".git" / "index.lock").touch()
    if cut == "files":
        ground.write({"a": "1\n", "b": "1\n", "README": "agent\n"})
    if cut == "after":
        ground.git("merge", "-q", "--ff-only", after)
    ground.write({"mine": "untracked\n"})

    await advance.finish_interrupted(await ground.inspect())

    assert ground.git("rev-parse", "main") == after
    assert ground.git("status", "--porcelain") == "?? mine"
    assert (ground.repo / "README").read_text() == "agent\n"
    assert not (ground.repo / ".git" / "byre-advance").exists()


async def test_a_move_that_was_killed_and_edited_since_is_left_to_the_person(ground, task):
    before, after = ground.git("rev-parse", "main"), ground.git("rev-parse", "byre/1-fix")
    under_way(ground, before, after)
    ground.write({"a": "1\n", "README": "the person went on\n"})
    with pytest.raises(WorkspaceError, match="README changed since"):
        await advance.finish_interrupted(await ground.inspect())
    assert (ground.repo / "README").read_text() == "the person went on\n"
    assert ground.git("rev-parse", "main") == before
    await advance.finish_interrupted(await ground.inspect())


async def test_a_merge_driver_of_the_repository_is_respected(ground, task):
    ground.git("config", "merge.ours.driver", "true")
    ground.commit("attributes", {".gitattributes": "README merge=ours\n", "README": "person\n"})
    await run(ground, How.MERGE)
    assert (ground.repo / "README").read_text() == "person\n"


async def test_ten_merges_at_once_all_arrive(ground):
    names = [f"{number}-x" for number in range(10)]
    for name in names:
        made = await ground.task(name)
        agent_commit(ground, made.path, f"add {name}", {name: "1\n"})
    repo = await ground.inspect()
    await asyncio.gather(*(merge.merge(repo, source=f"byre/{name}") for name in names))
    assert {p.name for p in ground.repo.iterdir()} >= set(names)
    assert ground.git("status", "--porcelain") == ""
