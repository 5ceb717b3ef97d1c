"""Waiting for one task to end, with a line for every change on the way."""

from byred.cli import words
from byred.cli.app import App
from byred.cli.client import Daemon, Reply
from byred.cli.steady import Steady
from byred.cli.terminal import one_line


class Events:
    """Where a reader of the daemon's events is, so that he can leave and come back."""

    def __init__(self) -> None:
        self.seq: int | None = None

    def follow(self, daemon: Daemon) -> None:
        """Follow from the last event that was heard; the first time, from now on."""
        if self.seq is None:
            self.seq = int(daemon.call("daemon.status", {}).value["seq"])
        daemon.call("events.follow", {"after": self.seq})


def wait_for(app: App, task_id: int) -> Reply:
    """Wait until the task has ended and return it; with `--json` that reply is printed.

    Survives restarts of the daemon. Open questions are shown with the command that answers them.
    """
    events = Events()
    shown = Shown(app)

    def opened() -> Daemon:
        return app.daemon(f"wait for task {task_id}")

    with Steady(opened, events.follow, app.err.say) as daemon:
        while True:
            # Asked after following began: a change is either in this reply or comes as an event.
            reply = daemon.call("task.get", {"id": task_id})
            if app.json and reply.value["state"] in words.ENDED:
                app.out.raw(reply.text)
            if not app.json:
                shown.show(reply, daemon)
            if reply.value["state"] in words.ENDED:
                return reply
            _next_event(daemon, events, task_id)


def _next_event(daemon: Steady, events: Events, task_id: int) -> None:
    while (event := daemon.hear()) is not None:
        events.seq = int(event.params.get("seq") or events.seq or 0)
        if event.params.get("task_id") == task_id:
            return


class Shown:
    """What a waiting person has seen of a task, so that only changes are printed."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._state = "queued"
        self._questions: set[int] = set()

    def show(self, reply: Reply, daemon: Steady) -> None:
        """Print what is new: the state, the questions, and why the task failed."""
        task = reply.value
        out = self._app.out
        if task["state"] != self._state:
            self._state = task["state"]
            out.say(words.sentence(task), words.STYLES.get(self._state, ""))
        if set(task.get("questions") or []) - self._questions:
            asked = {"states": ["open"], "task_id": task["id"]}
            for question in daemon.call("question.list", asked).value["questions"]:
                if (number := question["id"]) not in self._questions:
                    self._questions.add(number)
                    text = one_line(str(question.get("text")))
                    out.say(f"question {number}: {text}; byre answer {number} answers it", "yellow")
        if task["state"] in words.ENDED and (error := task.get("error")):
            out.say(one_line(str(error.get("message"))), "red")
        out.flush()
