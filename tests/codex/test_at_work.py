"""A turn knows whether a command of its agent runs, which may print nothing for long."""

import asyncio
from pathlib import Path

from byred.codex import Client, ClientInfo, connect_unix
from byred.testing.script import Step

INFO = ClientInfo("byred-tests", "0")


def waits(folder: Path) -> str:
    """Give a command that says that it runs and prints nothing until it may end."""
    return f"touch {folder}/runs; until [ -e {folder}/go ]; do sleep 0.05; done"


async def runs(folder: Path) -> None:
    async with asyncio.timeout(30):
        while not (folder / "runs").exists():
            await asyncio.sleep(0.02)


async def test_a_turn_is_at_work_while_its_command_runs(open_stdio, home, script):
    model = await script(Step(shell=waits(home.root)), Step(say="one", delay="gate"))
    async with open_stdio() as client:
        thread = await client.start_thread(home.options())
        turn = await thread.start_turn("hi")
        assert not turn.at_work
        await runs(home.root)
        async with asyncio.timeout(30):
            while not turn.at_work:
                await asyncio.sleep(0.02)
        (home.root / "go").touch()
        await model.gate("gate").reached(30)
        # The model was asked with what the command printed, so its end was told before.
        async with asyncio.timeout(30):
            while turn.at_work:
                await asyncio.sleep(0.02)
        model.gate("gate").open()
        assert (await turn.result()).final_text == "one"


async def test_who_takes_a_turn_over_knows_that_its_command_runs(home, script):
    async def refuse(request):
        raise AssertionError(request)

    await script(Step(shell=waits(home.root)), Step(say="one"))
    async with home.listening() as path:
        async with Client.open(
            await connect_unix(path), client_info=INFO, handler=refuse
        ) as client:
            thread = await client.start_thread(home.options())
            await thread.start_turn("hi")
            await runs(home.root)
        async with Client.open(
            await connect_unix(path), client_info=INFO, handler=refuse
        ) as client:
            thread = await client.resume_thread(thread.id, home.options())
            turn = await thread.find_active_turn()
            assert turn is not None
            assert turn.at_work
            (home.root / "go").touch()
            assert (await turn.result()).final_text == "one"
            assert not turn.at_work
