"""What an agent configures inside its tree is never run by byred, which is outside its sandbox."""

import os
from datetime import UTC, datetime

import pytest

from byred.workspace.errors import WorkspaceError
from byred.workspace.keeping import checkpoint, kept
from byred.workspace.results import changes
from byred.workspace.trees import pool

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Trap:
    """Settings that leave a witness when git runs them."""

    def __init__(self, ground, folder):
        self.ground = ground
        self.program = folder / "trap"
        self.witness = folder / "trapped"
        self.program.write_text(f'#!/bin/sh\necho "$0 $@" >> {self.witness}\ncat\n')
        self.program.chmod(0o755)

    def set_in(self, repository):
        """Configure a repository so that whatever can be run is."""
        program = str(self.program)
        settings = {
            "filter.trap.clean": program,
            "filter.trap.smudge": program,
            "filter.trap.process": program,
            "filter.trap.required": "true",
            "core.fsmonitor": program,
            "core.hooksPath": str(self.program.parent / "hooks"),
            "core.sshCommand": program,
            "core.pager": program,
            "core.editor": program,
            "core.alternateRefsCommand": program,
            "diff.external": program,
            "diff.trap.command": program,
            "diff.trap.textconv": program,
            "merge.trap.driver": program,
            "gpg.program": program,
            "commit.gpgSign": "true",
            "uploadpack.packObjectsHook": program,
            "credential.helper": program,
            "extensions.partialClone": "origin",
            "remote.origin.url": "ssh://nowhere.invalid/x",
            "remote.origin.uploadpack": program,
            "remote.origin.promisor": "true",
        }
        for key, value in settings.items():
            self.ground.git("config", key, value, cwd=repository)
        hooks = self.program.parent / "hooks"
        hooks.mkdir(exist_ok=True)
        for name in ("reference-transaction", "post-checkout", "post-index-change", "pre-commit"):
            (hooks / name).write_text(self.program.read_text())
            (hooks / name).chmod(0o755)
        (repository / ".gitattributes").write_text("* filter=trap diff=trap merge=trap\n")
        (repository / "same").write_text("size\n")
        stale = repository / "lib.c"
        stale.write_text("INT X;\n")  # as long as before, so that git must read it to know
        os.utime(stale, (1, 1))

    def nothing_ran(self):
        assert not self.witness.exists(), self.witness.read_text()


@pytest.fixture
def trap(ground, tmp_path):
    folder = tmp_path / "trap"
    folder.mkdir()
    return Trap(ground, folder)


async def everything(ground, task, folder):
    """Do with a task's tree all that byred ever does."""
    base = ground.git("rev-parse", "main")
    repo = await ground.inspect()
    await changes.status(task.path, base)
    await changes.diff(task.path, base)
    await checkpoint.record(task.path, task_id=1, number=1)
    await checkpoint.record(task.path, task_id=1, number=2)
    await checkpoint.restore(repo, task.path, task_id=1, number=1)
    await ground.task()
    for number in (3, 4):
        await checkpoint.fork(
            repo,
            task_id=1,
            number=1,
            source=task.path,
            to=number,
            path=ground.place(f"{number}-fork"),
            branch=f"byre/{number}-fork",
            root=ground.root,
        )
    await kept.remove(
        repo,
        path=task.path,
        root=ground.root,
        task_id=1,
        branch=task.branch,
        now=NOW,
        pool=folder,
    )
    await pool.fill(repo, folder, commit=base, size=1)
    await kept.undelete(repo, task_id=1, path=task.path, root=ground.root)


async def test_a_nested_repository_runs_nothing(ground, trap):
    task = await ground.task()
    nested = task.path / "nested"
    ground.git("init", "-q", str(nested))
    ground.commit("nested", {"lib.c": "int x;\n"}, cwd=nested)
    ground.commit("with it", {}, cwd=task.path)
    trap.set_in(nested)

    await everything(ground, task, ground.root / "repo" / pool.POOL)

    trap.nothing_ran()
    assert (nested / "lib.c").read_text() == "INT X;\n"


