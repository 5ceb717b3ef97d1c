"""Everything that a server asks for, answered: by the real server where it can be made to ask."""

import asyncio
import json

import pytest

from byred.codex import RequestFailed, ServerRequest, Toolbox, answer_with
from byred.codex.approvals import (
    Decision,
    amend_exec_policy,
    amend_network_policy,
    answer_elicitation,
    answer_input,
    ask,
    auto,
    decide,
    describe,
    refuse,
)
from byred.codex.protocol.types import SERVER_REQUESTS, SERVER_RESULTS
from byred.testing.script import Call, Step

PATCH = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch\nEOF"
FEATURES = {"features": {"request_permissions_tool": True, "default_mode_request_user_input": True}}


def request(method: str, **params) -> ServerRequest:
    return ServerRequest(0, method, SERVER_REQUESTS[method].wrap(params))


class Recorder:
    """A handler that keeps what was asked, and its answers."""

    def __init__(self, handler) -> None:
        self.handler = handler
        self.asked: list[ServerRequest] = []

    async def __call__(self, asked):
        self.asked.append(asked)
        return await self.handler(asked)


@pytest.mark.parametrize(
    ("decision", "ran", "status"),
    [
        (Decision.ACCEPT, True, "completed"),
        (Decision.ACCEPT_FOR_SESSION, True, "completed"),
        (Decision.DECLINE, False, "completed"),
        (Decision.CANCEL, False, "interrupted"),
    ],
)
async def test_a_command_runs_as_its_approval_says(connect, home, script, decision, ran, status):
    await script(Step(shell="echo made > made.txt"), Step(say="end"))

    async def answer(asked):
        return decide(asked, decision)

    handler = Recorder(answer)
    options = home.options(sandbox="workspace-write", approval_policy="untrusted")
    async with connect(handler) as client:
        thread = await client.start_thread(options)
        result = await (await thread.start_turn("hi")).result()
    (asked,) = handler.asked
    assert asked.method == "item/commandExecution/requestApproval"
    assert "echo made" in describe(asked).text
    assert asked.thread_id == thread.id
    assert asked.call_id
    assert result.status == status
    assert (home.work / "made.txt").exists() == ran, [item.wire for item in result.items]


@pytest.mark.parametrize(("decision", "made"), [(Decision.ACCEPT, True), (Decision.DECLINE, False)])
async def test_a_file_changes_as_its_approval_says(connect, home, script, decision, made):
    await script(Step(shell=PATCH), Step(say="end"))

    async def answer(asked):
        return decide(asked, decision)

    handler = Recorder(answer)
    options = home.options(sandbox="read-only", approval_policy="on-request")
    async with connect(handler) as client:
        thread = await client.start_thread(options)
        await (await thread.start_turn("hi")).result()
    assert [each.method for each in handler.asked] == ["item/fileChange/requestApproval"]
    assert describe(handler.asked[0]).text.startswith("May the agent change files")
    assert (home.work / "new.txt").exists() == made


async def test_permissions_are_granted_whole_in_part_or_not(home, script, open_stdio):
    arguments = {"reason": "to build", "permissions": {"network": {"enabled": True}}}
    step = Step(call=Call("request_permissions", arguments=arguments))
    model = await script(step, step, step, Step(say="end"), config=FEATURES)
    given = iter(
        (
            {"decision": Decision.ACCEPT},
            {"decision": Decision.ACCEPT_FOR_SESSION, "permissions": {}},
            {"decision": Decision.DECLINE},
        )
    )

    async def answer(asked):
        return decide(asked, **next(given))

    handler = Recorder(answer)
    options = home.options(sandbox="workspace-write", approval_policy="on-request")
    async with open_stdio(handler) as client:
        thread = await client.start_thread(options)
        assert (await (await thread.start_turn("hi")).result()).status == "completed"
    outputs = [json.loads(sent.new[-1]["output"]) for sent in model.requests[1:4]]
    assert outputs[0] == {
        "permissions": {"network": {"enabled": True}, "file_system": None},
        "scope": "turn",
    }
    assert outputs[1]["scope"] == "session"
    assert outputs[1]["permissions"]["network"] is None
    assert outputs[2]["permissions"] == {"network": None, "file_system": None}
    assert "to build" in describe(handler.asked[0]).text


