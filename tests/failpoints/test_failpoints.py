"""A daemon that dies at a failpoint keeps every promise; `make failpoints` goes through all."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from byred.testing.model import ScriptedModel
from tests.failpoints.places import read
from tests.failpoints.running import Stage
from tests.failpoints.scenario import SCRIPTS

PLACES = read().places
RISKIEST = (
    "workspace.trees.making.register amid git worktree add",
    "agents.runner.Runner._record before commit",
    "agents.talk.conversation.Conversation.say after send turn/start",
    "humans.queue.QuestionQueue._close after commit question.answered task.running",
    "codex.connection.Connection._handle after send reply item/tool/call",
    "workspace.keeping.snapshot.take before git update-ref",
)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with ScriptedModel(SCRIPTS) as model:
        stage = Stage(tmp_path, model, transport="stdio")
        await stage.rehearse(("begin", "talk"))
        yield stage


@pytest.mark.promise("no_task_lost")
@pytest.mark.promise("no_task_twice")
@pytest.mark.promise("answer_delivered_once")
@pytest.mark.promise("no_process_left")
@pytest.mark.timeout(600)
async def test_a_daemon_that_dies_between_two_things_keeps_every_promise(stage: Stage) -> None:
    acts = stage.failpoints()
    strange = [name for name in acts if not is_known(name)]
    assert strange == [], "passed, and not in the list of places"
    for name in RISKIEST:
        lived = await stage.kill_at(name, acts[name])
        assert lived.died, name
        assert lived.wrong == [], (name, lived.wrong)


def is_known(name: str) -> bool:
    """Whether a place is in the list; who only lets others send is not."""
    place, _, effect = name.split(" ", 2)
    return place in PLACES or effect.split()[0] in ("send", "reply", "connect", "bind")
