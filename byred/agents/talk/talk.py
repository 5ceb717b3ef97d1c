"""One server's talk with one task's agent: connect, open the thread, turns until nothing is left.

Owns which thread is opened and when there is another turn. What is said and heard is the
conversation's, what people are asked the desk's, what becomes of the task the runner's.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from importlib.resources import files
from pathlib import Path

import msgspec

import byred
from byred.agents import verdict
from byred.agents.aftermath import Aftermath
from byred.agents.ground.ground import Ground, GroundOptions
from byred.agents.launchers.contract import Limits as ResourceLimits
from byred.agents.launchers.contract import Server
from byred.agents.launchers.sockets import listening_at
from byred.agents.talk import tools
from byred.agents.talk.conversation import Conversation, Stop, goes_on
from byred.agents.talk.narrator import PIECES
from byred.agents.talk.reconcile import ThreadRecord, read_thread
from byred.agents.talk.sparing import ServerLog
from byred.agents.talk.throttle import Throttle
from byred.agents.talk.watchdog import Limits
from byred.agents.tasklog import TaskLog
from byred.agents.verdict import Verdict
from byred.codex import approvals
from byred.codex.binary import Version
from byred.codex.errors import CodexError, NoRollout, TransportClosed
from byred.codex.options import ThreadOptions
from byred.codex.requests import Handler, Reply, ServerRequest, answer_with
from byred.codex.session import Client, ClientInfo
from byred.codex.thread import Thread
from byred.codex.tools import Toolbox
from byred.codex.transcript import open_transcript
from byred.codex.transport import StdioTransport, Transport, connect_unix
from byred.codex.turn import Turn, TurnResult
from byred.core.event import NewEvent
from byred.core.question import Question
from byred.core.retry import FailureClass, Retries
from byred.core.task import Task
from byred.store import inputs, tasks
from byred.store.database import Database
from byred.store.inputs import InputKind

AHEAD = "its server may know more than its record holds, which decides"
REMINDER = "byred runs this task. Commit your work; ask people with byre__ask_human."


class RunnerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that a run is made by; read anew for each run. Times are in seconds."""

    codex: Path
    version: Version
    model: str | None
    ground: GroundOptions
    retry: Retries
    start_timeout: float
    request_timeout: float
    limits: Limits
    ask_approvals: bool
    sockets: bool
    end_agents: bool
    servers_dir: Path
    resources: ResourceLimits


