"""The manual tells the truth: its scripts are sound, its keys are all there, its example runs."""

import re
from pathlib import Path

import pytest

from byred.testing.model import ScriptedModel
from byred.testing.records import Sent
from byred.testing.script import Ask, Call, Error, Script, Step, Usage, parse

MANUAL = Path(__file__).parents[2] / "docs" / "scripted-model.md"


@pytest.fixture(scope="module")
def manual():
    return MANUAL.read_text("utf-8")


@pytest.mark.parametrize("values", [Step, Ask, Call, Error, Usage, Script])
def test_every_key_of_a_script_is_in_the_manual(manual, values):
    coded = " ".join(re.findall(r"`[^`\n]+`|^\w+ = .*$", manual, re.MULTILINE))
    for name in values.__struct_fields__:
        assert re.search(rf"\b{name}\b", coded), name


def test_every_key_of_a_record_is_in_the_manual(manual):
    for name in set(Sent.__struct_fields__) - {"input", "ended"}:
        assert f"`{name}`" in manual, name


async def test_the_script_of_the_manual_paints(bench, repository, manual):
    (text,) = re.findall(r"```toml\n(.*?)```", manual, re.DOTALL)
    async with ScriptedModel(parse(text)) as model:
        codex = await bench.codex(model)
        repository(codex.cwd)
        thread = await codex.thread()
        turn = await codex.begin(thread, "Choose a colour")
        asked = await codex.wait("item/tool/call")
        assert asked["params"]["arguments"]["text"] == "Which colour for: Choose a colour?"
        await codex.answer(asked, "red")
        failed = await codex.ended(turn)
        assert failed["error"]["codexErrorInfo"] == "usageLimitExceeded"
        assert (codex.cwd / "colour.txt").read_text() == "red\n"
        await codex.turn(thread, "Go on")
        assert codex.texts()[-2:] == ["It will be red.", "Done."]
        await codex.turn(await codex.thread(), "Dance")
        assert codex.texts()[-1] == "I only paint."
