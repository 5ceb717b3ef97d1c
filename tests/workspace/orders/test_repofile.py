"""A repository may say what its tasks need: from its commit, in a form that is checked."""

import asyncio
import contextlib
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byred.workspace.errors import Kind, WorkspaceError
from byred.workspace.orders import copying, hooks, repofile, setup
from byred.workspace.orders.repofile import Command

WHOLE = """
copy = [".env", "config/*.local"]
ports = ["web", "api-2"]
verify = ["make test", {run = "make lint", timeout = "90s"}]
verify_rounds = 3
guidance = "Run the tests."
[env]
DATABASE_URL = "sqlite:///dev.db"
[hooks]
after_create = "npm ci"
before_run = {run = "make db", timeout = "2h"}
[setup]
run = "npm ci"
key = ["package-lock.json"]
keep = ["node_modules"]
"""


async def test_a_whole_file_is_read(ground):
    commit = ground.commit("say", {".byre.toml": WHOLE})
    said = await repofile.read(await ground.inspect(), commit)
    assert said.copy == (".env", "config/*.local")
    assert said.ports == ("web", "api-2")
    assert said.checks() == (Command("make test"), Command("make lint", "90s"))
    assert said.checks()[1].seconds == 90
    assert said.hook("after_create") == Command("npm ci")
    assert said.hook("before_run") == Command("make db", "2h")
    assert said.hook("after_turn") is None
    assert said.env == {"DATABASE_URL": "sqlite:///dev.db"}
    assert said.setup is not None
    assert said.setup.command.seconds == 1800


async def test_a_repository_without_the_file_says_nothing(ground):
    commit = ground.git("rev-parse", "HEAD")
    assert await repofile.read(await ground.inspect(), commit) == repofile.RepoFile()


async def test_the_agents_own_tree_is_not_asked(ground):
    commit = ground.git("rev-parse", "HEAD")
    task = await ground.task()
    ground.commit("the agent's idea", {".byre.toml": WHOLE}, cwd=task.path)
    assert await repofile.read(await ground.inspect(), commit) == repofile.RepoFile()


async def test_of_an_untrusted_repository_only_names_and_text_remain():
    said = repofile.parse(WHOLE.encode(), "0" * 40).harmless()
    assert said == repofile.RepoFile(ports=("web", "api-2"), guidance="Run the tests.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("copy = 1", "copy: Expected `array`, got `int`"),
        ("copy = [1]", "copy[0]: Expected `str`, got `int`"),
        ("nope = 1", "unknown field `nope`"),
        ("[hooks]\nnope = 'x'", "hooks: Object contains unknown field `nope`"),
        ("[hooks]\nafter_turn = {run='x', timeout='soon'}", "hooks.after_turn.timeout: expected a"),
        ("[hooks]\nafter_turn = {run='x', timeout='0s'}", "hooks.after_turn.timeout: expected a"),
        ("[hooks]\nafter_turn = ' '", "hooks.after_turn: expected a command"),
        ("verify = ['']", "verify: expected a command"),
        ("ports = ['Web']", "ports: expected names like web"),
        ("copy = ['../x']", "copy: '../x' leads out of the repository"),
        ("copy = ['/etc/passwd']", "leads out of the repository"),
        ("copy = [':!x']", "leads out of the repository"),
        ("copy = ['.git/config']", "leads out of the repository"),
        ("copy = ['']", "leads out of the repository"),
        ("[env]\n'A B' = 'x'", "env: 'A B' can't be a variable"),
        ("[env]\nLD_PRELOAD = 'x'", "env: LD_PRELOAD is byred's or the owner's to set"),
        ("[env]\nGIT_AUTHOR_NAME = 'x'", "byred's or the owner's to set"),
        ("[env]\nPORT_WEB = 'x'", "byred's or the owner's to set"),
        ("[env]\nPATH = 'x'", "byred's or the owner's to set"),
        ("[env]\nCODEX_HOME = 'x'", "byred's or the owner's to set"),
        ("verify_rounds = -1", "verify_rounds: expected 0 or more"),
        ("[setup]\nrun = 'x'\nkey = []\nkeep = ['y']", "setup: expected at least one path"),
        ("[setup]\nrun = 'x'", "setup: Object missing required field `key`"),
        ("not toml", "at line 1"),
        ("\xff", "'utf-8' codec can't decode"),
    ],
)
def test_a_mistake_is_one_sentence_with_key_and_expectation(text, expected):
    with pytest.raises(WorkspaceError) as refused:
        repofile.parse(text.encode("latin-1"), "abcdef0123456789")
    assert refused.value.kind is Kind.INVALID
    assert refused.value.message.startswith("cannot use .byre.toml of abcdef012345: ")
    assert expected in refused.value.message
    assert "\n" not in refused.value.message


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(content):
    with contextlib.suppress(WorkspaceError):  # and nothing else
        repofile.parse(content, "0" * 40)