async def test_input_for_a_tool_is_asked_and_answered(home, script, open_stdio):
    question = {
        "id": "q1",
        "header": "H",
        "question": "Which one?",
        "options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}],
    }
    step = Step(call=Call("request_user_input", arguments={"questions": [question]}))
    model = await script(step, Step(say="end"), config=FEATURES)
    questions = []

    async def person(asked):
        questions.append(asked)
        return "B"

    async with open_stdio(answer_with(ask(person))) as client:
        thread = await client.start_thread(home.options())
        await (await thread.start_turn("hi")).result()
    assert [(each.kind, each.text, each.options) for each in questions] == [
        ("input", "Which one?", ("A", "B"))
    ]
    assert json.loads(model.requests[1].new[-1]["output"]) == {
        "answers": {"q1": {"answers": ["B"]}}
    }


async def test_auto_accepts_work_and_refuses_the_rest_politely(home, script, open_stdio):
    arguments = {"reason": "x", "permissions": {"network": {"enabled": True}}}
    await script(
        Step(shell="echo made > made.txt"),
        Step(shell=PATCH),
        Step(call=Call("request_permissions", arguments=arguments)),
        Step(say="end"),
        config=FEATURES,
    )
    options = home.options(sandbox="read-only", approval_policy="untrusted")
    async with open_stdio(answer_with(auto)) as client:
        thread = await client.start_thread(options)
        result = await (await thread.start_turn("hi")).result()
        assert result.status == "completed"
        assert (home.work / "new.txt").exists()


async def test_an_unknown_request_gets_an_error_at_once(fake):
    async with fake(answer_with(auto)) as (server, _client):
        await server.ask(9, "something/new", threadId="t")
        answer = await server.expect_answer(9)
        assert answer["error"]["code"] == -32601
        assert "something/new" in answer["error"]["message"]


async def test_tokens_attestation_and_time_have_their_own_answers(fake):
    async def tokens(asked):
        assert asked.params.reason == "unauthorized"
        return {"accessToken": "a", "chatgptAccountId": "b", "chatgptPlanType": None}

    async def attest(asked):
        return {"token": "t"}

    handler = answer_with(auto, refresh_tokens=tokens, attest=attest, clock=lambda: 1234.9)
    async with fake(handler) as (server, _client):
        await server.ask(1, "account/chatgptAuthTokens/refresh", reason="unauthorized")
        await server.ask(2, "attestation/generate")
        await server.ask(3, "currentTime/read", threadId="t")
        assert (await server.expect_answer(1))["result"]["accessToken"] == "a"
        assert (await server.expect_answer(2))["result"] == {"token": "t"}
        assert (await server.expect_answer(3))["result"] == {"currentTimeAt": 1234}


async def test_without_tools_tokens_or_attestation_the_answer_is_an_error(fake):
    async with fake(answer_with(auto)) as (server, _client):
        for number, method in enumerate(
            ("item/tool/call", "account/chatgptAuthTokens/refresh", "attestation/generate")
        ):
            await server.ask(number, method)
            assert (await server.expect_answer(number))["error"]["code"] == -32601


@pytest.mark.parametrize("method", ["execCommandApproval", "applyPatchApproval"])
@pytest.mark.parametrize(
    ("decision", "spelling"),
    [
        (Decision.ACCEPT, "approved"),
        (Decision.ACCEPT_FOR_SESSION, "approved_for_session"),
        (Decision.DECLINE, {"denied": {"rejection": "declined"}}),
        (Decision.CANCEL, "abort"),
    ],
)
def test_legacy_approvals_have_their_own_spellings(method, decision, spelling):
    asked = request(method, conversationId="t", callId="c")
    assert decide(asked, decision) == {"decision": spelling}
    assert (asked.thread_id, asked.call_id) == ("t", "c")
    if decision is Decision.DECLINE:
        assert decide(asked, decision, plain_denial=True) == {"decision": "denied"}


