"""The benchmark of worktrees in small: it makes what git makes; its times are not judged."""

from tests.bench import worktrees


async def test_worktrees_are_made_ended_and_made_again(tmp_path, capsys):
    await worktrees.run(tmp_path.resolve(), files=40)
    told = capsys.readouterr().out
    for kind in ("plain", "cold", "warm", "end (kept)", "scrub and refill one"):
        assert kind in told
