"""Make the rollout corpus: drive real codex binaries through one tour and keep what they record.

    python tests/tools/make_rollout_corpus.py VERSION=BINARY [VERSION=BINARY …]

Each binary runs in a fresh `/tmp/tour` with the scripted model of `rollout_model`, so nothing of
the machine, an account or the network gets into the records. What is kept is what codex wrote,
byte for byte, with one exception that the corpus names in its README: prompts of codex's own
authorship are replaced by a note of their length. A scene that a version does not know is
skipped and named in `tour.json` beside the rollouts, with the model's own log of what it was
asked, the other side of the same story.
"""

from __future__ import annotations

import base64
import json
import shutil
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from rollout_model import Cue, Item, Model, call, patch, say, serve, think
from rollout_peer import Message, Peer, RefusedError, sweep
from rollout_scenery import CATALOG, CONFIG, DOT, MCP, QUESTION

ROOT = Path("/tmp/tour")
"""A neutral place on purpose: the path lands in the corpus."""
CORPUS = Path(__file__).parents[1] / "codex" / "rollout" / "corpus"
OWN_PROMPT = 2000
"""Characters from which an instruction text is codex's own; the tour's are all far shorter."""
FULL = {"approvalPolicy": "never", "sandboxPolicy": {"type": "dangerFullAccess"}}
STRICT = {"approvalPolicy": "untrusted", "sandboxPolicy": {"type": "readOnly"}}


def adding(name: str, *lines: str) -> str:
    """Return the text of a patch that adds a file."""
    body = "".join(f"+{line}\n" for line in lines)
    return f"*** Begin Patch\n*** Add File: {name}\n{body}*** End Patch\n"


