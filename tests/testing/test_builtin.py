"""The shipped scripts, played to the real codex in a real repository."""

import subprocess

import pytest

from byred.testing.model import ScriptedModel
from byred.testing.script import builtin


def git(folder, *words):
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


async def test_the_default_script_writes_a_file_named_after_the_task_and_commits_it(
    bench, repository
):
    async with ScriptedModel(builtin("default")) as model:
        codex = await bench.codex(model)
        repository(codex.cwd)
        turn = await codex.turn(await codex.thread(), "Add a 'Readme' file; $(touch x)\nmore")
        assert turn["status"] == "completed"
        assert (
            (codex.cwd / "add-a-readme-file-touch-x.md")
            .read_text()
            .startswith("# Add a 'Readme' file; $(touch x)\n")
        )
        assert git(codex.cwd, "log", "-1", "--format=%an %s") == (
            "Agent Add add-a-readme-file-touch-x.md\n"
        )
        assert git(codex.cwd, "status", "--porcelain") == ""
        assert "Done. I wrote add-a-readme-file-touch-x.md" in codex.texts()[-1]


async def test_the_default_script_asks_when_the_prompt_has_a_question_mark(bench, repository):
    async with ScriptedModel(builtin("default")) as model:
        codex = await bench.codex(model)
        repository(codex.cwd)
        turn = await codex.begin(await codex.thread(), "Which colour?")
        asked = await codex.wait("item/tool/call")
        assert "Which colour?" in asked["params"]["arguments"]["text"]
        await codex.answer(asked, 'it\'s "blue"; `rm -rf .`')
        assert (await codex.ended(turn))["status"] == "completed"
        text = (codex.cwd / "which-colour.md").read_text()
        assert text == '# Which colour?\n\nA person answered: it\'s "blue"; `rm -rf .`\n'
        assert git(codex.cwd, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("prompt", "file", "text"),
    [
        ("Write a poem about worktrees", "poem.txt", "None steps on a toe.\n"),
        ("Find out which port is yours", "port.txt", "my port is 4711\n"),
        ("Ask a person for the colour of the door", "colour.txt", "The front door is green.\n"),
    ],
)
async def test_each_task_of_the_demo_ends_with_a_commit(bench, repository, prompt, file, text):
    async with ScriptedModel(builtin("demo")) as model:
        codex = await bench.codex(model)
        repository(codex.cwd)
        turn = await codex.begin(await codex.thread(), prompt)
        if "Ask" in prompt:
            await codex.answer(await codex.wait("item/tool/call"), "green")
        assert (await codex.ended(turn))["status"] == "completed"
        assert (codex.cwd / file).read_text().endswith(text)
        assert git(codex.cwd, "show", "--format=%an <%ae>", "--name-only").split("\n")[:3] == [
            "Agent <agent@example.org>",
            "",
            file,
        ]
        assert "Agent <agent@example.org>" in codex.texts()[-1]
