"""A worktree is made whole, found again, and never outside its root."""

import asyncio
import errno
import os
from pathlib import Path

import pytest

from byred.workspace.errors import Kind, WorkspaceError
from byred.workspace.trees import worktree


async def test_a_new_worktree_is_what_plain_git_would_have_made(ground, tmp_path):
    made = await ground.task()
    plain = tmp_path / "plain"
    ground.git("worktree", "add", "-q", "-b", "plain", str(plain))

    assert made.created
    assert made.mended == ()
    for question in (("status", "--porcelain"), ("ls-files", "--stage"), ("rev-parse", "HEAD")):
        assert ground.git(*question, cwd=made.path) == ground.git(*question, cwd=plain)
    assert ground.git("branch", "--show-current", cwd=made.path) == "byre/1-fix"
    ground.clean()


async def test_a_second_call_finds_it_and_leaves_the_agents_files_alone(ground):
    first = await ground.task()
    (first.path / "README").write_text("changed by the agent\n")
    (first.path / "new").write_text("new\n")
    ground.git("switch", "-q", "-c", "elsewhere", cwd=first.path)

    second = await ground.task()

    assert not second.created
    assert second.branch == "byre/1-fix"
    assert (second.path / "README").read_text() == "changed by the agent\n"
    assert (second.path / "new").exists()
    assert ground.git("branch", "--show-current", cwd=second.path) == "elsewhere"


@pytest.mark.promise("main_checkout_untouched")
async def test_the_persons_checkout_is_untouched(ground):
    before = ground.git("status", "--porcelain=v2", "--branch"), sorted(ground.repo.iterdir())
    await ground.task()
    after = ground.git("status", "--porcelain=v2", "--branch"), sorted(ground.repo.iterdir())
    assert after == before


async def test_thirty_at_once_on_one_repository_are_all_right(ground):
    made = await asyncio.gather(*(ground.task(f"{number}-fix") for number in range(30)))

    assert len({each.path for each in made}) == 30
    assert all(each.created for each in made)
    for each in made:
        assert ground.git("status", "--porcelain", cwd=each.path) == ""
        assert ground.git("branch", "--show-current", cwd=each.path) == each.branch
    assert list((ground.root / "repo" / ".making").iterdir()) == []
    ground.clean()


@pytest.mark.parametrize("name", ["..", ".", ".git", "-x/../..", "a/../../../b"])
async def test_a_path_that_leaves_the_root_is_refused_before_anything_is_made(ground, name):
    with pytest.raises(WorkspaceError) as refused:
        await worktree.ensure(
            await ground.inspect(),
            task_id=1,
            path=ground.root / name,
            branch="byre/x",
            base_commit=ground.git("rev-parse", "HEAD"),
            root=ground.root,
        )
    assert refused.value.kind is Kind.INVALID
    assert ground.git("branch", "--list", "byre/*") == ""


async def test_a_link_that_leads_out_of_the_root_is_refused(ground, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    ground.root.mkdir()
    (ground.root / "repo").symlink_to(outside)
    with pytest.raises(WorkspaceError, match="is outside of"):
        await ground.task()
    assert list(outside.iterdir()) == []


async def test_a_root_that_is_itself_a_link_is_fine(ground, tmp_path):
    (tmp_path / "real").mkdir()
    ground.root.symlink_to(tmp_path / "real")
    made = await ground.task()
    assert made.path == tmp_path / "real" / "repo" / "1-fix"


@pytest.mark.parametrize("branch", ["-x", "a..b", "a b", "x.lock", "HEAD", "", "a//b", "@{-1}"])
async def test_a_name_that_is_no_branch_is_refused(ground, branch):
    repo = await ground.inspect()
    with pytest.raises(WorkspaceError, match="as a branch") as refused:
        await worktree.ensure(
            repo,
            task_id=1,
            path=Path(ground.place()),
            branch=branch,
            base_commit=repo.head,
            root=ground.root,
        )
    assert refused.value.kind is Kind.INVALID


@pytest.mark.parametrize(
    ("number", "kind"),
    [(errno.ENOSPC, Kind.LIMIT), (errno.EIO, Kind.INFRASTRUCTURE)],
)
async def test_a_disk_that_fails_is_said_in_one_sentence(ground, monkeypatch, number, kind):
    def fails(*args):
        raise OSError(number, os.strerror(number), "/somewhere")

    monkeypatch.setattr(worktree, "relocate", fails)
    with pytest.raises(WorkspaceError) as failed:
        await ground.task()
    assert failed.value.kind is kind
    assert failed.value.message == f"cannot make the worktree: {os.strerror(number)} (/somewhere)"
    monkeypatch.undo()
    assert (await ground.task()).created


async def test_a_callers_time_limit_stays_a_time_limit(ground, monkeypatch):
    async def waits(*args, **kwargs):
        await asyncio.Event().wait()

    monkeypatch.setattr(worktree, "populate", waits)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await ground.task()
    monkeypatch.undo()
    assert (await ground.task()).created