async def test_a_submodule_runs_nothing(ground, trap, new_ground):
    library = new_ground("library")
    library.commit("library", {"lib.c": "int x;\n"})
    ground.git("submodule", "--quiet", "add", str(library.repo), "sub")
    ground.commit("with a submodule", {})
    task = await ground.task()
    ground.git("submodule", "--quiet", "update", "--init", cwd=task.path)
    trap.set_in(task.path / "sub")

    await everything(ground, task, ground.root / "repo" / pool.POOL)

    trap.nothing_ran()
    assert (task.path / "sub" / "lib.c").read_text() == "INT X;\n"


async def test_the_worktrees_own_configuration_runs_nothing(ground, trap):
    """It is in the worktree's git directory, which an agent must be able to write."""
    ground.git("config", "extensions.worktreeConfig", "true")
    task = await ground.task()
    for key in ("clean", "smudge", "process"):
        ground.git("config", "--worktree", f"filter.trap.{key}", str(trap.program), cwd=task.path)
    (task.path / ".gitattributes").write_text("* filter=trap\n")
    (task.path / "README").write_text("HELLO\n")
    os.utime(task.path / "README", (1, 1))

    await everything(ground, task, ground.root / "repo" / pool.POOL)

    trap.nothing_ran()


async def test_a_filter_of_the_owner_still_works_inside(ground, tmp_path):
    ground.git("config", "--global", "filter.upper.clean", "tr A-Z a-z")
    ground.git("config", "--global", "filter.upper.smudge", "tr a-z A-Z")
    task = await ground.task()
    nested = task.path / "nested"
    ground.git("init", "-q", str(nested))
    ground.git("config", "filter.upper.clean", "false", cwd=nested)
    ground.write({".gitattributes": "*.up filter=upper\n", "x.up": "SHOUT\n"}, cwd=nested)
    made = await checkpoint.record(task.path, task_id=1, number=1)
    inner = made.snapshot.inner[0].commit
    assert ground.git("show", f"{inner}:x.up") == "shout"


async def test_a_repository_that_says_its_files_are_elsewhere_is_left_alone(ground, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("the person's\n")
    task = await ground.task()
    nested = task.path / "nested"
    ground.git("init", "-q", str(nested))
    ground.commit("nested", {"n": "1\n"}, cwd=nested)
    await checkpoint.record(task.path, task_id=1, number=1)
    ground.git("config", "core.worktree", str(precious), cwd=nested)

    made = await checkpoint.record(task.path, task_id=1, number=2)
    assert "says its files are in" in made.snapshot.skipped[0]
    with pytest.raises(WorkspaceError, match="says its files are in"):
        await checkpoint.restore(await ground.inspect(), task.path, task_id=1, number=1)
    base = ground.git("rev-parse", "main")
    assert (await changes.status(task.path, base)).dirty
    assert [p.name for p in precious.iterdir()] == ["file"]


async def test_a_link_in_place_of_a_submodule_leads_nothing_out(ground, new_ground, tmp_path):
    library = new_ground("library")
    library.commit("library", {"lib.c": "int x;\n"})
    ground.git("submodule", "--quiet", "add", str(library.repo), "sub")
    ground.commit("with a submodule", {})
    task = await ground.task()
    ground.git("submodule", "--quiet", "update", "--init", cwd=task.path)
    await checkpoint.record(task.path, task_id=1, number=1)
    outside = tmp_path / "outside"
    (task.path / "sub").rename(outside)
    before = sorted(outside.rglob("*"))
    (task.path / "sub").symlink_to(outside)

    await checkpoint.record(task.path, task_id=1, number=2)
    await ground.task()
    await checkpoint.restore(await ground.inspect(), task.path, task_id=1, number=1)

    assert sorted(outside.rglob("*")) == before
    assert (task.path / "sub" / "lib.c").read_text() == "int x;\n"
    assert not (task.path / "sub").is_symlink()
