"""What each kind of item and event adds to a turn, in every version of codex.

One function a kind, from the payload to the steps of a `WorkingTurn`; `ITEMS` and `EVENTS` say
which. Where turns begin and end is `telling`'s business, small readings are in `reading`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

from byred.codex.rollout import reading
from byred.codex.rollout.jsontext import encode
from byred.codex.rollout.story import Kind, TurnStatus
from byred.codex.rollout.working import WorkingTurn

Doc = dict[str, Any]

# Items: what went to the model and what came from it.


def _message(turn: WorkingTurn, item: Doc, at: str) -> None:
    content = item.get("content")
    if item.get("role") == "assistant":
        text = "\n".join(reading.texts(content))
        turn.told(Kind.SAID, at, [text], phase=reading.string(item.get("phase")))
        return
    texts = reading.texts(content)
    hand = reading.by_hand("\n".join(texts))
    if hand is None:
        turn.given(at, texts, reading.images(content))
        return
    command, output, code = hand
    seen = any(
        step["kind"] is Kind.RAN and step.get("text") == command and step.get("name") == "user"
        for step in turn.steps
    )
    if not seen:
        turn.add(Kind.RAN, at, name="user", text=command, output=output, exit_code=code)
        turn.steps[-1]["status"] = "completed" if code in (0, None) else "failed"


def _reasoning(turn: WorkingTurn, item: Doc, at: str) -> None:
    texts = reading.texts(item.get("summary")) + reading.texts(item.get("content"))
    turn.told(Kind.THOUGHT, at, texts)


def _call(turn: WorkingTurn, item: Doc, at: str) -> None:
    call_id = reading.string(item.get("call_id"))
    name = reading.string(item.get("name"))
    raw = item.get("input") if "input" in item else item.get("arguments")
    given = reading.arguments(raw)
    text = reading.string(raw)
    if name in reading.COMMANDS:
        text = reading.command(given.get("cmd") or given.get("command")) or text
        turn.call(call_id, Kind.RAN, at, text=text)
        return
    where = reading.string(item.get("namespace"))
    kind = Kind.CALLED
    if name == "write_stdin":
        kind, text = Kind.RAN, reading.string(given.get("chars"))
    elif name == "apply_patch":
        kind, text = Kind.CHANGED, reading.string(given.get("input")) or text
    elif name in reading.QUESTIONS:
        kind, text = Kind.QUESTION, reading.question(given) if given else text
    elif name == "update_plan":
        kind, text = Kind.PLANNED, _plan(given)
    elif name == "view_image":
        kind, text = Kind.PICTURED, reading.string(given.get("path"))
    turn.call(call_id, kind, at, text=text, name="/".join(filter(None, (where, name))))


def _output(turn: WorkingTurn, item: Doc, at: str) -> None:
    call_id = reading.string(item.get("call_id"))
    output = reading.output(item.get("output"))
    if not call_id:
        name = "/".join(filter(None, (item.get("namespace"), item.get("name"))))
        turn.add(Kind.ANSWERED, at, name=name, output=output)
        return
    step = turn.call(call_id, Kind.CALLED, at)
    if step["kind"] is Kind.PICTURED:
        step["images"] = reading.images(item.get("output"))
        output = "" if step["images"] else output
    step["output"] = output


def _local_shell(turn: WorkingTurn, item: Doc, at: str) -> None:
    action = reading.table(item.get("action"))
    turn.call(
        reading.string(item.get("call_id")),
        Kind.RAN,
        at,
        text=reading.command(action.get("command")),
        cwd=reading.string(action.get("working_directory")),
        status=reading.string(item.get("status")),
    )


def _search(turn: WorkingTurn, item: Doc, at: str) -> None:
    action = reading.table(item.get("action"))
    query = reading.string(item.get("query") or action.get("query") or action.get("url"))
    turn.told(Kind.SEARCHED, at, [query or "(nothing is recorded of it)"])


def _searched(turn: WorkingTurn, event: Doc, at: str) -> None:
    action = reading.table(event.get("action"))
    query = reading.string(event.get("query") or action.get("query") or action.get("url"))
    turn.heard(Kind.SEARCHED, at, query)


def _picture(turn: WorkingTurn, item: Doc, at: str) -> None:
    call_id = reading.string(item.get("call_id") or item.get("id")) or "picture"
    turn.call(
        call_id,
        Kind.PICTURED,
        at,
        text=reading.string(item.get("revised_prompt")),
        status=reading.string(item.get("status")),
        images=tuple(filter(None, (_path(item.get("saved_path")),))),
    )


def other_item(turn: WorkingTurn, item: Doc, at: str) -> None:
    """Take an item of a kind that has no function here."""
    tag = reading.string(item.get("type"))
    if tag not in ("compaction", "compaction_summary", "context_compaction", "other"):
        text = "\n".join(reading.texts(item.get("content")))
        turn.add(Kind.NOTED, at, name=tag, text=text)


# Events: what codex says about it.


def _user_message(turn: WorkingTurn, event: Doc, at: str) -> None:
    paths = [*(event.get("images") or ()), *(event.get("local_images") or ())]
    found = tuple(path for path in paths if isinstance(path, str))
    turn.asked(at, reading.string(event.get("message")), found)


def _agent_message(turn: WorkingTurn, event: Doc, at: str) -> None:
    phase = reading.string(event.get("phase"))
    turn.heard(Kind.SAID, at, reading.string(event.get("message")), phase=phase)


def _agent_reasoning(turn: WorkingTurn, event: Doc, at: str) -> None:
    turn.heard(Kind.THOUGHT, at, reading.string(event.get("text")))


def _ran(turn: WorkingTurn, event: Doc, at: str) -> None:
    call_id = reading.string(event.get("call_id") or event.get("id"))
    command = reading.command(event.get("command"))
    status = reading.string(event.get("status"))
    code = reading.whole(event.get("exit_code"))
    if call_id in turn.lost_calls and call_id not in turn.calls:
        del turn.lost_calls[call_id]
        text = f"a command of an earlier turn ended: {command}"
        turn.add(Kind.NOTED, at, name="late end", text=text, exit_code=code)
        return
    aggregated = reading.string(event.get("aggregated_output"))
    by_hand = event.get("source") == "user_shell"
    step = turn.call(
        call_id,
        Kind.RAN,
        at,
        text=command,
        name="user" if by_hand else "",
        status=status,
        exit_code=code,
        duration_ms=reading.milliseconds(event.get("duration")),
        cwd=_path(event.get("cwd")),
    )
    if step["kind"] is Kind.RAN:
        step["aggregated"] = aggregated
    if by_hand:
        step.setdefault("output", aggregated)


def _changed(turn: WorkingTurn, event: Doc, at: str) -> None:
    step = turn.call(
        reading.string(event.get("call_id") or event.get("id")),
        Kind.CHANGED,
        at,
        status=reading.string(event.get("status"))
        or ("completed" if event.get("success") else "failed"),
        changes=reading.changes(event.get("changes")),
    )
    step["kind"] = Kind.CHANGED
    step.setdefault(
        "output", reading.string(event.get("stdout")) or reading.string(event.get("stderr"))
    )


def _tool_ended(turn: WorkingTurn, event: Doc, at: str) -> None:
    invocation = reading.table(event.get("invocation")) or event
    where = reading.string(invocation.get("server") or invocation.get("namespace"))
    name = "/".join(filter(None, (where, reading.string(invocation.get("tool")))))
    status = reading.string(event.get("status"))
    result = reading.table(event.get("result"))
    if not status and result:
        good = "Ok" in result and not reading.table(result["Ok"]).get("isError")
        status = "completed" if good else "failed"
    if not status and isinstance(event.get("success"), bool):
        status = "completed" if event["success"] else "failed"
    call_id = reading.string(event.get("call_id") or event.get("id"))
    known = call_id in turn.calls
    step = turn.call(
        call_id,
        Kind.CALLED,
        at,
        status=status,
        duration_ms=reading.milliseconds(event.get("duration")),
    )
    if not known:
        given = invocation.get("arguments") or event.get("prompt")
        step.update(name=name, text=given if isinstance(given, str) else _json(given))
    given_back = event.get("content_items") or result.get("Ok") or result
    step.setdefault("output", reading.output(given_back))


def _compacted(turn: WorkingTurn, _: Doc, at: str) -> None:
    if not any(step["kind"] is Kind.COMPACTED for step in turn.steps):
        turn.add(Kind.COMPACTED, at)


def _reviewed(turn: WorkingTurn, event: Doc, at: str) -> None:
    result = event.get("review_output")
    if isinstance(result, dict):
        findings = [
            f"{reading.string(one.get('title'))}\n{reading.string(one.get('body'))}"
            for one in reading.items(result.get("findings"))
        ]
        verdict = reading.string(result.get("overall_correctness"))
        why = reading.string(result.get("overall_explanation"))
        text = "\n\n".join(filter(None, [verdict, why, *findings]))
        turn.add(Kind.REVIEWED, at, name="result", text=text)
        return
    asked = reading.string(event.get("user_facing_hint"))
    turn.add(Kind.REVIEWED, at, name="request" if "target" in event else "end", text=asked)


def _wrong(turn: WorkingTurn, event: Doc, at: str) -> None:
    turn.add(Kind.WENT_WRONG, at, text=reading.error(event))


def _item_completed(turn: WorkingTurn, event: Doc, at: str) -> None:
    item = reading.table(event.get("item"))
    tag = reading.string(item.get("type"))
    handler = _TURN_ITEMS.get(tag)
    if handler is not None:
        handler(turn, item, at)
    elif tag not in ("FunctionCallOutput", "ImageView"):  # their items say the same
        turn.add(Kind.NOTED, at, name=tag)


def _user_item(turn: WorkingTurn, item: Doc, at: str) -> None:
    content = item.get("content")
    turn.asked(at, "\n".join(reading.texts(content)), reading.images(content))


def _agent_item(turn: WorkingTurn, item: Doc, at: str) -> None:
    text = "\n".join(reading.texts(item.get("content")))
    turn.heard(Kind.SAID, at, text, phase=reading.string(item.get("phase")))


def _reasoning_item(turn: WorkingTurn, item: Doc, at: str) -> None:
    for name in ("summary_text", "raw_content"):
        for text in item.get(name) or ():
            turn.heard(Kind.THOUGHT, at, reading.string(text))


def _plan_item(turn: WorkingTurn, item: Doc, at: str) -> None:
    turn.add(Kind.PLANNED, at, text=reading.string(item.get("text")))


def _plan_event(turn: WorkingTurn, event: Doc, at: str) -> None:
    turn.told(Kind.PLANNED, at, [_plan(event)])


def _completed(turn: WorkingTurn, event: Doc, at: str) -> None:
    turn.status = TurnStatus.COMPLETED
    error = event.get("error")
    if error:
        turn.status, turn.error = TurnStatus.FAILED, reading.error(error)
    _ended(turn, event, at)


def _aborted(turn: WorkingTurn, event: Doc, at: str) -> None:
    if turn.ended:
        return
    turn.status = TurnStatus.INTERRUPTED
    reason = reading.string(event.get("reason"))
    turn.error = "" if reason == "interrupted" else reason
    _ended(turn, event, at)


def _ended(turn: WorkingTurn, event: Doc, at: str) -> None:
    turn.ended = True
    turn.ended_at = at
    turn.duration_ms = reading.whole(event.get("duration_ms"))


def _rolled_back(turn: WorkingTurn, event: Doc, at: str) -> None:
    count = reading.whole(event.get("num_turns")) or 0
    turn.rolled_back += count
    text = f"{count} turn{'' if count == 1 else 's'} taken back"
    turn.add(Kind.ROLLED_BACK, at, text=text)


def _goal(turn: WorkingTurn, event: Doc, at: str) -> None:
    goal = reading.table(event.get("goal"))
    status, objective = (reading.string(goal.get(name)) for name in ("status", "objective"))
    turn.add(Kind.NOTED, at, name="goal", text=f"{status}: {objective}")


def _path(value: Any) -> str:
    text = reading.string(value)
    return unquote(urlsplit(text).path) if text.startswith("file://") else text


def _plan(given: Doc) -> str:
    marks = {"completed": "x", "in_progress": "~"}
    steps = [
        f"[{marks.get(reading.string(one.get('status')), ' ')}] {reading.string(one.get('step'))}"
        for one in reading.items(given.get("plan"))
    ]
    return "\n".join(filter(None, [reading.string(given.get("explanation")), *steps]))


def _json(value: Any) -> str:
    return "" if value is None else encode(value).decode()


Handler = Callable[[WorkingTurn, Doc, str], None]

ITEMS: dict[str, Handler] = {
    "message": _message,
    "reasoning": _reasoning,
    "function_call": _call,
    "custom_tool_call": _call,
    "tool_search_call": _call,
    "function_call_output": _output,
    "custom_tool_call_output": _output,
    "tool_search_output": _output,
    "local_shell_call": _local_shell,
    "web_search_call": _search,
    "image_generation_call": _picture,
}
EVENTS: dict[str, Handler] = {
    "user_message": _user_message,
    "agent_message": _agent_message,
    "agent_reasoning": _agent_reasoning,
    "agent_reasoning_raw_content": _agent_reasoning,
    "exec_command_end": _ran,
    "patch_apply_end": _changed,
    "mcp_tool_call_end": _tool_ended,
    "dynamic_tool_call_response": _tool_ended,
    "web_search_end": _searched,
    "image_generation_end": _picture,
    "context_compacted": _compacted,
    "entered_review_mode": _reviewed,
    "exited_review_mode": _reviewed,
    "error": _wrong,
    "stream_error": _wrong,
    "warning": _wrong,
    "guardian_warning": _wrong,
    "plan_update": _plan_event,
    "item_completed": _item_completed,
    "task_complete": _completed,
    "turn_aborted": _aborted,
    "thread_rolled_back": _rolled_back,
    "thread_goal_updated": _goal,
}
_TURN_ITEMS: dict[str, Handler] = {
    "UserMessage": _user_item,
    "AgentMessage": _agent_item,
    "Reasoning": _reasoning_item,
    "CommandExecution": _ran,
    "FileChange": _changed,
    "McpToolCall": _tool_ended,
    "DynamicToolCall": _tool_ended,
    "CollabAgentToolCall": _tool_ended,
    "WebSearch": _searched,
    "ImageGeneration": _picture,
    "ContextCompaction": _compacted,
    "EnteredReviewMode": _reviewed,
    "ExitedReviewMode": _reviewed,
    "Plan": _plan_item,
}