class Tour:
    """One binary's tour: scenes are the methods named `scene_…`, run in the order written."""

    def __init__(self, binary: Path, home: Path, work: Path, model: Model) -> None:
        self.binary, self.home, self.work, self.model = binary, home, work, model
        self.decision = "accept"
        self.threads: dict[str, str] = {}
        self.outcomes: dict[str, str] = {}
        self.asked: list[tuple[str, str]] = []
        self.peer = self._peer()
        self.start: Message = {
            "cwd": str(work),
            "sandbox": "danger-full-access",
            "approvalPolicy": "never",
            "baseInstructions": "You are a scripted agent.",
        }
        spaced = {"type": "namespace", "name": "byre", "description": "d", "tools": [QUESTION]}
        self.space: dict[str, str] = {"namespace": "byre"}
        try:
            reply = self.peer.call("thread/start", **self.start, dynamicTools=[spaced])
        except RefusedError:  # before 0.144 a tool has no namespace
            self.space = {}
            reply = self.peer.call("thread/start", **self.start, dynamicTools=[QUESTION])
        self.thread: str = reply["thread"]["id"]
        self.threads["main"] = self.thread

    def _peer(self) -> Peer:
        return Peer(self.binary, self.home, self.work, self.answer, self.asked)

    def answer(self, method: str, params: Message) -> Message:
        """Answer whatever the server asks, the way the scene wants it."""
        match method:
            case "item/tool/call":
                said = [{"type": "inputText", "text": "Blue, said the person."}]
                return {"success": True, "contentItems": said}
            case "item/tool/requestUserInput":
                picks = {
                    q["id"]: {"answers": [q["options"][0]["label"]]} for q in params["questions"]
                }
                return {"answers": picks}
            case "mcpServer/elicitation/request":
                return {"action": "accept", "content": {"ok": True}}
            case "item/permissions/requestApproval":
                return {"permissions": {"network": {"enabled": True}}, "scope": "turn"}
            case _:
                return {"decision": self.decision}

    def run(self) -> None:
        """Run every scene; one that the version refuses is noted and left."""
        for name, scene in vars(type(self)).items():
            if not name.startswith("scene_"):
                continue
            self.model.forget()
            try:
                self.outcomes[name[6:]] = str(scene(self))
            except RefusedError as refusal:
                self.outcomes[name[6:]] = f"refused: {str(refusal)[:120]}"
        self.peer.close()

    def ask(self, text: str | list[Message], *replies: Cue, **more: Any) -> str:
        """Run one turn on the main thread with these replies of the model."""
        self.model.queue(*replies)
        return self.peer.turn(self.thread, text, **more)

    def _running(self, text: str, command: str, call_id: str) -> str:
        self.model.queue([call("exec_command", {"cmd": command}, call_id)])
        self.peer.call("turn/start", threadId=self.thread, input=[{"type": "text", "text": text}])
        turn: str = self.peer.notified("turn/started")["turn"]["id"]
        self.peer.until(
            lambda message: (
                message.get("method") == "item/started"
                and message["params"]["item"]["type"] == "commandExecution"
            )
        )
        return turn

    def scene_message(self) -> str:
        return self.ask("Say hello", [think("Thinking about it."), say("Hello there.")])

    def scene_commentary(self) -> str:
        first = [
            say("I will look.", phase="commentary"),
            call("exec_command", {"cmd": "pwd"}, "c0"),
        ]
        return self.ask(
            'Look around ☃\u2028and "quote" \\ it', first, [say("Seen.", phase="final_answer")]
        )

    def scene_commands(self) -> str:
        both = [
            think("Two commands."),
            call("exec_command", {"cmd": "echo out; echo err >&2"}, "c1"),
            call("exec_command", {"cmd": "ls /nonexistent"}, "c2"),
        ]
        return self.ask("Run things", both, [say("Ran them.")])

    def scene_broken_call(self) -> str:
        broken = call("exec_command", {}, "c9") | {"arguments": '{"cmd": '}
        return self.ask("Call badly", [broken, call("no_such_tool", {"a": 1}, "c8")], [say("Oh.")])

    def scene_question(self) -> str:
        asked = call("ask_human", {"question": "Which colour?"}, "q1", **self.space)
        return self.ask("Ask me", [asked], [say("Blue it is.")])

    def scene_interrupt(self) -> str:
        turn = self._running("Sleep", "sleep 30", "c3")
        self.peer.call("turn/interrupt", threadId=self.thread, turnId=turn)
        return self.peer.ended(self.thread)

    def scene_patches(self) -> str:
        update = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+uno\n*** End Patch"
        wrong = "*** Begin Patch\n*** Update File: nope.txt\n@@\n-one\n+uno\n*** End Patch\n"
        delete = "*** Begin Patch\n*** Delete File: b.txt\n*** End Patch\n"
        shell = call("exec_command", {"cmd": f"apply_patch <<'EOF'\n{update}\nEOF"}, "p2")
        return self.ask(
            "Patch it",
            [patch(adding("a.txt", "one", "two"), "p1"), patch(adding("b.txt", "b"), "p0")],
            [shell],
            [patch(wrong, "p3")],
            [patch(delete, "p4")],
            [say("Patched.")],
        )

    def scene_images(self) -> str:
        dot = self.work / "dot.png"
        dot.write_bytes(base64.b64decode(DOT))
        parts: list[Message] = [
            {"type": "text", "text": "Look"},
            {"type": "image", "url": f"data:image/png;base64,{DOT}"},
            {"type": "localImage", "path": str(dot)},
        ]
        return self.ask(parts, [call("view_image", {"path": str(dot)}, "v1")], [say("A dot.")])

    def scene_mcp(self) -> str:
        calls = [
            call("echo", {"text": text}, f"m{number}{len(space)}", namespace=space)
            for number, text in enumerate(("hi", "fail"))
            for space in ("mcp__tour", "mcp__tour__")
        ]
        return self.ask("Echo", calls, [say("Echoed.")])

    def scene_elicitation(self) -> str:
        calls = [
            call("confirm", {}, f"e{len(s)}", namespace=s) for s in ("mcp__tour", "mcp__tour__")
        ]
        return self.ask("Confirm", calls, [say("Confirmed.")], approvalPolicy="on-request")

    def scene_approved(self) -> str:
        self.decision = "accept"
        escalated = {"sandbox_permissions": "require_escalated", "justification": "needed"}
        return self.ask(
            "Approve",
            [call("exec_command", {"cmd": "touch ../x"}, "a1")],
            [call("exec_command", {"cmd": "touch ../y"} | escalated, "a2")],
            [patch(adding("../c.txt", "c"), "a3")],
            [say("Allowed.")],
            **STRICT,
        )

    def scene_declined(self) -> str:
        self.decision = "decline"
        return self.ask(
            "Decline",
            [call("exec_command", {"cmd": "touch ../z"}, "d1")],
            [patch(adding("../d.txt", "d"), "d2")],
            [say("Declined.")],
            **STRICT,
        )

    def scene_cancelled(self) -> str:
        self.decision = "cancel"
        return self.ask("Cancel", [call("exec_command", {"cmd": "touch ../z"}, "d3")], **STRICT)

    def scene_user_input(self) -> str:
        options = [{"label": "Blue", "description": "b"}, {"label": "Red", "description": "r"}]
        question = {"id": "colour", "header": "Colour", "question": "Which?", "options": options}
        asked = call("request_user_input", {"questions": [question]}, "u1")
        return self.ask("Ask formally", [asked], [say("Got it.")], **FULL)

    def scene_permissions(self) -> str:
        wanted = {"permissions": {"network": {"enabled": True}}, "reason": "net"}
        return self.ask(
            "Ask permission",
            [call("request_permissions", wanted, "r1")],
            [say("Got it.")],
            approvalPolicy="on-request",
            sandboxPolicy={"type": "workspaceWrite"},
        )

    def scene_other_items(self) -> str:
        steps = [{"step": "one", "status": "completed"}, {"step": "two", "status": "in_progress"}]
        shell = {"type": "exec", "command": ["echo", "local"], "timeout_ms": 1000}
        items: list[Item] = [
            call("update_plan", {"explanation": "why", "plan": steps}, "pl1"),
            {
                "type": "web_search_call",
                "status": "completed",
                "action": {"type": "search", "query": "rollouts"},
            },
            {"type": "local_shell_call", "call_id": "ls1", "status": "completed", "action": shell},
            {
                "type": "image_generation_call",
                "status": "completed",
                "result": DOT,
                "revised_prompt": "dot",
            },
            {"type": "brand_new_item", "surprise": 1},
        ]
        return self.ask("Do the rest", items, [say("Did it.")], **FULL)

    def scene_failed(self) -> str:
        return self.ask("Fail", 500, 500, 500)

    def scene_limited(self) -> str:
        return self.ask("Hit a limit", 429, [say("Recovered.")])

    def scene_by_hand(self) -> str:
        self.peer.call("thread/shellCommand", threadId=self.thread, command="echo by hand")
        return self.peer.ended(self.thread)

    def scene_name_and_goal(self) -> str:
        self.peer.call("thread/name/set", threadId=self.thread, name="The tour")
        goal = {"objective": "See it all", "status": "paused"}
        self.peer.call("thread/goal/set", threadId=self.thread, **goal)
        return "set"

    def scene_settings(self) -> str:
        self.peer.call("thread/settings/update", threadId=self.thread, effort="high")
        return "set"

    def scene_injected(self) -> str:
        part = {"type": "input_text", "text": "injected"}
        item = {"type": "message", "role": "user", "content": [part]}
        self.peer.call("thread/inject_items", threadId=self.thread, items=[item])
        return "injected"

    def scene_tool_output(self) -> str:
        late = {"name": "ask_human", "namespace": "byre", "output": "Late: red.", "retain": True}
        self.model.queue([say("Red then.")])
        self.peer.call("turn/start", threadId=self.thread, input=[], toolOutput=late)
        return self.peer.ended(self.thread)

    def scene_steered(self) -> str:
        turn = self._running("Begin", "sleep 1", "s1")
        self.model.queue([say("Steered.")])
        more = [{"type": "text", "text": "And also this"}]
        self.peer.call("turn/steer", threadId=self.thread, expectedTurnId=turn, input=more)
        return self.peer.ended(self.thread)

    def scene_review(self) -> str:
        verdict = {
            "findings": [],
            "overall_correctness": "patch is correct",
            "overall_explanation": "fine",
            "overall_confidence_score": 0.9,
        }
        self.model.queue([say(json.dumps(verdict))])
        target = {"type": "custom", "instructions": "Look"}
        self.peer.call("review/start", threadId=self.thread, target=target)
        return self.peer.ended(self.thread)

    def scene_sub_agent(self) -> str:
        space = {"namespace": "multi_agent_v1"}
        self.model.asides["Sub task"] = [say("Sub done.")]
        started: list[str] = []

        def wait(request: Item) -> list[Item]:
            output = next(i for i in request["input"] if i.get("call_id") == "g1" and "output" in i)
            started.append(json.loads(output["output"])["agent_id"])
            return [call("wait_agent", {"targets": started, "timeout_ms": 10000}, "g2", **space)]

        return self.ask(
            "Delegate",
            [call("spawn_agent", {"message": "Sub task"}, "g1", **space)],
            wait,
            lambda _: [
                call("send_input", {"target": started[0], "message": "Sub task"}, "g3", **space)
            ],
            lambda _: [call("close_agent", {"target": started[0]}, "g4", **space)],
            [say("Delegated.")],
        )

    def scene_terminal(self) -> str:
        def write(request: Item) -> list[Item]:
            output = next(i for i in request["input"] if i.get("call_id") == "t1" and "output" in i)
            session = int(output["output"].split("session ID ")[1].split()[0])
            return [call("write_stdin", {"session_id": session, "chars": "typed\n"}, "t2")]

        first = {"cmd": "read line; echo got $line", "tty": True, "yield_time_ms": 300}
        return self.ask(
            "Use a terminal", [call("exec_command", first, "t1")], write, [say("Typed.")]
        )

    def scene_compacted(self) -> str:
        self.model.queue([say("Summary of everything.")])
        self.peer.call("thread/compact/start", threadId=self.thread)
        return self.peer.ended(self.thread)

    def scene_rolled_back(self) -> str:
        self.ask("Take back", [say("To be rolled back.")])
        turn = [m for m in self.peer.seen if m.get("method") == "turn/started"][-1]
        try:
            self.peer.call("thread/rollback", threadId=self.thread, numTurns=1)
        except RefusedError:  # paginated threads have a revert instead
            before = turn["params"]["turn"]["id"]
            self.peer.call("thread/revert", threadId=self.thread, beforeTurnId=before)
            return "reverted"
        return "rolled back"

    def scene_killed_twice(self) -> str:
        for number in (1, 2):
            self._running(f"Work until killed {number}", "sleep 20", f"k{number}")
            self.peer.kill()
            self.peer = self._peer()
            self.peer.call("thread/resume", threadId=self.thread)
        return self.ask("Go on", [say("Back again.")])

    def scene_forked(self) -> str:
        fork = self.peer.call("thread/fork", threadId=self.thread)["thread"]["id"]
        self.threads["fork"] = fork
        self.model.queue([say("In the fork.")])
        return self.peer.turn(fork, "Go on in the fork")

    def scene_after_the_fork(self) -> str:
        return self.ask("Go on in the parent", [say("In the parent.")])

    def scene_legacy(self) -> str:
        reply = self.peer.call("thread/start", **self.start, historyMode="legacy")
        thread = self.threads["legacy"] = reply["thread"]["id"]
        self.model.queue(
            [call("exec_command", {"cmd": "echo legacy"}, "l1")],
            [patch(adding("l.txt", "one"), "l2")],
            [say("Legacy.")],
        )
        self.peer.turn(thread, "Old style")
        fork = self.peer.call("thread/fork", threadId=thread)["thread"]["id"]
        self.threads["legacy fork"] = fork
        self.model.queue([say("In the fork.")])
        return self.peer.turn(fork, "Go on in the fork")