async def test_auto_answers_the_legacy_approvals_too():
    asked = request("execCommandApproval", conversationId="t", callId="c", command=["ls"], cwd="/")
    assert await auto(asked) == {"decision": "approved"}
    assert describe(asked).text == "May the agent run this command in /?\nls"
    patch = request(
        "applyPatchApproval", conversationId="t", callId="c", fileChanges={"b": {}, "a": {}}
    )
    assert describe(patch).text == "May the agent change these files?\na, b"


def test_an_elicitation_is_described_and_answered():
    form = request(
        "mcpServer/elicitation/request",
        threadId="t",
        serverName="db",
        mode="form",
        message="Which table?",
        requestedSchema={"type": "object"},
    )
    question = describe(form)
    assert (question.kind, question.text) == ("elicitation", "The MCP server db asks: Which table?")
    assert question.answer('{"table": "users"}') == answer_elicitation("accept", {"table": "users"})
    assert question.answer("decline")["action"] == "decline"
    assert question.answer("cancel")["action"] == "cancel"
    assert refuse(form)["action"] == "decline"


def test_policies_can_be_amended():
    assert amend_exec_policy(["git", "status"]) == {
        "decision": {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["git", "status"]}}
    }
    assert amend_network_policy("example.org", "allow")["decision"] == {
        "applyNetworkPolicyAmendment": {
            "network_policy_amendment": {"host": "example.org", "action": "allow"}
        }
    }


def test_a_word_that_is_no_option_declines():
    asked = request(
        "item/commandExecution/requestApproval",
        threadId="t",
        turnId="u",
        itemId="i",
        startedAtMs=0,
        command="ls",
        cwd="/",
        reason="to look",
    )
    question = describe(asked)
    assert question.text == "May the agent run this command in /?\nls\nReason: to look"
    assert question.answer("ACCEPT ") == {"decision": "accept"}
    assert question.answer("acceptforsession") == {"decision": "acceptForSession"}
    assert question.answer("hm, no idea") == {"decision": "decline"}


def test_what_asks_for_no_decision_cannot_be_decided():
    asked = request("item/tool/call", threadId="t", turnId="u", callId="c", tool="x", arguments={})
    with pytest.raises(ValueError, match="asks for no decision"):
        decide(asked, Decision.ACCEPT)
    for function in (refuse, describe):
        with pytest.raises(RequestFailed):
            function(asked)


async def test_every_server_request_of_the_schema_is_answered(fake):
    async def tokens(asked):
        return {"accessToken": "a", "chatgptAccountId": "b"}

    async def attest(asked):
        return {"token": "t"}

    handler = answer_with(auto, tools=Toolbox([]), refresh_tokens=tokens, attest=attest)
    assert set(SERVER_REQUESTS) == set(SERVER_RESULTS)
    async with fake(handler) as (server, _client):
        for number, method in enumerate(SERVER_REQUESTS):
            await server.ask(
                number, method, threadId="t", turnId="u", callId="c", tool="x", permissions={}
            )
            answer = await server.expect_answer(number)
            result = SERVER_RESULTS[method].wrap(answer["result"])
            for name, item in result._fields.items():
                if item.required:
                    assert getattr(result, name) is not None


async def test_a_person_may_take_any_time_and_the_agent_waits(home, script, open_stdio):
    await script(Step(shell="echo made > made.txt"), Step(say="end"))
    asked, answered = asyncio.Event(), asyncio.Event()

    async def person(question):
        asked.set()
        await answered.wait()
        return Decision.ACCEPT

    async with open_stdio(answer_with(ask(person))) as client:
        options = home.options(sandbox="workspace-write", approval_policy="untrusted")
        thread = await client.start_thread(options)
        turn = await thread.start_turn("hi")
        await asyncio.wait_for(asked.wait(), 20)
        for _ in range(5):
            assert (await client.read_thread(thread.id)).thread.status.type == "active"
        assert not turn.done
        answered.set()
        assert (await turn.result()).final_text == "end"


def test_input_answers_name_each_question():
    assert answer_input({"a": ["1", "2"]}) == {"answers": {"a": {"answers": ["1", "2"]}}}