class Talk:
    """A task's agent, while one server has its thread; `adopted` is one that had it before."""

    def __init__(
        self,
        task: Task,
        ground: Ground,
        options: RunnerOptions,
        *,
        adopted: bool,
        database: Database,
        log: TaskLog,
        asks: tools.Asks,
        throttle: Throttle,
        wake: asyncio.Event,
        wanted_back: Callable[[], bool],
        aftermath: Aftermath,
        notify: Callable[[str, str], None],
        clock: Callable[[], datetime],
        roll: Callable[[], float],
    ) -> None:
        self._task = task
        self._ground = ground
        self._options = options
        self._adopted = adopted
        self._database = database
        self._log = log
        self._asks = asks
        self._throttle = throttle
        self._wake = wake
        self._wanted_back = wanted_back
        self._aftermath = aftermath
        self._notify = notify
        self._roll = roll
        self._conversation: asyncio.Future[Conversation] = (
            asyncio.get_running_loop().create_future()
        )
        self._desk = tools.Desk(
            task.id,
            asks=asks,
            asked=self._asked,
            answered=self._answered,
            notify=self._tell_people,
            progress=self._progress,
            clock=clock,
        )
        self._toolbox = Toolbox(
            [tools.namespace(self._desk)], overflow=ground.home.parent / "answers"
        )

    async def over(self, server: Server) -> str | Verdict:
        """Talk until the agent is done, and give its last words, or what ended it before.

        Raises:
            CodexError: the server or the connection failed.
        """
        limit = self._options.start_timeout
        try:
            with ServerLog(self._log) as log:
                async with asyncio.timeout(limit) as starting:
                    return await self._over(server, log, starting)
        except TimeoutError:
            if not starting.expired():
                raise
            return self._failed(
                FailureClass.INFRASTRUCTURE,
                f"cannot start codex: the thread was not open after {limit:g} s "
                "(codex.start_timeout); the machine may be overloaded",
            )

    async def _over(
        self, server: Server, log: ServerLog, starting: asyncio.Timeout
    ) -> str | Verdict:
        transport = await _transport(server)
        async with (
            open_transcript(self._ground.home.parent / "transcript.jsonl") as transcript,
            Client.open(
                transport,
                client_info=ClientInfo("byred", byred.__version__),
                handler=self._handler(),
                request_timeout=self._options.request_timeout,
                transcript=transcript,
                # What a turn says is read from the client's events.
                unread_of_turns=0,
                on_bad_line=log.bad_line,
            ) as client,
        ):
            events = client.events(without=PIECES)
            try:
                thread, record = await self._open_thread(client)
            except TransportClosed:
                raise
            except CodexError as error:
                if not self._adopted:
                    raise
                # It may be at work on a thread that it cannot read again: no other one beside it.
                return verdict.suspended(f"its server did not give the thread back: {error}")
            starting.reschedule(None)
            conversation = Conversation(
                self._task,
                thread,
                client=client,
                events=events,
                database=self._database,
                log=log,
                asks=self._asks,
                wake=self._wake,
                wanted_back=self._wanted_back,
                reminder=REMINDER,
                limits=self._options.limits,
                throttle=self._throttle,
                late_answers_as_output=self._options.version.supports_tool_output,
            )
            async with conversation.listening():
                # A server that was adopted asks again, at once, what it had asked before.
                self._conversation.set_result(conversation)
                return await self._turns(conversation, thread, record)

    async def _open_thread(self, client: Client) -> tuple[Thread, ThreadRecord | None]:
        """Resume the task's thread, or start one.

        A thread is on disk from its first turn on. Whether that began is the record's to say, not
        the store's: a crash may have come before it was noted.
        """
        task, ground = self._task, self._options.ground
        settings = ThreadOptions(
            cwd=self._ground.worktree.path,
            model=self._options.model,
            # The home has a profile for this one, which naming it here would replace.
            sandbox=None if ground.sandbox == "workspace-write" else ground.sandbox,
            approval_policy=ground.approval_policy,
            developer_instructions=_guidance(self._ground.orders.guidance),
            dynamic_tools=self._toolbox.specs(),
            runtime_workspace_roots=(self._ground.worktree.path,),
        )
        thread_id = task.thread_id
        if thread_id is not None:
            try:
                thread = await client.resume_thread(thread_id, settings)
            except NoRollout as error:
                if self._adopted:
                    raise
                data = {"thread_id": thread_id, "why": str(error)}
                event = NewEvent(kind="task.thread_lost", task_id=task.id, data=data)
                await self._database.write(lambda tx: tx.emit(event))
            else:
                return thread, await _read_record(thread)
        forked = self._ground.forked
        if forked is None:
            thread = await client.start_thread(settings)
        else:
            thread = await client.fork_thread(forked.thread_id, settings, last_turn=forked.turn_id)
        await self._database.write(
            lambda tx: tasks.apply(tx, task.id, lambda task: task.thread_started(thread.id))
        )
        return thread, None

    async def _turns(
        self, conversation: Conversation, thread: Thread, record: ThreadRecord | None
    ) -> str | Verdict:
        running = thread.active_turn
        if running is not None and running.done:
            # It ended between the question whether it runs and the answer.
            running, record = None, await _read_record(thread)
        late = await conversation.reconcile(record)
        if running is not None:
            # It went on while nobody listened. Its open calls come again and get their replies.
            await conversation.take_over(running)
            turn: Turn | None = running
        elif await self._is_ahead(conversation, late):
            return verdict.suspended(AHEAD)
        else:
            await self._aftermath.keep()
            turn = await self._first_turn(conversation, record, late)
        summary = "" if record is None else record.finished.get(record.last_turn or "", "")
        return await self._go_on(
            conversation, thread, turn, summary, taken_over=running is not None
        )

    async def _go_on(
        self,
        conversation: Conversation,
        thread: Thread,
        turn: Turn | None,
        summary: str,
        *,
        taken_over: bool,
    ) -> str | Verdict:
        """Follow one turn after the other until the work is checked; None is for no turn."""
        while True:
            if turn is None:
                checked = await self._check(conversation)
                if not isinstance(checked, Turn):
                    return summary if checked is None else checked
                turn = checked
            result = await conversation.follow(turn)
            if isinstance(result, Stop):
                return self._of_stop(result)
            await self._aftermath.turn_ended()
            if result.status != "completed":
                return self._not_completed(result)
            summary = result.final_text
            late: Sequence[Question] = ()
            if taken_over or conversation.unsettled:
                late = await conversation.after_all(await _read_record(thread))
                if await self._is_ahead(conversation, late):
                    return verdict.suspended(AHEAD)
                taken_over = False
            turn = await self._next_turn(conversation, late)

    async def _is_ahead(self, conversation: Conversation, lacking: Sequence[Question]) -> bool:
        """Say whether a server from before may hold what its record lacks: a full disk can do that.

        Nothing is said to it again: once it has ended, the record holds whatever there is.
        """
        if not self._adopted:
            return False
        texts = (await conversation.wanted()).inputs
        return bool(lacking) or any(text.sent_at is not None for text in texts)

    def _not_completed(self, result: TurnResult) -> Verdict:
        if result.status == "failed" and result.error is not None:
            retries = self._options.retry
            return verdict.of_error(result.error, retries=retries, roll=self._roll())
        message = f"the turn ended as {result.status}, which nobody asked for"
        return self._failed(FailureClass.AGENT, message)

    async def _check(self, conversation: Conversation) -> Turn | Verdict | None:
        """Check what the agent calls done: None when it is, else its next turn or the end.

        Whatever a person wants meanwhile comes first; the checks are run again afterwards.
        """
        await conversation.to_verification()
        checking = asyncio.create_task(self._aftermath.verify())
        waking: asyncio.Task[bool] | None = None
        try:
            while not checking.done():
                self._wake.clear()
                wanted = await conversation.wanted()
                if wanted.task.intent is not None:
                    return verdict.stopped(f"a person wanted it: {wanted.task.intent}")
                if wanted.inputs:
                    return await self._next_turn(conversation, ())
                waking = asyncio.create_task(self._wake.wait())
                await asyncio.wait((checking, waking), return_when=asyncio.FIRST_COMPLETED)
                waking.cancel()
        finally:
            running = [task for task in (checking, waking) if task is not None]
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        failed = checking.result()
        if failed is None:
            return None
        found = await self._aftermath.unverified(failed)
        if not found.again:
            retries = self._options.retry
            return verdict.unverified(found.text, retries=retries, roll=self._roll())
        return await self._next_turn(conversation, ())

    async def _first_turn(
        self, conversation: Conversation, record: ThreadRecord | None, late: Sequence[Question]
    ) -> Turn | None:
        """Say what the thread lacks; None when its last turn is done and nothing is to be said."""
        task = self._task
        turn: Turn | None = None
        texts = (await conversation.wanted()).inputs
        if record is None or any(text.kind is InputKind.PROMPT for text in texts):
            # A reply to what was asked before says nothing to a thread without the prompt.
            for text in texts:
                turn = await conversation.say(text)
            for question in late:
                turn = await conversation.reply_late(question)
            return turn
        for question in late:
            turn = await conversation.reply_late(question)
        cut_off = record.last_turn not in record.finished
        if cut_off and not late and not texts:
            reason = task.error.message if task.error is not None else "the daemon was restarted"
            going_on = await self._database.write(
                lambda tx: inputs.insert(
                    tx, task.id, InputKind.CONTINUE, goes_on(reason), author="byred"
                )
            )
            texts = [going_on]
        for text in texts:
            turn = await conversation.say(text)
        return turn

    async def _next_turn(self, conversation: Conversation, late: Sequence[Question]) -> Turn | None:
        turn: Turn | None = None
        for question in late:
            turn = await conversation.reply_late(question)
        for text in (await conversation.wanted()).inputs:
            turn = await conversation.say(text)
        return turn

    def _of_stop(self, stop: Stop) -> Verdict:
        if stop.parked:
            return verdict.suspended(stop.why)
        if stop.failure is not None:
            return self._failed(stop.failure, stop.why)
        return verdict.stopped(stop.why)

    def _failed(self, failure: FailureClass, message: str) -> Verdict:
        return verdict.failed(failure, message, retries=self._options.retry, roll=self._roll())

    # What the server asks

    def _handler(self) -> Handler:
        asking = self._options.ask_approvals
        policy = approvals.ask(self._desk.decide) if asking else approvals.auto
        answer = answer_with(policy, tools=self._toolbox)

        async def serve(request: ServerRequest) -> Reply:
            async with asyncio.timeout(self._options.request_timeout):
                conversation = await asyncio.shield(self._conversation)
            if request.turn_id:
                await conversation.turn_is_stored(request.turn_id)
            return await answer(request)

        return serve

    def _asked(self, question: Question) -> None:
        self._conversation.result().asked(question)

    def _answered(self, question: Question) -> None:
        self._conversation.result().answered(question)

    async def _tell_people(self, text: str) -> None:
        self._log.append("notice", text)
        await self._emit("task.notice", text)
        self._notify(f"byred: task {self._task.id} ({self._task.title})", text)

    async def _progress(self, text: str) -> None:
        self._log.append("progress", text)
        await self._emit("task.progress", text)

    async def _emit(self, kind: str, text: str) -> None:
        event = NewEvent(kind=kind, task_id=self._task.id, data={"text": text})
        await self._database.write(lambda tx: tx.emit(event))


async def _transport(server: Server) -> Transport:
    """Connect to a server, over its streams or, as soon as it listens, over its socket."""
    if server.streams is not None:
        return StdioTransport(*server.streams)
    return await connect_unix(await listening_at(server))


async def _read_record(thread: Thread) -> ThreadRecord | None:
    path = None if thread.info is None else thread.info.path
    if path is None:
        return None
    try:
        return await asyncio.to_thread(read_thread, Path(path))
    except FileNotFoundError:
        # A thread that a living server has is on disk from its first turn on only.
        return None


def _guidance(of_repository: str) -> str:
    told = files("byred.agents").joinpath("guidance.md").read_text(encoding="utf-8")
    if of_repository.strip():
        told += f"\nWhat this repository says to its agents:\n\n{of_repository.strip()}\n"
    return told