def without_own_prompts(value: Any) -> Any:
    """Return `value` with every text of codex's own replaced by a note of its length."""
    if isinstance(value, dict):
        return {key: without_own_prompts(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_own_prompts(item) for item in value]
    if isinstance(value, str) and len(value) > OWN_PROMPT:
        return f"[a text of codex's own, {len(value)} characters]"
    return value


def keep(source: Path, target: Path) -> None:
    """Copy a rollout; only lines with a prompt of codex's own are written anew."""
    with source.open("rb") as lines, target.open("wb") as out:
        for line in lines:
            value = json.loads(line)
            cut = without_own_prompts(value)
            if cut == value:
                out.write(line)
            else:
                text = json.dumps(cut, ensure_ascii=False, separators=(",", ":"))
                out.write(text.encode() + b"\n")


def make(version: str, binary: Path) -> dict[str, str]:
    """Run the tour with one binary, write its folder of the corpus, return the outcomes."""
    shutil.rmtree(ROOT, ignore_errors=True)
    home, work = ROOT / "home", ROOT / "work"
    home.mkdir(parents=True)
    work.mkdir()
    (ROOT / "mcp.py").write_text(MCP)
    (ROOT / "models.json").write_text(json.dumps({"models": [CATALOG]}))
    model = Model()
    with serve(model) as url:
        (home / "config.toml").write_text(CONFIG.format(root=ROOT, url=url))
        tour = Tour(binary, home, work, model)
        try:
            tour.run()
        finally:
            sweep(home)
    target = CORPUS / version
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for rollout in sorted(home.rglob("rollout-*.jsonl")):
        keep(rollout, target / rollout.name)
    told = {
        "outcomes": tour.outcomes,
        "threads": tour.threads,
        "asked": tour.asked,
        "given": model.given,
        "last_request": without_own_prompts(model.requests[-1]["input"]),
    }
    (target / "tour.json").write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    shutil.rmtree(ROOT)
    return tour.outcomes


def main(arguments: list[str]) -> None:
    """Make the corpora named on the command line and say how each scene went."""
    for argument in arguments:
        version, binary = argument.split("=", 1)
        sys.stdout.write(f"{version}\n")
        for scene, outcome in make(version, Path(binary)).items():
            sys.stdout.write(f"  {scene}: {outcome}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