async def test_a_link_in_its_place_is_refused(ground):
    (ground.repo / ".byre.toml").symlink_to("/etc/passwd")
    commit = ground.commit("a link", {})
    with pytest.raises(WorkspaceError, match="not a plain file"):
        await repofile.read(await ground.inspect(), commit)


async def test_a_file_without_end_is_refused(ground):
    commit = ground.commit("long", {".byre.toml": "#" * 100_000})
    with pytest.raises(WorkspaceError, match="longer than"):
        await repofile.read(await ground.inspect(), commit)


@pytest.fixture
def env():
    return {"PATH": os.environ["PATH"], "BYRE_TASK_ID": "1"}


async def test_a_hook_runs_in_the_tree_with_that_environment_and_no_other(
    tmp_path, env, monkeypatch
):
    monkeypatch.setenv("SECRET", "s")
    ran = await hooks.run_command(
        Command("pwd; echo $BYRE_TASK_ID$SECRET; echo err >&2; exit 3"),
        cwd=tmp_path,
        env=env,
        log=tmp_path / "logs" / "hook.log",
    )
    assert (ran.status, ran.passed) == (3, False)
    assert ran.output == f"{tmp_path}\n1\nerr\n"
    assert (tmp_path / "logs" / "hook.log").read_text() == ran.output
    assert "ended with status 3" in ran.report()


async def test_a_hook_that_hangs_is_ended_and_its_output_kept(tmp_path, env):
    ran = await hooks.run_command(
        Command("echo begun; sleep 600", "0.3s"), cwd=tmp_path, env=env, log=tmp_path / "log"
    )
    assert (ran.status, ran.output) == (None, "begun\n")
    assert "took too long" in ran.report()


async def test_of_a_hook_that_floods_both_ends_are_kept(tmp_path, env, monkeypatch):
    monkeypatch.setattr(hooks, "KEPT", 1000)
    ran = await hooks.run_command(
        Command("echo first; yes | head -c 1000000; echo last"),
        cwd=tmp_path,
        env=env,
        log=tmp_path / "log",
    )
    assert ran.passed
    assert ran.output.startswith("first\n")
    assert ran.output.endswith("last\n")
    assert (tmp_path / "log").stat().st_size < 1100


async def test_verify_stops_at_the_first_failure(tmp_path, env):
    commands = [Command("true"), Command("echo no; false"), Command("touch never")]
    failed = await hooks.verify(commands, cwd=tmp_path, env=env, logs=tmp_path / "logs")
    assert failed is not None
    assert failed.output == "no\n"
    assert not (tmp_path / "never").exists()
    assert await hooks.verify([Command("true")], cwd=tmp_path, env=env, logs=tmp_path) is None


async def bring(ground, patterns, files):
    (ground.repo / ".gitignore").write_text("*.local\n.env\ncerts/\n")
    ground.commit("ignore", {})
    ground.write(files)
    task = await ground.task()
    return task, await copying.bring(await ground.inspect(), task.path, patterns)


async def test_ignored_files_are_brought_by_pattern(ground):
    files = {
        ".env": "A=1\n",
        "config/a.local": "a\n",
        "config/deep/b.local": "b\n",
        "certs/c": "c\n",
    }
    task, copied = await bring(ground, [".env", "config/*.local", "certs/"], files)
    assert set(copied) == {".env", "config/a.local", "certs/c"}
    assert (task.path / ".env").read_text() == "A=1\n"
    assert not (task.path / "config" / "deep").exists()
    assert ground.git("status", "--porcelain", cwd=task.path) == ""


async def test_copies_are_copies(ground):
    task, _ = await bring(ground, [".env"], {".env": "A=1\n"})
    (task.path / ".env").write_text("changed by the agent\n")
    assert (ground.repo / ".env").read_text() == "A=1\n"


async def test_nothing_tracked_and_nothing_there_is_overwritten(ground):
    task, _ = await bring(ground, [".env"], {".env": "A=1\n", "README": "dirty\n"})
    (task.path / ".env").write_text("the agent's\n")
    again = await copying.bring(await ground.inspect(), task.path, [".env", "README", "**"])
    assert again == ()
    assert (task.path / ".env").read_text() == "the agent's\n"
    assert (task.path / "README").read_text() == "hello\n"


async def test_no_link_leads_a_copy_out_of_the_tree(ground, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (ground.repo / "link").symlink_to(outside)
    ground.commit("a link out", {})
    task = await ground.task()
    ground.git("rm", "-q", "link")
    ground.git("commit", "-qm", "no link")
    ground.write({"link/x.log": "ignored\n"})
    assert await copying.bring(await ground.inspect(), task.path, ["link/*.log"]) == ()
    assert list(outside.iterdir()) == []


async def test_too_much_is_refused_before_anything_is_copied(ground, monkeypatch):
    monkeypatch.setattr(copying, "MOST_FILES", 1)
    with pytest.raises(WorkspaceError, match="name fewer in `copy`") as refused:
        await bring(ground, ["*.local"], {"a.local": "", "b.local": ""})
    assert refused.value.kind is Kind.LIMIT


async def test_a_bare_repository_has_nothing_to_bring(ground, new_ground):
    bare = new_ground("bare.git", "--bare")
    ground.git("push", "-q", str(bare.repo), "main")
    assert await copying.bring(await bare.inspect(), ground.root, [".env"]) == ()


SETUP = repofile.Setup(
    run="echo ran >> ../runs; mkdir -p deps/bin && cp lockfile deps/x && ln -s x deps/bin/y",
    key=("lockfile",),
    keep=("deps",),
)


async def install(ground, task, tmp_path, env, said=SETUP):
    return await setup.install(
        said,
        repo=await ground.inspect(),
        commit=ground.git("rev-parse", "main"),
        worktree=task.path,
        env=env,
        cache=tmp_path / "cache",
        log=tmp_path / "setup.log",
    )


async def test_two_tasks_install_the_same_dependencies_once(ground, tmp_path, env):
    ground.commit("lock", {"lockfile": "1\n", ".gitignore": "deps/\n"})
    tasks = [await ground.task(f"{number}-x") for number in range(4)]
    done = await asyncio.gather(*(install(ground, task, tmp_path, env) for task in tasks))
    assert sum(each.ran is not None for each in done) == 1
    assert (ground.root / "repo" / "runs").read_text() == "ran\n"
    for task in tasks:
        assert (task.path / "deps" / "x").read_text() == "1\n"
        assert (task.path / "deps" / "bin" / "y").readlink().name == "x"
        assert ground.git("status", "--porcelain", cwd=task.path) == ""
    (tasks[0].path / "deps" / "x").write_text("edited\n")
    assert (tasks[1].path / "deps" / "x").read_text() == "1\n"


async def test_another_lockfile_is_another_installation(ground, tmp_path, env):
    ground.commit("lock", {"lockfile": "1\n", ".gitignore": "deps/\n"})
    first = await install(ground, await ground.task("1-x"), tmp_path, env)
    ground.commit("other", {"README": "changed, and no key\n"})
    second = await install(ground, await ground.task("2-x"), tmp_path, env)
    ground.commit("lock", {"lockfile": "2\n"})
    third = await install(ground, await ground.task("3-x"), tmp_path, env)
    assert second.ran is None
    assert second.key == first.key
    assert third.ran is not None


async def test_a_setup_that_fails_leaves_nothing_behind_for_others(ground, tmp_path, env):
    ground.commit("lock", {"lockfile": "1\n", ".gitignore": "deps/\n"})
    broken = repofile.Setup(run="mkdir deps; false", key=("lockfile",), keep=("deps",))
    for name in ("1-x", "2-x"):
        done = await install(ground, await ground.task(name), tmp_path, env, broken)
        assert done.ran is not None
        assert not done.ran.passed


async def test_a_key_that_names_no_file_is_refused(ground, tmp_path, env):
    with pytest.raises(WorkspaceError, match="no file lockfile in"):
        await install(ground, await ground.task(), tmp_path, env)


async def test_the_cache_drops_what_was_used_least_lately(tmp_path):
    cache = tmp_path / "cache"
    for number, name in enumerate(("old", "middle", "new")):
        (cache / name).mkdir(parents=True)
        os.utime(cache / name, (number, number))
    assert setup.prune(cache, 250, {"old": 100, "middle": 100, "new": 100}) == ["old"]
    assert {path.name for path in cache.iterdir()} == {"middle", "new"}
